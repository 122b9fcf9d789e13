/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A store in memory that keeps writes on their way as long as it can, ends them in any order, fails
 * some, and takes their bytes at the very end, so that memory that changed meanwhile shows.
 */
#ifndef REGION_MEMORY_H
#define REGION_MEMORY_H

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/ctx.h"
#include "pagecache/region.h"
#include "tap.h"

#define ROOM ((uint64_t)40 << 20)

struct memory {
	struct region_store store;
	struct rdata data;
	pthread_mutex_t lock;
	uint8_t *bytes;
	uint64_t size, seed;
	struct rop *queue[256];
	unsigned queued;
	unsigned fail_every, writes; /* the n-th write fails with fail_code */
	int fail_code;
	bool overlapped, shuffled;
	unsigned resized, flushed_all;
	uint64_t stored;         /* as the last resize was told */
	unsigned keep;           /* writes that stay queued at reap(0) */
	atomic_bool held;        /* all of them stay */
	void (*meanwhile)(void); /* done once, while a write is sent */
	bool refuses;            /* to change its size */
};

static uint64_t any(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static inline void fill_pattern(uint8_t *p, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)(any(&seed) >> 24);
}

static struct memory *memory_of(struct region_store *s)
{
	return (struct memory *)s;
}

static int memory_open(struct region_store *s, const char *name, unsigned flags, struct rdata **ret,
		       uint64_t *size)
{
	(void)name, (void)flags;
	*ret = &memory_of(s)->data;
	*size = memory_of(s)->size;
	return 0;
}

static void memory_release(struct rdata *data, uint64_t size)
{
	(void)data, (void)size;
}

static void memory_submit(struct rop *op)
{
	struct memory *m = memory_of(op->data->store);
	void (*meanwhile)(void);

	pthread_mutex_lock(&m->lock);
	for (unsigned i = 0; i < m->queued; i++) {
		if (m->queue[i]->off < op->off + op->len &&
		    op->off < m->queue[i]->off + m->queue[i]->len)
			m->overlapped = true;
	}
	m->queue[m->queued++] = op;
	meanwhile = m->meanwhile;
	m->meanwhile = NULL;
	pthread_mutex_unlock(&m->lock);
	if (meanwhile != NULL)
		meanwhile();
}

static struct rop *memory_pick(struct memory *m)
{
	unsigned i = m->shuffled ? (unsigned)(any(&m->seed) % m->queued) : 0;
	struct rop *op = m->queue[i];

	memmove(m->queue + i, m->queue + i + 1, (m->queued - i - 1) * sizeof(op));
	m->queued--;
	return op;
}

static int memory_write(struct memory *m, const struct rop *op)
{
	uint64_t at = op->off;

	if (m->fail_every != 0 && ++m->writes % m->fail_every == 0)
		return m->fail_code;
	if (op->off + op->len > ROOM)
		return -EFBIG;
	for (unsigned i = 0; i < op->iovcnt; at += op->iov[i++].iov_len)
		memcpy(m->bytes + at, op->iov[i].iov_base, op->iov[i].iov_len);
	m->size = MAX(m->size, at);
	return at - op->off == op->len ? 0 : -EIO;
}

static void memory_reap(struct region_store *s, unsigned min)
{
	struct memory *m = memory_of(s);
	unsigned ended = 0;

	while (atomic_load(&m->held))
		usleep(1000);
	for (;;) {
		struct rop *op = NULL;
		int rc = 0;

		pthread_mutex_lock(&m->lock);
		if (m->queued != 0 && (ended < min || m->queued > m->keep)) {
			op = memory_pick(m);
			rc = memory_write(m, op);
		}
		pthread_mutex_unlock(&m->lock);
		if (op == NULL)
			return;
		op_done(op, rc);
		ended++;
	}
}

static int memory_read(struct rdata *data, uint64_t off, void *buf, size_t len)
{
	struct memory *m = memory_of(data->store);
	size_t n;

	pthread_mutex_lock(&m->lock);
	n = off < m->size ? (size_t)MIN((uint64_t)len, m->size - off) : 0;
	memcpy(buf, m->bytes + off, n);
	pthread_mutex_unlock(&m->lock);
	memset((uint8_t *)buf + n, 0, len - n);
	return 0;
}

static int memory_flush(struct rdata *data)
{
	(void)data;
	return 0;
}

static int memory_flush_all(struct region_store *s)
{
	memory_of(s)->flushed_all++;
	return 0;
}

static int memory_resize(struct rdata *data, uint64_t size, uint64_t stored)
{
	struct memory *m = memory_of(data->store);

	m->resized++;
	m->stored = stored;
	if (size > ROOM || m->refuses)
		return -EFBIG;
	pthread_mutex_lock(&m->lock);
	if (size < m->size)
		memset(m->bytes + size, 0, m->size - size);
	m->size = size;
	pthread_mutex_unlock(&m->lock);
	return 0;
}

static int memory_zero(struct rdata *data, uint64_t off, uint64_t len)
{
	struct memory *m = memory_of(data->store);

	if (off % 3 == 1)
		return -EOPNOTSUPP;
	pthread_mutex_lock(&m->lock);
	memset(m->bytes + off, 0, len);
	pthread_mutex_unlock(&m->lock);
	return 0;
}

static int memory_name(struct region_store *s, const char *name)
{
	(void)s, (void)name;
	return 0;
}

static int memory_rename(struct region_store *s, const char *from, const char *to)
{
	(void)s, (void)from, (void)to;
	return 0;
}

static void memory_close(struct region_store *s)
{
	(void)s; /* the test looks at it afterwards */
}

static const struct region_store_ops memory_ops = {
    .open = memory_open,
    .release = memory_release,
    .unlink = memory_name,
    .rename = memory_rename,
    .submit = memory_submit,
    .reap = memory_reap,
    .read = memory_read,
    .flush = memory_flush,
    .flush_all = memory_flush_all,
    .resize = memory_resize,
    .zero = memory_zero,
    .close = memory_close,
};

/* ---- a region over it ---- */

static struct memory mem;
static struct ek_ctx *ctx;
static struct ek_region *region;
static struct ek_region_file *file;

static void memory_fresh(void)
{
	uint8_t *bytes = mem.bytes != NULL ? mem.bytes : malloc(ROOM);

	CHECK(bytes != NULL);
	memset(&mem, 0, sizeof(mem));
	memset(bytes, 0, ROOM);
	mem.bytes = bytes;
	mem.store = (struct region_store){
	    .ops = &memory_ops, .preferred = 4096, .max = (uint64_t)256 << 20};
	mem.data.store = &mem.store;
	mem.seed = 88172645463325252u;
	mem.keep = 3;
	mem.shuffled = true;
	pthread_mutex_init(&mem.lock, NULL);
}

/* So many bytes that the store has from before. */
static inline void old_file(uint64_t size)
{
	memory_fresh();
	fill_pattern(mem.bytes, size, 9);
	mem.size = size;
}

/* Keeps what the store holds. */
static void region_begin(unsigned flags, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void region_begin(unsigned flags, const char *fmt, ...)
{
	char knobs[256];
	struct ek_region_options opt = {.size = sizeof(opt), .flags = flags, .knobs = knobs};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(knobs, sizeof(knobs), fmt, ap);
	va_end(ap);
	if (ctx == NULL)
		CHECK_INT(ek_ctx_new(&ctx), 0);
	diag_clear(&ctx->diag);
	CHECK_INT(region_open_on(ctx, &mem.store, &opt, &region), 0);
	CHECK_INT(ek_region_file_open(region, "f", EK_REGION_CREATE, &file), 0);
}

static void region_end(void)
{
	ek_region_file_close(file);
	ek_region_close(region);
}

static inline uint64_t counted(const char *name)
{
	struct ek_region_report *rep;
	uint64_t v;

	CHECK_INT(ek_region_report(region, &rep), 0);
	v = ek_region_report_value(rep, name);
	ek_region_report_free(rep);
	return v;
}

/* ---- values of the switches ---- */

static const char *const walk_words[] = {"region", "batch", "generic", "inline", "iter", "bitmap"};
static const char *const track_words[] = {"none", "range", "block", "bytes"};
static const char *const stable_words[] = {"wait", "copy", "cow"};

typedef void combination_fn(const char *walk, const char *track, const char *stable);

static inline void each_combination(combination_fn *fn)
{
	for (size_t w = 0; w < ARRAY_SIZE(walk_words); w++)
		for (size_t t = 0; t < ARRAY_SIZE(track_words); t++)
			for (size_t s = 0; s < ARRAY_SIZE(stable_words); s++)
				fn(walk_words[w], track_words[t], stable_words[s]);
}

#endif

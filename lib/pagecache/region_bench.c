/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The workload of study 5.  Each writer overwrites all blocks of the same file in an order of its
 * own, pass after pass; when it has been through, it flushes the file without waiting and drops it,
 * as a benchmark does that asks for a cold cache.  Without threads the writers take turns, one
 * write each.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "pagecache/region.h"
#include "pagecache/region_report.h"

#define BLOCK 4096u

struct writer {
	struct ek_region_file *file;
	unsigned id;
	uint32_t *order, blocks, at;
	unsigned passes;
	uint8_t buf[BLOCK];
	int rc;
	pthread_t thread;
};

struct bench {
	struct ek_region_bench o;
	struct ek_region *r;
	struct ek_region_file *file;
	struct writer *w;
};

/* xorshift64*, so that a seed means the same everywhere. */
static uint64_t next_random(uint64_t *s)
{
	*s ^= *s >> 12;
	*s ^= *s << 25;
	*s ^= *s >> 27;
	return *s * 0x2545f4914f6cdd1du;
}

static void shuffle(uint32_t *v, uint32_t n, uint64_t seed)
{
	uint64_t s = seed * 0x9e3779b97f4a7c15u + 1;

	for (uint32_t i = n; i > 1; i--) {
		uint32_t k = (uint32_t)(next_random(&s) % i), t = v[i - 1];

		v[i - 1] = v[k];
		v[k] = t;
	}
}

static int make_writer(struct bench *b, unsigned id)
{
	struct writer *w = &b->w[id];

	w->file = b->file;
	w->id = id;
	w->blocks = b->o.mib * (uint32_t)((1u << 20) / BLOCK);
	w->passes = b->o.passes;
	w->order = mem_array(w->blocks, sizeof(*w->order), MEM_CAP, b->r->d);
	if (w->order == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->blocks; i++)
		w->order[i] = i;
	if (b->o.order == EK_REGION_RANDOM)
		shuffle(w->order, w->blocks, b->o.seed * EK_REGION_WRITERS + id + 1);
	memset(w->buf, (int)('a' + id), sizeof(w->buf));
	return 0;
}

/* One write, and at the end of a pass what belongs there; 0 when all passes are over. */
static int step(struct writer *w)
{
	if (w->passes == 0)
		return 0;
	w->rc = ek_region_write(w->file, w->id, (uint64_t)w->order[w->at] * BLOCK, w->buf, BLOCK);
	if (w->rc == 0 && ++w->at == w->blocks) {
		w->at = 0;
		w->passes--;
		w->rc = ek_region_drop(w->file, w->id, 0, 0);
	}
	return w->rc < 0 ? w->rc : 1;
}

static void *run_thread(void *arg)
{
	struct writer *w = arg;

	while (step(w) > 0)
		;
	return NULL;
}

static int run_threads(struct bench *b)
{
	unsigned made = 0;
	int rc = 0;

	for (; made < b->o.writers && rc == 0; made += rc == 0)
		rc = -pthread_create(&b->w[made].thread, NULL, run_thread, &b->w[made]);
	for (unsigned i = 0; i < made; i++) {
		pthread_join(b->w[i].thread, NULL);
		if (rc == 0)
			rc = b->w[i].rc;
	}
	return rc;
}

static int run_turns(struct bench *b)
{
	unsigned left = b->o.writers;

	while (left != 0) {
		left = 0;
		for (unsigned i = 0; i < b->o.writers; i++) {
			int rc = step(&b->w[i]);

			if (rc < 0)
				return rc;
			left += (unsigned)rc;
		}
	}
	return 0;
}

/* The file is there, and cold, before anything is counted. */
static int lay_out(struct bench *b)
{
	uint64_t size = (uint64_t)b->o.mib << 20;
	int rc = 0;

	for (uint64_t at = 0; at < size && rc == 0; at += BLOCK)
		rc = ek_region_write(b->file, 0, at, b->w[0].buf, BLOCK);
	if (rc == 0)
		rc = ek_region_fsync(b->file, 0);
	return rc < 0 ? rc : ek_region_drop(b->file, 0, 0, 0);
}

static int run(struct bench *b, struct ek_region_report **ret)
{
	struct ek_region_report *rep;
	uint64_t wall, cpu;
	int rc = 0;

	for (unsigned i = 0; i < b->o.writers && rc == 0; i++)
		rc = make_writer(b, i);
	if (rc < 0)
		return rc;
	rc = lay_out(b);
	if (rc < 0)
		return rc;
	region_start_over(b->r);
	wall = host_ns(CLOCK_MONOTONIC);
	cpu = host_ns(CLOCK_PROCESS_CPUTIME_ID);
	rc = (b->o.flags & EK_REGION_THREADS) != 0 ? run_threads(b) : run_turns(b);
	if (rc == 0)
		rc = ek_region_fsync(b->file, 0);
	wall = host_ns(CLOCK_MONOTONIC) - wall;
	cpu = host_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	if (rc == 0)
		rc = ek_region_report(b->r, &rep);
	if (rc == 0) {
		region_report_add(rep, "region time", "elapsed_ns", wall);
		region_report_add(rep, "region time", "cpu_ns", cpu);
		*ret = rep;
	}
	return rc;
}

static int check(struct ek_ctx *ctx, const struct ek_region_bench *opt, struct ek_region_bench *o)
{
	memset(o, 0, sizeof(*o));
	memcpy(o, opt, MIN(opt->size, sizeof(*o)));
	o->writers = o->writers != 0 ? o->writers : 4;
	o->mib = o->mib != 0 ? o->mib : 16;
	o->passes = o->passes != 0 ? o->passes : 4;
	if (o->store == NULL)
		return diag_set(&ctx->diag, -EINVAL, "a store is wanted");
	if (o->writers > EK_REGION_WRITERS || o->mib > 65536)
		return diag_set(&ctx->diag, -EINVAL, "%u writers on %u MiB: at most %d on 65536",
				o->writers, o->mib, EK_REGION_WRITERS);
	return 0;
}

int ek_region_bench(struct ek_ctx *ctx, const struct ek_region_bench *opt,
		    struct ek_region_report **ret)
{
	struct ek_region_options ro = {.size = sizeof(ro)};
	struct bench b = {.file = NULL};
	int rc;

	diag_clear(&ctx->diag);
	rc = check(ctx, opt, &b.o);
	if (rc < 0)
		return rc;
	ro.flags = b.o.flags;
	ro.knobs = b.o.knobs;
	rc = ek_region_open(ctx, b.o.store, &ro, &b.r);
	if (rc < 0)
		return rc;
	b.w = mem_array(b.o.writers, sizeof(*b.w), MEM_CAP, &ctx->diag);
	rc = b.w == NULL ? -ENOMEM
			 : ek_region_file_open(b.r, "study5", EK_REGION_CREATE | EK_REGION_TRUNCATE,
					       &b.file);
	if (rc == 0)
		rc = run(&b, ret);
	for (unsigned i = 0; b.w != NULL && i < b.o.writers; i++)
		free(b.w[i].order);
	free(b.w);
	ek_region_file_close(b.file);
	ek_region_close(b.r);
	return rc;
}

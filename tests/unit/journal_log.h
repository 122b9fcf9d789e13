/* SPDX-License-Identifier: BSD-2-Clause */
/* For journal tests: a device in memory with a log on it and blocks to change. */
#ifndef JOURNAL_LOG_H
#define JOURNAL_LOG_H

#include "tap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/diag.h"
#include "io/bio.h"
#include "io/dev.h"
#include "journal/journal.h"
#include "ondisk/jbd2.h"

/* Changed blocks are 64.., the log lies behind LOG_AT, in two runs. */
#define LOG_AT 20000u

static struct diag diag;
static struct geom geom;
static struct dev *base; /* memory */
static struct dev *dev;  /* base, or a device stacked on it */
static struct buf_cache *cache;
static struct bioq *bioq;
static struct counters counters;
static struct jnl *jnl;
static struct jnl_user user;
static struct jnl_run runs[2];
static struct jnl_config cfg;
static int64_t clock_sec;

static struct ek_time now(void *ctx)
{
	return (struct ek_time){++clock_sec, 5};
}

/* A filesystem with blocks of 1 << bits bytes and a formatted log of len blocks. */
static inline void make_log(unsigned bits, uint32_t len, uint32_t incompat, uint32_t ro_compat)
{
	static const uint8_t uuid[16] = "0123456789abcde";

	diag_clear(&diag);
	counters = (struct counters){0};
	clock_sec = 1000;
	user.current = NULL;
	geom = (struct geom){.blocks = LOG_AT + 2 * (uint64_t)len,
			     .block_size = 1u << bits,
			     .block_bits = (uint8_t)bits,
			     .ro_compat = ro_compat,
			     .first_data_block = bits == 10};
	CHECK_INT(dev_open_memory(geom.blocks << bits, &diag, &base), 0);
	dev = base;
	runs[0] = (struct jnl_run){0, 100, LOG_AT + len};
	runs[1] = (struct jnl_run){100, len - 100, LOG_AT};
	cfg = (struct jnl_config){.counters = &counters,
				  .diag = &diag,
				  .hooks = {.now = now},
				  .runs = runs,
				  .run_count = 2,
				  .blocks = len,
				  .commit_interval = 5};
	CHECK_INT(buf_cache_open(base, &geom, 1 << 20, &diag, &cache), 0);
	cfg.cache = cache;
	CHECK_INT(jnl_format(&cfg, incompat, uuid, 0), 0);
	buf_cache_close(cache);
}

static inline int open_log(void)
{
	int rc;

	user.current = NULL;
	CHECK_INT(buf_cache_open(dev, &geom, 64 << 20, &diag, &cache), 0);
	CHECK_INT(bioq_open(dev, &counters, &diag, &bioq), 0);
	cfg.cache = cache;
	cfg.bioq = bioq;
	rc = jnl_open(&cfg, &jnl);
	if (rc < 0)
		printf("# %s\n", diag.text);
	return rc;
}

static inline void leave_log(void)
{
	bioq_close(bioq);
	buf_cache_close(cache);
}

static inline void cut_power(void)
{
	jnl_kill(jnl);
	leave_log();
}

static inline void close_log(void)
{
	CHECK_INT(jnl_close(jnl), 0);
	leave_log();
}

/* Opens and recovers; how many transactions came back. */
static inline uint32_t reopen(void)
{
	uint32_t n = 0;
	int rc;

	CHECK_INT(open_log(), 0);
	rc = jnl_recover(jnl, &n);
	if (rc < 0)
		printf("# %s\n", diag.text);
	CHECK_INT(rc, 0);
	return n;
}

static inline struct handle *begin(unsigned credits)
{
	struct handle *h = NULL;
	int rc = handle_start(jnl, &user, HANDLE_MISC, credits, 0, 8, &h);

	if (rc < 0)
		printf("# %s\n", diag.text);
	CHECK_INT(rc, 0);
	return h;
}

/* Sets the bytes of a block to c under handle h. */
static inline int put(struct handle *h, uint64_t block, char c)
{
	struct buf *b;
	void *p;
	int rc = buf_new(cache, (ek_pblk){block}, &verify_any, (struct buf_owner){0, 0}, &b);

	if (rc == 0) {
		rc = handle_create(h, b, &p);
		if (rc == 0) {
			memset(p, c, geom.block_size);
			rc = handle_dirty(h, b);
		}
		buf_put(b);
	}
	return rc;
}

static inline void change(uint64_t from, uint32_t n, char c)
{
	struct handle *h = begin(n);

	for (uint32_t i = 0; i < n; i++)
		CHECK_INT(put(h, from + i, c), 0);
	CHECK_INT(handle_stop(h), 0);
}

static inline void forget(uint64_t block)
{
	struct handle *h = begin(1);

	CHECK_INT(handle_forget(h, NULL, (ek_pblk){block}), 0);
	CHECK_INT(handle_stop(h), 0);
}

static inline void commit(void)
{
	CHECK_INT(jnl_commit_running(jnl), 1);
}

/* First byte of a block as it is on d; -1 when the block is not one byte all over. */
static inline int byte_on(struct dev *d, uint64_t block)
{
	static uint8_t data[65536];

	CHECK_INT(dev_read(d, block << geom.block_bits, data, geom.block_size), 0);
	for (uint32_t i = 1; i < geom.block_size; i++) {
		if (data[i] != data[0])
			return -1;
	}
	return data[0];
}

static inline int home(uint64_t block)
{
	return byte_on(base, block);
}

#endif

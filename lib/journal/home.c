/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bringing scanned transactions home: one copy of each block, the youngest that is not revoked,
 * proven to go to a place that a log may write, in the order of the disk.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "io/dev.h"
#include "journal/replay.h"
#include "journal/tx.h"
#include "ondisk/super.h"

#define BATCH_BYTES ((size_t)1 << 20)

static bool revoked(const struct replay *r, const struct replay_block *b)
{
	const struct revoke *v = revokes_find(&r->revokes, b->home);

	return v != NULL && !tid_after(b->seq, v->seq);
}

static int by_home(const void *x, const void *y)
{
	const struct replay_block *a = x, *b = y;

	if (a->home != b->home)
		return a->home < b->home ? -1 : 1;
	return a->order > b->order ? -1 : a->order < b->order;
}

/* What is not revoked, by home, the youngest copy of a block first. */
static void sort(struct replay *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->block_count; i++) {
		if (!revoked(r, &r->blocks[i]))
			r->blocks[n++] = r->blocks[i];
	}
	r->block_count = n;
	if (n > 1)
		qsort(r->blocks, n, sizeof(*r->blocks), by_home);
}

static void keep_youngest(struct replay *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->block_count; i++) {
		if (n == 0 || r->blocks[n - 1].home != r->blocks[i].home)
			r->blocks[n++] = r->blocks[i];
	}
	r->block_count = n;
}

/* A superblock in the log may change features and, after an online resize, the size. */
static int check_super(struct replay *r, const struct replay_block *b, uint64_t *limit)
{
	struct jnl *j = r->jnl;
	struct super_raw sb;
	struct geom g;
	const uint8_t *block;
	int rc = replay_log_block(r, b->lblk, &block);

	if (rc < 0)
		return rc;
	memcpy(&sb, block + SUPER_OFFSET % j->block_size, sizeof(sb));
	rc = super_verify(&sb, buf_cache_dev(j->cfg.cache)->size, "superblock in the journal",
			  j->cfg.diag);
	if (rc < 0)
		return rc == -EINVAL ? -EUCLEAN : rc;
	geom_from_super(&sb, &g);
	*limit = MAX(*limit, g.blocks);
	rc = g.block_size == j->block_size
		 ? 0
		 : diag_set(j->cfg.diag, -EUCLEAN,
			    "corrupt journal: transaction %u changes the block size to %u", b->seq,
			    g.block_size);
	geom_free(&g);
	return rc;
}

static int by_place(const void *x, const void *y)
{
	const struct jnl_run *a = x, *b = y;

	return a->pblk < b->pblk ? -1 : a->pblk > b->pblk;
}

static int outside(const struct replay *r, const struct replay_block *b, const char *why,
		   uint64_t value)
{
	return diag_set(r->jnl->cfg.diag, -EUCLEAN,
			"corrupt journal: transaction %u: log block %u goes to block %llu, %s %llu",
			b->seq, b->lblk, (unsigned long long)b->home, why,
			(unsigned long long)value);
}

/* Blocks and runs of the log are both sorted by place: one walk along both. */
static int check_targets(struct replay *r, const struct jnl_run *runs, unsigned count,
			 uint64_t limit)
{
	unsigned at = 0;

	for (size_t i = 0; i < r->block_count; i++) {
		const struct replay_block *b = &r->blocks[i];

		if (b->home >= limit)
			return outside(r, b, "the filesystem ends at", limit);
		while (at < count && runs[at].pblk + runs[at].len <= b->home)
			at++;
		if (at < count && runs[at].pblk <= b->home)
			return outside(r, b, "inside the log at", runs[at].pblk);
	}
	return 0;
}

static int check_blocks(struct replay *r)
{
	struct jnl *j = r->jnl;
	const struct geom *g = buf_cache_geom(j->cfg.cache);
	uint64_t limit = g->blocks, super_block = SUPER_OFFSET / j->block_size;
	struct jnl_run *runs;
	int rc = 0;

	for (size_t i = 0; i < r->block_count && rc == 0; i++) {
		if (r->blocks[i].home == super_block)
			rc = check_super(r, &r->blocks[i], &limit);
	}
	if (rc < 0)
		return rc;
	if (jnl_external(j)) /* the log is nowhere in the filesystem */
		return check_targets(r, NULL, 0, limit);
	runs = mem_array(j->cfg.run_count, sizeof(*runs), MEM_CAP, j->cfg.diag);
	if (runs == NULL)
		return -ENOMEM;
	memcpy(runs, j->cfg.runs, j->cfg.run_count * sizeof(*runs));
	qsort(runs, j->cfg.run_count, sizeof(*runs), by_place);
	rc = check_targets(r, runs, j->cfg.run_count, limit);
	free(runs);
	return rc;
}

int replay_choose(struct replay *r)
{
	int rc;

	sort(r);
	rc = check_blocks(r);
	keep_youngest(r);
	return rc;
}

/* The cache may have read the block before; whoever comes next must see it as it is now. */
static void refresh(struct jnl *j, uint64_t home, const uint8_t *data)
{
	struct buf *b = buf_find(j->cfg.cache, (ek_pblk){home});

	if (b == NULL)
		return;
	memcpy(b->data, data, b->size);
	b->ver = NULL;
}

static int read_batch(struct replay *r, const struct replay_block *b, size_t n, uint8_t *to)
{
	struct jnl *j = r->jnl;
	be32 magic = be32_make(JBD2_MAGIC);

	for (size_t i = 0, run; i < n; i += run) {
		uint32_t room;
		uint64_t place = log_place(j, b[i].lblk, &room);
		int rc;

		for (run = 1; i + run < n && run < room; run++) {
			if (b[i + run].lblk != b[i].lblk + run)
				break;
		}
		rc = dev_read(jnl_log_dev(j), place, to + (i << j->block_bits),
			      run << j->block_bits);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < n; i++) {
		if (b[i].escaped)
			memcpy(to + (i << j->block_bits), &magic, sizeof(magic));
		refresh(j, b[i].home, to + (i << j->block_bits));
	}
	return 0;
}

static int write_batch(struct replay *r, const struct replay_block *b, size_t n,
		       const uint8_t *from)
{
	struct jnl *j = r->jnl;

	for (size_t i = 0, run; i < n; i += run) {
		int rc;

		for (run = 1; i + run < n && b[i + run].home == b[i].home + run;)
			run++;
		rc = dev_write(buf_cache_dev(j->cfg.cache), b[i].home << j->block_bits,
			       from + (i << j->block_bits), run << j->block_bits);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int replay_write(struct replay *r)
{
	size_t batch = MAX(BATCH_BYTES >> r->jnl->block_bits, (size_t)1);
	uint8_t *data = mem_aligned(4096, batch << r->jnl->block_bits);
	int rc = 0;

	if (data == NULL)
		return diag_set(r->jnl->cfg.diag, -ENOMEM, "out of memory for journal recovery");
	for (size_t i = 0, n; i < r->block_count && rc == 0; i += n) {
		n = MIN(batch, r->block_count - i);
		rc = read_batch(r, r->blocks + i, n, data);
		if (rc == 0)
			rc = write_batch(r, r->blocks + i, n, data);
	}
	free(data);
	return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs of files that are built in bulk: which blocks of a file hold data, and where they go.  They
 * are asked for before anything has a place; then each is placed in as few pieces as the space
 * allows.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/build_impl.h"

/* Room for one more; the first, as most have, lies in the inode itself. */
static int grow_runs(struct build_inode *inode)
{
	struct build_run *runs = NULL;
	size_t cap = 0;

	if (inode->runs == NULL) {
		inode->runs = &inode->one;
		inode->runs_cap = 1;
	}
	if (inode->nruns < inode->runs_cap)
		return 0;
	if (inode->runs != &inode->one)
		return mem_grow((void **)&inode->runs, &inode->runs_cap, (size_t)inode->nruns + 1,
				sizeof(*inode->runs));
	if (mem_grow((void **)&runs, &cap, 2, sizeof(*runs)) < 0)
		return -ENOMEM;
	runs[0] = inode->one;
	inode->runs = runs;
	inode->runs_cap = cap;
	return 0;
}

void build_free_runs(struct build_inode *inode)
{
	if (inode->runs != &inode->one)
		free(inode->runs);
	free(inode->map);
	inode->runs = NULL;
	inode->map = NULL;
}

static int add_run(struct build *b, struct build_inode *inode, struct build_run r)
{
	struct build_run *last = inode->nruns != 0 ? &inode->runs[inode->nruns - 1] : NULL;

	if (last != NULL && last->lblk + last->len == r.lblk &&
	    (r.pblk == 0 ? last->pblk == 0 : last->pblk + last->len == r.pblk)) {
		last->len += r.len;
		return 0;
	}
	if (grow_runs(inode) < 0)
		return diag_set(b->diag, -ENOMEM, "out of memory for a map");
	inode->runs[inode->nruns++] = r;
	return 0;
}

int build_place_run(struct build *b, struct build_inode *inode, uint32_t lblk, uint32_t len)
{
	while (len != 0) {
		struct block_run r;
		int rc = build_take(b, len, 1, &r);

		if (rc == 0)
			rc = add_run(b, inode, (struct build_run){lblk, (uint32_t)r.len, r.start});
		if (rc < 0)
			return rc;
		lblk += (uint32_t)r.len;
		len -= (uint32_t)r.len;
	}
	return 0;
}

int build_place_runs(struct build *b, struct build_inode *inode)
{
	struct build_run *asked = inode->runs;
	uint32_t n = inode->nruns;
	struct block_run r;
	int rc = 0;

	if (n == 1) { /* as most have, and most get it in one piece */
		rc = build_take(b, asked->len, 1, &r);
		asked->pblk = r.start;
		if (rc < 0 || r.len == asked->len)
			return rc;
		n = asked->len - (uint32_t)r.len;
		asked->len = (uint32_t)r.len;
		return build_place_run(b, inode, asked->lblk + asked->len, n);
	}
	inode->runs = NULL;
	inode->nruns = 0;
	inode->runs_cap = 0;
	for (uint32_t i = 0; i < n && rc == 0; i++)
		rc = build_place_run(b, inode, asked[i].lblk, asked[i].len);
	free(asked);
	return rc;
}

void build_unplace_runs(struct build_inode *inode)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < inode->nruns; i++) {
		struct build_run *r = &inode->runs[i];

		r->pblk = 0;
		if (n != 0 && inode->runs[n - 1].lblk + inode->runs[n - 1].len == r->lblk)
			inode->runs[n - 1].len += r->len;
		else
			inode->runs[n++] = *r;
	}
	inode->nruns = n;
}

static int too_large(struct build *b, uint64_t size)
{
	return diag_set(b->diag, -EFBIG,
			"a file of %llu bytes: more than the filesystem's maps reach",
			(unsigned long long)size);
}

/* Blocks that a file may have. */
static uint64_t most_blocks(const struct build *b)
{
	uint64_t per = b->z.bs / 4;

	return build_has_extents(b)
		   ? UINT32_MAX
		   : MIN(BUILD_DIRECT + per + per * per + per * per * per, (uint64_t)UINT32_MAX);
}

int build_data(struct build *b, struct build_inode *inode, uint64_t from, uint64_t to)
{
	const uint64_t bs = b->z.bs, cluster = bs << b->z.log_cluster;
	uint64_t first = from / cluster << b->z.log_cluster, end = ROUND_UP(to, cluster) / bs;
	uint64_t after = 0;

	end = MIN(end, DIV_UP(MAX(inode->size, to), bs));
	if (end > most_blocks(b))
		return too_large(b, to);
	if (inode->nruns != 0)
		after = (uint64_t)inode->runs[inode->nruns - 1].lblk +
			inode->runs[inode->nruns - 1].len;
	first = MAX(first, after);
	if (first >= end)
		return 0;
	return add_run(b, inode, (struct build_run){(uint32_t)first, (uint32_t)(end - first), 0});
}

/* The first file of 2 GiB turns large_file on, as it does when it is written later. */
static int check_size(struct build *b, uint64_t size)
{
	if (DIV_UP(size, (uint64_t)b->z.bs) > most_blocks(b))
		return too_large(b, size);
	if (size <= INT32_MAX)
		return 0;
	if (b->o.revision0)
		return diag_set(b->diag, -EFBIG,
				"a file of %llu bytes: revision 0 has none of 2 GiB",
				(unsigned long long)size);
	b->o.ro_compat |= RO_COMPAT_LARGE_FILE;
	return 0;
}

int build_space(struct build *b, struct build_inode *inode)
{
	int rc = check_size(b, inode->size);

	if (rc < 0)
		return rc;
	if (b->settled)
		return build_place_runs(b, inode);
	inode->waiting = true;
	inode->next_waiting = NULL;
	inode->prev_waiting = b->last_waiting;
	if (b->last_waiting != NULL)
		b->last_waiting->next_waiting = inode;
	else
		b->waiting = inode;
	b->last_waiting = inode;
	return 0;
}

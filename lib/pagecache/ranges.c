/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes by ranges.
 *
 * 1. What the call covers is looked up in one step: a hole is reserved as a whole, with one insert
 *    into the status tree; what is there already is taken as it is.
 * 2. Folio after folio inside of it is made, completed where the write leaves a part of a block,
 *    and copied into.  Nothing is asked about blocks again.
 * 3. When that ends early, what was reserved for the rest and holds no data is given back.
 *
 * The size in memory grows; that on disk follows when the data are there.
 */
#include "pagecache/ranges.h"

#include <errno.h>

#include "base/check.h"
#include "base/diag.h"
#include "fs/blocks.h"
#include "fs/inline.h"
#include "fs/map.h"
#include "pagecache/inline_write.h"
#include "pagecache/pagecache.h"
#include "pagecache/prepare.h"

#define STEP_BYTES (16u << 20) /* between two looks at the thresholds */

bool mapping_by_ranges(const struct mapping *m)
{
	const struct ek_inode *inode = m->inode;

	return m->pc->policy->folio >= FOLIO_S2 && inode_has_extents(inode) &&
	       !inode_is_inline(inode) && !inode_may_inline(inode) && !inode_logs_data(inode);
}

/* ---- mapping ---- */

struct range {
	struct map map;
	bool reserved; /* by this call */
};

/* The space left may be enough for some of it only. */
static int reserve(struct task *t, struct ek_inode *inode, struct map *m)
{
	int rc = delay_blocks(t, inode, m->lblk.v, m->len);

	while (rc == -ENOSPC && m->len > 1) {
		m->len /= 2;
		diag_clear(&inode->img->diag);
		rc = delay_blocks(t, inode, m->lblk.v, m->len);
	}
	return MIN(rc, 0);
}

static int map_range(struct task *t, struct mapping *m, uint64_t pos, uint64_t len,
		     struct range *ret)
{
	unsigned bits = pc_block_bits(m->pc);
	uint32_t first = (uint32_t)(pos >> bits), last = (uint32_t)((pos + len - 1) >> bits);
	struct range r = {.map = {.lblk = {first}, .len = last - first + 1}};
	int rc = map_lookup(t, m->inode, &r.map);

	count(m->pc->counters, COUNTER_RANGE_MAPS, 1);
	r.reserved = rc == 0 && r.map.state == MAP_HOLE;
	if (r.reserved)
		rc = reserve(t, m->inode, &r.map);
	if (rc < 0)
		return rc;
	*ret = r;
	return 0;
}

static uint64_t range_end(const struct mapping *m, const struct range *r)
{
	return ((uint64_t)r->map.lblk.v + r->map.len) << pc_block_bits(m->pc);
}

/* Blocks from at on hold nothing that was written. */
static void give_back(struct task *t, struct mapping *m, const struct range *r, uint64_t at)
{
	unsigned bits = pc_block_bits(m->pc);
	uint32_t from = (uint32_t)((at + (1u << bits) - 1) >> bits);
	uint32_t end = r->map.lblk.v + r->map.len;
	struct diag why = m->pc->img->diag;

	if (r->reserved && from < end)
		inode_forget(t, m->inode, (ek_lblk){from}, end - from);
	m->pc->img->diag = why;
}

/* ---- folios ---- */

static int write_folio(struct task *t, struct mapping *m, const struct range *r, uint64_t pos,
		       uint64_t *len, const struct pc_source *src, uint64_t done)
{
	int rc = 0;
	struct folio *f = prepare_folio(t, m, pos, *len, &rc);

	if (f == NULL)
		return rc;
	*len = MIN(*len, folio_pos(f) + folio_bytes(f) - pos);
	count(m->pc->counters, COUNTER_PAGE_LOCKS, 1);
	rc = prepare_edges(t, f, pos, *len, r->map.state == MAP_MAPPED ? EDGE_READ : EDGE_EMPTY);
	if (rc < 0)
		return rc;
	write_copy(f, pos, src, done, *len);
	write_note_copied(f, pos, *len);
	return 0;
}

/* A gap begins in the middle of the old last block. */
static int zero_gap(struct mapping *m, uint64_t pos)
{
	struct ek_inode *inode = m->inode;
	uint64_t old = inode->size, edge = ROUND_UP(old, (uint64_t)inode->img->geom.block_size);
	struct data_ops *ops = &inode->img->data;

	return pos <= old || edge == old ? 0
					 : ops->zero_partial(ops->ctx, inode, old, MIN(edge, pos));
}

int range_write(struct task *t, struct mapping *m, uint64_t pos, uint64_t *len,
		const struct pc_source *src, uint64_t done)
{
	struct range r;
	uint64_t at = pos, end;
	int rc = zero_gap(m, pos);

	if (rc < 0)
		return rc;
	rc = map_range(t, m, pos, MIN(*len, (uint64_t)STEP_BYTES), &r);
	if (rc < 0)
		return rc;
	end = MIN(pos + *len, range_end(m, &r));
	while (at < end) {
		uint64_t n = end - at;

		rc = write_folio(t, m, &r, at, &n, src, done + (at - pos));
		if (rc < 0)
			break;
		at += n;
		m->inode->size = MAX(m->inode->size, at);
	}
	if (rc < 0)
		give_back(t, m, &r, at);
	*len = at - pos;
	return at != pos ? 0 : rc;
}

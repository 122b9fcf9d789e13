/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of a folio is dirty: nothing finer than the folio ("none"), one range of bytes that grows
 * with each write that touches it ("range"), or a bit for each block ("block").  Exact edges are in
 * region_track_bytes.c.
 */
#include <string.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "pagecache/region.h"

static uint32_t block_of(const struct rfolio *o, uint32_t at)
{
	return at / o->file->r->k.block;
}

static uint32_t blocks_in(const struct rfolio *o)
{
	return (uint32_t)(rfolio_bytes(o) / o->file->r->k.block);
}

/* ---- what is valid ---- */

bool track_all_valid(const struct rfolio *o, uint32_t from, uint32_t to)
{
	uint32_t first = block_of(o, from), last = block_of(o, to - 1);

	return bitmap_find_next_zero(o->valid, blocks_in(o), first) > last;
}

bool track_is_new(const struct rfolio *o, uint32_t at)
{
	return rfolio_start(o) + at >= o->file->stored;
}

void track_set_valid(struct rfolio *o, uint32_t from, uint32_t to)
{
	uint32_t block = o->file->r->k.block, first = DIV_UP(from, block), end = to / block;

	if (first >= end)
		return;
	bitmap_set_range(o->valid, first, end - first);
	for (size_t i = 0; i < o->edge_count; i++) {
		if (o->edges[i].block >= first && o->edges[i].block < end) {
			o->edges[i].valid_from = 0;
			o->edges[i].valid_to = block;
		}
	}
}

/* ---- none ---- */

bool track_never_conflicts(const struct rfolio *o, uint32_t from, uint32_t to)
{
	(void)o, (void)from, (void)to;
	return false;
}

static int none_mark(struct rfolio *o, uint32_t from, uint32_t to)
{
	(void)from, (void)to;
	o->from = 0;
	o->to = (uint32_t)rfolio_bytes(o);
	return 0;
}

/* With "none" the range is the folio, until a store has taken it. */
static bool range_next(const struct rfolio *o, uint32_t at, uint32_t *from, uint32_t *to)
{
	*from = MAX(o->from, at);
	*to = o->to;
	return *from < *to;
}

static void range_clear(struct rfolio *o, uint32_t from, uint32_t to)
{
	(void)from, (void)to;
	o->from = 0;
	o->to = 0;
}

/* ---- range ---- */

/* A gap may only become dirty where the store has nothing yet. */
static bool range_conflicts(const struct rfolio *o, uint32_t from, uint32_t to)
{
	bool apart = o->from < o->to && (from > o->to || to < o->from);

	return apart && !track_is_new(o, MIN(o->to, to));
}

static int range_mark(struct rfolio *o, uint32_t from, uint32_t to)
{
	bool first = o->from >= o->to;

	o->from = first ? from : MIN(o->from, from);
	o->to = first ? to : MAX(o->to, to);
	return 0;
}

/* ---- block ---- */

static int block_mark(struct rfolio *o, uint32_t from, uint32_t to)
{
	uint32_t first = block_of(o, from), last = block_of(o, to - 1);

	bitmap_set_range(o->blocks, first, last - first + 1);
	return 0;
}

static bool block_next(const struct rfolio *o, uint32_t at, uint32_t *from, uint32_t *to)
{
	uint32_t block = o->file->r->k.block, n = blocks_in(o);
	size_t first = bitmap_find_next_set(o->blocks, n, DIV_UP(at, block));

	if (first >= n)
		return false;
	*from = (uint32_t)first * block;
	*to = (uint32_t)bitmap_find_next_zero(o->blocks, n, first) * block;
	return true;
}

static void block_clear(struct rfolio *o, uint32_t from, uint32_t to)
{
	uint32_t first = block_of(o, from), last = block_of(o, to - 1);

	bitmap_clear_range(o->blocks, first, last - first + 1);
}

/* ---- all of them ---- */

void track_trim(struct rfolio *o, uint32_t to)
{
	uint32_t n = blocks_in(o), first = DIV_UP(to, o->file->r->k.block);

	o->to = MIN(o->to, to);
	if (first < n)
		bitmap_clear_range(o->blocks, first, n - first);
	for (size_t i = 0; i < o->edge_count; i++) {
		struct redge *e = &o->edges[i];
		uint64_t start = (uint64_t)e->block * o->file->r->k.block;
		uint32_t keep = to <= start ? 0 : (uint32_t)MIN(to - start, (uint64_t)UINT32_MAX);

		e->dirty_to = MIN(e->dirty_to, keep);
		e->dirty_from = MIN(e->dirty_from, e->dirty_to);
	}
}

static const struct track_ops none = {FILL_FOLIO, track_never_conflicts, none_mark, range_next,
				      range_clear};
static const struct track_ops range = {FILL_FOLIO, range_conflicts, range_mark, range_next,
				       range_clear};
static const struct track_ops block = {FILL_BLOCKS, track_never_conflicts, block_mark, block_next,
				       block_clear};

const struct track_ops *const region_tracks[] = {
    [TRACK_NONE] = &none,
    [TRACK_RANGE] = &range,
    [TRACK_BLOCK] = &block,
    [TRACK_BYTES] = &region_track_bytes,
};

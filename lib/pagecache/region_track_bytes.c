/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracking "bytes": a bit for each block, as in "block", and for blocks that are dirty or valid in
 * part an edge that says which bytes.  A write of a part of a block then needs no reading, and its
 * store is as long as the write was.
 *
 * A block's valid bytes are one range, and so are its dirty ones within it: before a write that
 * would leave a gap in the valid range, the block is filled.
 */
#include <errno.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/mem.h"
#include "pagecache/region.h"

/* Edges are sorted by block: the first one at or behind block. */
static size_t edge_at(const struct rfolio *o, uint32_t block)
{
	size_t lo = 0, hi = o->edge_count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (o->edges[mid].block < block)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct redge *redge_find(const struct rfolio *o, uint32_t block)
{
	size_t i = edge_at(o, block);

	return i < o->edge_count && o->edges[i].block == block ? &o->edges[i] : NULL;
}

static void edge_remove(struct rfolio *o, uint32_t block)
{
	struct redge *e = redge_find(o, block);

	if (e == NULL)
		return;
	o->edge_count--;
	memmove(e, e + 1, (size_t)(o->edges + o->edge_count - e) * sizeof(*e));
}

/* There is room: bytes_mark has seen to it. */
static struct redge *edge_add(struct rfolio *o, uint32_t block)
{
	size_t i = edge_at(o, block);

	memmove(o->edges + i + 1, o->edges + i, (o->edge_count - i) * sizeof(*o->edges));
	o->edge_count++;
	o->edges[i] = (struct redge){.block = block};
	return &o->edges[i];
}

/* Bytes [from, to) of a block, not all of it, become dirty. */
static void mark_part(struct rfolio *o, uint32_t block, uint32_t from, uint32_t to)
{
	uint32_t size = o->file->r->k.block;
	struct redge *e = redge_find(o, block);

	if (e == NULL && bitmap_test(o->blocks, block))
		return; /* all of it is dirty already */
	bitmap_set(o->blocks, block);
	if (e == NULL) {
		bool valid = bitmap_test(o->valid, block);

		e = edge_add(o, block);
		e->valid_from = valid ? 0 : from;
		e->valid_to = valid ? size : to;
	}
	if (e->dirty_from >= e->dirty_to) {
		e->dirty_from = from;
		e->dirty_to = to;
	}
	e->valid_from = MIN(e->valid_from, from);
	e->valid_to = MAX(e->valid_to, to);
	e->dirty_from = MIN(e->dirty_from, from);
	e->dirty_to = MAX(e->dirty_to, to);
	if (e->valid_from == 0 && e->valid_to == size)
		bitmap_set(o->valid, block);
	if (e->dirty_from == 0 && e->dirty_to == size)
		edge_remove(o, block);
}

static int bytes_mark(struct rfolio *o, uint32_t from, uint32_t to)
{
	uint32_t size = o->file->r->k.block;

	if (mem_grow((void **)&o->edges, &o->edge_cap, o->edge_count + 2, sizeof(*o->edges)) < 0)
		return -ENOMEM;
	while (from < to) {
		uint32_t block = from / size, end = MIN((block + 1) * size, to);

		if (from % size == 0 && end - from == size) {
			bitmap_set(o->blocks, block);
			edge_remove(o, block);
		} else {
			mark_part(o, block, from - block * size, end - block * size);
		}
		from = end;
	}
	return 0;
}

/* The dirty bytes of a block whose bit is set. */
static void dirty_bytes(const struct rfolio *o, uint32_t block, uint32_t *from, uint32_t *to)
{
	uint32_t size = o->file->r->k.block, start = block * size;
	const struct redge *e = redge_find(o, block);

	*from = start + (e != NULL ? e->dirty_from : 0);
	*to = start + (e != NULL ? e->dirty_to : size);
}

static bool bytes_next(const struct rfolio *o, uint32_t at, uint32_t *from, uint32_t *to)
{
	uint32_t size = o->file->r->k.block, n = (uint32_t)(rfolio_bytes(o) / size), a, b;
	size_t i = bitmap_find_next_set(o->blocks, n, at / size);

	for (; i < n; i = bitmap_find_next_set(o->blocks, n, i + 1)) {
		dirty_bytes(o, (uint32_t)i, from, to);
		if (*from < *to && *from >= at)
			break;
	}
	if (i >= n)
		return false;
	while (*to == (i + 1) * size && ++i < n && bitmap_test(o->blocks, i)) {
		dirty_bytes(o, (uint32_t)i, &a, &b);
		if (a != *to || a >= b)
			break;
		*to = b;
	}
	return true;
}

static void bytes_clear(struct rfolio *o, uint32_t from, uint32_t to)
{
	uint32_t size = o->file->r->k.block, first = from / size, last = (to - 1) / size;

	bitmap_clear_range(o->blocks, first, last - first + 1);
	for (size_t i = edge_at(o, first); i < o->edge_count && o->edges[i].block <= last;) {
		struct redge *e = &o->edges[i];

		e->dirty_from = 0;
		e->dirty_to = 0;
		if (bitmap_test(o->valid, e->block))
			edge_remove(o, e->block);
		else
			i++;
	}
}

const struct track_ops region_track_bytes = {FILL_NOTHING, track_never_conflicts, bytes_mark,
					     bytes_next, bytes_clear};

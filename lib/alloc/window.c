/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocation as ext3 did it (delalloc-facts 6.1): block by block from a bitmap, and windows that
 * keep files apart that grow at the same time.
 *
 * 1. A window is a run of blocks of one group.  No two overlap; an ordered tree holds them.
 * 2. A request whose goal lies in its file's window takes the goal, or the next free block of the
 *    window, and goes on from there as long as neighbours are free.
 * 3. Else the file gets a window anew: the first gap between windows, from the goal on, that is
 *    large enough and has a free block.  It has 8 blocks, twice as many as the last one when more
 *    than half of that was used, at most 1,027, and never fewer than the request.
 * 4. A group without room for that is left for the next; if none has any, windows do not count.
 */
#include <errno.h>

#include "alloc/mb.h"
#include "base/bitmap.h"
#include "base/check.h"
#include "base/counters.h"

#define WINDOW_FIRST 8u
#define WINDOW_MAX   1027u
#define NEAR_BITS    64u /* a free block this near is better than a free byte of the bitmap */
#define BACK_BITS    7u

struct hunt {
	struct mb *mb;
	struct mb_window *window; /* NULL: without */
	uint32_t want;
	uint32_t group;
	struct buddy *buddy;
	uint64_t first;  /* block of the group */
	uint32_t blocks; /* in the group */
	int64_t goal;    /* block in the group, -1: any */
	struct place found;
};

/* ---- the tree ---- */

static struct mb_window *window_at(struct rb_node *n)
{
	return n != NULL ? rb_entry(n, struct mb_window, node) : NULL;
}

void mb_window_drop(struct mb *mb, struct mb_window *w)
{
	if (w->len == 0)
		return;
	rb_erase(&mb->windows, &w->node);
	w->len = 0;
}

static void put_window(struct mb *mb, struct mb_window *w, uint64_t start, uint32_t len)
{
	struct rb_node **link = &mb->windows.top, *parent = NULL;

	mb_window_drop(mb, w);
	w->start = start;
	w->len = len;
	w->hits = 0;
	while (*link != NULL) {
		parent = *link;
		link = &parent->kid[start > window_at(parent)->start];
	}
	rb_insert(&mb->windows, parent, link, &w->node);
}

/* The first window that ends behind block. */
static struct mb_window *first_behind(const struct mb *mb, uint64_t block)
{
	struct rb_node *n = mb->windows.top;
	struct mb_window *found = NULL;

	while (n != NULL) {
		struct mb_window *w = window_at(n);

		if (w->start + w->len > block) {
			found = w;
			n = n->kid[0];
		} else {
			n = n->kid[1];
		}
	}
	return found;
}

/* Where size blocks lie, from block on, that are in no window; at or after end: nowhere. */
static uint64_t find_gap(const struct mb *mb, uint64_t block, uint32_t size, uint64_t end)
{
	struct mb_window *w = first_behind(mb, block);

	while (w != NULL && block < end && block + size > w->start) {
		block = w->start + w->len;
		w = window_at(rb_next(&w->node));
	}
	return block;
}

/* ---- blocks of a group ---- */

static bool is_free(const struct hunt *h, uint32_t at)
{
	return !bitmap_test(h->buddy->map, at);
}

/* A byte of the bitmap, from at on, that is 0, as its first bit; end when there is none. */
static uint32_t free_byte(const struct hunt *h, uint32_t at, uint32_t end)
{
	for (at = ROUND_UP(at, 8u); at + 8 <= end; at += 8) {
		if (h->buddy->map[at / 8] == 0)
			return at;
	}
	return end;
}

/* The free block in [at, end) to take; end when there is none. */
static uint32_t choose(const struct hunt *h, uint32_t at, uint32_t end)
{
	uint32_t near = MIN(ROUND_UP(at + 1, NEAR_BITS), end), found;

	found = (uint32_t)bitmap_find_next_zero(h->buddy->map, near, at);
	if (at != 0 && found < near)
		return found;
	found = free_byte(h, at, end);
	return found < end ? found : (uint32_t)bitmap_find_next_zero(h->buddy->map, end, at);
}

/* Takes blocks of [from, end): at the goal if that is free and there, else where choose says. */
static uint32_t take(struct hunt *h, uint32_t from, uint32_t end)
{
	bool aimed = h->goal >= from && h->goal < end;
	uint32_t at = aimed ? (uint32_t)h->goal : from, back = 0, n = 1;

	if (!aimed || !is_free(h, at)) {
		at = choose(h, at, end);
		if (at >= end)
			return 0;
		while (h->window == NULL && back < BACK_BITS && at > from && is_free(h, at - 1)) {
			at--;
			back++;
		}
	}
	while (n < h->want && at + n < end && is_free(h, at + n))
		n++;
	buddy_mark_used(h->buddy, at, n);
	h->found = (struct place){h->group, at, n, 0};
	return n;
}

/* ---- windows ---- */

static bool covers(const struct mb_window *w, uint64_t block)
{
	return w->len != 0 && block >= w->start && block - w->start < w->len;
}

/* A new window in the group: false when there is no room for one. */
static bool open_window(struct hunt *h)
{
	struct mb_window *w = h->window;
	uint64_t end = h->first + h->blocks, at = h->first + (h->goal > 0 ? (uint64_t)h->goal : 0);

	if (w->len != 0 && w->hits > w->len / 2)
		w->want = MIN(w->want * 2, WINDOW_MAX);
	w->want = MAX(MAX(w->want, h->want), WINDOW_FIRST);
	while ((at = find_gap(h->mb, at, w->want, end)) < end) {
		uint32_t bit = (uint32_t)bitmap_find_next_zero(h->buddy->map, h->blocks,
							       (size_t)(at - h->first));

		if (bit >= h->blocks)
			break;
		if (bit < at - h->first + w->want) {
			put_window(h->mb, w, at, w->want);
			return true;
		}
		at = h->first + bit;
	}
	mb_window_drop(h->mb, w);
	return false;
}

/* The window grows to hold the request, if nothing is in the way. */
static void stretch(struct hunt *h)
{
	struct mb_window *w = h->window, *next = window_at(rb_next(&w->node));
	uint64_t goal = h->first + (uint64_t)h->goal, end = w->start + w->len;
	uint64_t want = MIN(goal + h->want, h->first + h->blocks);

	if (want > end && (next == NULL || next->start >= want))
		w->len = (uint32_t)(want - w->start);
	else if (want > end && next->start > end)
		w->len = (uint32_t)(next->start - w->start);
}

static uint32_t take_in_window(struct hunt *h)
{
	struct mb_window *w = h->window;
	bool fits = h->goal >= 0 ? covers(w, h->first + (uint64_t)h->goal)
				 : covers(w, MAX(w->start, h->first));

	for (unsigned tries = 0; tries < 2; tries++) {
		uint32_t n;

		if (!fits && !open_window(h))
			return 0;
		if (h->goal >= 0 && !covers(w, h->first + (uint64_t)h->goal))
			h->goal = -1;
		if (h->goal >= 0)
			stretch(h);
		if (w->start >= h->first && w->start < h->first + h->blocks) {
			uint64_t end = MIN(w->start + w->len, h->first + h->blocks);

			n = take(h, (uint32_t)(w->start - h->first), (uint32_t)(end - h->first));
			w->hits += n;
			if (n != 0)
				return n;
		}
		fits = false;
	}
	return 0;
}

/* ---- groups ---- */

static int look_in(struct hunt *h, uint32_t group, int64_t goal)
{
	const struct geom *g = h->mb->geom;
	uint32_t least = h->window != NULL ? MAX(h->window->want, WINDOW_FIRST) / 2 : 0;
	int rc = mb_load(h->mb, group, &h->buddy);

	if (rc == -EUCLEAN || rc == -EBADMSG)
		return 0;
	if (rc < 0 || h->buddy->free == 0)
		return rc;
	if (goal < 0 && h->buddy->free <= least)
		return 0;
	h->group = group;
	h->first = geom_group_start(g, group).v;
	h->blocks = geom_group_blocks(g, group);
	h->goal = goal;
	return (int)(h->window != NULL ? take_in_window(h) : take(h, 0, h->blocks));
}

/* 1 when blocks were found. */
static int look_around(struct hunt *h, ek_pblk goal)
{
	const struct geom *g = h->mb->geom;
	uint32_t group = geom_group_of(g, goal);
	int rc = look_in(h, group, geom_offset_in_group(g, goal));

	for (uint32_t i = 1; rc == 0 && i <= g->groups; i++)
		rc = look_in(h, (group + i) % g->groups, -1);
	return rc;
}

static bool in_filesystem(const struct geom *g, ek_pblk b)
{
	return b.v >= g->first_data_block && b.v < g->blocks;
}

int mb_window_blocks(struct mb *mb, struct handle *h, const struct mb_request *req, ek_pblk *ret,
		     uint32_t *len)
{
	struct hunt hunt = {.mb = mb, .want = req->len};
	ek_pblk goal = req->goal;
	int rc = mb_check_space(mb, req, &hunt.want);

	count(mb->counters, COUNTER_REQUEST_BLOCKS, 1);
	if (rc < 0)
		return rc;
	if (!in_filesystem(mb->geom, goal))
		goal = (ek_pblk){mb->geom->first_data_block};
	if (req->inode != NULL && (req->flags & MB_DATA) != 0)
		hunt.window = &req->inode->window;
	rc = look_around(&hunt, goal);
	if (rc == 0 && hunt.window != NULL) {
		hunt.window = NULL;
		rc = look_around(&hunt, goal);
	}
	if (rc == 0)
		rc = mb_out_of_space(mb, hunt.want);
	if (rc > 0)
		rc = mb_commit_place(mb, h, &hunt.found);
	if (rc < 0)
		return rc;
	*ret = mb_block(mb, hunt.found.group, (uint32_t)hunt.found.start);
	*len = hunt.found.len;
	count(mb->counters, COUNTER_ALLOCATE_BLOCKS, 1);
	count(mb->counters, COUNTER_ALLOCATED_BLOCKS_DATA, *len);
	return 0;
}

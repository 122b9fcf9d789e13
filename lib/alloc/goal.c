/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a request is after: which kind of preallocation it may use, and how far its goal is widened
 * so that the file's next blocks have a place beside it.
 */
#include "alloc/mb.h"
#include "base/check.h"

/* ---- kinds ---- */

void mb_choose_kind(struct search *s)
{
	const struct geom *g = s->mb->geom;
	uint64_t size = mb_end(s->mb, &s->orig);
	uint64_t isize = (s->req->size + g->block_size - 1) >> g->block_bits;
	bool for_inode;

	if ((s->flags & MB_DATA) == 0 || (s->flags & MB_GOAL_ONLY) != 0)
		return;
	/* The tail of a closed file will not grow. */
	for_inode = !(size == isize && !s->req->open_for_write);
	if (MAX(size, isize) > s->mb->cfg.stream_request)
		s->flags |= for_inode ? MB_STREAM : MB_NOPREALLOC;
	else /* also for who wants none made: what there is may be used */
		s->flags |= MB_GROUP_ALLOC;
}

/* ---- windows ---- */

struct window {
	uint64_t start, size; /* blocks of the file */
};

/* The window for a file that will have size bytes (delalloc-facts 7.3). */
static struct window choose_window(const struct search *s, uint64_t bytes)
{
	static const uint32_t kib[] = {16, 32, 64, 128, 256, 512, 1024};
	unsigned bits = s->mb->geom->block_bits;
	uint64_t max = 2ull << bits, at = s->orig.logical, len = s->orig.len;

	for (unsigned i = 0; i < ARRAY_SIZE(kib); i++) {
		if (bytes <= (uint64_t)kib[i] << 10)
			return (struct window){0, ((uint64_t)kib[i] << 10) >> bits};
	}
	for (unsigned shift = 21; shift <= 23; shift++) {
		/* the largest file for this window, and the free chunk that ends the climb */
		bool last = shift == 23;
		uint64_t limit = shift == 21 ? 4u << 20 : 8u << 20;
		bool fits = last ? len <= (8u << 20) >> bits : bytes <= limit;

		if (fits || max <= 1024u << (shift - 20))
			return (struct window){at >> (shift - bits) << (shift - bits),
					       (1ull << shift) >> bits};
	}
	return (struct window){at, mb_blocks(s->mb, len)};
}

/* Mapped neighbours and the inode's other preallocations cut the window. */
static void cut_window(const struct search *s, struct window *w)
{
	const struct mb_request *r = s->req;
	uint64_t end = w->start + w->size, at = s->orig.logical;
	struct prealloc *left, *right;

	if (r->left.len != 0 && w->start < r->left.lblk.v + r->left.len)
		w->start = r->left.lblk.v + r->left.len;
	if (r->right.len != 0 && end > r->right.lblk.v)
		end = r->right.lblk.v;
	end = MIN(end, w->start + s->mb->geom->blocks_per_group);
	if (r->inode != NULL) {
		left = mb_pa_before(r->inode, (uint32_t)at, &right);
		if (left != NULL)
			w->start = MAX(w->start, left->lstart + mb_blocks(s->mb, left->len));
		if (right != NULL)
			end = MIN(end, (uint64_t)right->lstart);
	}
	w->size = end > w->start ? end - w->start : 0;
}

static void set_goal(struct search *s, uint64_t block)
{
	const struct geom *g = s->mb->geom;
	ek_pblk b = {block};

	if (block < g->first_data_block || block >= g->blocks)
		return;
	s->goal.group = geom_group_of(g, b);
	s->goal.start = geom_offset_in_group(g, b) >> g->cluster_bits;
	s->flags |= MB_TRY_GOAL;
}

/* Next to a neighbour that the window touches is the best place. */
static void aim_at_neighbours(struct search *s, const struct window *w)
{
	const struct mb_request *r = s->req;

	if (r->right.len != 0 && r->right.lblk.v == w->start + w->size &&
	    r->right.pblk.v >= w->size)
		set_goal(s, r->right.pblk.v - w->size);
	if (r->left.len != 0 && r->left.lblk.v + r->left.len == w->start)
		set_goal(s, r->left.pblk.v + r->left.len);
}

void mb_normalize(struct search *s)
{
	const struct geom *g = s->mb->geom;
	uint64_t bytes, bpg = g->blocks_per_group;
	struct window w;

	if ((s->flags & MB_DATA) == 0 || (s->flags & MB_NOPREALLOC) != 0 ||
	    (s->flags & MB_GOAL_ONLY) != 0)
		return;
	if ((s->flags & MB_GROUP_ALLOC) != 0) {
		s->goal.len = MIN(s->mb->cfg.group_prealloc, g->clusters_per_group);
		s->orig_goal_len = s->goal.len;
		return;
	}
	bytes = MAX(mb_end(s->mb, &s->orig) << g->block_bits, s->req->size);
	w = choose_window(s, bytes);
	if (w.start < s->orig.logical / bpg * bpg)
		w.start = s->orig.logical / bpg * bpg;
	if (w.start + w.size > UINT32_MAX)
		w.size = UINT32_MAX - w.start;
	cut_window(s, &w);
	/* A window that lost the request's own start is no window. */
	if (w.size == 0 || w.start > s->orig.logical || w.start + w.size <= s->orig.logical)
		return;
	s->goal.logical = (uint32_t)w.start;
	s->goal.len = geom_clusters(g, 0, (uint32_t)w.size);
	s->orig_goal_len = s->goal.len;
	aim_at_neighbours(s, &w);
}

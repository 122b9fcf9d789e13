/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preallocation: which kind a request may use, how far it is widened, where what was found is kept,
 * and how it is given back.
 */
#include <errno.h>
#include <stdlib.h>

#include "alloc/mb.h"
#include "base/bitmap.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"

static uint64_t clusters_to_blocks(const struct mb *mb, uint64_t n)
{
	return n << mb->geom->cluster_bits;
}

static uint64_t end_of(const struct mb *mb, const struct place *p)
{
	return p->logical + clusters_to_blocks(mb, p->len);
}

/* ---- kinds ---- */

void mb_choose_kind(struct search *s)
{
	const struct geom *g = s->mb->geom;
	uint64_t size = end_of(s->mb, &s->orig);
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

/* ---- use ---- */

/* Pointers have 32 bits. */
static bool out_of_reach(const struct search *s, const struct prealloc *pa)
{
	return s->req->low && pa->pstart.v + clusters_to_blocks(s->mb, pa->len) > UINT32_MAX;
}

static struct prealloc *node_pa(struct rb_node *n)
{
	return n != NULL ? rb_entry(n, struct prealloc, node) : NULL;
}

/* The preallocation with the largest lstart at or before lblk; *right gets the next one. */
static struct prealloc *pa_before(const struct mb_inode *mi, uint32_t lblk, struct prealloc **right)
{
	struct rb_node *n = mi->pas.top;
	struct prealloc *left = NULL;

	*right = NULL;
	while (n != NULL) {
		struct prealloc *pa = node_pa(n);

		if (pa->lstart <= lblk) {
			left = pa;
			n = n->kid[1];
		} else {
			*right = pa;
			n = n->kid[0];
		}
	}
	return left;
}

static void place_at(struct search *s, ek_pblk pblk, uint32_t len)
{
	const struct geom *g = s->mb->geom;

	s->best.group = geom_group_of(g, pblk);
	s->best.start = geom_offset_in_group(g, pblk) >> g->cluster_bits;
	s->best.len = len;
	s->best.logical = s->orig.logical;
	s->status = SCAN_FOUND;
}

static void use_inode_pa(struct search *s, struct prealloc *pa)
{
	/* A window may begin inside a cluster that a neighbour has: the next one is its first. */
	uint64_t skip = (s->orig.logical - pa->lstart) >> s->mb->geom->cluster_bits;
	uint32_t len = MIN(s->orig.len, pa->len - (uint32_t)skip);

	place_at(s, (ek_pblk){pa->pstart.v + clusters_to_blocks(s->mb, skip)}, len);
	pa->free -= len;
	s->mb->prealloc_free -= len;
}

static bool try_inode_pa(struct search *s)
{
	struct prealloc *right, *pa;

	if (s->req->inode == NULL)
		return false;
	pa = pa_before(s->req->inode, s->orig.logical, &right);
	if (pa == NULL || pa->free == 0 ||
	    s->orig.logical >= pa->lstart + clusters_to_blocks(s->mb, pa->len) ||
	    out_of_reach(s, pa))
		return false;
	use_inode_pa(s, pa);
	return true;
}

static void use_group_pa(struct search *s, struct prealloc *pa)
{
	place_at(s, pa->pstart, s->orig.len);
	s->pa = pa;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static bool try_group_pa(struct search *s)
{
	struct locality *lg = &s->mb->local[s->req->cpu % s->mb->cfg.cpus];
	uint64_t goal = mb_block(s->mb, s->goal.group, (uint32_t)MAX(s->goal.start, 0)).v;
	struct prealloc *near = NULL;
	unsigned order = MIN(ilog2(s->orig.len), LG_LISTS - 1);

	for (; order < LG_LISTS; order++) {
		list_for_each (p, &lg->lists[order]) {
			struct prealloc *pa = list_entry(p, struct prealloc, lg);

			if (pa->free < s->orig.len || out_of_reach(s, pa))
				continue;
			if (near == NULL ||
			    distance(goal, pa->pstart.v) < distance(goal, near->pstart.v))
				near = pa;
		}
	}
	if (near == NULL)
		return false;
	use_group_pa(s, near);
	return true;
}

bool mb_use_prealloc(struct search *s)
{
	if ((s->flags & MB_DATA) == 0)
		return false;
	s->from_pa = try_inode_pa(s);
	if (!s->from_pa && (s->flags & MB_GROUP_ALLOC) != 0)
		s->from_pa = try_group_pa(s);
	return s->from_pa;
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
	return (struct window){at, clusters_to_blocks(s->mb, len)};
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
		left = pa_before(r->inode, (uint32_t)at, &right);
		if (left != NULL)
			w->start =
			    MAX(w->start, left->lstart + clusters_to_blocks(s->mb, left->len));
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
	bytes = MAX(end_of(s->mb, &s->orig) << g->block_bits, s->req->size);
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

/* ---- making ---- */

static struct prealloc *pa_make(struct search *s)
{
	struct prealloc *pa = mem_zero(sizeof(*pa));

	if (pa == NULL)
		return NULL;
	pa->pstart = mb_block(s->mb, s->best.group, (uint32_t)s->best.start);
	pa->len = s->best.len;
	pa->free = s->best.len;
	list_init(&pa->lg);
	list_append(&s->mb->all, &pa->all);
	s->mb->prealloc_free += pa->free;
	return pa;
}

static void pa_link(struct mb_inode *mi, struct prealloc *pa)
{
	struct rb_node **link = &mi->pas.top, *parent = NULL;

	while (*link != NULL) {
		parent = *link;
		link = &parent->kid[pa->lstart > node_pa(parent)->lstart];
	}
	rb_insert(&mi->pas, parent, link, &pa->node);
	pa->inode = mi;
}

/* Which file block the first cluster of what was found is for: it must cover the request. */
static uint32_t choose_lstart(const struct search *s)
{
	struct place goal = s->goal;
	uint64_t goal_end, request_end = end_of(s->mb, &s->orig);
	uint64_t len = clusters_to_blocks(s->mb, s->best.len), start;

	if (s->best.len >= s->orig_goal_len)
		return s->goal.logical;
	goal.len = s->orig_goal_len;
	goal_end = end_of(s->mb, &goal);
	start = goal_end - len;
	if (s->orig.logical >= start)
		return (uint32_t)start;
	if (request_end <= s->goal.logical + len)
		return s->goal.logical;
	return s->orig.logical;
}

int mb_new_prealloc(struct search *s)
{
	struct mb *mb = s->mb;
	struct prealloc *pa;

	if ((s->flags & MB_DATA) == 0)
		return 0;
	pa = pa_make(s);
	if (pa == NULL)
		return -ENOMEM;
	if ((s->flags & MB_GROUP_ALLOC) != 0) {
		count(mb->counters, COUNTER_MB_NEW_GROUP_PA, 1);
		pa->cpu = s->req->cpu % mb->cfg.cpus;
		use_group_pa(s, pa);
		return 0;
	}
	count(mb->counters, COUNTER_MB_NEW_INODE_PA, 1);
	pa->lstart = choose_lstart(s);
	pa_link(s->req->inode, pa);
	use_inode_pa(s, pa);
	return 0;
}

/* ---- giving back ---- */

static void pa_free(struct mb *mb, struct prealloc *pa)
{
	if (pa->inode != NULL)
		rb_erase(&pa->inode->pas, &pa->node);
	list_remove(&pa->lg);
	list_remove(&pa->all);
	mb->prealloc_free -= pa->free;
	free(pa);
}

/* What an inode never took of its preallocation is clear on disk: those runs become free. */
static void release_inode_pa(struct mb *mb, struct prealloc *pa)
{
	const struct geom *g = mb->geom;
	uint32_t group = geom_group_of(g, pa->pstart);
	uint32_t at = geom_offset_in_group(g, pa->pstart) >> g->cluster_bits, end = at + pa->len;
	struct buf *b;

	if (pa->free != 0 && groups_block_bitmap(mb->gs, group, &b) == 0) {
		while (at < end) {
			uint32_t from = (uint32_t)bitmap_find_next_zero(b->data, end, at);
			uint32_t to;

			if (from >= end)
				break;
			to = (uint32_t)bitmap_find_next_set(b->data, end, from);
			count(mb->counters, COUNTER_MB_RELEASE_INODE_PA, 1);
			buddy_mark_free(&mb->buddies[group], from, to - from);
			at = to;
		}
		buf_put(b);
	}
	pa_free(mb, pa);
}

static void release_group_pa(struct mb *mb, struct prealloc *pa)
{
	const struct geom *g = mb->geom;
	uint32_t group = geom_group_of(g, pa->pstart);

	if (pa->free != 0) {
		count(mb->counters, COUNTER_MB_RELEASE_GROUP_PA, 1);
		buddy_mark_free(&mb->buddies[group],
				geom_offset_in_group(g, pa->pstart) >> g->cluster_bits, pa->free);
	}
	pa_free(mb, pa);
}

/* Puts a group preallocation on the list of its size, smallest first; too long a list is trimmed.
 */
static void file_group_pa(struct mb *mb, struct prealloc *pa)
{
	unsigned order = MIN(ilog2(pa->free), LG_LISTS - 1), n = 1;
	struct list *head = &mb->local[pa->cpu].lists[order], *at = head->prev;

	list_for_each (p, head) {
		if (at == head->prev && pa->free < list_entry(p, struct prealloc, lg)->free)
			at = p->prev;
		n++;
	}
	list_insert_after(at, &pa->lg);
	if (n <= LG_MAX)
		return;
	list_for_each_safe(p, head)
	{
		if (n-- <= LG_KEEP)
			break;
		release_group_pa(mb, list_entry(p, struct prealloc, lg));
	}
}

void mb_settle_prealloc(struct search *s)
{
	struct prealloc *pa = s->pa;
	uint32_t n = s->best.len;

	if (pa == NULL)
		return;
	pa->pstart.v += clusters_to_blocks(s->mb, n);
	pa->len -= n;
	pa->free -= n;
	s->mb->prealloc_free -= n;
	list_remove(&pa->lg);
	if (pa->free != 0)
		file_group_pa(s->mb, pa);
	else
		pa_free(s->mb, pa);
}

void mb_inode_init(struct mb_inode *mi)
{
	*mi = (struct mb_inode){0};
}

void mb_discard_inode(struct mb *mb, struct mb_inode *mi)
{
	struct rb_node *n;

	if (mb == NULL)
		return;
	mb_window_drop(mb, &mi->window);
	while ((n = rb_first(&mi->pas)) != NULL)
		release_inode_pa(mb, node_pa(n));
}

bool mb_discard_some(struct mb *mb)
{
	bool any = mb->prealloc_free != 0;

	mb_discard_all(mb);
	return any;
}

void mb_discard_all(struct mb *mb)
{
	list_for_each_safe(p, &mb->all)
	{
		struct prealloc *pa = list_entry(p, struct prealloc, all);

		if (pa->inode != NULL)
			release_inode_pa(mb, pa);
		else
			release_group_pa(mb, pa);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preallocations: used, made of what was found beyond a request, and given back.
 */
#include <errno.h>
#include <stdlib.h>

#include "alloc/mb.h"
#include "base/bitmap.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"

/* ---- use ---- */

/* Pointers have 32 bits. */
static bool out_of_reach(const struct search *s, const struct prealloc *pa)
{
	return s->req->low && pa->pstart.v + mb_blocks(s->mb, pa->len) > UINT32_MAX;
}

static struct prealloc *node_pa(struct rb_node *n)
{
	return n != NULL ? rb_entry(n, struct prealloc, node) : NULL;
}

struct prealloc *mb_pa_before(const struct mb_inode *mi, uint32_t lblk, struct prealloc **right)
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

	place_at(s, (ek_pblk){pa->pstart.v + mb_blocks(s->mb, skip)}, len);
	pa->free -= len;
	s->mb->prealloc_free -= len;
}

static bool try_inode_pa(struct search *s)
{
	struct prealloc *right, *pa;

	if (s->req->inode == NULL)
		return false;
	pa = mb_pa_before(s->req->inode, s->orig.logical, &right);
	if (pa == NULL || pa->free == 0 ||
	    s->orig.logical >= pa->lstart + mb_blocks(s->mb, pa->len) || out_of_reach(s, pa))
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
	uint64_t goal_end, request_end = mb_end(s->mb, &s->orig);
	uint64_t len = mb_blocks(s->mb, s->best.len), start;

	if (s->best.len >= s->orig_goal_len)
		return s->goal.logical;
	goal.len = s->orig_goal_len;
	goal_end = mb_end(s->mb, &goal);
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
	pa->pstart.v += mb_blocks(s->mb, n);
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

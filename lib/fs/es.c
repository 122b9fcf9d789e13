/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Extent status: an ordered tree of disjoint entries.  An insertion first cuts out its range, then
 * grows a neighbour it can merge with, else adds a node.  Nodes are recycled, and the two that an
 * operation can need at most are set aside before it begins, so that nothing fails half way.
 */
#include "fs/es.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"

void es_init(struct es_tree *t, struct counters *c)
{
	rb_init(&t->root);
	t->cache = NULL;
	t->spare = NULL;
	t->spares = ES_OWN;
	t->used = 0;
	t->counters = c;
	t->count = 0;
	t->delayed = 0;
	t->seq = 0;
}

static void free_node(struct es_tree *t, struct es_node *n)
{
	uintptr_t at = (uintptr_t)n - (uintptr_t)t->own;

	if (at >= sizeof(t->own))
		free(n);
}

void es_free(struct es_tree *t)
{
	struct rb_node *n;

	while ((n = rb_tear(&t->root)) != NULL)
		free_node(t, rb_entry(n, struct es_node, node));
	while (t->spare != NULL) {
		struct es_node *s = t->spare;

		t->spare = (struct es_node *)(void *)s->node.kid[0];
		free_node(t, s);
	}
	es_init(t, t->counters);
}

static void recycle(struct es_tree *t, struct es_node *n)
{
	n->node.kid[0] = (struct rb_node *)(void *)t->spare;
	t->spare = n;
	t->spares++;
}

/* Two nodes must be at hand before a change. */
static int prepare(struct es_tree *t)
{
	while (t->spares < 2) {
		struct es_node *n = malloc(sizeof(*n));

		if (n == NULL)
			return -ENOMEM;
		recycle(t, n);
	}
	return 0;
}

static struct es_node *take(struct es_tree *t)
{
	struct es_node *n = t->spare;

	t->spares--;
	if (n == NULL)
		return &t->own[t->used++];
	t->spare = (struct es_node *)(void *)n->node.kid[0];
	return n;
}

static uint64_t end_of(const struct es_extent *e)
{
	return (uint64_t)e->lblk.v + e->len;
}

static struct es_node *node_of(struct rb_node *n)
{
	return n != NULL ? rb_entry(n, struct es_node, node) : NULL;
}

static struct es_node *next_of(struct es_node *n)
{
	return node_of(rb_next(&n->node));
}

static struct es_node *prev_of(struct es_node *n)
{
	return node_of(rb_prev(&n->node));
}

/* The first node that ends after lblk, or NULL. */
static struct es_node *search(struct es_tree *t, uint32_t lblk)
{
	struct rb_node *p = t->root.top;
	struct es_node *best = NULL;

	if (t->cache != NULL && t->cache->e.lblk.v <= lblk && lblk < end_of(&t->cache->e))
		return t->cache;
	while (p != NULL) {
		struct es_node *n = rb_entry(p, struct es_node, node);

		if (end_of(&n->e) <= lblk) {
			p = p->kid[1];
			continue;
		}
		best = n;
		if (n->e.lblk.v <= lblk)
			break;
		p = p->kid[0];
	}
	if (best != NULL)
		t->cache = best;
	return best;
}

static void link_node(struct es_tree *t, struct es_node *fresh)
{
	struct rb_node **link = &t->root.top, *parent = NULL;

	while (*link != NULL) {
		struct es_node *n = rb_entry(*link, struct es_node, node);

		parent = *link;
		link = &parent->kid[fresh->e.lblk.v > n->e.lblk.v];
	}
	rb_insert(&t->root, parent, link, &fresh->node);
	t->count++;
}

static void unlink_node(struct es_tree *t, struct es_node *n)
{
	if (t->cache == n)
		t->cache = NULL;
	rb_erase(&t->root, &n->node);
	t->count--;
	recycle(t, n);
}

static void move_start(struct es_extent *e, uint32_t by)
{
	e->lblk.v += by;
	e->len -= by;
	if (e->type == ES_WRITTEN || e->type == ES_UNWRITTEN)
		e->pblk.v += by;
}

/* Cuts [from, to) out of n; returns the node after the cut. */
static struct es_node *cut_node(struct es_tree *t, struct es_node *n, uint64_t from, uint64_t to)
{
	uint64_t start = n->e.lblk.v, end = end_of(&n->e);
	struct es_node *next = next_of(n);

	if (from <= start && to >= end) {
		unlink_node(t, n);
		return next;
	}
	if (from <= start) {
		move_start(&n->e, (uint32_t)(to - start));
		return n;
	}
	n->e.len = (uint32_t)(from - start);
	if (to < end) {
		struct es_node *tail = take(t);

		tail->e = n->e;
		tail->e.len = (uint32_t)(end - start);
		move_start(&tail->e, (uint32_t)(to - start));
		link_node(t, tail);
		return tail;
	}
	return next;
}

/* Empties [lblk, lblk + len); returns the delayed blocks that were there. */
static uint64_t cut_range(struct es_tree *t, uint32_t lblk, uint32_t len)
{
	uint64_t end = (uint64_t)lblk + len, delayed = 0;
	struct es_node *n = search(t, lblk);

	while (n != NULL && n->e.lblk.v < end) {
		uint64_t from = MAX((uint64_t)n->e.lblk.v, (uint64_t)lblk);
		uint64_t to = MIN(end_of(&n->e), end);

		if (n->e.type == ES_DELAYED)
			delayed += to - from;
		n = cut_node(t, n, from, to);
	}
	t->delayed -= delayed;
	return delayed;
}

/* True when b can be appended to a. */
static bool mergeable(const struct es_extent *a, const struct es_extent *b)
{
	if (a->type != b->type || end_of(a) != b->lblk.v)
		return false;
	if ((uint64_t)a->len + b->len > UINT32_MAX)
		return false;
	if (a->type == ES_DELAYED || a->type == ES_HOLE)
		return true;
	return a->pblk.v + a->len == b->pblk.v;
}

/* The range of e is empty; puts e there. */
static void put_extent(struct es_tree *t, const struct es_extent *e)
{
	struct es_node *right = search(t, e->lblk.v);
	struct es_node *left = right != NULL ? prev_of(right) : node_of(rb_last(&t->root));

	if (e->type == ES_DELAYED)
		t->delayed += e->len;
	if (left != NULL && mergeable(&left->e, e)) {
		left->e.len += e->len;
		if (right != NULL && mergeable(&left->e, &right->e)) {
			left->e.len += right->e.len;
			unlink_node(t, right);
		}
		t->cache = left;
		return;
	}
	if (right != NULL && mergeable(e, &right->e)) {
		right->e.lblk = e->lblk;
		right->e.pblk = e->pblk;
		right->e.len += e->len;
		t->cache = right;
		return;
	}
	left = take(t);
	left->e = *e;
	link_node(t, left);
	t->cache = left;
}

bool es_lookup(struct es_tree *t, ek_lblk lblk, struct es_extent *ret)
{
	struct es_node *n = search(t, lblk.v);

	count(t->counters, COUNTER_ES_LOOKUP, 1);
	if (n == NULL || n->e.lblk.v > lblk.v)
		return false;
	*ret = n->e;
	return true;
}

bool es_find(struct es_tree *t, enum es_type type, ek_lblk lblk, struct es_extent *ret)
{
	count(t->counters, COUNTER_ES_FIND_RANGE, 1);
	for (struct es_node *n = search(t, lblk.v); n != NULL; n = next_of(n)) {
		if (n->e.type == type) {
			*ret = n->e;
			return true;
		}
	}
	return false;
}

bool es_next(struct es_tree *t, ek_lblk lblk, struct es_extent *ret)
{
	struct es_node *n = search(t, lblk.v);

	if (n == NULL)
		return false;
	*ret = n->e;
	return true;
}

static int replace(struct es_tree *t, const struct es_extent *e, uint64_t *consumed)
{
	uint64_t delayed;

	if (e->len == 0 || prepare(t) < 0)
		return e->len == 0 ? 0 : -ENOMEM;
	delayed = cut_range(t, e->lblk.v, e->len);
	put_extent(t, e);
	t->seq++;
	if (consumed != NULL)
		*consumed = delayed;
	return 0;
}

int es_insert(struct es_tree *t, const struct es_extent *e, uint64_t *consumed)
{
	count(t->counters, COUNTER_ES_INSERT, 1);
	return replace(t, e, consumed);
}

int es_insert_delayed(struct es_tree *t, ek_lblk lblk, uint32_t len)
{
	struct es_extent e = {lblk, len, {0}, ES_DELAYED};

	count(t->counters, COUNTER_ES_INSERT_DELAYED, 1);
	return replace(t, &e, NULL);
}

int es_remove(struct es_tree *t, ek_lblk lblk, uint32_t len, uint64_t *released)
{
	uint64_t delayed;

	count(t->counters, COUNTER_ES_REMOVE, 1);
	if (prepare(t) < 0)
		return -ENOMEM;
	delayed = len != 0 ? cut_range(t, lblk.v, len) : 0;
	t->seq++;
	if (released != NULL)
		*released = delayed;
	return 0;
}

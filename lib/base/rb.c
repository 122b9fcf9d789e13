/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The red-black tree: no red node has a red parent, every path down from a node meets the same
 * number of black ones.  Left and right are one index, so that each mirrored pair of cases is
 * written once.
 */
#include "base/rb.h"

#define RED ((uintptr_t)1)

static struct rb_node *parent_of(const struct rb_node *n)
{
	return (struct rb_node *)(n->up & ~RED);
}

/* A missing node counts as black. */
static bool is_red(const struct rb_node *n)
{
	return n != NULL && (n->up & RED) != 0;
}

static void paint(struct rb_node *n, bool red)
{
	n->up = (n->up & ~RED) | (red ? RED : 0);
}

static void set_parent(struct rb_node *n, struct rb_node *parent)
{
	n->up = (uintptr_t)parent | (n->up & RED);
}

static int side_of(const struct rb_node *parent, const struct rb_node *n)
{
	return parent->kid[1] == n;
}

/* Makes the link that leads to old lead to fresh. */
static void relink(struct rb_root *root, struct rb_node *parent, const struct rb_node *old,
		   struct rb_node *fresh)
{
	if (parent == NULL)
		root->top = fresh;
	else
		parent->kid[side_of(parent, old)] = fresh;
}

/* Moves n down to the given side; its kid on the other side takes its place. */
static void rotate(struct rb_root *root, struct rb_node *n, int side)
{
	struct rb_node *up = n->kid[!side], *parent = parent_of(n), *inner = up->kid[side];

	n->kid[!side] = inner;
	if (inner != NULL)
		set_parent(inner, n);
	up->kid[side] = n;
	relink(root, parent, n, up);
	set_parent(up, parent);
	set_parent(n, up);
}

void rb_insert(struct rb_root *root, struct rb_node *parent, struct rb_node **link,
	       struct rb_node *n)
{
	n->kid[0] = n->kid[1] = NULL;
	n->up = (uintptr_t)parent | RED;
	*link = n;
	while (is_red(parent)) {
		struct rb_node *grand = parent_of(parent);
		int side = side_of(grand, parent);
		struct rb_node *uncle = grand->kid[!side];

		if (!is_red(uncle)) {
			if (parent->kid[!side] == n) {
				rotate(root, parent, side);
				parent = n;
			}
			paint(parent, false);
			paint(grand, true);
			rotate(root, grand, !side);
			break;
		}
		paint(parent, false);
		paint(uncle, false);
		paint(grand, true);
		n = grand;
		parent = parent_of(n);
	}
	paint(root->top, false);
}

/* The paths through parent's kid on the given side are one black node short: repaired by borrowing
 * from the sibling, or passed upwards. */
static void refill(struct rb_root *root, struct rb_node *parent, int side)
{
	while (parent != NULL) {
		struct rb_node *sib = parent->kid[!side], *above;

		if (is_red(sib)) {
			paint(sib, false);
			paint(parent, true);
			rotate(root, parent, side);
			sib = parent->kid[!side];
		}
		if (is_red(sib->kid[0]) || is_red(sib->kid[1])) {
			if (!is_red(sib->kid[!side])) {
				paint(sib->kid[side], false);
				paint(sib, true);
				rotate(root, sib, !side);
				sib = parent->kid[!side];
			}
			paint(sib, is_red(parent));
			paint(parent, false);
			paint(sib->kid[!side], false);
			rotate(root, parent, side);
			return;
		}
		paint(sib, true);
		if (is_red(parent)) {
			paint(parent, false);
			return;
		}
		above = parent_of(parent);
		if (above != NULL)
			side = side_of(above, parent);
		parent = above;
	}
}

/* Exchanges n, which has two kids, with its successor, colours included. */
static void swap_with_next(struct rb_root *root, struct rb_node *n)
{
	struct rb_node *next = rb_next(n), old = *next;

	rb_replace(root, n, next);
	next->up = n->up;           /* rb_replace made it its own parent if it was n's kid */
	if (next->kid[1] == next) { /* the successor was n's own kid */
		next->kid[1] = n;
		n->up = (uintptr_t)next | (old.up & RED);
	} else {
		n->up = old.up;
		parent_of(n)->kid[0] = n;
	}
	n->kid[0] = NULL;
	n->kid[1] = old.kid[1];
	if (n->kid[1] != NULL)
		set_parent(n->kid[1], n);
}

void rb_erase(struct rb_root *root, struct rb_node *n)
{
	struct rb_node *kid, *parent;
	int side;

	if (n->kid[0] != NULL && n->kid[1] != NULL)
		swap_with_next(root, n);
	kid = n->kid[n->kid[0] == NULL];
	parent = parent_of(n);
	side = parent != NULL && side_of(parent, n);
	relink(root, parent, n, kid);
	if (kid != NULL) { /* a lone kid is red, and n black */
		set_parent(kid, parent);
		paint(kid, false);
	} else if (!is_red(n)) {
		refill(root, parent, side);
	}
}

void rb_replace(struct rb_root *root, struct rb_node *old, struct rb_node *fresh)
{
	relink(root, parent_of(old), old, fresh);
	*fresh = *old;
	for (int side = 0; side < 2; side++) {
		if (fresh->kid[side] != NULL)
			set_parent(fresh->kid[side], fresh);
	}
}

static struct rb_node *end_of(struct rb_node *n, int side)
{
	while (n != NULL && n->kid[side] != NULL)
		n = n->kid[side];
	return n;
}

static struct rb_node *step(const struct rb_node *n, int side)
{
	struct rb_node *parent;

	if (n->kid[side] != NULL)
		return end_of(n->kid[side], !side);
	parent = parent_of(n);
	while (parent != NULL && parent->kid[side] == n) {
		n = parent;
		parent = parent_of(n);
	}
	return parent;
}

struct rb_node *rb_first(const struct rb_root *root)
{
	return end_of(root->top, 0);
}

struct rb_node *rb_last(const struct rb_root *root)
{
	return end_of(root->top, 1);
}

struct rb_node *rb_next(const struct rb_node *n)
{
	return step(n, 1);
}

struct rb_node *rb_prev(const struct rb_node *n)
{
	return step(n, 0);
}

struct rb_node *rb_tear(struct rb_root *root)
{
	struct rb_node *n = root->top, *parent;

	if (n == NULL)
		return NULL;
	while (n->kid[0] != NULL || n->kid[1] != NULL)
		n = n->kid[n->kid[0] == NULL];
	parent = parent_of(n);
	if (parent != NULL)
		parent->kid[side_of(parent, n)] = NULL;
	root->top = parent; /* the next call goes on from here instead of from the top */
	return n;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ordered tree whose links live inside the things it orders: red-black, so insert and erase cost
 * O(log n) and at most three rotations, and a node is three words.
 *
 * The tree knows no keys.  The caller walks down by its own comparison, remembers the link it fell
 * off, and hands that link to rb_insert:
 *
 *	struct rb_node **link = &root->top, *parent = NULL;
 *
 *	while (*link != NULL) {
 *		struct thing *t = rb_entry(*link, struct thing, node);
 *
 *		parent = *link;
 *		if (key == t->key)
 *			return t;
 *		link = &parent->kid[key > t->key];
 *	}
 *	rb_insert(root, parent, link, &fresh->node);
 *
 * A plain lookup is the same loop without parent and link.  "The last thing at or before key" keeps
 * the node from which it last went right (kid[1]); "the first at or after" the one it left by
 *kid[0]. Nothing here allocates or fails; the caller owns the nodes and locks the tree.
 */
#ifndef BASE_RB_H
#define BASE_RB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"

struct rb_node {
	struct rb_node *kid[2]; /* smaller, greater */
	uintptr_t up;           /* the parent's address, its lowest bit set when this node is red */
};

struct rb_root {
	struct rb_node *top; /* NULL when empty; all zeros is an empty tree */
};

#define rb_entry(p, type, member) container_of(p, type, member)

static inline void rb_init(struct rb_root *root)
{
	root->top = NULL;
}

static inline bool rb_empty(const struct rb_root *root)
{
	return root->top == NULL;
}

/* Hangs n at *link, the empty link below parent where the caller's walk ended; parent is NULL when
 * the tree is empty (link is then &root->top). */
void rb_insert(struct rb_root *root, struct rb_node *parent, struct rb_node **link,
	       struct rb_node *n);

/* Takes n, which must be in the tree, out of it; n's own words are left undefined. */
void rb_erase(struct rb_root *root, struct rb_node *n);

/* Puts fresh where old was; both must compare equal to the caller. */
void rb_replace(struct rb_root *root, struct rb_node *old, struct rb_node *fresh);

/* In order; NULL when there is none. */
struct rb_node *rb_first(const struct rb_root *root);
struct rb_node *rb_last(const struct rb_root *root);
struct rb_node *rb_next(const struct rb_node *n);
struct rb_node *rb_prev(const struct rb_node *n);

/* For freeing a whole tree in O(n): hands out one node after another, in no useful order, then
 * NULL. Between the first call and the NULL the tree may be used for nothing else. */
struct rb_node *rb_tear(struct rb_root *root);

#define rb_for_each(p, root) for (struct rb_node *p = rb_first(root); p != NULL; p = rb_next(p))

#endif

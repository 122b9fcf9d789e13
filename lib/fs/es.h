/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The extent-status tree: what is known of each logical block of an inode - written, unwritten,
 * delayed or a hole - and where it lies (delalloc-facts 1.3).
 *
 * Entries never overlap; neighbours that can merge are merged.  Delayed entries hold reservations:
 * es_insert over them reports how many blocks it consumed.
 */
#ifndef FS_ES_H
#define FS_ES_H

#include <stdbool.h>
#include <stdint.h>

#include <extkit/types.h>

#include "base/counters.h"
#include "base/rb.h"

enum es_type { ES_WRITTEN, ES_UNWRITTEN, ES_DELAYED, ES_HOLE };

struct es_extent {
	ek_lblk lblk;
	uint32_t len;
	ek_pblk pblk; /* 0 for delayed and hole */
	enum es_type type;
};

struct es_node {
	struct rb_node node;
	struct es_extent e;
};

#define ES_OWN 4u /* nodes that come with a tree: enough for a small file */

struct es_tree {
	struct rb_root root;
	struct es_node *cache; /* last node hit */
	struct es_node *spare; /* recycled nodes, chained through node.kid[0] */
	unsigned spares;       /* in that chain, or own and not used yet */
	unsigned used;         /* of own */
	struct counters *counters;
	uint32_t count;   /* nodes */
	uint64_t delayed; /* blocks in delayed entries */
	uint32_t seq;     /* changes whenever the tree does */
	struct es_node own[ES_OWN];
};

void es_init(struct es_tree *t, struct counters *c);
void es_free(struct es_tree *t);

/* The entry that covers lblk: true and *ret.  Counted as a lookup. */
bool es_lookup(struct es_tree *t, ek_lblk lblk, struct es_extent *ret);

/* The first entry of that type that ends after lblk; false when none. */
bool es_find(struct es_tree *t, enum es_type type, ek_lblk lblk, struct es_extent *ret);

/* The first entry at or after lblk, of any type. */
bool es_next(struct es_tree *t, ek_lblk lblk, struct es_extent *ret);

/* Replaces what is known of e's range.  *consumed (may be NULL) gets the delayed blocks that the
 * insertion removed.  -ENOMEM leaves the tree as it was. */
int es_insert(struct es_tree *t, const struct es_extent *e, uint64_t *consumed);

/* Marks [lblk, lblk+len) delayed. */
int es_insert_delayed(struct es_tree *t, ek_lblk lblk, uint32_t len);

/* Forgets a range; *released (may be NULL) gets the delayed blocks in it.  Fails like es_insert:
 * forgetting the middle of an entry needs one node more. */
int es_remove(struct es_tree *t, ek_lblk lblk, uint32_t len, uint64_t *released);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries of sources come together to one tree of inodes to build.  Names are looked up in one hash
 * table of all of them; where an inode's contents are, and which source gave a name, is noted in
 * its node.
 */
#ifndef TREE_GATHER_H
#define TREE_GATHER_H

#include "base/arena.h"
#include "base/hash.h"
#include "fs/build.h"
#include "tree/source.h"

struct gather_node {
	struct build_inode i;
	unsigned source; /* the number of the source that gave it */
	uint32_t names;  /* that lead to it */
	bool implied;    /* a folder that was needed and not seen yet */
	bool has_contents;
	struct gather_node *next_made;
};

struct gather {
	struct build *b;
	struct diag *diag;
	struct ek_time now;
	struct arena memory; /* of nodes and names */
	struct hash names;
	uint64_t secret; /* of their keys: names come from whoever made an archive */
	struct gather_node *root, *made; /* made: all of them, for what else they own */
	struct {
		struct build_inode *dir; /* NULL: none */
		char *path;
		size_t len, cap;
	} parent;                  /* of the last entry: most have the same as the one before */
	unsigned source;           /* the number of the current source */
	struct build_inode **list; /* after gather_finish: folders before what is in them */
	uint32_t n;
	size_t cap;
};

int gather_begin(struct gather *g);
void gather_end(struct gather *g);

/* The entry becomes part of the tree.  *ret is its node when it has contents that must be placed,
 * else NULL. */
int gather_add(struct gather *g, const struct tree_source *s, const struct tree_entry *e,
	       struct gather_node **ret);

/* The name that was added last goes again, with what it alone led to. */
int gather_drop(struct gather *g, const char *path);

/* Seconds that the inodes can hold; others are -ERANGE. */
void gather_times(const struct gather *g, int64_t *least, int64_t *most);

/* The folder lost+found of the root, made when there is none. */
int gather_lost_found(struct gather *g, uint32_t blocks, struct build_inode **ret);

/* Lists all inodes. */
int gather_finish(struct gather *g);

#endif

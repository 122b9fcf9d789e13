/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of a comparison share. */
#ifndef TREE_DIFF_IMPL_H
#define TREE_DIFF_IMPL_H

#include "base/hash.h"
#include "extkit/diff.h"
#include "tree/source.h"
#include "tree/spool.h"
#include "tree/xattrs.h"

/* A name of the first tree. */
struct diff_node {
	struct hash_node node;    /* by diff_key of the path */
	struct tree_entry e;      /* path, target and attributes are copies */
	struct xattr_list xattrs; /* of the first name of an inode */
	struct tree_range *data;  /* that are more than holes, NULL: all or not known */
	size_t ndata;
	struct diff_node *inode; /* the first name that leads to it; itself, as a rule */
	struct diff_node *other; /* of an inode's first name: that of the second tree's inode */
	uint64_t spooled;        /* where its contents lie in the spool */
	bool met;                /* the second tree has it */
	/* of sync alone */
	uint32_t coming; /* S_IFMT bits of what the source has there, 0 for nothing */
	bool wanted;     /* it may be a new name's, or has such a file below */
	bool gone;       /* it was removed before the source was followed */
};

/* Where reads of the spool are. */
struct diff_cursor {
	const struct diff_node *of;
	uint64_t off;     /* that was read last */
	size_t range;     /* that lies there or behind, of all that is data */
	uint64_t spooled; /* where that range lies in the spool */
};

struct diff {
	struct ek_ctx *ctx;
	struct tree_source *a, *b;
	unsigned flags;
	ek_diff_fn *tell;
	void *arg;
	struct hash names;
	uint64_t secret; /* of the keys: names come from whoever made a tree; from hash_seed */
	uint64_t found;
	size_t nranges;     /* in all nodes */
	struct spool spool; /* contents of a stream, once there are any */
	uint64_t spool_end;
	struct diff_cursor cursor;
	uint8_t *piece; /* two of them */
};

#define DIFF_PIECE 262144u

/* All of the first tree. */
int diff_gather(struct diff *d);
void diff_forget(struct diff *d);
/* What the first len bytes of a path are looked up by. */
uint64_t diff_key(const struct diff *d, const char *path, size_t len);

struct diff_node *diff_find(const struct diff *d, const char *path);
/* The same of the first len bytes of path. */
struct diff_node *diff_find_part(const struct diff *d, const char *path, size_t len);

/* The contents of a node that the entry was copied to go to the spool, when they could not be had
 * later. */
int diff_spool(struct diff *d, struct diff_node *n, const struct tree_entry *e);

/* Bytes of a's contents, from the tree or the spool. */
int diff_read(struct diff *d, const struct diff_node *n, uint64_t off, void *buf, size_t len);

/* What differs between a name of both trees. */
int diff_entry(struct diff *d, struct diff_node *n, const struct tree_entry *e);

/* By their paths' bytes: a folder before what is in it. */
void diff_sort(struct diff_node **list, size_t n);

/* The names that were not met, in their order, in an array that the caller frees. */
int diff_rest(struct diff *d, struct diff_node ***ret, size_t *ret_n);

int diff_tell(struct diff *d, const char *path, const char *what, const char *a, const char *b);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The index of a folder: a tree over hashes of names.  The root lies in block 0 behind "." and
 * "..", inner nodes in blocks of their own; an entry says from which hash on names lie in which
 * block.  The first entry of a node has no hash: its place holds the node's limit and count.
 */
#ifndef FS_HTREE_H
#define FS_HTREE_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/dir_block.h"
#include "fs/inode.h"

struct htree_info {
	le32 reserved_zero;
	uint8_t hash_version, info_length, indirect_levels, unused_flags;
};

struct htree_entry {
	union {
		le32 hash;
		struct {
			le16 limit, count;
		} head; /* in entry 0 */
	} u;
	le32 block;
};

static_assert(sizeof(struct htree_info) == 8, "index info");
static_assert(sizeof(struct htree_entry) == 8, "index entry");

/* True when the limits and counts are those of an index block of this filesystem. */
bool htree_root_plausible(const struct geom *g, const uint8_t *data);
bool htree_node_plausible(const struct geom *g, const uint8_t *data);

int htree_check_csum(const struct geom *g, const struct buf *b, struct diag *d);
void htree_seal(const struct geom *g, struct buf *b);

/* The folder is indexed and the filesystem allows it. */
bool htree_in_use(const struct ek_inode *dir);

/* Looks a name up through the index: 0 with the leaf and entry, -ENOENT, -ENODATA when the index is
 * damaged and a linear search must decide. */
int htree_lookup(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		 struct buf **leaf, struct dirent_raw **e, struct dirent_raw **prev);

struct new_entry {
	const char *name;
	uint32_t len, ino;
	uint8_t type;
	bool is_new; /* the folder is known to have no such name */
};

/* Adds an entry; -ENODATA as above. */
int htree_add(struct task *t, struct ek_inode *dir, const struct new_entry *n);

/* Turns a folder of one full block into an indexed one and adds the entry. */
int htree_make(struct task *t, struct ek_inode *dir, struct buf *first, const struct new_entry *n);

/* Shared with dir.c: block n of a folder, and a new block at its end, writable. */
int dir_block_get(struct task *t, struct ek_inode *dir, uint32_t n, struct buf **ret);
int dir_block_append(struct task *t, struct ek_inode *dir, uint32_t *n, struct buf **ret);

#endif

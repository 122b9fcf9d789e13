/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The extent tree of one inode: a path from the root in the inode down to a leaf, and the edits
 * that start from a path.  Everything that changes a node runs under the task's handle.
 */
#ifndef FS_EXTENT_H
#define FS_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/inode.h"
#include "ondisk/extent.h"

struct map;

#define PATH_LEVELS (EXTENT_MAX_DEPTH + 1)

struct ext_level {
	struct buf *buf; /* NULL: the root in inode->rec.block */
	struct extent_node *node;
	int pos; /* last entry at or before the block looked for; -1 when all are after it */
};

struct ext_path {
	struct ek_inode *inode;
	unsigned depth; /* at[depth] is the leaf */
	struct ext_level at[PATH_LEVELS];
};

/* An empty tree in a new inode's i_block. */
struct extent_node *ext_root(struct ek_inode *inode);
void ext_root_init(struct ek_inode *inode);
/* Verifies the root of an inode just read. */
int ext_root_verify(struct ek_inode *inode);

/* Path to the leaf where lblk is or belongs.  ext_path_put releases it, also after a failure. */
int ext_path_find(struct ek_inode *inode, ek_lblk lblk, struct ext_path *ret);
void ext_path_put(struct ext_path *p);

static inline struct ext_level *ext_leaf(struct ext_path *p)
{
	return &p->at[p->depth];
}

/* The extent at the leaf's position; false when pos is -1 or the leaf is empty. */
bool ext_path_extent(const struct ext_path *p, struct extent *ret);

/* First logical block of the entry after the position, in this leaf or a later one; UINT32_MAX when
 * there is none (logical block 2^32-1 is never mapped). */
uint32_t ext_path_next(const struct ext_path *p);

/* Moves to the next leaf: 1 moved, 0 there is none. */
int ext_path_step(struct ext_path *p);

/* Makes level i writable under the running handle, and files it when done: a mark of the inode for
 * the root, a dirty buffer for a block. */
int ext_level_write(struct task *t, struct ext_path *p, unsigned level);
int ext_level_dirty(struct task *t, struct ext_path *p, unsigned level, enum mark_site site);

enum ext_insert_flag {
	EXT_NO_MERGE = 1 << 0, /* a piece that I/O will convert stays alone */
	EXT_RESERVED = 1 << 1, /* metadata may use the reserved pool */
	EXT_DELALLOC = 1 << 2  /* on behalf of delayed blocks: no new claim on free space */
};

/* Adds e, whose range is unmapped, next to the path's position.  The path is valid afterwards and
 * stands on e (or on the extent that e merged into). */
int ext_insert(struct task *t, struct ext_path *p, const struct extent *e, unsigned flags);

/* Maps the hole at m->lblk, to which the path leads, as MAP_ flags say: m gets what was mapped, at
 * most up to the next extent.  mb_flags are those of the allocation. */
int ext_fill(struct task *t, struct ext_path *p, struct map *m, unsigned mb_flags, unsigned flags);

/* Joins the extent at the path's position with its neighbours in the leaf, and a lone small leaf
 * with the root. The caller has write access to the leaf and dirties it. */
void ext_try_merge(struct task *t, struct ext_path *p);

/* Cuts the extent at the path's position so that one begins at lblk; right_unwritten and
 * left_unwritten give the state of the two halves.  The path stands on the left half afterwards. */
int ext_split_at(struct task *t, struct ext_path *p, ek_lblk lblk, bool left_unwritten,
		 bool right_unwritten, unsigned flags);

/* Removes entries of [from, to] from the tree and frees their blocks. */
int ext_remove(struct task *t, struct ek_inode *inode, ek_lblk from, ek_lblk to);

/* First lblk of the right or left shift; see map_shift. */
int ext_shift(struct task *t, struct ek_inode *inode, ek_lblk from, uint32_t distance, bool right);

/* Where new blocks for lblk should go (delalloc-facts 7.1). */
ek_pblk ext_goal(const struct ext_path *p, ek_lblk lblk);
/* The inode's own corner of the disk, when nothing of it is mapped. */
ek_pblk inode_goal(const struct ek_inode *inode);

/* One metadata block for the tree near goal, counted and charged to the inode. */
int ext_new_block(struct task *t, struct ek_inode *inode, ek_pblk goal, unsigned flags,
		  ek_pblk *ret);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The inodes of one image in memory; see inode.h for what callers use. */
#ifndef FS_INODE_CACHE_H
#define FS_INODE_CACHE_H

#include "base/hash.h"
#include "base/list.h"
#include "base/pool.h"
#include "fs/inode.h"

#define INODE_RUN 16u

/* Neighbours in memory. */
struct inode_run {
	struct hash_node node; /* by number / INODE_RUN */
	unsigned count;
	struct ek_inode *slot[INODE_RUN];
};

struct inode_cache {
	struct hash hash;       /* of struct inode_run */
	struct pool pool, runs; /* of struct ek_inode and of struct inode_run */
	struct list unused;     /* no references; last used first */
	size_t unused_count;
};

int inode_cache_open(struct ek_image *img);
/* Frees every inode; the image must have written what mattered. */
void inode_cache_close(struct ek_image *img);
/* Drops the oldest unused inodes above the limit. */
void inode_cache_trim(struct ek_image *img);

/* The inode if it is in memory, without a reference. */
struct ek_inode *inode_cached(struct ek_image *img, ek_inum ino);

/* The block of the table that has the inode, if it is cached; else NULL. */
struct buf *inode_slot_cached(const struct ek_inode *inode);

/* An empty object, with one reference, for an inode number just allocated. */
int inode_make(struct ek_image *img, ek_inum ino, struct ek_inode **ret);

/* Reads the record again from its slot, which was written past it. */
int inode_reread(struct ek_inode *inode);

/* Brings the inode's slot in the table's block up to its record, if the block is in memory. */
void inode_settle(struct ek_inode *inode);

/* fdatasync must wait for the running transaction although the size did not change. */
void inode_note_datasync(struct task *t, struct ek_inode *inode);

#endif

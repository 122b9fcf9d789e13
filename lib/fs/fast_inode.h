/* SPDX-License-Identifier: BSD-2-Clause */
/* What fast commits say of one inode. */
#ifndef FS_FAST_INODE_H
#define FS_FAST_INODE_H

#include <stdbool.h>

#include <extkit/types.h>

struct ek_inode;
struct fast_record;
struct task;

/* All of them run under t's handle, with img->fast open. */

/* True when the inode is in use now. */
int fast_in_use(struct task *t, ek_inum ino, bool *ret);

/* INODE: the record becomes the inode's, which is taken if it was free. */
int fast_set_inode(struct task *t, ek_inum ino, const struct fast_record *r);

/* Takes all blocks from an inode that has a map; others, whose i_block says something else, are
 * left alone. */
int fast_unmap(struct task *t, struct ek_inode *inode);

/* ADD_RANGE and DEL_RANGE. */
int fast_add_range(struct task *t, struct ek_inode *inode, const struct fast_record *r);
int fast_remove_range(struct task *t, struct ek_inode *inode, const struct fast_record *r);

/* Marks the blocks of the inode as used and counts them. */
int fast_settle(struct task *t, struct ek_inode *inode);

#endif

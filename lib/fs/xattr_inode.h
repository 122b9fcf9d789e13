/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attribute values that lie in inodes of their own (ea_inode).  Such an inode has no name; how many
 * attributes use it is in its ctime and version, the checksum of the value in its atime.
 */
#ifndef FS_XATTR_INODE_H
#define FS_XATTR_INODE_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/xattr_format.h"

struct ek_image;
struct ek_inode;
struct task;

/* The value that lies in an inode, proved by its checksum: r.size bytes that the caller frees. */
int xattr_inode_value(struct task *t, struct ek_inode *owner, struct xattr_ref r, uint8_t **ret);

/* Values of more than that many bytes go to inodes at once. */
uint32_t xattr_inode_threshold(const struct ek_image *img);

/* An inode is charged with the blocks of all values that it has, shared or not. */
int64_t xattr_inode_blocks(const struct ek_image *img, uint32_t size);

/* Under the running handle: the value's bytes are in an inode afterwards, which v names.  One that
 * is known to have the same bytes gets a user more; else one is made.  The owner is charged. */
int xattr_inode_take(struct task *t, struct ek_inode *owner, struct xattr_value *v);

/* One user more or less of the inode.  An inode without users is an orphan
 * that xattr_inode_reap deletes. */
int xattr_inode_use(struct task *t, struct ek_inode *owner, struct xattr_ref r);
int xattr_inode_leave(struct task *t, struct ek_inode *owner, struct xattr_ref r);

/* Journal credits of a user less: the inode's slot, the orphans. */
#define XATTR_CREDITS_USER 8u

/* Deletes what lost its last user; does nothing while a handle runs. */
void xattr_inode_reap(struct task *t);

/* Forgets which inodes have which values. */
void xattr_inodes_close(struct ek_image *img);

#endif

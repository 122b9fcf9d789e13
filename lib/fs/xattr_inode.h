/* SPDX-License-Identifier: BSD-2-Clause */
/* Attribute values that lie in inodes of their own (ea_inode). */
#ifndef FS_XATTR_INODE_H
#define FS_XATTR_INODE_H

#include <stdint.h>

struct ek_inode;
struct task;
struct xattr_entry;

/* The value, proved by its checksum: e_value_size bytes that the caller frees. */
int xattr_inode_value(struct task *t, struct ek_inode *owner, const struct xattr_entry *e,
		      uint8_t **ret);

#endif

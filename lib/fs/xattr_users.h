/* SPDX-License-Identifier: BSD-2-Clause */
/* What readers and users of inodes of attribute values share. */
#ifndef FS_XATTR_USERS_H
#define FS_XATTR_USERS_H

#include <stdbool.h>

#include "fs/xattr_format.h"

struct ek_inode;
struct task;

/* The inode that the entry names, proved to be one for values of that size. */
int xattr_inode_get(struct task *t, struct ek_inode *owner, struct xattr_ref r,
		    struct ek_inode **ret);

/* Lustre's inodes know the file that they belong to and have no checksum. */
bool xattr_inode_is_lustre(const struct ek_inode *store, const struct ek_inode *owner);

/* A later value with the same bytes may share the inode. */
void xattr_inode_known(struct ek_inode *store);

#endif

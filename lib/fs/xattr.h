/* SPDX-License-Identifier: BSD-2-Clause */
/* Extended attributes: in the inode's body first, then one shared block. */
#ifndef FS_XATTR_H
#define FS_XATTR_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct ek_image;
struct ek_inode;
struct task;

/* Full names as getxattr(2) spells them: "user.x", "security.selinux", "system.posix_acl_access"
 * (the value in the kernel's user-space form). */

/* Value length and, when cap is enough, the value; -ENODATA, -ERANGE. */
int xattr_get(struct task *t, struct ek_inode *inode, const char *name, void *value, size_t cap);

enum xattr_flag { XATTR_ONLY_CREATE = 1, XATTR_ONLY_REPLACE = 2 };

/* Sets under the running handle; -ENOSPC when neither body nor block has room. */
int xattr_set(struct task *t, struct ek_inode *inode, const char *name, const void *value,
	      size_t len, unsigned flags);
int xattr_remove(struct task *t, struct ek_inode *inode, const char *name);

struct xattr_item {
	char name[256 + 32]; /* full, terminated */
	const void *value;
	size_t len;
};

/* Calls each for every attribute, body first, in stored order; stops at its first non-zero result
 * and returns that. */
int xattr_each(struct task *t, struct ek_inode *inode,
	       int (*each)(void *ctx, const struct xattr_item *item), void *ctx);

/* The part of inline data that lies behind the inode's fields: n bytes, valid while *buf is held
 * (the caller gives it back); none when n is 0. */
int xattr_inline_data(struct ek_inode *inode, struct buf **buf, const void **ret, uint32_t *n);

/* Sets, or removes when value is NULL, in a transaction of its own. */
int xattr_change(struct task *t, struct ek_inode *inode, const char *name, const void *value,
		 size_t len);

/* Journal credits of setting or removing a value of len bytes. */
unsigned xattr_credits(const struct ek_image *img, size_t len);

/* The inode is deleted under the running handle, which may be restarted: its reference on its block
 * goes, and those on inodes of values. */
int xattr_drop(struct task *t, struct ek_inode *inode);

#endif

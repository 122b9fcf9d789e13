/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the attributes of an inode lie, for those who read and who change them. */
#ifndef FS_XATTR_AREA_H
#define FS_XATTR_AREA_H

#include "fs/xattr_format.h"

struct task;

/* A full name, parted. */
struct xattr_name {
	uint8_t index;
	const char *text;
	uint32_t len;
};

int xattr_parse_name(struct task *t, const char *full, struct xattr_name *ret);

static inline bool xattr_is_acl(const struct xattr_name *n)
{
	return n->index == 2 || n->index == 3;
}

/* The area behind the inode's fields in raw bytes; false when there is none.  With need one is made
 * then, unless it would be too small for an attribute of so many bytes: bytes that change are to be
 * sealed and filed, and those of a refused attribute are not. */
bool xattr_body_area(const struct ek_inode *inode, uint8_t *raw, struct xattr_area *a,
		     uint32_t need);

/* The same for readers: 1 and the area, proved, in *buf, which the caller gives back; 0 without
 * one. */
int xattr_body_open(struct ek_inode *inode, struct buf **buf, struct xattr_area *a);

/* The block that i_file_acl names. */
int xattr_get_block(struct ek_inode *inode, struct buf **ret);

/* The block has one user less; the last one frees it.  Consumes the reference. */
int xattr_release_block(struct task *t, struct ek_inode *inode, struct buf *b);

typedef int xattr_area_fn(void *ctx, const struct xattr_area *a, bool body);

/* Calls fn for the body and for the block, if they exist, until it returns non-zero. */
int xattr_each_area(struct ek_inode *inode, xattr_area_fn *fn, void *ctx);

#endif

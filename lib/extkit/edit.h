/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes to an image that was opened with EK_IMAGE_WRITE.
 *
 * Each call happens or does not: its names appear in one journal transaction, and that one counts
 * only once the data they stand for are on the device.  After kill -9 or a power cut the old file
 * is there or the new one, whole, and blocks taken for what was not finished are given back by the
 * next open.  A call that returned is durable after ek_image_sync or ek_image_close.  Without a
 * journal the order is the same, but an interrupted image wants e2fsck.
 */
#ifndef EXTKIT_EDIT_H
#define EXTKIT_EDIT_H

#include <stdbool.h>

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_image;
struct ek_xattr;

enum ek_attr_mask {
	EK_ATTR_MODE = 1 << 0,
	EK_ATTR_UID = 1 << 1,
	EK_ATTR_GID = 1 << 2,
	EK_ATTR_ATIME = 1 << 3,
	EK_ATTR_MTIME = 1 << 4
};

/* What a new inode is given.  What the mask leaves out is 0644 or 0755, root, and the image's
 * now. */
struct ek_attr {
	size_t size;   /* sizeof(struct ek_attr) */
	unsigned mask; /* enum ek_attr_mask, or'ed */
	uint32_t mode; /* permissions; the type follows from the call */
	uint32_t uid, gid;
	struct ek_time atime, mtime;
	const struct ek_xattr *xattrs;
	size_t nxattrs;
};

enum ek_put_flag {
	EK_PUT_REPLACE = 1 << 0, /* a file of that name goes; a folder never does */
	EK_PUT_PARENTS = 1 << 1  /* make missing folders on the way, 0755 */
};

/* A link at the end of path is not followed: it is what would be replaced.
 *
 * Makes the regular file path from what fd holds, from its position to its end.  Holes that the
 * host knows of stay holes.  attr may be NULL.  *ret_bytes (may be NULL) gets the length.
 *
 * -EEXIST without EK_PUT_REPLACE, -EISDIR, -ENOENT, -ENOTDIR; -ENOSPC tells how many blocks are
 * missing. */
EK_EXPORT EK_MUST int ek_put_fd(struct ek_image *img, const char *path, int fd, unsigned flags,
				const struct ek_attr *attr, uint64_t *ret_bytes);

/* The same from memory. */
EK_EXPORT EK_MUST int ek_put_bytes(struct ek_image *img, const char *path, const void *bytes,
				   size_t len, unsigned flags, const struct ek_attr *attr);

/* Makes a folder.  flags: EK_PUT_PARENTS, and then a folder that is there already is fine and keeps
 * what it has.  Owner, times and attributes follow in transactions of their own. */
EK_EXPORT EK_MUST int ek_mkdir(struct ek_image *img, const char *path, unsigned flags,
			       const struct ek_attr *attr);

#ifdef __cplusplus
}
#endif
#endif

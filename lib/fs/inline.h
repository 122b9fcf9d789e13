/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inline data: the first 60 bytes lie where block pointers would, the rest is the value of the
 * attribute system.data behind the inode's fields.
 */
#ifndef FS_INLINE_H
#define FS_INLINE_H

#include <stddef.h>
#include <stdint.h>

#include "fs/inode.h"

struct dir_iter;
struct dirent;

#define INLINE_HEAD 60u

static inline bool inode_is_inline(const struct ek_inode *i)
{
	return (i->rec.flags & INODE_INLINE_DATA) != 0;
}

/* Bytes [off, off + len) of the contents; what i_size claims beyond them reads as zeros. */
int inline_read(struct ek_inode *inode, uint64_t off, void *buf, size_t len);

/* As dir_next, for a folder that is stored inline: "." and ".." are not in it and come first. */
int inline_dir_next(struct ek_inode *dir, struct dir_iter *it, struct dirent *ret);

#endif

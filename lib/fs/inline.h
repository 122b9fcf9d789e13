/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inline data: the first 60 bytes lie where block pointers would, the rest is the value of the
 * attribute system.data behind the inode's fields.
 *
 * A file or folder of an image with the feature is born with INODE_STATE_MAY_INLINE and becomes
 * inline with its first bytes, if they fit.  A file that a delayed write made too long is without
 * that state, but has the old bytes in the inode until writeback gives the new ones blocks.
 */
#ifndef FS_INLINE_H
#define FS_INLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/inode.h"

struct dir_iter;
struct dirent;
struct new_entry;

#define INLINE_HEAD 60u

static inline bool inode_is_inline(const struct ek_inode *i)
{
	return (i->rec.flags & INODE_INLINE_DATA) != 0;
}

/* Writes may go to the inode. */
static inline bool inode_may_inline(const struct ek_inode *i)
{
	return (i->state & INODE_STATE_MAY_INLINE) != 0;
}

/* ---- contents ---- */

/* Bytes [off, off + len) of the contents; what i_size claims beyond them reads as zeros. */
int inline_read(struct ek_inode *inode, uint64_t off, void *buf, size_t len);

/* Bytes that an inline inode has room for beside its attributes, at least 60. */
int inline_size(struct ek_inode *inode, uint32_t *ret);
/* Bytes that it could be grown to hold; 0 when none. */
int inline_capacity(struct ek_inode *inode, uint32_t *ret);

/* Makes the inode inline with room for bytes up to end, under the running handle; -ENOSPC, with
 * nothing changed and no story, when they do not fit or the inode may not be inline.  The caller
 * marks the inode dirty. */
int inline_prepare(struct task *t, struct ek_inode *inode, uint64_t end);
/* Stores bytes where inline_prepare made room. */
int inline_write(struct task *t, struct ek_inode *inode, uint64_t off, const void *bytes,
		 size_t len);
/* The inode has neither inline data nor blocks from now on, and stays so.  One mark. */
int inline_destroy(struct task *t, struct ek_inode *inode);

/* Contents go to a block, in a transaction of their own; what a delayed write has begun is
 * finished.  Nothing happens to other inodes, except that they may not become inline any more. */
int inline_to_blocks(struct task *t, struct ek_inode *inode);
/* What lies behind inode->size goes, in a transaction with the size on disk. */
int inline_truncate(struct task *t, struct ek_inode *inode);

/* A new file of which nothing is stored yet gets these contents, in a transaction: 1; 0 when they
 * do not fit, and then the file gets blocks. */
int inline_fill(struct task *t, struct ek_inode *inode, const void *bytes, uint64_t len);

/* ---- folders ---- */

/* As dir_next, for a folder that is stored inline: "." and ".." are not in it and come first. */
int inline_dir_next(struct ek_inode *dir, struct dir_iter *it, struct dirent *ret);

/* A new folder without entries; -ENOSPC when it must have a block. */
int inline_dir_init(struct task *t, struct ek_inode *dir, ek_inum parent);
/* 0 when the entry was added, 1 when the folder has blocks now and the entry is still to be added;
 * -EEXIST. */
int inline_dir_add(struct task *t, struct ek_inode *dir, const struct new_entry *e);
/* -ENOENT.  Marks the folder dirty, as Linux does before its caller does it again. */
int inline_dir_remove(struct task *t, struct ek_inode *dir, const char *name, uint32_t len);
/* The entry (".." too) gets another inode and type; marked dirty for ".." alone. */
int inline_dir_set(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		   uint32_t ino, uint8_t type);

/* Shared by the files of inline data: all of it, for a while. */
struct inline_copy {
	uint32_t size; /* head and value */
	uint8_t *bytes;
};
int inline_save(struct ek_inode *inode, struct inline_copy *ret);
void inline_copy_free(struct inline_copy *c);
/* After inline_destroy and a failure: as it was, under the same handle. */
int inline_restore(struct task *t, struct ek_inode *inode, const struct inline_copy *c);

#endif

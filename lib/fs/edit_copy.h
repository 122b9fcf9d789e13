/* SPDX-License-Identifier: BSD-2-Clause */
/* A copy under way, shared by the files that copy trees and contents. */
#ifndef FS_EDIT_COPY_H
#define FS_EDIT_COPY_H

#include "base/hash.h"
#include "fs/dir.h"
#include "fs/edit_impl.h"

/* A folder whose entries are being copied. */
struct copy_level {
	struct ek_inode *from, *made;
	struct dir_iter it;
};

struct copy {
	struct task *from, *to; /* the same within one image */
	unsigned flags;         /* enum ek_copy_flag */
	struct copy_level *levels;
	size_t n, cap;
	struct hash twins;
	uint8_t *piece; /* made with the first file that needs it */
	struct ek_copied done;
};

/* Enters a folder; both references are the copy's from here on, also on failure. */
int copy_push(struct copy *c, struct ek_inode *from, struct ek_inode *made);

/* -EOPNOTSUPP for an inode that cannot be copied. */
int copy_check(struct copy *c, const struct ek_inode *from);

/* Contents of a file into one that is empty and has no name yet. */
int copy_data(struct copy *c, struct ek_inode *from, struct ek_inode *made);

/* Mode, owner, times, attributes, flags and project. */
int copy_attr(struct copy *c, struct ek_inode *from, struct ek_inode *made);

/* Blocks that copy_attr may dirty. */
int copy_credits(struct copy *c, struct ek_inode *from, unsigned *ret);

#endif

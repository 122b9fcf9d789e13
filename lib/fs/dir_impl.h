/* SPDX-License-Identifier: BSD-2-Clause */
/* What finding and changing entries share. */
#ifndef FS_DIR_IMPL_H
#define FS_DIR_IMPL_H

#include <stdint.h>

struct buf;
struct dirent_raw;
struct ek_inode;
struct task;

uint32_t dir_blocks(const struct ek_inode *dir);

/* -ENOTDIR; -EUCLEAN for a size that is no number of blocks. */
int dir_check(struct ek_inode *dir);

/* The block (one reference for the caller) and the entry in it, with the one before it there. */
int dir_find(struct task *t, struct ek_inode *dir, const char *name, uint32_t len, struct buf **ret,
	     struct dirent_raw **e, struct dirent_raw **prev);

#endif

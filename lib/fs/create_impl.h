/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that plan an empty filesystem share. */
#ifndef FS_CREATE_IMPL_H
#define FS_CREATE_IMPL_H

#include "fs/create.h"

/* Bytes: bs, isize, desc_size.  Counts: inodes and blocks a group, blocks of an inode table and of
 * the group descriptors, groups, the first data block. */
struct sizes {
	uint32_t bs, isize, bpg, ipg, itable, groups, desc_size, gdt, reserved_gdt, first;
	uint64_t blocks;
};

/* Chooses every size: -EINVAL with the option, -ENOSPC when the filesystem would have no room. */
int create_sizes(const struct create_opts *o, struct sizes *z, struct diag *d);

/* The superblock of those sizes, its counts still empty. */
void create_super(const struct create_opts *o, const struct sizes *z, struct super_raw *sb);

void create_split64(uint64_t v, le32 *lo, le32 *hi);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that plan and write an empty filesystem share. */
#ifndef FS_CREATE_IMPL_H
#define FS_CREATE_IMPL_H

#include "fs/create.h"
#include "ondisk/inode.h"

/* Bytes: bs, isize, desc_size.  Blocks: bpg, itable, gdt and first_meta of it, reserved_gdt, first
 * (the first data block).  log_cluster is log2 of the blocks of a cluster. */
struct sizes {
	uint32_t bs, isize, bpg, ipg, itable, groups, desc_size, gdt, reserved_gdt, first;
	uint32_t log_cluster;
	uint64_t blocks;
	uint32_t backup_bgs[2];
};

/* -EINVAL or -EOPNOTSUPP for options that do not go together or that nobody can make. */
int create_check(const struct create_opts *o, uint32_t bs, uint32_t isize, struct diag *d);

/* Chooses every size: -EINVAL with the option, -ENOSPC when the filesystem would have no room. */
int create_sizes(const struct create_opts *o, struct sizes *z, struct diag *d);

/* The superblock of those sizes, its counts still empty. */
void create_super(const struct create_opts *o, const struct sizes *z, struct super_raw *sb);

void create_split64(uint64_t v, le32 *lo, le32 *hi);

/* The superblock and geometry of those sizes, and room for descriptors. */
int create_shape(const struct create_opts *o, const struct sizes *z, struct diag *d,
		 struct layout *l);

/* Group metadata as zones of the geometry; then, when files have their places, what is free. */
int create_zones(struct layout *l, struct diag *d);
int create_count(struct layout *l, struct diag *d);

/* Blocks of a log by the blocks of the filesystem; 0: too small for one. */
uint32_t create_default_journal(uint64_t blocks);

/* Blocks of the log in a filesystem of so many, without those for fast commits; -ENOSPC when the
 * filesystem is too small for one, -EINVAL when the size asked for is. */
int create_journal_size(const struct create_opts *o, uint64_t blocks, uint64_t *ret,
			struct diag *d);

/* Where bitmaps and tables of each group lie. */
int create_place_groups(struct layout *l, struct diag *d);

/* Where the first files lie; zones are known by then. */
int create_place_files(struct layout *l, const struct create_opts *o, struct diag *d);

/* The log's own superblock for blocks blocks, at raw. */
void create_log_super(const struct create_opts *o, uint32_t block_size, uint64_t blocks,
		      uint32_t fast, uint32_t first, uint32_t users, uint8_t *raw);

/* -EINVAL unless dev is a journal device that a filesystem with such blocks can have for itself:
 * Linux lets no two share one.  uuid becomes its. */
int create_check_log(struct dev *dev, uint32_t block_size, bool force, uint8_t *uuid);

/* One filesystem being written. */
struct create_writer {
	const struct layout *l;
	unsigned zone; /* the first one that the current group may have a part of */
	const struct create_opts *o;
	const struct geom *g;
	struct group_desc *desc; /* with bitmap checksums */
	struct dev *dev;
	struct diag *diag;
	uint8_t *block; /* one block of scratch */
};

/* The scratch block, all zeros. */
uint8_t *create_blank(struct create_writer *w);
/* Writes the scratch block. */
int create_put(struct create_writer *w, uint64_t block);
/* Zeros a run where the target may hold something else. */
int create_zero(struct create_writer *w, uint64_t block, uint64_t len);
int create_put_inode(struct create_writer *w, uint32_t ino, const struct inode_rec *r);

/* Blocks outside the inode that map `blocks` blocks in `runs` pieces. */
uint64_t create_map_blocks(const struct geom *g, uint64_t blocks, unsigned runs);

/* Maps the file's runs in r, as extents or pointers as the filesystem has it, and counts its
 * blocks; writes what lies outside the inode. */
int create_map(struct create_writer *w, uint32_t ino, const struct placed_file *f,
	       struct inode_rec *r);

/* A record with the times of the filesystem. */
void create_record(const struct create_writer *w, uint16_t mode, uint16_t links,
		   struct inode_rec *r);

/* The device's block that is block n of the file. */
uint64_t create_file_block(const struct placed_file *f, uint64_t n);

/* Quota files: how many there are, what the owners of an empty filesystem have, the blocks of a
 * file, its inode, and all of them written and noted in sb. */
unsigned create_quota_types(const struct create_opts *o);
int create_quota_empty(struct layout *l, const struct create_opts *o, unsigned type,
		       struct diag *d);
uint64_t create_quota_blocks(const struct geom *g, const struct quota_list *list);
uint32_t create_quota_inum(const struct layout *l, unsigned type);
int create_quota(struct create_writer *w, struct super_raw *sb);

/* Inodes and files that serve the filesystem itself; notes them in sb. */
int create_own_files(struct create_writer *w, struct super_raw *sb);

/* The same with root and lost+found. */
int create_files(struct create_writer *w, struct super_raw *sb);

#endif

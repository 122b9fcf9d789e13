/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Empty filesystems, laid out as mke2fs 1.47 lays them out: planned completely as numbers first,
 * then written in one pass with the superblock last.
 */
#ifndef FS_CREATE_H
#define FS_CREATE_H

#include <stdbool.h>
#include <stdint.h>

#include <extkit/types.h>

#include "base/diag.h"
#include "ondisk/geom.h"
#include "ondisk/group.h"
#include "ondisk/super.h"

struct dev;

struct create_opts {
	uint64_t size;             /* bytes */
	uint32_t block_size;       /* 0: by size */
	uint32_t inode_size;       /* 0: 256 */
	uint32_t inodes;           /* 0: from inode_ratio */
	uint32_t inode_ratio;      /* bytes per inode; 0: by size */
	uint32_t blocks_per_group; /* 0: eight per byte of a block */
	uint32_t flex_size;        /* groups in a flex group, 0: 16 */
	uint32_t reserved_percent; /* blocks for root, percent; UINT32_MAX: 5 */
	uint32_t journal_blocks;   /* 0: by size */
	uint32_t compat, incompat, ro_compat;
	char label[17];
	uint8_t uuid[16], hash_seed[16];
	struct ek_time now;
	bool fresh; /* the target reads as zeros everywhere */
	bool no_lost_found;
};

/* Features of today's default ext4. */
void create_opts_default(struct create_opts *o);

/* A run of blocks. */
struct block_run {
	uint64_t start, len;
};

/* A filesystem as numbers. */
struct layout {
	struct super_raw super;
	struct geom geom;
	struct group_desc *desc;
	uint32_t journal_blocks, orphan_blocks, lost_found_blocks;
	uint64_t root, lost_found, resize_dind, orphan;
	struct block_run *journal; /* runs of the log, in order */
	unsigned journal_runs;
	uint64_t tree_block; /* extent block of the journal when it has more than four runs, or 0 */
	struct block_run *used; /* everything beyond group metadata, sorted */
	unsigned used_count;
	size_t used_cap, journal_cap;
	uint64_t overhead; /* clusters */
};

/* -EINVAL with the option and value, -ENOSPC when the size cannot hold it. */
int layout_plan(const struct create_opts *o, struct diag *d, struct layout *ret);
void layout_free(struct layout *l);

/* Writes the planned filesystem to dev. */
int layout_write(const struct layout *l, const struct create_opts *o, struct dev *dev,
		 struct diag *d);

#endif

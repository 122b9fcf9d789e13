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
#include "fs/quota_file.h"
#include "ondisk/geom.h"
#include "ondisk/group.h"
#include "ondisk/super.h"

struct dev;

struct create_opts {
	uint64_t size;             /* bytes */
	uint32_t block_size;       /* 0: by size */
	uint32_t cluster_size;     /* with bigalloc; 0: sixteen blocks */
	uint32_t inode_size;       /* 0: 256, or 128 in revision 0 */
	uint32_t inodes;           /* 0: from inode_ratio */
	uint32_t inode_ratio;      /* bytes per inode; 0: by size */
	uint32_t blocks_per_group; /* 0: eight per byte of a block */
	uint32_t flex_size;        /* groups in a flex group, 0: 16 */
	uint32_t reserved_percent; /* blocks for root, percent; UINT32_MAX: 5 */
	uint32_t journal_blocks;   /* 0: by size; those of fast commits come on top */
	uint32_t compat, incompat, ro_compat;
	uint32_t backups; /* with sparse_super2: copies of the superblock, 0 to 2 */
	uint64_t grow_to; /* bytes that the filesystem may grow to while mounted; 0: 1024 times */
	uint32_t stride, stripe_width; /* blocks; 0: not said */
	uint32_t root_uid, root_gid;
	uint16_t errors;       /* what a mount does: 1 continue, 2 read-only, 3 panic; 0: 1 */
	uint16_t mmp_interval; /* seconds; 0: 5 */
	uint8_t hash_version;  /* of indexed folders: 0 legacy, 1 half_md4, 2 tea */
	bool unsigned_hash;    /* as machines do whose char has no sign */
	bool revision0;        /* as ext2 was before it had features */
	char mount_options[64];
	char label[17];
	uint8_t uuid[16], hash_seed[16];
	struct ek_time now;
	bool fresh; /* the target reads as zeros everywhere */
	bool no_lost_found;
	bool external_log; /* the log is a device of its own: */
	uint8_t log_uuid[16];
	uint32_t log_device; /* its number, or 0 */
	bool unflushed;      /* whoever has the device flushes it */
	bool tight;          /* a last group of a few blocks is kept */
	uint32_t head_most;  /* blocks for the superblock's copy and descriptors; 0: no limit */
};

/* Features of today's default ext4. */
void create_opts_default(struct create_opts *o);

struct ek_create_options;

/* What a caller asks, for a filesystem of so many bytes; -EINVAL with the option and value,
 * -EOPNOTSUPP for a feature nobody knows. */
int create_options(const struct ek_create_options *opt, uint64_t bytes, struct diag *d,
		   struct create_opts *o);

/* The bytes that are asked for, or those of what is at path. */
int create_choose_bytes(const char *path, const struct ek_create_options *opt, struct diag *d,
			uint64_t *ret);

/* Everything that could be refused about the target, short of opening it for writing. */
int create_check_target(const char *path, const struct ek_create_options *opt, struct diag *d);

/* Opens and proves the journal device of a filesystem with such blocks, and notes it in o.  dry: it
 * will not be written. */
int create_open_log(const struct ek_create_options *opt, uint32_t block_size, bool dry,
		    struct create_opts *o, struct diag *d, struct dev **ret);

/* Makes the filesystem the user of the journal device. */
int create_join_log(struct dev *dev, uint32_t block_size, const uint8_t *uuid);

/* A run of blocks. */
struct block_run {
	uint64_t start, len;
};

/* A file of the plan; without blocks it is not made. */
struct placed_file {
	struct block_run *runs; /* contents, in order */
	unsigned count;
	size_t cap;
	uint64_t blocks;      /* of contents */
	struct block_run map; /* pointer or extent blocks outside the inode */
};

struct create_writer;

/* A filesystem as numbers. */
struct layout {
	struct super_raw super;
	struct geom geom;
	struct group_desc *desc;
	struct placed_file root, lost_found, journal, orphan, quota[QUOTA_TYPES];
	struct quota_list use[QUOTA_TYPES]; /* what the quota files say */
	uint32_t fast_blocks;               /* of the journal, for fast commits */
	uint64_t resize_dind, mmp;
	struct block_run *used; /* everything beyond group metadata, sorted */
	unsigned used_count;
	size_t used_cap;
	uint64_t overhead; /* clusters */
	/* Of a filesystem with files in it, else 0: how many inodes there are, in which groups are
	 * folders, the inodes of the orphan file and of the projects' quotas, and what writes the
	 * inode tables and all that is in them. */
	uint32_t inodes_used, orphan_ino, project_ino;
	const uint32_t *dirs;
	int (*fill)(struct create_writer *w, struct super_raw *sb, void *ctx);
	void *fill_ctx;
};

/* -EINVAL with the option and value, -EOPNOTSUPP with the feature, -ENOSPC when the size cannot
 * hold it. */
int layout_plan(const struct create_opts *o, struct diag *d, struct layout *ret);
void layout_free(struct layout *l);

/* Writes the planned filesystem to dev. */
int layout_write(const struct layout *l, const struct create_opts *o, struct dev *dev,
		 struct diag *d);

/* Writes a journal that fills dev, for filesystems elsewhere: a superblock with journal_dev and
 * the log's behind it.  The block size must be given. */
int create_journal_device(const struct create_opts *o, struct dev *dev, struct diag *d);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes an empty filesystem, laid out as mke2fs 1.47 lays it out.
 *
 *	struct ek_create_options opt = {.size = sizeof(opt), .bytes = 64 << 20};
 *
 *	if (ek_create(ctx, "disk.img", &opt) < 0)
 *		fprintf(stderr, "%s\n", ek_ctx_message(ctx));
 *
 * The superblock is written last: until then there is no filesystem.  The same options with a seed
 * and a time give the same bytes.
 */
#ifndef EXTKIT_CREATE_H
#define EXTKIT_CREATE_H

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_ctx;

enum ek_create_flag {
	EK_CREATE_FORCE = 1 << 0,         /* over a filesystem, partition table or the like */
	EK_CREATE_NO_JOURNAL = 1 << 1,    /* the same as features "^has_journal" */
	EK_CREATE_NO_LOST_FOUND = 1 << 2, /* without the folder lost+found */
	EK_CREATE_RESERVED = 1 << 3,      /* reserved_percent is meant, 0 too */
	EK_CREATE_DRY_RUN = 1 << 4,       /* check everything, write nothing */
	EK_CREATE_BACKUPS = 1 << 5,       /* backups is meant, 0 too */
	EK_CREATE_UNSIGNED_HASH = 1 << 6, /* hash names as machines do whose char has no sign */
	EK_CREATE_REVISION_0 = 1 << 7,    /* ext2 as it was before it had features */
	EK_CREATE_JOURNAL_DEVICE = 1 << 8 /* no filesystem but a journal for others; block_size must
					   * be theirs, 4096 when 0 */
};

/* Zero is a good value for every member but size, and for bytes when the file is not there yet. */
struct ek_create_options {
	size_t size;         /* sizeof(struct ek_create_options) */
	unsigned flags;      /* enum ek_create_flag, or'ed */
	uint64_t bytes;      /* of the filesystem; 0: all of the file or device, behind offset */
	uint64_t offset;     /* where it begins in the file or device */
	uint32_t block_size; /* bytes; 0: by size, like mke2fs */
	uint32_t inode_size; /* bytes; 0: 256 */
	uint32_t inodes;     /* at least so many; 0: by bytes_per_inode */
	uint32_t bytes_per_inode;  /* 0: by size */
	uint32_t blocks_per_group; /* 0: eight for each byte of a block */
	uint32_t flex_groups;      /* groups whose metadata lie together; 0: 16 */
	uint32_t reserved_percent; /* for root; 5 without EK_CREATE_RESERVED */
	uint64_t journal_bytes;    /* 0: by size */
	const char *features; /* changes to the default: "orphan_file,^resize_inode"; or NULL */
	const char *label;    /* up to 16 bytes, or NULL */
	const char *uuid;     /* "xxxxxxxx-xxxx-...", "random", "clear"; NULL: as seed has it */
	const char *seed;     /* any text: UUID and hash seed follow from it; or NULL */
	struct ek_time now;   /* 0: the host's clock */
	const char *type;     /* "ext2", "ext3" or "ext4"; NULL: ext4 */
	const char *compat;   /* a reader that must know all features: "linux-4.9", "grub-2.06",
			       * "e2fsprogs-1.42"; or NULL */
	const char *hash;     /* of indexed folders: "legacy", "half_md4", "tea"; NULL: half_md4 */
	const char *errors;   /* what a mount does: "continue", "remount-ro", "panic"; or NULL */
	const char *mount_options; /* to begin with, up to 63 bytes; or NULL */
	const char *journal_path;  /* of a journal device, of which the filesystem becomes a user;
				    * NULL: the journal lies inside */
	uint32_t cluster_size;     /* bytes, with feature bigalloc; 0: sixteen blocks */
	uint32_t root_uid, root_gid;
	uint32_t stride, stripe_width; /* blocks on one disk, and in a full stripe; 0: not said */
	uint32_t backups;              /* of the superblock, with feature sparse_super2; 2 without
					* EK_CREATE_BACKUPS */
	uint32_t guard_interval;       /* seconds, with feature mmp; 0: 5 */
	uint64_t grow_to; /* bytes it may grow to while mounted; 0: 1024 times its size */
};

/* Makes the filesystem.  A file that is not there is made, sparse; a regular file is cut to the new
 * size unless offset is given.
 *
 * -EPERM: the device holds something and EK_CREATE_FORCE is not given; -EBUSY: mounted or in use;
 * -EINVAL: an option, with its value; -EOPNOTSUPP: a feature, by name; -ENOSPC: too small, with the
 * missing blocks. */
EK_EXPORT EK_MUST int ek_create(struct ek_ctx *ctx, const char *path,
				const struct ek_create_options *opt);

#ifdef __cplusplus
}
#endif
#endif

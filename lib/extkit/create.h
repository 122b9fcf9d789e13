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
	EK_CREATE_DRY_RUN = 1 << 4        /* check everything, write nothing */
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
	const char *uuid;     /* "xxxxxxxx-xxxx-...", or NULL: from seed, else random */
	const char *seed;     /* any text: UUID and hash seed follow from it; or NULL */
	struct ek_time now;   /* 0: the host's clock */
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

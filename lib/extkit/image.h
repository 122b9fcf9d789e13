/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One ext2, ext3 or ext4 filesystem in a file or block device: open, ask, close.  What is inside it
 * is in inode.h (reading) and edit.h (changing); create.h makes one.
 *
 *	struct ek_image *img;
 *	struct ek_space space = {.size = sizeof(space)};
 *
 *	if (ek_image_open(ctx, "disk.img", NULL, &img) == 0) {
 *		if (ek_image_space(img, &space) == 0)
 *			printf("%llu blocks free\n", (unsigned long long)space.free_blocks);
 *		if (ek_image_close(img) < 0)
 *			fprintf(stderr, "%s\n", ek_ctx_message(ctx));
 *	}
 *
 * Failures are told on the context that opened the image.  Calls on one image may come from several
 * threads; today they take turns.  Images of one context must stay on one thread, because the
 * context's message is theirs together.
 *
 * Structs that are filled for the caller begin with their size, set by the caller; members beyond
 * it are left out, so that a program built against older headers keeps working.
 */
#ifndef EXTKIT_IMAGE_H
#define EXTKIT_IMAGE_H

#include <stdbool.h>

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_ctx;
struct ek_image;

enum ek_image_flag {
	EK_IMAGE_WRITE = 1 << 0,       /* to change it: takes the lock that writers share */
	EK_IMAGE_NO_RECOVERY = 1 << 1, /* look past the journal at what is in place (readers) */
	EK_IMAGE_MOUNTED_OK = 1 << 2,  /* skip the check for mounted and busy devices */
	EK_IMAGE_DRY_RUN = 1 << 3,   /* with EK_IMAGE_WRITE: changes stay in memory and are lost */
	EK_IMAGE_UNDO_FILE = 1 << 4, /* with EK_IMAGE_WRITE: an image without a journal has an undo
				      * file as long as it is open; see undo.h */
	EK_IMAGE_UNDO = 1 << 5       /* the same for every image, from the moment on at which what
				      * was done cannot be one transaction any more; and
				      * ek_image_take_back may be called */
};

/* Zero is a good value for every member but size. */
struct ek_image_options {
	size_t size;         /* sizeof(struct ek_image_options) */
	unsigned flags;      /* enum ek_image_flag, or'ed */
	uint64_t offset;     /* bytes before the filesystem */
	uint64_t cache;      /* bytes of metadata kept in memory; 0: 64 MiB, 16 for readers */
	struct ek_time now;  /* timestamps of changes; 0: the host's clock at open */
	const char *journal; /* file or device with an external journal; NULL: looked for by UUID
			      * when the image is a block device */
	const char *undo;    /* the undo file; NULL: the image's name with ".undo" behind, and none
			      * for block devices */
};

/* Opens the filesystem in path; opt may be NULL.  A log that a crash left is replayed: into the
 * image when it is opened for writing, else into memory, and then the image is not changed.
 *
 * -EINVAL: no ext filesystem; -EUCLEAN, -EBADMSG: damaged, or, for writers, an undo file is there
 * that an interrupted edit has left; -EOPNOTSUPP: a feature, by name; -EBUSY:
 * mounted, or open for writing elsewhere; others come from the host. */
EK_EXPORT EK_MUST int ek_image_open(struct ek_ctx *ctx, const char *path,
				    const struct ek_image_options *opt, struct ek_image **ret);

/* Writes what is pending, marks the filesystem clean and frees it; img is gone whatever is
 * returned.  The first error is told.  Close inodes, folders and walks before.  Accepts NULL. */
EK_EXPORT int ek_image_close(struct ek_image *img);

/* Makes everything done so far durable.  Nothing to do for readers. */
EK_EXPORT EK_MUST int ek_image_sync(struct ek_image *img);

enum ek_image_state {
	EK_STATE_CLEAN = 1 << 0,   /* the superblock says that it was closed in order */
	EK_STATE_ERRORS = 1 << 1,  /* the kernel met damage */
	EK_STATE_ORPHANS = 1 << 2, /* orphans are being processed */
	EK_STATE_DIRTY = 1 << 3    /* the log had to be replayed when it was opened */
};

/* Facts of the superblock.  Byte strings are cut at their first zero byte and terminated; they are
 * not escaped. */
struct ek_facts {
	size_t size; /* sizeof(struct ek_facts) */
	uint8_t uuid[16];
	char label[17];
	char last_mounted[65];
	char features[1024];  /* names as mke2fs spells them, separated by spaces */
	const char *revision; /* "ext2", "ext3" or "ext4": the oldest driver that does it justice */
	uint64_t blocks, reserved_blocks, overhead_blocks;
	uint32_t block_size, cluster_size, inode_size; /* bytes */
	uint32_t inodes, first_inode;
	uint32_t groups, blocks_per_group, inodes_per_group;
	uint32_t first_data_block, flex_groups, reserved_gdt_blocks, desc_size;
	uint32_t reserved_uid, reserved_gid;
	uint32_t journal_inode;  /* 0: none, or outside */
	uint64_t journal_blocks; /* 0 when it has none */
	uint32_t state;          /* enum ek_image_state */
	uint32_t error_count;
	uint16_t mount_count;
	int16_t max_mount_count; /* -1: no limit */
	struct ek_time made, mounted, written, checked;
	struct ek_time first_error, last_error; /* 0 without errors */
	const char *hash;                       /* of folder indexes, "half_md4" for example */
	uint8_t hash_seed[16];
	uint64_t written_kib; /* over its life */
};

EK_EXPORT EK_MUST int ek_image_facts(struct ek_image *img, struct ek_facts *ret);

/* What statfs(2) would say. */
struct ek_space {
	size_t size;         /* sizeof(struct ek_space) */
	uint32_t block_size; /* bytes; all counts of blocks are in these */
	uint64_t blocks;     /* without what metadata takes */
	uint64_t free_blocks;
	uint64_t usable_blocks; /* free, but for what is kept for root and for writeback */
	uint64_t inodes, free_inodes;
};

EK_EXPORT EK_MUST int ek_image_space(struct ek_image *img, struct ek_space *ret);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two trees compared: images, folders of the host, archives and manifests, in any pair.
 *
 *	static int tell(void *arg, const struct ek_difference *d)
 *	{
 *		printf("%s: %s: %s, %s\n", d->path, d->what, d->a, d->b);
 *		return 0;
 *	}
 *
 *	struct ek_diff_side a = {.name = "old.tar"}, b = {.name = "new.img"};
 *	struct ek_diff_options opt = {.size = sizeof(opt)};
 *
 *	if (ek_diff(ctx, &a, &b, &opt, tell, NULL) == 0)
 *		puts("equal");
 */
#ifndef EXTKIT_DIFF_H
#define EXTKIT_DIFF_H

#include <stdbool.h>

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_ctx;
struct ek_image;
struct ek_inode;

struct ek_diff_side {
	const char *name;       /* as a source of a tree (extkit/tree.h) */
	struct ek_inode *inode; /* or a folder of an open image; then name is for messages */
};

enum ek_diff_flag {
	EK_DIFF_NO_TIMES = 1 << 0,
	EK_DIFF_NO_OWNERS = 1 << 1,
	EK_DIFF_NO_XATTRS = 1 << 2,
	EK_DIFF_NO_CONTENTS = 1 << 3 /* sizes are compared all the same */
};

struct ek_diff_options {
	size_t size;    /* sizeof(struct ek_diff_options) */
	unsigned flags; /* enum ek_diff_flag, or'ed */
};

/* One difference.  what: "missing" (a or b is "-", the other "there"), "type", "mode", "owner",
 * "size", "contents" (a and b are the first byte that differs), "target", "device", "time",
 * "flags", "project", "attributes" (the first that differs), "links".  a and b are the values in
 * words. Valid during the call only; path is as the trees have it: escape it before showing. */
struct ek_difference {
	const char *path; /* below the start, "" for the start itself */
	const char *what;
	const char *a, *b;
};

/* Other than 0 ends the comparison with that result. */
typedef int ek_diff_fn(void *arg, const struct ek_difference *d);

/* Calls tell for each difference: those of what both have and of what only b has in the order of b,
 * then what only a has in the order of its names; with a an archive and b none, the other way
 * round.  lost+found at the start is compared only when both have it.  Times of access and creation
 * are not compared, nor what a source does not know.  Returns 0 when there was none, 1 when there
 * were some.
 *
 * Memory goes with the number of names in a; contents are compared piece by piece.  Of two archives
 * the contents of the first are kept in memory (a file without a name) meanwhile. */
EK_EXPORT EK_MUST int ek_diff(struct ek_ctx *ctx, const struct ek_diff_side *a,
			      const struct ek_diff_side *b, const struct ek_diff_options *opt,
			      ek_diff_fn *tell, void *arg);

/* ---- blocks ---- */

/* What a block of an image belongs to.  what: "superblock", "group descriptors", "reserved
 * descriptors", "block bitmap", "inode bitmap" (of group, copies too), "inode table" (inode to
 * last_inode), "mount guard", "boot block"; "journal", "file", "folder", "link" (contents of inode,
 * from the byte offset on), "map" (extent and pointer blocks) and "attributes" of inode; "free",
 * "in use" (by nothing that has a name), "unknown" (the bitmap is damaged) and "nothing" (behind
 * the end). */
struct ek_block_owner {
	const char *what;
	const char *path; /* the inode's first name from the root on, "." for the root, or "" */
	uint32_t inode, last_inode, group;
	uint32_t inodes_per_block; /* of a table, else 0 */
	bool has_offset;
	uint64_t offset; /* bytes */
};

/* len blocks that differ and have one owner on each side.  Blocks are those of the image with the
 * smaller ones.  Valid during the call only; path is as the image has it. */
struct ek_block_difference {
	uint64_t block, len;
	struct ek_block_owner a, b;
};

/* Other than 0 ends the comparison, as in ek_diff. */
typedef int ek_block_diff_fn(void *arg, const struct ek_block_difference *d);

/* Compares the blocks of two images as a mount would see them (what a dirty log holds, unless it is
 * not replayed), as far as the smaller one goes, and tells what differs from the first block to the
 * last.  Holes of both files are not read.  Who owns a block is asked only when something differs:
 * that walks the trees, and takes memory for their extents.  With tell NULL nobody asks, and the
 * first difference ends the comparison.
 *
 * Returns 0 when nothing differed and both are of one size, else 1. */
EK_EXPORT EK_MUST int ek_diff_blocks(struct ek_image *a, struct ek_image *b, ek_block_diff_fn *tell,
				     void *arg);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole trees into images.
 *
 *	const char *from[] = {"rootfs"};
 *	struct ek_create_options opt = {.size = sizeof(opt)};
 *	struct ek_tree_options tree = {
 *	    .size = sizeof(tree), .sources = from, .nsources = 1, .how = EK_SIZE_AUTO};
 *	struct ek_tree_report *report;
 *
 *	if (ek_create_tree(ctx, "root.img", &opt, &tree, &report) == 0)
 *		ek_tree_report_free(report);
 *
 * A source is a folder of the host, an archive (tar, cpio and whatever else libarchive reads, "-"
 * for standard input), a manifest (doc/SPEC.md) or another image.  Sources are laid over one
 * another in their order: what a later one has replaces what an earlier one had under that name,
 * and folders are joined.
 *
 * Everything a file is comes along: type, mode, 32-bit owner and group, device numbers, times with
 * nanoseconds, names that share an inode, attributes, access lists, holes.  What cannot be kept
 * ends the call, or becomes an issue with EK_TREE_KEEP_GOING; nothing is dropped in silence.  The
 * same tree with the same seed and time gives the same bytes, in whatever order the host lists it.
 */
#ifndef EXTKIT_TREE_H
#define EXTKIT_TREE_H

#include "extkit/create.h"
#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_ctx;

enum ek_tree_flag {
	EK_TREE_ALL_ROOT = 1 << 0,   /* everything belongs to 0:0 */
	EK_TREE_UID = 1 << 1,        /* everything belongs to uid */
	EK_TREE_GID = 1 << 2,        /* and to the group gid */
	EK_TREE_CLAMP = 1 << 3,      /* times after the image's now become that */
	EK_TREE_KEEP_GOING = 1 << 4, /* what cannot be kept is an issue, and the rest goes on */
	EK_TREE_NO_XATTRS = 1 << 5   /* attributes of sources are left out */
};

enum ek_tree_size {
	EK_SIZE_GIVEN = 0, /* ek_create_options.bytes, or the size of what is there */
	EK_SIZE_AUTO,      /* the tree, a tenth more, and free bytes */
	EK_SIZE_MIN        /* the tree and free bytes, not a block more */
};

/* Numbers [from, from + count) become [to, to + count). */
struct ek_id_map {
	uint32_t from, to, count;
};

/* Zero is a good value for every member but size and sources. */
struct ek_tree_options {
	size_t size;    /* sizeof(struct ek_tree_options) */
	unsigned flags; /* enum ek_tree_flag, or'ed */
	unsigned how;   /* enum ek_tree_size */
	const char *const *sources;
	size_t nsources;
	uint64_t free_bytes;
	uint32_t uid, gid;
	const struct ek_id_map *users, *groups; /* an owner that no row names stays */
	size_t nusers, ngroups;
	const char *const *excludes; /* patterns of paths (fnmatch); without "/" of names */
	size_t nexcludes;
	const char *file_contexts; /* SELinux labels by regular expressions of paths, or NULL */
	const char *xattr_file; /* attributes by paths, as getfattr --dump writes them, or NULL */
	const char *fs_config;  /* Android: path uid gid mode [capabilities=0x...], or NULL */
	uint64_t max_entries;   /* 0: 16,777,216 */
	uint64_t max_bytes;     /* of contents, holes not counted; 0: 16 TiB */
};

struct ek_tree_issue {
	int error;        /* negative errno */
	const char *path; /* below the start */
	const char *why;  /* one line */
};

/* The bill: where the blocks of the filesystem went. */
struct ek_tree_report {
	uint64_t bytes;   /* of the filesystem */
	uint64_t blocks;  /* all, and then those of */
	uint64_t data;    /* contents of files */
	uint64_t folders; /* names, with their indexes */
	uint64_t links;   /* targets too long for an inode */
	uint64_t xattrs;  /* attributes that do not fit inodes */
	uint64_t maps;    /* of fragmented files */
	uint64_t tables;  /* bitmaps and inode tables */
	uint64_t supers;  /* superblocks, descriptors and what is kept for more of them */
	uint64_t journal;
	uint64_t other; /* files that serve the filesystem */
	uint64_t free;
	uint32_t block_size;
	uint64_t inodes, inodes_used;
	uint64_t entries; /* names in the tree */
	uint64_t failed;  /* entries that are missing, with EK_TREE_KEEP_GOING */
	size_t nissues;   /* rows, at most 1,000 */
	const struct ek_tree_issue *issues;
};

/* Makes an image with the tree in it.  A regular file is made under another name and takes its
 * place when it is whole: until then what was there stays.  path NULL: only counts; an archive is
 * read for that.
 *
 * -ENOSPC: the given size is too small, with the missing blocks and inodes; the rest as ek_create
 * and -EINVAL for a source that makes no sense, with the place.  *ret is set on success only. */
EK_EXPORT EK_MUST int ek_create_tree(struct ek_ctx *ctx, const char *path,
				     const struct ek_create_options *opt,
				     const struct ek_tree_options *tree,
				     struct ek_tree_report **ret);

struct ek_image;

/* The same sources into an image that was opened with EK_IMAGE_WRITE, below its folder path.  how
 * and free_bytes do not count.  Files are replaced, folders joined; each entry is there whole or
 * not at all, and a failure leaves those before it.  ek_create_tree with a NULL path reads the
 * sources to their ends without an image, and so tells beforehand whether they make sense.  *ret
 * has entries, failed and issues. */
EK_EXPORT EK_MUST int ek_import_tree(struct ek_image *img, const char *path,
				     const struct ek_tree_options *tree,
				     struct ek_tree_report **ret);

enum ek_sync_flag {
	EK_SYNC_KEEP = 1 << 0 /* what the source has not stays, unless it is in the way */
};

/* One change that is about to be made.  action: "make", "replace" (contents, type, target or
 * device), "set" (mode, owner, time, attributes, flags, project), "link" (the name leads to the
 * inode of another one now), "remove" (with everything below).  Valid during the call only; escape
 * path before showing it. */
struct ek_sync_step {
	const char *path; /* below the start, "" for the start itself */
	const char *action;
};

/* Other than 0 ends the call with that result, or -ECANCELED when it is positive. */
typedef int ek_sync_fn(void *arg, const struct ek_sync_step *step);

/* Makes the folder path of the image (made when it is missing) equal to what ek_import_tree would
 * put into an empty one, and touches nothing that is so already; *tree names one source.  Of what
 * differs in other than contents just that is set, and attributes that the source has not go; what
 * differs in contents is replaced, each file whole or not at all.  A new name of a file whose inode
 * the image has under another one, equal in everything, becomes a name of it ("link").
 *
 * What the source has not goes first, so that the image needs no room for both, except files of the
 * length and time of a new name, which may have moved: those go last, with the folders they are in.
 * Everything goes last when the source is "-" or another pipe, or entries may fail
 * (EK_TREE_KEEP_GOING), and stays when some have, since it may be theirs.  Killed between two
 * steps, an image with a journal has those before, and a second call does the rest.
 *
 * lost+found in the root is neither changed nor removed, nor is what is in it.  Times of access and
 * creation are not compared.  A second call with the same source changes nothing, an archive that
 * has an entry twice excepted; but opening for writing and closing leaves marks in superblock and
 * journal.  Whether anything differs can be asked of an image that is open for reading, by a tell
 * that ends the call.
 *
 * tell may be NULL.  Memory goes with the number of names, of the image and of the source.
 * -EINVAL for more or fewer than one source, and for one without any entry unless EK_SYNC_KEEP is
 * set; -EISDIR and -ENOTDIR for an archive that has something
 * both as a folder and as none; *ret as by ek_import_tree. */
EK_EXPORT EK_MUST int ek_sync_tree(struct ek_image *img, const char *path,
				   const struct ek_tree_options *tree, unsigned flags,
				   ek_sync_fn *tell, void *arg, struct ek_tree_report **ret);

/* Accepts NULL. */
EK_EXPORT void ek_tree_report_free(struct ek_tree_report *report);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is inside an image: inodes, their data, extents and attributes, folders, whole trees.
 *
 *	struct ek_inode *inode;
 *	struct ek_stat st = {.size = sizeof(st)};
 *
 *	if (ek_inode_open(img, "/etc/passwd", 0, &inode) == 0) {
 *		if (ek_inode_stat(inode, &st) == 0)
 *			printf("%llu bytes\n", (unsigned long long)st.bytes);
 *		ek_inode_close(inode);
 *	}
 *
 * An inode, folder or walk belongs to its image and is closed before it.  Names and link targets
 * are bytes as they are in the image: escape them before they are shown (text.h).
 */
#ifndef EXTKIT_INODE_H
#define EXTKIT_INODE_H

#include <stdbool.h>

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_dir;
struct ek_image;
struct ek_inode;
struct ek_walk;

#define EK_ROOT_INODE 2u

enum ek_path_flag {
	EK_NOFOLLOW = 1 << 0 /* a link at the end of the path is meant itself */
};

/* The inode at path, from the root whether or not it begins with "/".  Links are followed inside
 * the image only.  -ENOENT, -ENOTDIR, -ELOOP; -EUCLEAN and -EBADMSG for damage on the way. */
EK_EXPORT EK_MUST int ek_inode_open(struct ek_image *img, const char *path, unsigned flags,
				    struct ek_inode **ret);

/* The same by number; -EUCLEAN for one outside of the image, -ESTALE for one not in use. */
EK_EXPORT EK_MUST int ek_inode_open_number(struct ek_image *img, ek_inum ino,
					   struct ek_inode **ret);

/* Accepts NULL. */
EK_EXPORT void ek_inode_close(struct ek_inode *inode);

struct ek_stat {
	size_t size; /* sizeof(struct ek_stat) */
	ek_inum ino;
	uint32_t mode; /* type and permissions as in stat(2) */
	uint32_t links;
	uint32_t uid, gid, project;
	uint32_t flags; /* of the inode, as FS_IOC_GETFLAGS and more; see ek_flag_names */
	uint32_t generation;
	uint64_t version;
	uint64_t bytes;                /* length of the data */
	uint64_t sectors;              /* 512 bytes each, as st_blocks */
	uint32_t dev_major, dev_minor; /* of device nodes */
	struct ek_time atime, mtime, ctime;
	struct ek_time crtime; /* creation; 0 in inodes too small for it */
	ek_pblk xattr_block;   /* 0: none */
	uint16_t extra_size;   /* bytes that the inode uses beyond 128 */
	bool has_crtime;
};

EK_EXPORT EK_MUST int ek_inode_stat(struct ek_inode *inode, struct ek_stat *ret);

/* Fills buf (cap bytes, at least 1) with the names of the flags, separated by spaces; bits without
 * a name as 0x....  Returns buf. */
EK_EXPORT const char *ek_flag_names(uint32_t flags, char *buf, size_t cap);

/* The target of a link, terminated.  It has no zero byte inside.  -EINVAL: no link; -ENAMETOOLONG:
 * cap is too small (4096 always does, 65536 with blocks of 64 KiB). */
EK_EXPORT EK_MUST int ek_inode_readlink(struct ek_inode *inode, char *buf, size_t cap);

/* Reads up to len bytes at off of a regular file: *ret of them, less than len at its end only.
 * Holes and unwritten blocks are zeros.  Asks the host in runs as large as the extents and len
 * allow; a megabyte at a time is plenty.  -EISDIR, -EINVAL for others. */
EK_EXPORT EK_MUST int ek_inode_read(struct ek_inode *inode, uint64_t off, void *buf, size_t len,
				    size_t *ret);

/* The first byte at or after off that may be other than zero, or the length of the file when there
 * is none: holes before it need not be read. */
EK_EXPORT EK_MUST int ek_inode_next_data(struct ek_inode *inode, uint64_t off, uint64_t *ret);

/* The end of the data at off: the first byte at or after it that is in a hole or unwritten, or the
 * length of the file. */
EK_EXPORT EK_MUST int ek_inode_next_hole(struct ek_inode *inode, uint64_t off, uint64_t *ret);

struct ek_extent {
	ek_lblk lblk;   /* block of the file */
	ek_pblk pblk;   /* block of the filesystem */
	uint32_t len;   /* blocks */
	bool unwritten; /* reads as zeros */
};

/* The extent at or after from: 1, or 0 behind the last.  Ask again from lblk + len. */
EK_EXPORT EK_MUST int ek_inode_extent(struct ek_inode *inode, ek_lblk from, struct ek_extent *ret);

/* ---- extended attributes ---- */

struct ek_xattr {
	const char *name; /* full, "user.comment" */
	const void *value;
	size_t len;
};

struct ek_xattrs;

/* All attributes of an inode, copied.  Values of system.posix_acl_* are in the form of
 * getxattr(2). */
EK_EXPORT EK_MUST int ek_inode_xattrs(struct ek_inode *inode, struct ek_xattrs **ret);

/* Attribute i, counted from 0, or NULL behind the last. */
EK_EXPORT const struct ek_xattr *ek_xattrs_get(const struct ek_xattrs *xattrs, size_t i);
EK_EXPORT void ek_xattrs_free(struct ek_xattrs *xattrs);

/* ---- folders ---- */

struct ek_entry {
	ek_inum ino;   /* may be wrong in a damaged image: opening it checks */
	uint32_t mode; /* type bits as in stat(2), 0 when the entry does not say */
	size_t name_len;
	char name[256]; /* terminated as well */
};

/* -ENOTDIR.  The inode may be closed while the folder is open. */
EK_EXPORT EK_MUST int ek_dir_open(struct ek_inode *inode, struct ek_dir **ret);

/* 1 and the next entry, "." and ".." left out, in the order they are stored; 0 at the end.  An
 * error ends the walk. */
EK_EXPORT EK_MUST int ek_dir_next(struct ek_dir *dir, struct ek_entry *ret);

/* Accepts NULL. */
EK_EXPORT void ek_dir_close(struct ek_dir *dir);

/* ---- trees ---- */

struct ek_found {
	const char *path; /* below the start, "" for the start itself; valid until the next call */
	size_t path_len;
	const char *name; /* its last part, a view into path */
	unsigned depth;   /* 0 for the start */
	ek_inum ino;
	struct ek_inode *inode; /* the walk's own, or NULL when it could not be read */
	int error;              /* why not, or why a folder is not entered; 0 when all is well */
	uint32_t mode;          /* type and permissions, 0 without inode */
};

enum ek_walk_flag {
	EK_WALK_SORTED = 1 << 0 /* entries of a folder by name (bytes), else as they are stored */
};

/* Walks everything below inode, folders before what is in them. */
EK_EXPORT EK_MUST int ek_walk_open(struct ek_inode *inode, unsigned flags, struct ek_walk **ret);

/* 1 and the next inode, 0 at the end.  A part of a path never is "", ".", ".." nor has it "/" or a
 * zero byte inside: such a name is damage and reported like the rest.  What cannot be read is
 * reported in ret->error with its story on the context, and the walk goes on.  Folders that were
 * seen already (a loop in a damaged image) and those deeper than 256 are not entered.  An error is
 * returned only when nothing can follow. */
EK_EXPORT EK_MUST int ek_walk_next(struct ek_walk *walk, struct ek_found *ret);

/* Does not enter the folder that was found last. */
EK_EXPORT void ek_walk_prune(struct ek_walk *walk);

/* Accepts NULL. */
EK_EXPORT void ek_walk_close(struct ek_walk *walk);

#ifdef __cplusplus
}
#endif
#endif

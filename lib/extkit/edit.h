/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes to an image that was opened with EK_IMAGE_WRITE.
 *
 * Each call happens or does not: its names appear in one journal transaction, and that one counts
 * only once the data they stand for are on the device.  After kill -9 or a power cut the old file
 * is there or the new one, whole, and blocks taken for what was not finished are given back by the
 * next open.  A call that returned is durable after ek_image_sync or ek_image_close.  Without a
 * journal the order is the same, but an interrupted image wants e2fsck, unless it was opened with
 * EK_IMAGE_UNDO_FILE: then undo.h takes back what was not finished.
 */
#ifndef EXTKIT_EDIT_H
#define EXTKIT_EDIT_H

#include <stdbool.h>

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_image;
struct ek_inode;
struct ek_xattr;

enum ek_attr_mask {
	EK_ATTR_MODE = 1 << 0,
	EK_ATTR_UID = 1 << 1,
	EK_ATTR_GID = 1 << 2,
	EK_ATTR_ATIME = 1 << 3,
	EK_ATTR_MTIME = 1 << 4,
	EK_ATTR_FLAGS = 1 << 5,  /* those of ek_flags_settable; the others stay as they are */
	EK_ATTR_PROJECT = 1 << 6 /* -EOPNOTSUPP without the feature "project" */
};

/* What a new inode is given, or an old one.  What the mask leaves out is 0644 or 0755, root, and
 * the image's now for a new one, and stays for an old one. */
struct ek_attr {
	size_t size;   /* sizeof(struct ek_attr) */
	unsigned mask; /* enum ek_attr_mask, or'ed */
	uint32_t mode; /* permissions; the type follows from the call */
	uint32_t uid, gid;
	struct ek_time atime, mtime;
	const struct ek_xattr *xattrs;
	size_t nxattrs;
	uint32_t flags; /* enum ek_attr_mask says whether; bits as in ek_stat.flags */
	uint32_t project;
};

enum ek_put_flag {
	EK_PUT_REPLACE = 1 << 0, /* a file of that name goes; a folder never does */
	EK_PUT_PARENTS = 1 << 1  /* make missing folders on the way, 0755 */
};

/* A link at the end of path is not followed: it is what would be replaced.
 *
 * Makes the regular file path from what fd holds, from its position to its end.  Holes that the
 * host knows of stay holes.  attr may be NULL.  *ret_bytes (may be NULL) gets the length.
 *
 * -EEXIST without EK_PUT_REPLACE, -EISDIR, -ENOENT, -ENOTDIR; -ENOSPC tells how many blocks are
 * missing. */
EK_EXPORT EK_MUST int ek_put_fd(struct ek_image *img, const char *path, int fd, unsigned flags,
				const struct ek_attr *attr, uint64_t *ret_bytes);

/* The same from memory. */
EK_EXPORT EK_MUST int ek_put_bytes(struct ek_image *img, const char *path, const void *bytes,
				   size_t len, unsigned flags, const struct ek_attr *attr);

/* ---- names ----
 *
 * Paths are followed as in inode.h, but a link at their end is meant itself.  "/" and what ends in
 * "." or ".." name no entry of a folder and are refused with -EISDIR.  flags: enum ek_put_flag
 * unless said otherwise; what is made, and what goes for it, is one transaction. */

/* Makes a folder.  flags: EK_PUT_PARENTS, and then a folder that is there already is fine and keeps
 * what it has. */
EK_EXPORT EK_MUST int ek_mkdir(struct ek_image *img, const char *path, unsigned flags,
			       const struct ek_attr *attr);

/* Makes a link to target, which is kept as it is and need not exist.  Its permissions are 0777
 * always.  -ENAMETOOLONG: longer than 4095 bytes or than a block. */
EK_EXPORT EK_MUST int ek_symlink(struct ek_image *img, const char *target, const char *path,
				 unsigned flags, const struct ek_attr *attr);

/* Makes a device node, pipe or socket: mode has the type bits of stat(2), the permissions are
 * attr's.  -EINVAL for other types and for numbers that a node cannot hold (12 bits for major, 20
 * for minor). */
EK_EXPORT EK_MUST int ek_mknod(struct ek_image *img, const char *path, uint32_t mode,
			       uint32_t major, uint32_t minor, unsigned flags,
			       const struct ek_attr *attr);

/* One more name for the file at from.  -EISDIR for folders, -EMLINK past 65000 names. */
EK_EXPORT EK_MUST int ek_link(struct ek_image *img, const char *from, const char *path,
			      unsigned flags);

enum ek_rename_flag {
	EK_RENAME_NO_REPLACE = 1 << 0, /* -EEXIST when the name is taken */
	EK_RENAME_SWAP = 1 << 1        /* both must exist and change places */
};

/* As rename(2): a file takes the place of a file, a folder that of an empty folder.  -ELOOP when a
 * folder would come to lie in itself.  When both are names of one file the first name goes. */
EK_EXPORT EK_MUST int ek_rename(struct ek_image *img, const char *from, const char *to,
				unsigned flags);

enum ek_remove_flag {
	EK_REMOVE_EMPTY = 1 << 0, /* empty folders too */
	EK_REMOVE_TREE = 1 << 1   /* folders with everything below, deepest first */
};

/* Takes the name away, and the inode when that was its last one.  A tree goes name by name: each is
 * whole or gone, and what an interruption left can be removed again.  *ret_count (may be NULL) gets
 * the number of names that went, also on failure.  -EISDIR, -ENOTEMPTY, -ENOENT. */
EK_EXPORT EK_MUST int ek_remove(struct ek_image *img, const char *path, unsigned flags,
				uint64_t *ret_count);

/* ---- inodes ---- */

/* Sets what the mask names and the attributes, in one transaction; ctime becomes the image's now.
 * -EINVAL for a time that the inode has no room for and for flags that its type cannot have. */
EK_EXPORT EK_MUST int ek_inode_set(struct ek_inode *inode, const struct ek_attr *attr);

/* The flags that ek_inode_set may change. */
EK_EXPORT uint32_t ek_flags_settable(void);

/* The flag of that name as ek_flag_names spells it; 0 when there is none. */
EK_EXPORT uint32_t ek_flag_of(const char *name);

/* As truncate(2).  What is cut off is freed in as many transactions as it takes; an interrupted cut
 * is finished by the next open.  -EFBIG. */
EK_EXPORT EK_MUST int ek_inode_set_size(struct ek_inode *inode, uint64_t size);

enum ek_falloc {
	EK_FALLOC_ALLOCATE,  /* blocks that read as zeros; the file grows to the end of them */
	EK_FALLOC_KEEP_SIZE, /* the same without growing */
	EK_FALLOC_PUNCH,     /* a hole instead of data */
	EK_FALLOC_ZERO,      /* zeros instead of data, with blocks; the file grows */
	EK_FALLOC_COLLAPSE,  /* bytes are taken out, what follows moves down */
	EK_FALLOC_INSERT     /* a hole is put in, what follows moves up */
};

/* As fallocate(2): COLLAPSE and INSERT want whole blocks inside the file (-EINVAL), and all but
 * PUNCH a file that is mapped by extents (-EOPNOTSUPP). */
EK_EXPORT EK_MUST int ek_inode_fallocate(struct ek_inode *inode, enum ek_falloc how, uint64_t off,
					 uint64_t len);

enum ek_xattr_flag {
	EK_XATTR_CREATE = 1 << 0, /* -EEXIST when it has the attribute */
	EK_XATTR_REPLACE = 1 << 1 /* -ENODATA when it has not */
};

/* Sets one attribute.  Names as in ek_xattr; ACLs in the form of setxattr(2), and then the
 * permissions follow, as they do in Linux.  -ENOSPC when there is no room for it. */
EK_EXPORT EK_MUST int ek_inode_set_xattr(struct ek_inode *inode, const char *name,
					 const void *value, size_t len, unsigned flags);

/* -ENODATA when it has no such attribute. */
EK_EXPORT EK_MUST int ek_inode_remove_xattr(struct ek_inode *inode, const char *name);

/* ---- copies ---- */

enum ek_copy_flag {
	EK_COPY_TREE = 1 << 0,       /* folders with everything below */
	EK_COPY_NO_REPLACE = 1 << 1, /* -EEXIST instead of replacing a file */
	EK_COPY_FOLLOW = 1 << 2      /* a link at the end of from is followed */
};

struct ek_copied {
	size_t size;    /* sizeof(struct ek_copied) */
	uint64_t names; /* made, further names of a file included */
	uint64_t bytes; /* of data, holes left out */
};

/* Copies what is at from in src to the name to in dst, which may be the same image: type, contents
 * with their holes, mode, owner, times with nanoseconds, attributes, settable flags, project when
 * both have the feature.  Names of one file inside the tree are names of one file in the copy.
 * Each file appears whole or not at all; a folder that is there already is filled.  ret may be
 * NULL.
 *
 * -EISDIR for a folder without EK_COPY_TREE and for a file that would replace a folder, -ENOTDIR
 * for the reverse, -ELOOP when a folder would be copied into itself, -EOPNOTSUPP for what is
 * encrypted or sealed by verity. */
EK_EXPORT EK_MUST int ek_copy(struct ek_image *src, const char *from, struct ek_image *dst,
			      const char *to, unsigned flags, struct ek_copied *ret);

#ifdef __cplusplus
}
#endif
#endif

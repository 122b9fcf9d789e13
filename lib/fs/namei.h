/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names to inodes, and the operations that change names.  Each is one transaction, counted and
 * marked where Linux counts and marks (delalloc-facts 4.8, 10).
 */
#ifndef FS_NAMEI_H
#define FS_NAMEI_H

#include <stdbool.h>
#include <stdint.h>

#include <extkit/types.h>

struct ek_inode;
struct task;

enum walk_flag {
	WALK_NOFOLLOW = 1 << 0 /* a link at the end is returned, not followed */
};

/* The inode at path ("/a/b"; empty components and "." are skipped, ".." climbs, never above the
 * root).  Links are followed inside the image, at most 40.  -ENOENT, -ENOTDIR, -ELOOP. */
int path_walk(struct task *t, const char *path, unsigned flags, struct ek_inode **ret);

/* The folder that holds the last component, and that component (a view into path).  -EINVAL for
 * "/", "." and ".." as last component. */
int path_parent(struct task *t, const char *path, struct ek_inode **dir, const char **name,
		uint32_t *len);

/* The same of a name that is missing at the end of path, behind links that lead there: its folder
 * and a copy of it.  -EEXIST when nothing is missing, else the error of path_walk. */
int path_missing(struct task *t, const char *path, struct ek_inode **dir, char name[256],
		 uint32_t *len);

int fs_create(struct task *t, struct ek_inode *dir, const char *name, uint32_t len, uint16_t mode,
	      struct ek_inode **ret);
/* A nameless file on the orphan list (O_TMPFILE). */
int fs_tmpfile(struct task *t, struct ek_inode *dir, uint16_t mode, struct ek_inode **ret);
int fs_mkdir(struct task *t, struct ek_inode *dir, const char *name, uint32_t len, uint16_t mode,
	     struct ek_inode **ret);
int fs_mknod(struct task *t, struct ek_inode *dir, const char *name, uint32_t len, uint16_t mode,
	     uint32_t major, uint32_t minor, struct ek_inode **ret);
int fs_symlink(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
	       const char *target, uint32_t target_len, struct ek_inode **ret);
int fs_link(struct task *t, struct ek_inode *inode, struct ek_inode *dir, const char *name,
	    uint32_t len);
int fs_unlink(struct task *t, struct ek_inode *dir, const char *name, uint32_t len);
int fs_rmdir(struct task *t, struct ek_inode *dir, const char *name, uint32_t len);

enum rename_flag { RENAME_NO_REPLACE = 1, RENAME_SWAP = 2, RENAME_MAKE_WHITEOUT = 4 };
int fs_rename(struct task *t, struct ek_inode *old_dir, const char *old_name, uint32_t old_len,
	      struct ek_inode *new_dir, const char *new_name, uint32_t new_len, unsigned flags);

/* A nameless file takes the name of a file, link or node, which loses it, in one transaction.
 * -ENOENT, -EISDIR. */
int fs_link_over(struct task *t, struct ek_inode *inode, struct ek_inode *dir, const char *name,
		 uint32_t len);

/* Target of a link, terminated; -ENAMETOOLONG when cap is too small. */
int fs_readlink(struct task *t, struct ek_inode *inode, char *buf, uint32_t cap);

/* chmod, chown, utimens: only the fields named in mask change. */
enum attr_mask {
	ATTR_MODE = 1 << 0,
	ATTR_UID = 1 << 1,
	ATTR_GID = 1 << 2,
	ATTR_ATIME = 1 << 3,
	ATTR_MTIME = 1 << 4,
	ATTR_CTIME = 1 << 5, /* only images being built or restored set it */
	ATTR_FLAGS = 1 << 6,
	ATTR_PROJECT = 1 << 7
};
struct attr {
	unsigned mask;
	uint16_t mode;
	uint32_t uid, gid, flags, project;
	struct ek_time atime, mtime, ctime;
};
int fs_setattr(struct task *t, struct ek_inode *inode, const struct attr *a);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Folders: linear and hashed, lookup, insert, remove, in-order walk. */
#ifndef FS_DIR_H
#define FS_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include <extkit/types.h>

struct ek_inode;
struct task;

#define NAME_MAX_BYTES 255u

/* Types in folder entries (filetype feature). */
enum dirent_type {
	DIRENT_UNKNOWN,
	DIRENT_FILE,
	DIRENT_DIR,
	DIRENT_CHR,
	DIRENT_BLK,
	DIRENT_FIFO,
	DIRENT_SOCK,
	DIRENT_LNK
};

struct dirent {
	ek_inum ino;
	enum dirent_type type;
	uint32_t name_len;
	const char *name; /* not terminated; valid until the iterator moves */
};

/* Walk position: a byte offset in the folder, in block order.  Zero it to begin. */
struct dir_iter {
	uint64_t off;
	struct buf *buf; /* held between calls; dir_iter_end releases it */
	bool last;       /* the entry handed out last ends its block */
};

/* 1 and the next live entry ("." and ".." included), 0 at the end, <0 on damage. */
int dir_next(struct task *t, struct ek_inode *dir, struct dir_iter *it, struct dirent *ret);
void dir_iter_end(struct dir_iter *it);

/* 0 and the inode number, -ENOENT. */
int dir_lookup(struct task *t, struct ek_inode *dir, const char *name, uint32_t len, ek_inum *ret);

/* Adds an entry under the running handle; -EEXIST when the name is there.  The folder grows and is
 * indexed as Linux does it (linear scan for the first block with room, index at the second block).
 * Sets the folder's times and marks it dirty (site DIR) once. */
int dir_add(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
	    struct ek_inode *target);

/* Removes the entry and sets the folder's times; -ENOENT.  The caller marks the folder dirty. */
int dir_remove(struct task *t, struct ek_inode *dir, const char *name, uint32_t len);

/* Lets the entry point to another inode (rename over, "..").  Times and marks are the caller's. */
int dir_set(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
	    const struct ek_inode *target);

/* First block of a new folder: "." and ".." under the running handle. */
int dir_init(struct task *t, struct ek_inode *dir, ek_inum parent);

/* 1 when only "." and ".." are left, 0 when not. */
int dir_empty(struct task *t, struct ek_inode *dir);

/* The four dir hashes of ext4 (half-MD4, TEA, legacy; signed and unsigned): major and minor. */
int dir_hash(const uint32_t seed[4], unsigned version, const char *name, uint32_t len,
	     uint32_t *major, uint32_t *minor);

#endif

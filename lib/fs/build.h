/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole filesystem built at once from a tree that is known: no transactions, no searches for free
 * space, every block written once.
 *
 * Contents come first.  Their blocks are dealt out from the front of the device, over the copies of
 * the superblock, before anybody knows how large the filesystem will be; folders, maps, attribute
 * blocks, bitmaps, inode tables and the log follow behind, where flex_bg allows them to lie.  So a
 * stream of files is written as it arrives, and the size is what all of it took.
 *
 *	build_open
 *	build_space       for each file: its blocks; while build_settled says no, contents must wait
 *	build_settle      places what waits, when too much does
 *	build_plan        with all inodes: sizes the filesystem and places everything
 *	build_write       everything but contents
 *
 * Contents are written by the caller at the places that the inodes' runs name.
 */
#ifndef FS_BUILD_H
#define FS_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "extkit/inode.h"
#include "fs/create.h"

struct build;
struct build_inode;
struct dev;

/* A name in a folder. */
struct build_name {
	struct hash_node node; /* the caller's */
	struct build_inode *dir, *inode;
	uint32_t hash, minor; /* of the folder's index, while it is built */
	uint8_t len;
	char name[];
};

/* Blocks of a file that hold data; pblk is 0 until they have a place. */
struct build_run {
	uint32_t lblk, len;
	uint64_t pblk;
};

/* Attributes as they will lie on disk; inodes with the same ones share them. */
struct build_xattrs {
	struct hash_node node;
	uint32_t users;
	uint8_t *body; /* behind the inode's fields, or NULL */
	uint8_t *block;
	struct build_user *values; /* of those in inodes of their own */
	uint32_t nvalues;
	size_t values_cap;
	uint64_t value_blocks; /* of values, whoever else has them */
	bool listed;
	uint64_t *pblk; /* one for each 1024 users */
	uint32_t nblocks, given;
	size_t source_len;
	char source[]; /* what they were made of, to tell whether others are the same */
};

/* An inode to come.  Everything above the line is the caller's to fill in. */
struct build_inode {
	uint32_t mode; /* type and permissions */
	uint32_t uid, gid, project, flags;
	uint32_t dev_major, dev_minor;
	struct ek_time atime, mtime, ctime, crtime;
	uint64_t size;     /* of a regular file */
	char *target;      /* of a link */
	uint8_t *contents; /* that lie in the inode; else NULL */
	struct build_xattrs *xattrs;
	struct build_inode *parent; /* of a folder */
	struct build_name **names;  /* in a folder */
	uint32_t nnames;
	size_t names_cap;
	uint32_t min_blocks; /* of a folder: lost+found has some to spare */
	uint64_t token;      /* the caller's: where contents are */
	void *origin;        /* the same */
	/* ---- */
	uint32_t ino, links, generation;
	struct build_run *runs; /* &one, or allocated */
	struct build_run one;
	uint32_t nruns;
	size_t runs_cap;
	struct block_run *map; /* blocks of extents or pointers outside the inode, in order */
	uint32_t nmap;
	size_t map_cap;
	uint32_t map_blocks;
	uint32_t dir_blocks;
	uint64_t data_blocks;  /* of whole clusters */
	uint32_t inside_bytes; /* of contents that lie in the inode */
	uint64_t xattr_block;
	struct build_inode *next_waiting, *prev_waiting;
	bool waiting;              /* for a place of its contents */
	struct build_value *value; /* of an attribute, that these are the contents of, or NULL */
};

enum build_size {
	BUILD_FIXED, /* as large as create_opts.size says */
	BUILD_AUTO,  /* room for some more */
	BUILD_MIN    /* not a block more than needed, besides what free asks for */
};

/* What everything takes, in blocks. */
struct build_bill {
	uint64_t blocks, data, folders, maps, xattrs, links, tables, heads, journal, other, free;
	uint64_t inodes, inodes_used;
	uint64_t files, entries;
	uint32_t block_size, groups;
};

/* o is copied; its size counts with BUILD_FIXED only.  free: bytes that shall be left, with the
 * others.  -EOPNOTSUPP for features that cannot be built in bulk. */
int build_open(const struct create_opts *o, enum build_size how, uint64_t free_bytes,
	       struct diag *d, struct build **ret);
void build_close(struct build *b);

uint32_t build_block_size(const struct build *b);
uint32_t build_inode_size(const struct build *b);

/* Blocks of a filesystem whose size is given; 0 when it will follow from the tree. */
uint64_t build_limit(const struct build *b);

/* Attributes of a set, shared with those that asked for the same before.  The set must be sorted by
 * name.  -E2BIG when they do not fit. */
int build_xattrs(struct build *b, const struct ek_xattr *x, size_t n, const char *path,
		 struct build_xattrs **ret);

/* Whether the contents of a regular file fit its inode beside its attributes.  Then the file asks
 * for no blocks, and its contents must be there when the filesystem is written. */
bool build_inside(const struct build *b, struct build_inode *inode);

/* Blocks for data: [from, to) of bytes in ascending order, one call each, then build_space.  A file
 * without any is all hole. */
int build_data(struct build *b, struct build_inode *inode, uint64_t from, uint64_t to);
int build_space(struct build *b, struct build_inode *inode);

/* Frees runs and maps. */
void build_free_runs(struct build_inode *inode);

/* Places are dealt out at once: contents may be written as they come. */
bool build_settled(const struct build *b);

/* The inodes that wait for a place can be given one before the size is known (false: they have to
 * wait for build_plan). */
bool build_can_settle(const struct build *b);
int build_settle(struct build *b);

/* The file goes after all: its blocks are free again. */
int build_forget(struct build *b, struct build_inode *inode);

/* Everything gets its place.  inodes[0] is the root; numbers are given in this order, links are
 * counted from names.  -ENOSPC with what is missing. */
int build_plan(struct build *b, struct build_inode **inodes, uint32_t n, struct build_inode *lost,
	       struct build_bill *ret);

/* The filesystem's size in bytes after build_plan. */
uint64_t build_bytes(const struct build *b);

/* Writes everything but contents; the superblock last, behind a flush.  fresh: dev reads as zeros,
 * and is flushed by the caller: nobody takes it for a filesystem before that. */
int build_write(struct build *b, struct dev *dev, bool fresh);

#endif

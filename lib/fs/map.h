/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mapping of file blocks to filesystem blocks: extent status first, then the extent tree (or
 * indirect blocks), in the largest runs there are.
 */
#ifndef FS_MAP_H
#define FS_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include <extkit/types.h>

#include "fs/es.h"

struct ek_image;
struct ek_inode;
struct task;

enum map_flag {
	MAP_CREATE = 0x1,    /* allocate holes */
	MAP_UNWRITTEN = 0x2, /* what is allocated is unwritten */
	MAP_DELALLOC = 0x4,  /* blocks were reserved when they were written */
	MAP_PRE_IO = 0x8,    /* split so that the range is its own unwritten extent; no merging */
	MAP_CONVERT = 0x10,  /* unwritten to written, I/O is done */
	MAP_METADATA_NOFAIL = 0x20,
	MAP_NO_NORMALIZE = 0x40,
	MAP_KEEP_SIZE = 0x80,
	MAP_ZERO = 0x200, /* write zeros to what is allocated (written) */
	MAP_IO_SUBMIT = 0x400,
	MAP_TO_UNWRITTEN = 0x800, /* written blocks become unwritten */
	MAP_NO_MERGE = 0x1000     /* what is allocated stays an extent of its own */
};

enum map_state { MAP_HOLE, MAP_MAPPED, MAP_IS_UNWRITTEN, MAP_IS_DELAYED };

struct map {
	ek_lblk lblk;
	uint32_t len; /* in: wanted; out: blocks in this state, at least 1 */
	ek_pblk pblk; /* out: where, when mapped or unwritten */
	enum map_state state;
	bool fresh;        /* blocks were mapped by this call */
	uint32_t clusters; /* that this call allocated: none where a neighbour's had room */
};

/* What is at m->lblk, without changing anything.  m->len is cut to one run; a hole's length is
 * exact up to the next entry or the request. */
int map_lookup(struct task *t, struct ek_inode *inode, struct map *m);

/* Makes [lblk, lblk + len) mapped as flags say, under the task's running handle; may map less than
 * asked (m->len), never nothing. */
int map_blocks(struct task *t, struct ek_inode *inode, struct map *m, unsigned flags);

/* True when new blocks of the file are unwritten until their data are on disk (dioread_nolock):
 * pointers cannot say so, nor does Linux without delayed allocation. */
bool map_writes_unwritten(const struct ek_inode *inode);

/* What gets a map now gets extents: the image has them, and the policy wants them. */
bool map_by_extents(const struct ek_image *img);

/* The largest size, in bytes, whose last block still has a number and a place in the map. */
uint64_t map_size_limit(const struct ek_inode *inode);

/* Journal credits for mapping `pextents` pieces of lblocks blocks (delalloc-facts 4.8). */
unsigned map_credits(const struct ek_inode *inode, unsigned lblocks, unsigned pextents);
unsigned map_writepage_credits(const struct ek_inode *inode); /* meta_trans(2048, 1) */

/* Frees blocks [from, to) of the file, to = 2^32-1 for the end; preallocation beyond EOF included.
 * Restarts the handle as needed.  Delayed blocks in the range give their reservation back. */
int map_remove(struct task *t, struct ek_inode *inode, ek_lblk from, ek_lblk to);

/* Shifts extents at or after from by distance blocks, left (collapse) or right (insert);
 * -EOPNOTSUPP for pointers, as in Linux. */
int map_shift(struct task *t, struct ek_inode *inode, ek_lblk from, uint32_t distance, bool right);

/* Runs as they are on disk, in order: the next one at or after lblk; 1 item, 0 end, <0 error. */
int map_next(struct task *t, struct ek_inode *inode, ek_lblk from, struct map *ret);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks while fast commits are applied.
 *
 * The bitmaps are those of the last whole transaction, the trees are on their way to a later state:
 * until all records are applied, a block may be free here and in use there, or have two owners for
 * a moment.  So bits are set and cleared without asking what they were; the blocks that records
 * map, and those that an inode had when a record of it came, are never given to anybody else; at
 * the end the blocks of every inode that was touched are marked once more.  New blocks are the
 * first free ones from the goal on, as Linux has it here.
 *
 * With clusters all of it is about whole ones: a cluster that loses some of its blocks is free, and
 * kept, until the end finds what is left in it.
 */
#ifndef FS_FAST_SPACE_H
#define FS_FAST_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <extkit/types.h>

struct ek_image;
struct fast_log;
struct task;

struct fast_run {
	uint64_t start, end;
};

struct fast_space {
	struct fast_run *kept; /* never given away; [0, joined) are sorted and disjoint */
	size_t count, joined, cap;
	uint32_t visits; /* runs that were kept because an inode has them */
};

/* From here on img->fast takes the allocator's place.  The log must have been proved. */
int fast_space_open(struct ek_image *img, const struct fast_log *log);
void fast_space_close(struct ek_image *img);

/* Blocks that nobody may be given. */
int fast_keep(struct ek_image *img, ek_pblk pblk, uint32_t len);

/* The first free block at or behind goal, round the end once; -ENOSPC. */
int fast_take(struct task *t, ek_pblk goal, ek_pblk *ret);

/* Blocks of [pblk, pblk + len) become used or free; those that are so already stay. */
int fast_mark(struct task *t, ek_pblk pblk, uint32_t len, bool used);

#endif

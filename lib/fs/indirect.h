/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files mapped by block pointers: twelve direct ones, then trees of one, two and three levels whose
 * nodes are blocks full of pointers.  A pointer of 0 is a hole.
 *
 * ind_lookup only reads; ind_fill and ind_remove run under the task's handle.
 */
#ifndef FS_INDIRECT_H
#define FS_INDIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include <extkit/types.h>

#include "base/bytes.h"

struct buf;
struct ek_image;
struct ek_inode;
struct map;
struct mb_request;
struct task;

#define IND_DIRECT 12u /* pointers in the inode that lead to data */
#define IND_LEVELS 3u

/* The run at m->lblk, at most m->len: where the blocks lie, one after the other, or a hole.
 * -EUCLEAN for a pointer that leads out of the filesystem or into its metadata. */
int ind_lookup(struct ek_inode *inode, struct map *m);

/* Like ind_lookup; a hole gets blocks, and pointer blocks where there are none, as req->flags say.
 * At most up to the end of the pointer block.  On failure nothing is allocated. */
int ind_fill(struct task *t, struct ek_inode *inode, struct map *m, const struct mb_request *req);

/* Frees what the file has in [from, to] (2^32-1: to the end), pointer blocks included that only led
 * there.  May restart the handle, with an inode that is consistent. */
int ind_remove(struct task *t, struct ek_inode *inode, ek_lblk from, ek_lblk to);

/* Blocks that pointers reach, or as many as i_blocks can count, whatever is less: the size limit of
 * such files (s_bitmap_maxbytes in Linux). */
uint64_t ind_max_blocks(const struct ek_inode *inode);

/* ---- inside ---- */

/* What a branch is made of. */
struct ind_blocks {
	ek_pblk meta[IND_LEVELS]; /* pointer blocks, top first */
	unsigned metas;           /* of them allocated */
	ek_pblk data;
	uint32_t len;
};

/* A place in the tree: a row of pointers, and which of them leads on. */
struct ind_step {
	const le32 *row;
	uint32_t at, count; /* pointers in the row */
	uint64_t span;      /* blocks of the file below each */
	struct buf *buf;    /* that holds the row, NULL for the inode */
};

/* Where the way to a block ends: at the pointer to its data, or at one of 0 before it. */
struct ind_place {
	struct ind_step step;
	unsigned levels; /* pointer blocks that are missing below the pointer */
	uint64_t in;     /* the block, counted from the first one below the pointer */
};

/* The way to lblk.  ind_leave releases it, also after a failure. */
int ind_find(struct ek_inode *inode, ek_lblk lblk, struct ind_place *ret);
void ind_leave(struct ind_place *p);

/* What the place says of m, whose length is cut to one run. */
int ind_answer(struct ek_inode *inode, const struct ind_place *p, struct map *m);

/* Pointers from the step's on, at most most, that are 0, or that name neighbouring blocks. */
uint32_t ind_run(const struct ind_step *s, uint32_t most);

/* ---- ext3's rules (fs/indirect_ext3.c) ---- */

/* The policy's allocation is ext3's. */
bool ind_by_ext3(const struct ek_image *img);
/* req->len blocks of data and levels of pointers for a branch at s.  On failure ret has what was
 * allocated until then. */
int ind_take_ext3(struct task *t, struct ek_inode *inode, const struct ind_step *s,
		  const struct mb_request *req, unsigned levels, struct ind_blocks *ret);
/* The branch with lblk hangs in a row (of the inode itself) that has been filed: times and marks.
 */
int ind_splice_ext3(struct task *t, struct ek_inode *inode, bool in_inode, ek_lblk lblk,
		    const struct ind_blocks *b);

unsigned ind_bits(const struct ek_inode *inode); /* log2 of pointers in a block */

#endif

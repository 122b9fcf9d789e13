/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps while fast commits are applied: every block of an inode, and pointers to given places. */
#ifndef FS_FAST_MAP_H
#define FS_FAST_MAP_H

#include <stdint.h>

#include <extkit/types.h>

struct ek_inode;
struct extent;
struct task;

typedef int fast_run_fn(struct task *t, ek_pblk pblk, uint32_t len);

/* Calls fn for each run that the inode's map names or consists of, extents or pointers, and adds
 * to *blocks what i_blocks counts: whole clusters, each once. */
int fast_walk_map(struct task *t, struct ek_inode *inode, fast_run_fn *fn, uint64_t *blocks);

/* Makes the pointers of e's blocks lead to e's place; blocks of pointers that are missing are taken
 * with fast_take, and what the pointers named before becomes free. */
int fast_set_pointers(struct task *t, struct ek_inode *inode, const struct extent *e);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* File data as the layers below the page cache see it: through data_ops when somebody caches data,
 * in place otherwise. */
#ifndef FS_DATA_H
#define FS_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/policy.h"

struct ek_inode;
struct task;

/* What the journal does for the data of this inode.  Without a journal it is DATA_MODE_NONE; what
 * is no file has no data of that kind.  The inode's own flag asks for DATA_MODE_JOURNAL and is
 * heard, as in Linux, only where allocation is not delayed. */
enum data_mode inode_data_mode(const struct ek_inode *inode);

/* The data go through the log. */
static inline bool inode_logs_data(const struct ek_inode *inode)
{
	return inode_data_mode(inode) == DATA_MODE_JOURNAL;
}

/* [from, to) inside one block reads as zeros from now on; nothing to do for holes and unwritten
 * blocks that nobody caches. */
int data_zero_partial(struct task *t, struct ek_inode *inode, uint64_t from, uint64_t to);

/* The unaligned edges of [from, to): the bytes that whole-block operations leave. */
int data_zero_edges(struct task *t, struct ek_inode *inode, uint64_t from, uint64_t to);

/* The generic part of the kernel would have dirtied the inode itself. */
void data_dirtied(struct ek_inode *inode);

int data_invalidate(struct ek_inode *inode, uint64_t from, uint64_t to);
/* Delayed blocks of the file get their places now (auto_da_alloc). */
int data_alloc_delayed(struct ek_inode *inode);
int data_write_out(struct ek_inode *inode, uint64_t from, uint64_t to);

#endif

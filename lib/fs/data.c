/* SPDX-License-Identifier: BSD-2-Clause */
/* Data of inodes without a page cache: read, change and write the one block in place. */
#include "fs/data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/inode.h"
#include "fs/map.h"
#include "io/dev.h"

enum data_mode inode_data_mode(const struct ek_inode *inode)
{
	const struct policy *p = inode->img->opts.policy;

	if (jnl_is_none(inode->img->jnl) || !inode_is_file(inode))
		return DATA_MODE_NONE;
	if ((inode->rec.flags & INODE_JOURNAL_DATA) != 0 && !policy_delays(p))
		return DATA_MODE_JOURNAL;
	return p->data;
}

static int zero_in_place(struct task *t, struct ek_inode *inode, uint64_t from, uint64_t to)
{
	const struct geom *g = &inode->img->geom;
	struct map m = {.lblk = {(uint32_t)(from >> g->block_bits)}, .len = 1};
	uint64_t at;
	uint8_t *block;
	int rc = map_lookup(t, inode, &m);

	if (rc < 0 || m.state != MAP_MAPPED)
		return rc;
	block = mem_aligned(4096, g->block_size);
	if (block == NULL)
		return diag_set(&inode->img->diag, -ENOMEM, "out of memory for a block");
	at = m.pblk.v << g->block_bits;
	rc = dev_read(inode->img->dev, at, block, g->block_size);
	if (rc == 0) {
		memset(block + (from & (g->block_size - 1)), 0, to - from);
		rc = dev_write(inode->img->dev, at, block, g->block_size);
	}
	free(block);
	return rc;
}

int data_zero_partial(struct task *t, struct ek_inode *inode, uint64_t from, uint64_t to)
{
	struct data_ops *ops = &inode->img->data;

	if (from >= to)
		return 0;
	if (ops->zero_partial != NULL)
		return ops->zero_partial(ops->ctx, inode, from, to);
	return zero_in_place(t, inode, from, to);
}

int data_zero_edges(struct task *t, struct ek_inode *inode, uint64_t from, uint64_t to)
{
	uint64_t size = inode->img->geom.block_size;
	uint64_t first = ROUND_DOWN(from, size), last = ROUND_DOWN(to, size);
	int rc;

	if (first == last)
		return data_zero_partial(t, inode, from, to);
	rc = from != first ? data_zero_partial(t, inode, from, first + size) : 0;
	return rc < 0 || to == last ? rc : data_zero_partial(t, inode, last, to);
}

int data_invalidate(struct ek_inode *inode, uint64_t from, uint64_t to)
{
	struct data_ops *ops = &inode->img->data;

	return ops->invalidate != NULL ? ops->invalidate(ops->ctx, inode, from, to) : 0;
}

int data_write_out(struct ek_inode *inode, uint64_t from, uint64_t to)
{
	struct data_ops *ops = &inode->img->data;

	return ops->write_out != NULL ? ops->write_out(ops->ctx, inode, from, to) : 0;
}

int data_alloc_delayed(struct ek_inode *inode)
{
	struct data_ops *ops = &inode->img->data;

	count(&inode->img->counters, COUNTER_ALLOC_DA_BLOCKS, 1);
	if (inode->reserved == 0 || ops->alloc_delayed == NULL)
		return 0;
	return ops->alloc_delayed(ops->ctx, inode);
}

void data_dirtied(struct ek_inode *inode)
{
	struct data_ops *ops = &inode->img->data;

	if (ops->dirtied != NULL)
		ops->dirtied(ops->ctx, inode);
}

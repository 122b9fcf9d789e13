/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks maps as they are on the device, without verifiers, so that damage in one node hides none of
 * the others.  A budget for the whole image ends what goes round.
 */
#include "tree/map_blocks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/image.h"
#include "fs/indirect.h"
#include "fs/inode.h"
#include "io/dev.h"
#include "ondisk/extent.h"

#define MOST (1u << 22) /* pointers of 16 TiB in blocks of 4 KiB take as many */

struct walk {
	struct map_blocks *m;
	map_block_fn *fn;
	void *arg;
};

int map_blocks_open(struct ek_image *img, struct map_blocks *ret)
{
	uint8_t *node = mem_aligned(64, (size_t)(EXTENT_MAX_DEPTH + 1) * img->geom.block_size);

	if (node == NULL)
		return -ENOMEM;
	*ret = (struct map_blocks){img, MOST, node};
	return 0;
}

void map_blocks_close(struct map_blocks *m)
{
	free(m->node);
}

/* 1 when the block was read and told. */
static int take(const struct walk *w, uint64_t block, uint8_t *to)
{
	struct map_blocks *m = w->m;
	const struct geom *g = &m->img->geom;
	int rc;

	if (block == 0 || block >= g->blocks || m->left == 0)
		return 0;
	m->left--;
	if (dev_read(m->img->dev, block << g->block_bits, to, g->block_size) < 0)
		return 0;
	rc = w->fn(w->arg, block);
	return rc < 0 ? rc : 1;
}

/* What an index node leads to; buf has a block for each level below. */
static int below_node(const struct walk *w, const struct extent_node *n, uint32_t room,
		      unsigned depth, uint8_t *buf)
{
	uint32_t size = w->m->img->geom.block_size;
	size_t count = (room - sizeof(n->h)) / sizeof(n->e.index[0]);
	int rc = 0;

	if (le16_get(n->h.eh_magic) != EXTENT_MAGIC || extent_depth(n) != depth || depth == 0)
		return 0;
	for (unsigned i = 0; i < MIN(extent_entries(n), count) && rc >= 0; i++) {
		rc = take(w, extent_child(&n->e.index[i]), buf);
		if (rc == 1)
			rc = below_node(w, (const struct extent_node *)(const void *)buf, size,
					depth - 1, buf + size);
	}
	return rc;
}

/* A block of pointers with `levels` of them down to the data, itself counted. */
static int pointers(const struct walk *w, uint64_t block, unsigned levels, uint8_t *buf)
{
	uint32_t size = w->m->img->geom.block_size;
	const le32 *row = (const le32 *)(const void *)buf;
	int rc = take(w, block, buf);

	if (rc != 1)
		return rc;
	for (uint32_t i = 0; i < size / sizeof(*row) && levels > 1 && rc >= 0; i++)
		rc = pointers(w, le32_get(row[i]), levels - 1, buf + size);
	return rc;
}

int map_blocks_each(struct map_blocks *m, const struct ek_inode *inode, map_block_fn *fn, void *arg)
{
	const struct walk w = {m, fn, arg};
	const struct extent_node *root = (const struct extent_node *)(const void *)inode->rec.block;
	const le32 *row = (const le32 *)(const void *)inode->rec.block;
	int rc = 0;

	if (inode_has_extents(inode) && extent_depth(root) <= EXTENT_MAX_DEPTH)
		rc = below_node(&w, root, INODE_BLOCK_BYTES, extent_depth(root), m->node);
	for (unsigned l = 1; l <= IND_LEVELS && inode_has_pointers(inode) && rc >= 0; l++)
		rc = pointers(&w, le32_get(row[IND_DIRECT + l - 1]), l, m->node);
	return MIN(rc, 0);
}

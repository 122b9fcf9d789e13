/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps of the files that a new filesystem begins with: extents in the inode, or one block of them,
 * or block pointers; the blocks that do not fit the inode were placed by the plan and are filled in
 * the order in which a reader meets them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/create_impl.h"
#include "io/dev.h"
#include "ondisk/extent.h"

#define DIRECT 12u

static bool has_extents(const struct geom *g)
{
	return geom_incompat(g, INCOMPAT_EXTENTS);
}

/* Pointer blocks below one of the given level that leads to blocks blocks, itself included. */
static uint64_t tree_blocks(uint64_t per, unsigned level, uint64_t blocks)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < level; i++) {
		blocks = DIV_UP(blocks, per);
		n += blocks;
	}
	return n;
}

static uint64_t pointer_blocks(const struct geom *g, uint64_t blocks)
{
	uint64_t per = g->block_size / 4, reach = per, n = 0;

	blocks -= MIN(blocks, (uint64_t)DIRECT);
	for (unsigned level = 1; level <= 3 && blocks != 0; level++, reach *= per) {
		n += tree_blocks(per, level, MIN(blocks, reach));
		blocks -= MIN(blocks, reach);
	}
	return n;
}

uint64_t create_map_blocks(const struct geom *g, uint64_t blocks, unsigned runs)
{
	return has_extents(g) ? runs > EXTENT_ROOT_ENTRIES : pointer_blocks(g, blocks);
}

uint64_t create_file_block(const struct placed_file *f, uint64_t n)
{
	const struct block_run *r = f->runs;

	for (; n >= r->len; r++)
		n -= r->len;
	return r->start + n;
}

/* ---- extents ---- */

static void put_extents(struct extent_node *node, const struct placed_file *f)
{
	uint32_t lblk = 0;

	for (unsigned i = 0; i < f->count; i++) {
		struct extent e = {{lblk}, (uint32_t)f->runs[i].len, {f->runs[i].start}, false};

		extent_encode(&e, &node->e.leaf[i]);
		lblk += e.len;
	}
	node->h.eh_entries = le16_make((uint16_t)f->count);
}

static int map_block_of_extents(struct create_writer *w, uint32_t ino, const struct placed_file *f,
				struct inode_rec *r)
{
	struct extent_node *node = (struct extent_node *)(void *)create_blank(w);
	struct extent_node *root = (struct extent_node *)(void *)r->block;
	struct buf b = {
	    .pblk = {f->map.start}, .data = w->block, .size = w->g->block_size, .owner = {ino, 0}};

	if (f->count > extent_block_entries(w->g))
		return diag_set(w->diag, -ENOSPC, "inode %u would be in %u pieces, at most %u fit",
				ino, f->count, extent_block_entries(w->g));
	extent_node_init(node, extent_block_entries(w->g), 0);
	put_extents(node, f);
	extent_node_init(root, EXTENT_ROOT_ENTRIES, 1);
	root->h.eh_entries = le16_make(1);
	extent_set_child(&root->e.index[0], 0, b.pblk);
	verify_extent_block.seal(w->g, &b);
	return create_put(w, f->map.start);
}

static int map_extents(struct create_writer *w, uint32_t ino, const struct placed_file *f,
		       struct inode_rec *r)
{
	struct extent_node *root = (struct extent_node *)(void *)r->block;

	r->flags |= INODE_EXTENTS;
	if (f->map.len != 0)
		return map_block_of_extents(w, ino, f, r);
	extent_node_init(root, EXTENT_ROOT_ENTRIES, 0);
	put_extents(root, f);
	return 0;
}

/* ---- pointers ---- */

/* A walk over the file's blocks in order. */
struct pointing {
	struct create_writer *w;
	const struct placed_file *f;
	unsigned run;
	uint64_t at;   /* in the run */
	uint64_t left; /* blocks to point to */
	uint64_t map;  /* the next pointer block */
};

static uint32_t next_block(struct pointing *p)
{
	uint64_t block = p->f->runs[p->run].start + p->at++;

	if (p->at == p->f->runs[p->run].len) {
		p->run++;
		p->at = 0;
	}
	p->left--;
	return (uint32_t)block;
}

/* Fills pointers of the given level as far as there are blocks. */
static int point(struct pointing *p, unsigned level, le32 *to, unsigned n);

static int point_through(struct pointing *p, unsigned level, le32 *to)
{
	uint32_t bs = p->w->g->block_size;
	uint64_t block = p->map++;
	le32 *raw = calloc(1, bs);
	int rc = raw == NULL ? -ENOMEM : point(p, level - 1, raw, bs / 4);

	if (rc == 0)
		rc = dev_write(p->w->dev, block << p->w->g->block_bits, raw, bs);
	free(raw);
	*to = le32_make((uint32_t)block);
	return rc;
}

static int point(struct pointing *p, unsigned level, le32 *to, unsigned n)
{
	int rc = 0;

	for (unsigned i = 0; i < n && p->left != 0 && rc == 0; i++) {
		if (level == 0)
			to[i] = le32_make(next_block(p));
		else
			rc = point_through(p, level, &to[i]);
	}
	return rc;
}

static int map_pointers(struct create_writer *w, const struct placed_file *f, struct inode_rec *r)
{
	struct pointing p = {.w = w, .f = f, .left = f->blocks, .map = f->map.start};
	le32 block[INODE_BLOCK_BYTES / 4];
	int rc;

	memset(block, 0, sizeof(block));
	rc = point(&p, 0, block, DIRECT);

	for (unsigned level = 1; level <= 3 && rc == 0; level++)
		rc = point(&p, level, &block[DIRECT + level - 1], 1);
	memcpy(r->block, block, sizeof(block));
	return rc;
}

int create_map(struct create_writer *w, uint32_t ino, const struct placed_file *f,
	       struct inode_rec *r)
{
	uint64_t blocks = 0, cluster = 1ull << w->g->cluster_bits;

	for (unsigned i = 0; i < f->count; i++)
		blocks += ROUND_UP(f->runs[i].len, cluster);
	blocks += ROUND_UP(f->map.len, cluster);
	r->size = f->blocks << w->g->block_bits;
	r->blocks = blocks << (w->g->block_bits - 9);
	return has_extents(w->g) ? map_extents(w, ino, f, r) : map_pointers(w, f, r);
}

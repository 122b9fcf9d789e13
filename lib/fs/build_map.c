/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps of files that are built in bulk.  An extent tree is made from its leaves up, every node full
 * but the last of each level; pointer blocks are made in the order in which a reader meets them.
 * Blocks outside the inode were placed by the plan; inode->map lists them in that order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/build_impl.h"
#include "ondisk/extent.h"

/* ---- extents ---- */

static uint32_t count_extents(const struct build_inode *inode)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < inode->nruns; i++)
		n += DIV_UP(inode->runs[i].len, EXTENT_MAX_WRITTEN);
	return n;
}

static uint32_t entries_of(const struct build *b)
{
	return (b->z.bs - 12) / 12;
}

/* A level of an extent tree under construction: the keys and places of its nodes. */
struct level {
	struct extent_index *nodes;
	uint32_t n;
};

static void list_extents(const struct build_inode *inode, struct extent *e)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < inode->nruns; i++) {
		const struct build_run *r = &inode->runs[i];

		for (uint32_t off = 0; off < r->len; off += EXTENT_MAX_WRITTEN)
			e[at++] = (struct extent){{r->lblk + off},
						  MIN(r->len - off, EXTENT_MAX_WRITTEN),
						  {r->pblk + off},
						  false};
	}
}

/* Fills a node with leaves, or with what the level below is. */
static void fill_node(struct extent_node *node, const struct extent *e,
		      const struct extent_index *below, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (below != NULL)
			node->e.index[i] = below[i];
		else
			extent_encode(&e[i], &node->e.leaf[i]);
	}
	node->h.eh_entries = le16_make((uint16_t)n);
}

struct tree {
	struct build *b;
	struct build_out *out;
	const struct build_inode *inode;
	uint8_t *block;
	uint32_t map_run, map_off;
};

static uint64_t next_map_block(struct tree *t)
{
	const struct block_run *r = &t->inode->map[t->map_run];
	uint64_t block = r->start + t->map_off;

	t->map_off += 1u << t->b->z.log_cluster;
	if (t->map_off >= r->len) {
		t->map_run++;
		t->map_off = 0;
	}
	return block;
}

static int write_node(struct tree *t, const struct extent *e, const struct extent_index *below,
		      uint32_t n, unsigned depth, struct extent_index *ret)
{
	const struct geom *g = &t->b->l.geom;
	struct extent_node *node = (struct extent_node *)(void *)t->block;
	struct buf buf = {.pblk = {next_map_block(t)},
			  .data = t->block,
			  .size = g->block_size,
			  .owner = {t->inode->ino, t->inode->generation}};

	memset(t->block, 0, g->block_size);
	extent_node_init(node, extent_block_entries(g), depth);
	fill_node(node, e, below, n);
	extent_set_child(ret, extent_key(node, 0), buf.pblk);
	if (verify_extent_block.seal != NULL)
		verify_extent_block.seal(g, &buf);
	return build_out(t->out, buf.pblk.v << g->block_bits, t->block, g->block_size);
}

/* One level above n things; *nodes becomes theirs. */
static int write_level(struct tree *t, const struct extent *e, struct extent_index **nodes,
		       uint32_t *n, unsigned depth)
{
	uint32_t per = entries_of(t->b), up = DIV_UP(*n, per);
	struct extent_index *above = mem_array(up, sizeof(*above), MEM_CAP, t->b->diag);
	int rc = above == NULL ? -ENOMEM : 0;

	for (uint32_t i = 0; i < up && rc == 0; i++)
		rc = write_node(t, e != NULL ? e + (size_t)i * per : NULL,
				*nodes != NULL ? *nodes + (size_t)i * per : NULL,
				MIN(per, *n - i * per), depth, &above[i]);
	free(*nodes);
	*nodes = above;
	*n = up;
	return rc;
}

static int map_extents(struct tree *t, struct inode_rec *r)
{
	struct extent_node *root = (struct extent_node *)(void *)r->block;
	struct extent few[EXTENT_ROOT_ENTRIES], *many = NULL, *e = few;
	uint32_t n = count_extents(t->inode);
	struct extent_index *nodes = NULL;
	unsigned depth = 0;
	int rc = 0;

	r->flags |= INODE_EXTENTS;
	if (n > ARRAY_SIZE(few)) {
		e = many = mem_array(n, sizeof(*many), MEM_CAP, t->b->diag);
		if (many == NULL)
			return -ENOMEM;
	}
	list_extents(t->inode, e);
	while (rc == 0 && n > EXTENT_ROOT_ENTRIES) {
		rc = write_level(t, depth == 0 ? e : NULL, &nodes, &n, depth);
		depth++;
	}
	if (rc == 0) {
		extent_node_init(root, EXTENT_ROOT_ENTRIES, depth);
		fill_node(root, e, nodes, n);
	}
	free(many);
	free(nodes);
	return rc;
}

/* ---- pointers ---- */

/* A walk over the file's blocks in order; without a tree it only counts. */
struct pointing {
	struct tree *t;
	const struct build_inode *inode;
	uint32_t run, per, count;
};

/* The first block of the file at or after lblk that has data; UINT64_MAX when there is none. */
static uint64_t seek(struct pointing *p, uint64_t lblk)
{
	const struct build_inode *f = p->inode;

	while (p->run < f->nruns && (uint64_t)f->runs[p->run].lblk + f->runs[p->run].len <= lblk)
		p->run++;
	if (p->run == f->nruns)
		return UINT64_MAX;
	return MAX((uint64_t)f->runs[p->run].lblk, lblk);
}

static int point(struct pointing *p, unsigned level, uint64_t base, le32 *to, uint32_t n);

static int point_through(struct pointing *p, unsigned level, uint64_t base, le32 *to)
{
	uint32_t bs = p->per * 4;
	uint64_t block;
	le32 *raw;
	int rc;

	p->count++;
	if (p->t == NULL)
		return level == 1 ? 0 : point(p, level - 1, base, NULL, p->per);
	block = next_map_block(p->t);
	raw = calloc(1, bs);
	rc = raw == NULL ? -ENOMEM : point(p, level - 1, base, raw, p->per);
	if (rc == 0)
		rc = build_out(p->t->out, block * bs, raw, bs);
	free(raw);
	*to = le32_make((uint32_t)block);
	return rc;
}

/* n pointers of the given level, for the blocks from base on. */
static int point(struct pointing *p, unsigned level, uint64_t base, le32 *to, uint32_t n)
{
	uint64_t span = 1, at;
	int rc = 0;

	for (unsigned i = 0; i < level; i++)
		span *= p->per;
	for (at = seek(p, base); at < base + n * span && rc == 0; at = seek(p, at)) {
		uint64_t i = (at - base) / span;

		if (level == 0)
			to[i] = le32_make((uint32_t)(p->inode->runs[p->run].pblk + at -
						     p->inode->runs[p->run].lblk));
		else
			rc = point_through(p, level, base + i * span, to != NULL ? &to[i] : NULL);
		at = base + (i + 1) * span;
	}
	return rc;
}

static int point_all(struct pointing *p, le32 *block)
{
	uint64_t base = BUILD_DIRECT, reach = p->per;
	int rc = block != NULL ? point(p, 0, 0, block, BUILD_DIRECT) : 0;

	for (unsigned level = 1; level <= 3 && rc == 0; level++, reach *= p->per) {
		if (seek(p, base) < base + reach)
			rc = point_through(p, level, base,
					   block != NULL ? &block[BUILD_DIRECT + level - 1] : NULL);
		base += reach;
	}
	return rc;
}

static int map_pointers(struct tree *t, struct inode_rec *r)
{
	struct pointing p = {.t = t, .inode = t->inode, .per = t->b->z.bs / 4};
	le32 block[INODE_BLOCK_BYTES / 4];
	int rc;

	memset(block, 0, sizeof(block));
	rc = point_all(&p, block);
	memcpy(r->block, block, sizeof(block));
	return rc;
}

/* ---- the whole ---- */

uint32_t build_count_map(const struct build *b, const struct build_inode *inode)
{
	struct pointing p = {.inode = inode, .per = b->z.bs / 4};
	uint32_t n, all = 0;

	if (!build_has_extents(b)) {
		(void)point_all(&p, NULL);
		return p.count;
	}
	for (n = count_extents(inode); n > EXTENT_ROOT_ENTRIES;) {
		n = DIV_UP(n, entries_of(b));
		all += n;
	}
	return all;
}

int build_map(struct build *b, struct build_out *o, const struct build_inode *inode,
	      struct inode_rec *r)
{
	struct tree t = {.b = b, .out = o, .inode = inode};
	int rc;

	if (!build_has_extents(b))
		return map_pointers(&t, r);
	t.block = inode->map_blocks != 0 ? mem_aligned(4096, b->z.bs) : NULL;
	if (inode->map_blocks != 0 && t.block == NULL)
		return -ENOMEM;
	rc = map_extents(&t, r);
	free(t.block);
	return rc;
}

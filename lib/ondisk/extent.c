/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Extent nodes: verification computes what fits from the room there is, never from what the node
 * says, then proves that entries ascend, do not overlap and stay inside the filesystem.
 */
#include "ondisk/extent.h"

#include <errno.h>
#include <string.h>

#include "base/crc.h"
#include "base/diag.h"
#include "ondisk/inode.h"

struct extent extent_decode(const struct extent_leaf *raw)
{
	uint32_t len = le16_get(raw->ee_len);
	struct extent e;

	e.lblk = (ek_lblk){le32_get(raw->ee_block)};
	e.unwritten = len > EXTENT_MAX_WRITTEN;
	e.len = e.unwritten ? len - EXTENT_MAX_WRITTEN : len;
	e.pblk = (ek_pblk){le32_get(raw->ee_start_lo) | (uint64_t)le16_get(raw->ee_start_hi) << 32};
	return e;
}

void extent_encode(const struct extent *e, struct extent_leaf *raw)
{
	raw->ee_block = le32_make(e->lblk.v);
	raw->ee_len = le16_make((uint16_t)(e->len + (e->unwritten ? EXTENT_MAX_WRITTEN : 0)));
	raw->ee_start_lo = le32_make((uint32_t)e->pblk.v);
	raw->ee_start_hi = le16_make((uint16_t)(e->pblk.v >> 32));
}

void extent_set_child(struct extent_index *i, uint32_t lblk, ek_pblk child)
{
	i->ei_block = le32_make(lblk);
	i->ei_leaf_lo = le32_make((uint32_t)child.v);
	i->ei_leaf_hi = le16_make((uint16_t)(child.v >> 32));
	i->ei_unused = le16_make(0);
}

void extent_node_init(struct extent_node *n, unsigned max, unsigned depth)
{
	memset(&n->h, 0, sizeof(n->h));
	n->h.eh_magic = le16_make(EXTENT_MAGIC);
	n->h.eh_max = le16_make((uint16_t)max);
	n->h.eh_depth = le16_make((uint16_t)depth);
}

struct node_place {
	uint32_t ino;
	const char *where;
	uint64_t block;
	struct diag *d;
};

static int bad(const struct node_place *p, const char *field, uint64_t value, const char *why,
	       uint64_t limit)
{
	return diag_set(p->d, -EUCLEAN, "corrupt %s: inode %u block %llu: %s %llu %s %llu",
			p->where, p->ino, (unsigned long long)p->block, field,
			(unsigned long long)value, why, (unsigned long long)limit);
}

static int verify_leaf(const struct geom *g, const struct extent_node *n,
		       const struct node_place *p)
{
	uint64_t floor = 0;

	for (unsigned i = 0; i < extent_entries(n); i++) {
		struct extent e = extent_decode(&n->e.leaf[i]);

		if (e.len == 0)
			return bad(p, "extent at", e.lblk.v, "has length", 0);
		if (e.lblk.v < floor)
			return bad(p, "extent at", e.lblk.v, "overlaps or precedes", floor);
		floor = (uint64_t)e.lblk.v + e.len;
		if (floor > UINT32_MAX)
			return bad(p, "extent at", e.lblk.v, "runs past block", UINT32_MAX - 1);
		if (!geom_data_ok(g, e.pblk.v, e.len, p->ino))
			return bad(p, "extent at", e.lblk.v,
				   "lies outside the filesystem or over its metadata at", e.pblk.v);
	}
	return 0;
}

static int verify_index(const struct geom *g, const struct extent_node *n,
			const struct node_place *p)
{
	for (unsigned i = 0; i < extent_entries(n); i++) {
		uint64_t child = extent_child(&n->e.index[i]);

		if (i > 0 && extent_key(n, i) <= extent_key(n, i - 1))
			return bad(p, "index at", extent_key(n, i), "does not follow",
				   extent_key(n, i - 1));
		if (!geom_data_ok(g, child, 1, p->ino) || child == p->block)
			return bad(p, "index at", extent_key(n, i), "points to block", child);
	}
	return extent_entries(n) == 0 ? bad(p, "depth", extent_depth(n), "with entries", 0) : 0;
}

int extent_node_verify(const struct geom *g, const struct extent_node *n, size_t room, uint32_t ino,
		       const char *where, uint64_t block, struct diag *d)
{
	struct node_place p = {ino, where, block, d};
	uint64_t fit = (room - sizeof(n->h)) / sizeof(n->e.leaf[0]);

	if (le16_get(n->h.eh_magic) != EXTENT_MAGIC)
		return bad(&p, "eh_magic", le16_get(n->h.eh_magic), "is not", EXTENT_MAGIC);
	if (extent_max(n) > fit || extent_max(n) == 0)
		return bad(&p, "eh_max", extent_max(n), "with room for", fit);
	if (extent_entries(n) > extent_max(n))
		return bad(&p, "eh_entries", extent_entries(n), "exceeds", extent_max(n));
	if (extent_depth(n) > EXTENT_MAX_DEPTH)
		return bad(&p, "eh_depth", extent_depth(n), "exceeds", EXTENT_MAX_DEPTH);
	return extent_depth(n) == 0 ? verify_leaf(g, n, &p) : verify_index(g, n, &p);
}

static le32 *tail_of(struct extent_node *n)
{
	return (le32 *)(void *)&n->e.leaf[extent_max(n)];
}

static uint32_t block_csum(const struct geom *g, const struct buf *b, const struct extent_node *n)
{
	uint32_t seed = inode_csum_seed(g, (ek_inum){b->owner.ino}, b->owner.generation);

	return crc32c(seed, n, sizeof(n->h) + (size_t)extent_max(n) * sizeof(n->e.leaf[0]));
}

static int check_block(const struct geom *g, const struct buf *b, struct diag *d)
{
	struct extent_node *n = (struct extent_node *)(void *)b->data;
	int rc = extent_node_verify(g, n, b->size, b->owner.ino, "extent block", b->pblk.v, d);

	if (rc < 0 || !geom_csum(g))
		return rc;
	if (le32_get(*tail_of(n)) != block_csum(g, b, n))
		return diag_set(d, -EBADMSG,
				"bad checksum: extent block %llu of inode %u: stored 0x%08x, "
				"computed 0x%08x",
				(unsigned long long)b->pblk.v, b->owner.ino, le32_get(*tail_of(n)),
				block_csum(g, b, n));
	return 0;
}

static void seal_block(const struct geom *g, struct buf *b)
{
	struct extent_node *n = (struct extent_node *)(void *)b->data;

	if (geom_csum(g))
		*tail_of(n) = le32_make(block_csum(g, b, n));
}

const struct verifier verify_extent_block = {"extent block", check_block, seal_block};

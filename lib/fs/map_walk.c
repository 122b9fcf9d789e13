/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rest of mapping: what a change of the map may cost, how far it reaches, what is removed from
 * it or shifted, and the walk over what is on disk.
 */
#include <errno.h>

#include "base/check.h"
#include "fs/blocks.h"
#include "fs/cluster.h"
#include "fs/extent.h"
#include "fs/indirect.h"
#include "fs/inline.h"
#include "fs/map.h"
#include "fs/policy.h"

bool map_by_extents(const struct ek_image *img)
{
	return geom_incompat(&img->geom, INCOMPAT_EXTENTS) &&
	       img->opts.policy->mapping == MAPPING_EXTENTS;
}

/* ---- credits ---- */

static unsigned index_credits(const struct ek_inode *inode, unsigned lblocks, unsigned pextents)
{
	const struct geom *g = &inode->img->geom;

	if (!inode_has_extents(inode))
		return DIV_UP(lblocks, g->block_size / 4) + 4;
	if (pextents <= 1)
		return 11;
	return 15 + DIV_UP(pextents, extent_block_entries(g));
}

unsigned map_credits(const struct ek_inode *inode, unsigned lblocks, unsigned pextents)
{
	const struct geom *g = &inode->img->geom;
	unsigned idx = index_credits(inode, lblocks, pextents);
	unsigned groups = MIN(idx + pextents, g->groups);
	unsigned gdp = MIN(idx + pextents, g->gdt_blocks);

	return idx + groups + gdp + 6;
}

unsigned map_writepage_credits(const struct ek_inode *inode)
{
	return map_credits(inode, 2048, 1);
}

/* ---- limits ---- */

uint64_t map_size_limit(const struct ek_inode *inode)
{
	uint64_t blocks = UINT32_MAX; /* the last has number 2^32 - 2 */

	if (!inode_has_extents(inode))
		blocks = MIN(blocks, ind_max_blocks(inode));
	return blocks << inode->img->geom.block_bits;
}

/* ---- removal and walks ---- */

int map_remove(struct task *t, struct ek_inode *inode, ek_lblk from, ek_lblk to)
{
	uint32_t len = to.v - from.v + (to.v != UINT32_MAX ? 1 : 0);
	int rc = inode_forget(t, inode, from, len);

	if (rc < 0)
		return rc;
	if (inode_has_pointers(inode) && inode->rec.blocks != 0)
		rc = cluster_no_pointers(inode);
	if (rc == 0 && inode_has_pointers(inode))
		return ind_remove(t, inode, from, to);
	return rc == 0 && inode_has_extents(inode) ? ext_remove(t, inode, from, to) : rc;
}

int map_shift(struct task *t, struct ek_inode *inode, ek_lblk from, uint32_t distance, bool right)
{
	uint32_t first = right ? from.v : from.v - distance;
	int rc = inode_has_extents(inode) ? 0 : -EOPNOTSUPP;

	if (rc == 0)
		rc = es_remove(&inode->es, (ek_lblk){first}, UINT32_MAX - first, NULL);

	return rc < 0 ? rc : ext_shift(t, inode, from, distance, right);
}

static int next_by_pointers(struct ek_inode *inode, ek_lblk from, struct map *ret)
{
	uint64_t end = DIV_UP(inode->size, (uint64_t)inode->img->geom.block_size);

	for (uint64_t at = from.v; at < end && at < UINT32_MAX; at += ret->len) {
		int rc;

		*ret = (struct map){.lblk = {(uint32_t)at},
				    .len = (uint32_t)MIN(end - at, UINT32_MAX - at)};
		rc = ind_lookup(inode, ret);
		if (rc < 0 || ret->state == MAP_MAPPED)
			return rc < 0 ? rc : 1;
	}
	return 0;
}

int map_next(struct task *t, struct ek_inode *inode, ek_lblk from, struct map *ret)
{
	struct ext_path p;
	struct extent x;
	int rc;

	if (inode_is_inline(inode))
		return 0;
	if (!inode_has_extents(inode))
		return next_by_pointers(inode, from, ret);
	rc = ext_path_find(inode, from, &p);
	while (rc >= 0) {
		struct ext_level *l = ext_leaf(&p);

		if (ext_path_extent(&p, &x) && x.lblk.v + x.len > from.v) {
			*ret = (struct map){.lblk = {MAX(from.v, x.lblk.v)}};
			ret->len = x.lblk.v + x.len - ret->lblk.v;
			ret->pblk = (ek_pblk){x.pblk.v + ret->lblk.v - x.lblk.v};
			ret->state = x.unwritten ? MAP_IS_UNWRITTEN : MAP_MAPPED;
			ext_path_put(&p);
			return 1;
		}
		if ((unsigned)(l->pos + 1) < extent_entries(l->node)) {
			l->pos++;
			continue;
		}
		rc = ext_path_step(&p);
		if (rc == 0)
			break;
	}
	ext_path_put(&p);
	return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Group descriptors in memory, and bitmaps: read and proved, or made up for uninitialised groups.
 */
#include "alloc/groups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"

#define POOL_MAX    4096u /* clusters of the metadata pool */
#define BATCH       32u   /* the kernel's per-CPU counters drift by this much */
#define PERCPU_CPUS 2u

static const struct buf_owner nobody = {0, 0};

/* ---- loading ---- */

static int add_zones(struct groups *gs, uint32_t group)
{
	const struct group_desc *x = &gs->desc[group];
	struct geom *g = gs->geom;
	uint32_t base = geom_base_meta(g, group);
	char what[48];
	int rc = 0;

	snprintf(what, sizeof(what), "descriptor of group %u", group);
	if (base != 0)
		rc = geom_add_zone(g, geom_group_start(g, group).v, base, 0, what, gs->diag);
	if (rc == 0)
		rc = geom_add_zone(g, x->block_bitmap.v, 1, 0, what, gs->diag);
	if (rc == 0)
		rc = geom_add_zone(g, x->inode_bitmap.v, 1, 0, what, gs->diag);
	if (rc == 0)
		rc = geom_add_zone(g, x->inode_table.v, g->itable_blocks, 0, what, gs->diag);
	return rc;
}

static void add_counts(struct groups *gs, uint32_t group)
{
	const struct group_desc *x = &gs->desc[group];

	gs->space.free += x->free_clusters;
	gs->free_inodes += x->free_inodes;
	gs->dirs += x->used_dirs;
}

static int load_block(struct groups *gs, uint32_t n)
{
	const struct geom *g = gs->geom;
	uint32_t first = n * g->descs_per_block;
	uint32_t end = MIN(first + g->descs_per_block, g->groups);
	struct buf *b;
	int rc = buf_get(gs->cache, geom_gdt_block(g, n), &verify_any, nobody, &b);

	if (rc < 0)
		return rc;
	for (uint32_t group = first; group < end && rc == 0; group++) {
		const void *raw = buf_view(b, (size_t)(group - first) * g->desc_size, g->desc_size);

		rc = group_decode(g, group, raw, gs->diag, &gs->desc[group]);
		if (rc == 0)
			rc = add_zones(gs, group);
		if (rc == 0)
			add_counts(gs, group);
	}
	buf_put(b);
	return rc;
}

static void set_limits(struct groups *gs)
{
	const struct geom *g = gs->geom;
	uint64_t clusters = g->blocks >> g->cluster_bits;

	gs->space.root = g->reserved_blocks >> g->cluster_bits;
	gs->space.reserved =
	    geom_incompat(g, INCOMPAT_EXTENTS) ? MIN(clusters / 50, (uint64_t)POOL_MAX) : 0;
	gs->space.watermark = 4u * BATCH * PERCPU_CPUS;
}

int groups_load(struct buf_cache *cache, struct geom *g, struct counters *c, struct diag *d,
		struct groups *ret)
{
	struct groups gs = {.cache = cache, .geom = g, .counters = c, .diag = d};
	int rc = 0;

	gs.desc = mem_array(g->groups, sizeof(*gs.desc), MEM_CAP, d);
	gs.damaged = mem_array(g->groups / 8 + 1, 1, MEM_CAP, d);
	gs.stale = mem_array(g->groups, 1, MEM_CAP, d);
	if (gs.desc == NULL || gs.damaged == NULL || gs.stale == NULL)
		rc = -ENOMEM;
	for (uint32_t n = 0; n < g->gdt_blocks && rc == 0; n++)
		rc = load_block(&gs, n);
	if (rc == 0 && g->guard_block != 0)
		rc = geom_add_zone(g, g->guard_block, 1, 0, "superblock: mount guard", d);
	if (rc < 0) {
		groups_free(&gs);
		return rc;
	}
	gs.seen_inodes.seen = (int64_t)gs.free_inodes;
	gs.seen_clusters.seen = (int64_t)gs.space.free;
	set_limits(&gs);
	*ret = gs;
	return 0;
}

void groups_free(struct groups *gs)
{
	free(gs->desc);
	free(gs->damaged);
	free(gs->stale);
	gs->desc = NULL;
	gs->damaged = NULL;
	gs->stale = NULL;
}

/* ---- storing ---- */

static uint32_t bitmap_csum(const struct groups *gs, ek_pblk at, uint32_t bits, uint32_t old)
{
	const struct buf *b = buf_find(gs->cache, at);

	/* It is in the same transaction; without it there is none any more. */
	return b != NULL ? group_bitmap_csum(gs->geom, b->data, bits) : old;
}

static void catch_up(struct groups *gs, uint32_t group)
{
	const struct geom *g = gs->geom;
	struct group_desc *x = &gs->desc[group];

	if ((gs->stale[group] & STALE_BLOCKS) != 0)
		x->block_bitmap_csum =
		    bitmap_csum(gs, x->block_bitmap, g->clusters_per_group, x->block_bitmap_csum);
	if ((gs->stale[group] & STALE_INODES) != 0)
		x->inode_bitmap_csum =
		    bitmap_csum(gs, x->inode_bitmap, g->inodes_per_group, x->inode_bitmap_csum);
	gs->stale[group] = 0;
}

/* Encodes the descriptors of table block n that changed. */
static void encode_stale(void *ctx, struct buf *b, uint32_t n)
{
	struct groups *gs = ctx;
	const struct geom *g = gs->geom;
	uint32_t first = n * g->descs_per_block;
	uint32_t end = MIN(first + g->descs_per_block, g->groups);

	for (uint32_t group = first; group < end; group++) {
		if (gs->stale[group] == 0)
			continue;
		catch_up(gs, group);
		group_encode(g, group, &gs->desc[group],
			     b->data + (size_t)(group - first) * g->desc_size);
	}
}

int groups_update(struct groups *gs, struct handle *h, uint32_t group)
{
	uint32_t n = group / gs->geom->descs_per_block;
	struct buf *b;
	void *view;
	int rc = buf_get(gs->cache, geom_gdt_block(gs->geom, n), &verify_any, nobody, &b);

	if (rc < 0)
		return rc;
	rc = handle_write(h, b, &view);
	if (rc == 0)
		rc = handle_dirty(h, b);
	if (rc == 0) {
		gs->stale[group] |= STALE_DESC;
		buf_put_off(b, encode_stale, gs, n);
	}
	buf_put(b);
	return rc;
}

/* ---- bitmaps ---- */

/* Bits past the end of the group, up to the end of the block, are set. */
static void pad(const struct geom *g, uint8_t *map, uint32_t bits)
{
	bitmap_set_range(map, bits, (size_t)g->block_size * 8 - bits);
}

static uint32_t group_clusters(const struct geom *g, uint32_t group)
{
	return (geom_group_blocks(g, group) + (1u << g->cluster_bits) - 1) >> g->cluster_bits;
}

/* Sets the clusters of [block, block + len) that lie in the group. */
static void set_blocks(const struct geom *g, uint32_t group, uint8_t *map, uint64_t block,
		       uint64_t len)
{
	uint64_t start = geom_group_start(g, group).v, end = start + geom_group_blocks(g, group);
	uint64_t from = MAX(block, start), to = MIN(block + len, end);

	if (from >= to)
		return;
	from = (from - start) >> g->cluster_bits;
	to = (to - start - 1) >> g->cluster_bits;
	bitmap_set_range(map, from, to - from + 1);
}

static void make_block_bitmap(struct groups *gs, uint32_t group, uint8_t *map)
{
	const struct geom *g = gs->geom;
	const struct group_desc *x = &gs->desc[group];

	memset(map, 0, g->block_size);
	set_blocks(g, group, map, geom_group_start(g, group).v, geom_base_meta(g, group));
	set_blocks(g, group, map, x->block_bitmap.v, 1);
	set_blocks(g, group, map, x->inode_bitmap.v, 1);
	set_blocks(g, group, map, x->inode_table.v, g->itable_blocks);
	pad(g, map, group_clusters(g, group));
}

static int bad_bitmap(struct groups *gs, uint32_t group, int rc, const char *which, const char *why)
{
	bitmap_set(gs->damaged, group);
	return diag_set(gs->diag, rc, "%s %s bitmap of group %u: %s",
			rc == -EBADMSG ? "bad checksum:" : "corrupt", which, group, why);
}

/* The group's own bitmaps and table must be marked where they lie inside it. */
static bool covers_own(const struct groups *gs, uint32_t group, const uint8_t *map)
{
	const struct geom *g = gs->geom;
	const struct group_desc *x = &gs->desc[group];
	const uint64_t at[3] = {x->block_bitmap.v, x->inode_bitmap.v, x->inode_table.v};

	for (unsigned i = 0; i < 3; i++) {
		ek_pblk b = {at[i]};

		if (geom_group_of(g, b) == group &&
		    !bitmap_test(map, geom_offset_in_group(g, b) >> g->cluster_bits))
			return false;
	}
	return true;
}

/* Bits past the group's inodes are set, no inode is in use. */
static void make_inode_bitmap(struct groups *gs, uint32_t group, uint8_t *map)
{
	pad(gs->geom, map, gs->geom->inodes_per_group);
}

static int prove_block_bitmap(struct groups *gs, uint32_t group, const uint8_t *map)
{
	const struct geom *g = gs->geom;

	if (!group_bitmap_csum_ok(g, gs->desc[group].block_bitmap_csum, map, g->clusters_per_group))
		return bad_bitmap(gs, group, -EBADMSG, "block", "does not match its descriptor");
	if (!covers_own(gs, group, map))
		return bad_bitmap(gs, group, -EUCLEAN, "block", "metadata is marked free");
	return 0;
}

static int prove_inode_bitmap(struct groups *gs, uint32_t group, const uint8_t *map)
{
	const struct geom *g = gs->geom;

	if (!group_bitmap_csum_ok(g, gs->desc[group].inode_bitmap_csum, map, g->inodes_per_group))
		return bad_bitmap(gs, group, -EBADMSG, "inode", "does not match its descriptor");
	return 0;
}

static const struct kind {
	uint16_t uninit;
	void (*make)(struct groups *gs, uint32_t group, uint8_t *map);
	int (*prove)(struct groups *gs, uint32_t group, const uint8_t *map);
} block_kind = {GROUP_BLOCK_UNINIT, make_block_bitmap, prove_block_bitmap},
  inode_kind = {GROUP_INODE_UNINIT, make_inode_bitmap, prove_inode_bitmap};

/* Made up, or read; what was read is proved once for as long as it stays in memory. */
static int get_bitmap(struct groups *gs, uint32_t group, ek_pblk at, const struct kind *kind,
		      struct buf **ret)
{
	bool uninit = (gs->desc[group].flags & kind->uninit) != 0;
	struct buf *b;
	int rc;

	if (bitmap_test(gs->damaged, group))
		return diag_set(gs->diag, -EUCLEAN, "corrupt group %u: its bitmaps are damaged",
				group);
	rc = uninit ? buf_new(gs->cache, at, &verify_any, nobody, &b)
		    : buf_get(gs->cache, at, &verify_any, nobody, &b);
	if (rc < 0)
		return rc;
	if (uninit)
		kind->make(gs, group, b->data);
	else if ((b->flags & BUF_PROVED) == 0)
		rc = kind->prove(gs, group, b->data);
	if (rc < 0) {
		buf_put(b);
		return rc;
	}
	b->flags |= BUF_PROVED;
	*ret = b;
	return 0;
}

int groups_block_bitmap(struct groups *gs, uint32_t group, struct buf **ret)
{
	return get_bitmap(gs, group, gs->desc[group].block_bitmap, &block_kind, ret);
}

int groups_inode_bitmap(struct groups *gs, uint32_t group, struct buf **ret)
{
	return get_bitmap(gs, group, gs->desc[group].inode_bitmap, &inode_kind, ret);
}

void groups_block_bitmap_changed(struct groups *gs, uint32_t group)
{
	gs->stale[group] |= STALE_BLOCKS;
}

void groups_inode_bitmap_changed(struct groups *gs, uint32_t group)
{
	gs->stale[group] |= STALE_INODES;
}

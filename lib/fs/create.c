/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plan of an empty filesystem: sizes are chosen (create_sizes.c), everything gets its place
 * (create_place.c), and what is free is counted.
 */
#include "fs/create_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

void create_opts_default(struct create_opts *o)
{
	memset(o, 0, sizeof(*o));
	o->reserved_percent = UINT32_MAX;
	o->hash_version = 1;
	o->backups = 2;
	o->compat = COMPAT_HAS_JOURNAL | COMPAT_EXT_ATTR | COMPAT_RESIZE_INODE | COMPAT_DIR_INDEX;
	o->incompat = INCOMPAT_FILETYPE | INCOMPAT_EXTENTS | INCOMPAT_64BIT | INCOMPAT_FLEX_BG;
	o->ro_compat = RO_COMPAT_SPARSE_SUPER | RO_COMPAT_LARGE_FILE | RO_COMPAT_HUGE_FILE |
		       RO_COMPAT_DIR_NLINK | RO_COMPAT_EXTRA_ISIZE | RO_COMPAT_METADATA_CSUM;
}

/* ---- counts ---- */

/* Clusters of each group that something lies in.  Runs come in order; two may share a cluster. */
struct cluster_count {
	uint64_t *taken, next; /* the first cluster that is not counted yet */
};

static void count_run(const struct geom *g, const struct block_run *r, struct cluster_count *c)
{
	uint64_t base = g->first_data_block;
	uint64_t at = MAX(c->next, (r->start - base) >> g->cluster_bits);
	uint64_t end = ((r->start + r->len - 1 - base) >> g->cluster_bits) + 1;

	while (at < end) {
		uint64_t group = at / g->clusters_per_group;
		uint64_t stop = MIN(end, (group + 1) * g->clusters_per_group);

		c->taken[group] += stop - at;
		at = stop;
	}
	c->next = MAX(c->next, end);
}

static void count_clusters(const struct layout *l, bool files, uint64_t *taken)
{
	const struct geom *g = &l->geom;
	struct cluster_count c = {taken, 0};
	unsigned z = 0, u = 0, used = files ? l->used_count : 0;

	while (z < g->zone_count || u < used) {
		struct block_run r;

		if (u == used || (z < g->zone_count && g->zones[z].start < l->used[u].start)) {
			r = (struct block_run){g->zones[z].start, g->zones[z].len};
			z++;
		} else {
			r = l->used[u++];
		}
		count_run(g, &r, &c);
	}
}

static uint32_t group_clusters(const struct geom *g, uint32_t group)
{
	return DIV_UP(geom_group_blocks(g, group), 1u << g->cluster_bits);
}

/* Nothing but its copy of the superblock is in the group: its bitmap need not be written. */
static bool is_untouched(const struct layout *l, uint32_t group, uint64_t taken)
{
	const struct geom *g = &l->geom;

	return group != 0 && group != g->groups - 1 &&
	       taken == DIV_UP(geom_base_meta(g, group), 1u << g->cluster_bits);
}

/* Inodes in use always are the first of all. */
static uint32_t used_inodes(const struct layout *l, uint32_t group)
{
	uint64_t before = (uint64_t)group * l->geom.inodes_per_group;
	uint64_t all = INUM_FIRST - 1 + (l->lost_found.blocks != 0) + (l->orphan.blocks != 0) +
		       (l->quota[QUOTA_PROJECT].blocks != 0);

	if (l->inodes_used != 0)
		all = l->inodes_used;
	return all > before ? (uint32_t)MIN(all - before, (uint64_t)l->geom.inodes_per_group) : 0;
}

static uint64_t free_group(struct layout *l, uint32_t i, uint64_t taken)
{
	const struct geom *g = &l->geom;
	struct group_desc *x = &l->desc[i];
	bool lazy = geom_gdt_csum(g);
	uint32_t used = used_inodes(l, i);

	x->free_clusters = (uint32_t)(group_clusters(g, i) - taken);
	x->free_inodes = g->inodes_per_group - used;
	if (l->dirs != NULL)
		x->used_dirs = l->dirs[i];
	else
		x->used_dirs = i == 0 ? (l->lost_found.blocks != 0 ? 2 : 1) : 0;
	x->itable_unused = lazy ? x->free_inodes : 0;
	if (lazy)
		x->flags = (uint16_t)(GROUP_INODE_ZEROED | (used != 0 ? 0 : GROUP_INODE_UNINIT) |
				      (is_untouched(l, i, taken) ? GROUP_BLOCK_UNINIT : 0));
	return x->free_clusters;
}

/* Clusters of the log, which count as overhead. */
static uint64_t log_clusters(const struct layout *l)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < l->journal.count; i++)
		n += DIV_UP(l->journal.runs[i].len, 1u << l->geom.cluster_bits);
	return n;
}

int create_count(struct layout *l, struct diag *d)
{
	const struct geom *g = &l->geom;
	uint64_t *taken = mem_array(g->groups, sizeof(*taken), MEM_CAP, d), clusters = 0;
	uint64_t inodes = 0;

	if (taken == NULL)
		return -ENOMEM;
	count_clusters(l, false, taken);
	for (uint32_t i = 0; i < g->groups; i++)
		l->overhead += taken[i];
	l->overhead += log_clusters(l);
	memset(taken, 0, g->groups * sizeof(*taken));
	count_clusters(l, true, taken);
	for (uint32_t i = 0; i < g->groups; i++) {
		clusters += free_group(l, i, taken[i]);
		inodes += l->desc[i].free_inodes;
	}
	create_split64(clusters << g->cluster_bits, &l->super.s_free_blocks_count_lo,
		       &l->super.s_free_blocks_count_hi);
	l->super.s_free_inodes_count = le32_make((uint32_t)inodes);
	l->super.s_overhead_clusters = le32_make((uint32_t)l->overhead);
	free(taken);
	return 0;
}

int create_zones(struct layout *l, struct diag *d)
{
	struct geom *g = &l->geom;
	int rc = 0;

	for (uint32_t i = 0; i < g->groups && rc == 0; i++) {
		const struct group_desc *x = &l->desc[i];
		uint32_t base = geom_base_meta(g, i);

		if (base != 0)
			rc = geom_add_zone(g, geom_group_start(g, i).v, base, 0, "plan", d);
		if (rc == 0)
			rc = geom_add_zone(g, x->block_bitmap.v, 1, 0, "plan", d);
		if (rc == 0)
			rc = geom_add_zone(g, x->inode_bitmap.v, 1, 0, "plan", d);
		if (rc == 0)
			rc = geom_add_zone(g, x->inode_table.v, g->itable_blocks, 0, "plan", d);
	}
	return rc;
}

int create_shape(const struct create_opts *o, const struct sizes *z, struct diag *d,
		 struct layout *l)
{
	create_super(o, z, &l->super);
	if ((o->incompat & INCOMPAT_CSUM_SEED) != 0) {
		struct super_raw plain = l->super;

		plain.s_feature_incompat = le32_make(o->incompat & ~INCOMPAT_CSUM_SEED);
		geom_from_super(&plain, &l->geom);
		l->super.s_checksum_seed = le32_make(l->geom.csum_seed);
	}
	geom_from_super(&l->super, &l->geom);
	l->desc = mem_array(l->geom.groups, sizeof(*l->desc), MEM_CAP, d);
	return l->desc == NULL ? -ENOMEM : 0;
}

int layout_plan(const struct create_opts *o, struct diag *d, struct layout *ret)
{
	struct layout l;
	struct sizes z;
	int rc;

	memset(&l, 0, sizeof(l));
	rc = create_sizes(o, &z, d);
	if (rc < 0)
		return rc;
	rc = create_shape(o, &z, d, &l);
	if (rc == 0)
		rc = create_place_groups(&l, d);
	if (rc == 0)
		rc = create_zones(&l, d);
	if (rc == 0)
		rc = create_place_files(&l, o, d);
	if (rc == 0)
		rc = create_count(&l, d);
	if (rc == 0)
		l.super.s_mmp_block = le64_make(l.mmp);
	if (rc < 0) {
		layout_free(&l);
		return rc;
	}
	*ret = l;
	return 0;
}

void layout_free(struct layout *l)
{
	geom_free(&l->geom);
	free(l->desc);
	free(l->root.runs);
	free(l->lost_found.runs);
	free(l->journal.runs);
	free(l->orphan.runs);
	for (unsigned i = 0; i < QUOTA_TYPES; i++) {
		free(l->quota[i].runs);
		free(l->use[i].rows);
	}
	free(l->used);
	memset(l, 0, sizeof(*l));
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plan of an empty filesystem.
 *
 * 1. Sizes are chosen (create_sizes.c).
 * 2. In each flex group all block bitmaps come first, then all inode bitmaps, then the tables.
 * 3. Root, lost+found, the resize inode's block and the orphan file follow in group 0; the log lies
 * in the middle of the disk.
 */
#include "fs/create_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

#define LOST_FOUND_BYTES 16384u
#define ORPHAN_FILE_MIN  2u

void create_opts_default(struct create_opts *o)
{
	memset(o, 0, sizeof(*o));
	o->reserved_percent = UINT32_MAX;
	o->compat = COMPAT_HAS_JOURNAL | COMPAT_EXT_ATTR | COMPAT_RESIZE_INODE | COMPAT_DIR_INDEX;
	o->incompat = INCOMPAT_FILETYPE | INCOMPAT_EXTENTS | INCOMPAT_64BIT | INCOMPAT_FLEX_BG;
	o->ro_compat = RO_COMPAT_SPARSE_SUPER | RO_COMPAT_LARGE_FILE | RO_COMPAT_HUGE_FILE |
		       RO_COMPAT_DIR_NLINK | RO_COMPAT_EXTRA_ISIZE | RO_COMPAT_METADATA_CSUM;
}

/* ---- groups ---- */

static uint64_t base_end(const struct geom *g, uint32_t group)
{
	return geom_group_start(g, group).v + geom_base_meta(g, group);
}

/* The first place at or after at for len blocks that meets no superblock copy. */
static uint64_t skip_supers(const struct geom *g, uint64_t at, uint64_t len)
{
	for (;;) {
		uint32_t group = geom_group_of(g, (ek_pblk){at});
		uint32_t last = geom_group_of(g, (ek_pblk){at + len - 1});
		bool moved = false;

		for (uint32_t i = group; i <= last && i < g->groups && !moved; i++) {
			uint64_t start = geom_group_start(g, i).v, end = base_end(g, i);

			if (end > start && at < end && at + len > start) {
				at = end;
				moved = true;
			}
		}
		if (!moved)
			return at;
	}
}

static void place_flex(struct layout *l, uint32_t first, uint32_t n, uint32_t spacing)
{
	const struct geom *g = &l->geom;
	uint64_t at = skip_supers(g, base_end(g, first), spacing);
	uint64_t inode_map = skip_supers(g, at + spacing, spacing), table = inode_map + spacing;

	for (uint32_t i = 0; i < n; i++) {
		struct group_desc *x = &l->desc[first + i];

		x->block_bitmap = (ek_pblk){at + i};
		x->inode_bitmap = (ek_pblk){inode_map + i};
		table = skip_supers(g, table, g->itable_blocks);
		x->inode_table = (ek_pblk){table};
		table += g->itable_blocks;
	}
}

static int place_groups(struct layout *l, struct diag *d)
{
	struct geom *g = &l->geom;
	uint32_t flex = 1u << g->log_flex;

	for (uint32_t first = 0; first < g->groups; first += flex) {
		uint32_t n = MIN(flex, g->groups - first);
		/* mke2fs leaves room for a whole flex group in a filesystem of one group. */
		uint32_t spacing =
		    g->groups == 1 && geom_group_blocks(g, 0) >
					  4 * flex + g->itable_blocks + geom_base_meta(g, 0)
			? flex
			: n;
		struct group_desc *last = &l->desc[first + n - 1];

		place_flex(l, first, n, spacing);
		if (last->inode_table.v + g->itable_blocks > g->blocks) {
			d->need_blocks = last->inode_table.v + g->itable_blocks - g->blocks;
			return diag_set(d, -ENOSPC,
					"size is too small: inode tables need %llu more blocks",
					(unsigned long long)d->need_blocks);
		}
	}
	return 0;
}

/* ---- files ---- */

static int use(struct layout *l, uint64_t start, uint64_t len, struct diag *d)
{
	unsigned i;

	if (mem_grow((void **)&l->used, &l->used_cap, (size_t)l->used_count + 1, sizeof(*l->used)) <
	    0)
		return diag_set(d, -ENOMEM, "out of memory for the plan");
	for (i = l->used_count; i > 0 && l->used[i - 1].start > start; i--)
		l->used[i] = l->used[i - 1];
	l->used[i] = (struct block_run){start, len};
	l->used_count++;
	return 0;
}

/* The first free run at or after at, not longer than want; len 0 when there is none. */
static struct block_run free_run(const struct layout *l, uint64_t at, uint64_t want)
{
	const struct geom *g = &l->geom;
	struct block_run r = {at, 0};
	uint64_t end = g->blocks;
	bool moved = true;

	while (moved && r.start < g->blocks) {
		moved = false;
		for (unsigned i = 0; i < g->zone_count; i++) {
			const struct zone *z = &g->zones[i];

			if (z->start <= r.start && r.start < z->start + z->len) {
				r.start = z->start + z->len;
				moved = true;
			}
		}
		for (unsigned i = 0; i < l->used_count; i++) {
			const struct block_run *u = &l->used[i];

			if (u->start <= r.start && r.start < u->start + u->len) {
				r.start = u->start + u->len;
				moved = true;
			}
		}
	}
	for (unsigned i = 0; i < g->zone_count; i++) {
		if (g->zones[i].start > r.start)
			end = MIN(end, g->zones[i].start);
	}
	for (unsigned i = 0; i < l->used_count; i++) {
		if (l->used[i].start > r.start)
			end = MIN(end, l->used[i].start);
	}
	if (r.start < end)
		r.len = MIN(want, end - r.start);
	return r;
}

static int no_room(struct layout *l, const char *what, uint64_t missing, struct diag *d)
{
	d->need_blocks = missing;
	return diag_set(d, -ENOSPC, "size is too small: %s needs %llu more blocks", what,
			(unsigned long long)missing);
}

/* One contiguous piece in group 0. */
static int place_small(struct layout *l, uint64_t len, const char *what, struct diag *d,
		       uint64_t *ret)
{
	struct block_run r = free_run(l, l->geom.first_data_block, len);

	while (r.len != 0 && r.len < len)
		r = free_run(l, r.start + r.len, len);
	if (r.len < len)
		return no_room(l, what, len, d);
	*ret = r.start;
	return use(l, r.start, len, d);
}

static uint64_t free_in_group(const struct layout *l, uint32_t group)
{
	const struct geom *g = &l->geom;
	uint64_t start = geom_group_start(g, group).v, end = start + geom_group_blocks(g, group);
	uint64_t n = end - start;

	for (unsigned i = 0; i < g->zone_count; i++) {
		uint64_t from = MAX(g->zones[i].start, start);
		uint64_t to = MIN(g->zones[i].start + g->zones[i].len, end);

		n -= from < to ? to - from : 0;
	}
	return n;
}

/* The log begins in the group near the middle with most room. */
static uint64_t journal_goal(const struct layout *l)
{
	const struct geom *g = &l->geom;
	uint32_t flex = 1u << g->log_flex, mid, from, to, best;

	mid = (uint32_t)((g->blocks - g->first_data_block) / 2 / g->blocks_per_group);
	if (g->log_flex != 0 && mid > flex) {
		mid &= ~(flex - 1);
		while (mid < g->groups && free_in_group(l, mid) == 0)
			mid++;
		if (mid == g->groups)
			mid = 0;
		from = mid;
	} else {
		from = mid > 0 ? mid - 1 : mid;
	}
	to = mid + 1 < g->groups ? mid + 1 : mid;
	best = from;
	for (uint32_t i = from + 1; i <= to; i++) {
		if (free_in_group(l, i) > free_in_group(l, best))
			best = i;
	}
	return geom_group_start(g, best).v;
}

static uint32_t default_journal(uint64_t blocks)
{
	static const struct {
		uint64_t below;
		uint32_t journal;
	} rows[] = {
	    {2048, 0},
	    {32768, 1024},
	    {256u << 10, 4096},
	    {512u << 10, 8192},
	    {4096u << 10, 16384},
	    {8192u << 10, 32768},
	    {16384u << 10, 65536},
	    {32768u << 10, 131072},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		if (blocks < rows[i].below)
			return rows[i].journal;
	}
	return 262144;
}

static int place_journal(struct layout *l, struct diag *d)
{
	uint64_t left = l->journal_blocks, at = journal_goal(l);
	bool wrapped = at <= l->geom.first_data_block;

	while (left != 0) {
		struct block_run r = free_run(l, at, MIN(left, 32768u));
		int rc;

		if (r.len == 0) {
			if (wrapped)
				return no_room(l, "the journal", left, d);
			wrapped = true;
			at = l->geom.first_data_block;
			continue;
		}
		if (mem_grow((void **)&l->journal, &l->journal_cap, (size_t)l->journal_runs + 1,
			     sizeof(*l->journal)) < 0)
			return diag_set(d, -ENOMEM, "out of memory for the plan");
		l->journal[l->journal_runs++] = r;
		rc = use(l, r.start, r.len, d);
		if (rc < 0)
			return rc;
		left -= r.len;
		at = r.start + r.len;
	}
	if (l->journal_runs > 4)
		return place_small(l, 1, "the journal's map", d, &l->tree_block);
	return 0;
}

static int place_files(struct layout *l, const struct create_opts *o, struct diag *d)
{
	uint32_t bs = l->geom.block_size;
	int rc = place_small(l, 1, "the root folder", d, &l->root);

	l->lost_found_blocks = o->no_lost_found ? 0 : MAX(LOST_FOUND_BYTES / bs, 2u);
	if (bs < 2048 && l->lost_found_blocks > 12)
		l->lost_found_blocks = 12;
	if (rc == 0 && l->lost_found_blocks != 0)
		rc = place_small(l, l->lost_found_blocks, "lost+found", d, &l->lost_found);
	if (rc == 0 && l->geom.reserved_gdt != 0)
		rc = place_small(l, 1, "the resize inode", d, &l->resize_dind);
	if (rc == 0 && (o->compat & COMPAT_HAS_JOURNAL) != 0) {
		l->journal_blocks =
		    o->journal_blocks != 0 ? o->journal_blocks : default_journal(l->geom.blocks);
		if (l->journal_blocks == 0)
			return diag_set(
			    d, -ENOSPC,
			    "size is too small for a journal: %llu blocks, at least 2048 "
			    "wanted (or -O ^has_journal)",
			    (unsigned long long)l->geom.blocks);
		if (l->journal_blocks < 1024)
			return diag_set(d, -EINVAL, "journal of %u blocks: at least 1024 wanted",
					l->journal_blocks);
		rc = place_journal(l, d);
	}
	if (rc == 0 && (o->compat & COMPAT_ORPHAN_FILE) != 0) {
		l->orphan_blocks =
		    (uint32_t)MAX((uint64_t)ORPHAN_FILE_MIN, MIN(l->geom.blocks >> 15, 32ull));
		rc = place_small(l, l->orphan_blocks, "the orphan file", d, &l->orphan);
	}
	return rc;
}

/* ---- counts ---- */

static uint64_t used_in_group(const struct layout *l, uint32_t group)
{
	uint64_t start = geom_group_start(&l->geom, group).v;
	uint64_t end = start + geom_group_blocks(&l->geom, group), n = 0;

	for (unsigned i = 0; i < l->used_count; i++) {
		uint64_t from = MAX(l->used[i].start, start);
		uint64_t to = MIN(l->used[i].start + l->used[i].len, end);

		n += from < to ? to - from : 0;
	}
	return n;
}

/* Blocks of a group taken by the metadata of any group. */
static void count_zones(struct layout *l, uint64_t *taken)
{
	const struct geom *g = &l->geom;

	for (unsigned i = 0; i < g->zone_count; i++) {
		uint64_t at = g->zones[i].start, end = at + g->zones[i].len;

		while (at < end) {
			uint32_t group = geom_group_of(g, (ek_pblk){at});
			uint64_t stop = geom_group_start(g, group).v + g->blocks_per_group;
			uint64_t n = MIN(end, stop) - at;

			taken[group] += n;
			at += n;
		}
	}
}

static int count_groups(struct layout *l, struct diag *d)
{
	const struct geom *g = &l->geom;
	uint64_t *taken = mem_array(g->groups, sizeof(*taken), MEM_CAP, d), free_blocks = 0;
	bool lazy = geom_gdt_csum(g);
	uint32_t used_inodes =
	    INUM_FIRST - 1 + (l->lost_found_blocks != 0) + (l->orphan_blocks != 0);

	if (taken == NULL)
		return -ENOMEM;
	count_zones(l, taken);
	for (uint32_t i = 0; i < g->groups; i++) {
		struct group_desc *x = &l->desc[i];
		uint64_t files = l->used_count != 0 ? used_in_group(l, i) : 0;

		x->free_clusters = (uint32_t)(geom_group_blocks(g, i) - taken[i] - files);
		x->free_inodes = g->inodes_per_group - (i == 0 ? used_inodes : 0);
		x->used_dirs = i == 0 ? (l->lost_found_blocks != 0 ? 2 : 1) : 0;
		x->itable_unused = lazy ? x->free_inodes : 0;
		if (lazy) {
			x->flags = GROUP_INODE_ZEROED;
			if (i != 0)
				x->flags |= GROUP_INODE_UNINIT;
			if (i != 0 && i != g->groups - 1 && files == 0 &&
			    taken[i] == geom_base_meta(g, i))
				x->flags |= GROUP_BLOCK_UNINIT;
		}
		free_blocks += x->free_clusters;
		l->overhead += taken[i];
	}
	l->overhead += l->journal_blocks;
	create_split64(free_blocks, &l->super.s_free_blocks_count_lo,
		       &l->super.s_free_blocks_count_hi);
	l->super.s_free_inodes_count = le32_make(g->inodes - used_inodes);
	l->super.s_overhead_clusters = le32_make((uint32_t)l->overhead);
	free(taken);
	return 0;
}

static int add_zones(struct layout *l, struct diag *d)
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

int layout_plan(const struct create_opts *o, struct diag *d, struct layout *ret)
{
	struct layout l;
	struct sizes z;
	int rc;

	memset(&l, 0, sizeof(l));
	rc = create_sizes(o, &z, d);
	if (rc < 0)
		return rc;
	create_super(o, &z, &l.super);
	if ((o->incompat & INCOMPAT_CSUM_SEED) != 0) {
		struct super_raw plain = l.super;

		plain.s_feature_incompat = le32_make(o->incompat & ~INCOMPAT_CSUM_SEED);
		geom_from_super(&plain, &l.geom);
		l.super.s_checksum_seed = le32_make(l.geom.csum_seed);
	}
	geom_from_super(&l.super, &l.geom);
	l.desc = mem_array(l.geom.groups, sizeof(*l.desc), MEM_CAP, d);
	rc = l.desc == NULL ? -ENOMEM : place_groups(&l, d);
	if (rc == 0)
		rc = add_zones(&l, d);
	if (rc == 0)
		rc = place_files(&l, o, d);
	if (rc == 0)
		rc = count_groups(&l, d);
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
	free(l->journal);
	free(l->used);
	memset(l, 0, sizeof(*l));
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where everything lies in an empty filesystem: in each flex group all block bitmaps come first,
 * then all inode bitmaps, then the tables; root, lost+found, the resize inode's block and the other
 * files follow in group 0; the log lies in the middle of the disk.
 *
 * Files own whole clusters; group metadata is packed by blocks, and shares no cluster with them or
 * with copies of the superblock.
 */
#include <errno.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/create_impl.h"

#define LOST_FOUND_BYTES 16384u
#define ORPHAN_FILE_MIN  2u
#define LOG_PIECE        32768u /* blocks of one extent */

static uint64_t cluster_down(const struct geom *g, uint64_t block)
{
	return block >> g->cluster_bits << g->cluster_bits;
}

static uint64_t cluster_up(const struct geom *g, uint64_t block)
{
	return cluster_down(g, block + (1ull << g->cluster_bits) - 1);
}

/* Whole clusters that the run touches. */
static struct block_run cover(const struct geom *g, uint64_t start, uint64_t len)
{
	uint64_t from = cluster_down(g, start);

	return (struct block_run){from, cluster_up(g, start + len) - from};
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
				at = cluster_up(g, end);
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
	uint64_t at = skip_supers(g, cluster_up(g, base_end(g, first)), spacing);
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

int create_place_groups(struct layout *l, struct diag *d)
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

/* Moves *at behind the run when it lies inside. */
static bool step_over(struct block_run r, uint64_t *at)
{
	if (r.start > *at || *at >= r.start + r.len)
		return false;
	*at = r.start + r.len;
	return true;
}

/* Where blocks of files end: pointers have 32 bits. */
static uint64_t reach(const struct geom *g)
{
	return geom_incompat(g, INCOMPAT_EXTENTS) ? g->blocks : MIN(g->blocks, 1ull << 32);
}

/* The first free run of whole clusters at or after at that a file can have, not longer than want;
 * len 0 when there is none. */
static struct block_run free_run(const struct layout *l, uint64_t at, uint64_t want)
{
	const struct geom *g = &l->geom;
	struct block_run r = {cluster_up(g, at), 0};
	uint64_t end = reach(g);
	bool moved = true;

	while (moved && r.start < end) {
		moved = false;
		for (unsigned i = 0; i < g->zone_count; i++)
			moved |= step_over(cover(g, g->zones[i].start, g->zones[i].len), &r.start);
		for (unsigned i = 0; i < l->used_count; i++)
			moved |= step_over(cover(g, l->used[i].start, l->used[i].len), &r.start);
	}
	for (unsigned i = 0; i < g->zone_count; i++) {
		if (g->zones[i].start > r.start)
			end = MIN(end, cluster_down(g, g->zones[i].start));
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

	mid = (uint32_t)((reach(g) - g->first_data_block) / 2 / g->blocks_per_group);
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

uint32_t create_default_journal(uint64_t blocks)
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

static int add_run(struct placed_file *f, struct block_run r, struct diag *d)
{
	if (mem_grow((void **)&f->runs, &f->cap, (size_t)f->count + 1, sizeof(*f->runs)) < 0)
		return diag_set(d, -ENOMEM, "out of memory for the plan");
	f->runs[f->count++] = r;
	f->blocks += r.len;
	return 0;
}

/* What maps the file's runs, in one piece of group 0. */
static int place_map(struct layout *l, struct placed_file *f, const char *what, struct diag *d)
{
	f->map.len = create_map_blocks(&l->geom, f->blocks, f->count);
	return f->map.len == 0 ? 0 : place_small(l, f->map.len, what, d, &f->map.start);
}

/* A file in one piece of group 0. */
static int place_file(struct layout *l, uint64_t len, const char *what, struct diag *d,
		      struct placed_file *f)
{
	struct block_run r = {0, len};
	int rc = place_small(l, len, what, d, &r.start);

	if (rc == 0)
		rc = add_run(f, r, d);
	return rc < 0 ? rc : place_map(l, f, what, d);
}

/* Pieces of at most an extent from the middle on, then from the front. */
static int place_log(struct layout *l, uint64_t left, struct diag *d)
{
	uint64_t at = journal_goal(l);
	bool wrapped = at <= l->geom.first_data_block;

	while (left != 0) {
		struct block_run r = free_run(l, at, MIN(left, LOG_PIECE));
		int rc;

		if (r.len == 0) {
			if (wrapped)
				return no_room(l, "the journal", left, d);
			wrapped = true;
			at = l->geom.first_data_block;
			continue;
		}
		rc = add_run(&l->journal, r, d);
		if (rc == 0)
			rc = use(l, r.start, r.len, d);
		if (rc < 0)
			return rc;
		left -= r.len;
		at = r.start + r.len;
	}
	return place_map(l, &l->journal, "the journal's map", d);
}

int create_journal_size(const struct create_opts *o, uint64_t blocks, uint64_t *ret, struct diag *d)
{
	uint64_t n = o->journal_blocks != 0 ? o->journal_blocks : create_default_journal(blocks);

	if (n == 0)
		return diag_set(d, -ENOSPC,
				"size is too small for a journal: %llu blocks, at least 2048 "
				"wanted (or -O ^has_journal)",
				(unsigned long long)blocks);
	if (n < 1024)
		return diag_set(d, -EINVAL, "journal of %llu blocks: at least 1024 wanted",
				(unsigned long long)n);
	*ret = n;
	return 0;
}

static int place_journal(struct layout *l, const struct create_opts *o, struct diag *d)
{
	uint64_t blocks;
	int rc = create_journal_size(o, l->geom.blocks, &blocks, d);

	if (rc < 0)
		return rc;
	if ((o->compat & COMPAT_FAST_COMMIT) != 0)
		l->fast_blocks = (uint32_t)(blocks / 64);
	return place_log(l, blocks + l->fast_blocks, d);
}

/* mke2fs makes the folder grow: where it begins in its inode, the first step makes its first block.
 */
static uint64_t lost_found_blocks(const struct create_opts *o, uint32_t bs)
{
	uint32_t blocks = MIN(MAX(LOST_FOUND_BYTES / bs, 2u), 12u);

	return (o->incompat & INCOMPAT_INLINE_DATA) != 0 ? blocks - 1 : blocks;
}

static int place_quota(struct layout *l, const struct create_opts *o, struct diag *d)
{
	int rc = 0;

	for (unsigned type = 0; type < create_quota_types(o) && rc == 0; type++) {
		rc = create_quota_empty(l, o, type, d);
		if (rc == 0)
			rc = place_file(l, create_quota_blocks(&l->geom, &l->use[type]),
					"a quota file", d, &l->quota[type]);
	}
	return rc;
}

int create_place_files(struct layout *l, const struct create_opts *o, struct diag *d)
{
	const struct geom *g = &l->geom;
	int rc = place_file(l, 1, "the root folder", d, &l->root);

	if (rc == 0 && !o->no_lost_found)
		rc = place_file(l, lost_found_blocks(o, g->block_size), "lost+found", d,
				&l->lost_found);
	if (rc == 0 && g->reserved_gdt != 0)
		rc = place_small(l, 1, "the resize inode", d, &l->resize_dind);
	if (rc == 0 && (o->compat & COMPAT_HAS_JOURNAL) != 0 && !o->external_log)
		rc = place_journal(l, o, d);
	if (rc == 0 && (o->incompat & INCOMPAT_MMP) != 0)
		rc = place_small(l, 1, "the mount guard", d, &l->mmp);
	if (rc == 0)
		rc = place_quota(l, o, d);
	if (rc == 0 && (o->compat & COMPAT_ORPHAN_FILE) != 0)
		rc = place_file(l, MAX((uint64_t)ORPHAN_FILE_MIN, MIN(g->blocks >> 15, 32ull)),
				"the orphan file", d, &l->orphan);
	return rc;
}

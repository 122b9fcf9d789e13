/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where everything lies in a filesystem of a size that is tried: contents that still wait, then
 * folders, links, maps and attribute blocks, what serves the filesystem itself, bitmaps and tables.
 * All of it is dealt out as if there were no end.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/build_impl.h"

#define JOURNAL_GAP 512u /* the log is not cut into smaller pieces than that */

/* ---- inodes ---- */

static uint32_t bytes_in_inode(const struct build_inode *i)
{
	return i->target != NULL ? (uint32_t)strlen(i->target) : 0;
}

static bool is_long_link(const struct build_inode *i)
{
	return S_ISLNK(i->mode) && bytes_in_inode(i) >= INODE_BLOCK_BYTES;
}

/* Room for the blocks of the map, in a row of pieces; each has a cluster for itself, since it goes
 * alone when the file is cut. */
static int take_map(struct build *b, struct build_inode *inode)
{
	uint64_t left = (uint64_t)inode->map_blocks << b->z.log_cluster;

	inode->nmap = 0;
	while (left != 0) {
		struct block_run r;
		int rc = build_take(b, left, 1, &r);

		if (rc == 0 && mem_grow((void **)&inode->map, &inode->map_cap,
					(size_t)inode->nmap + 1, sizeof(r)) < 0)
			rc = -ENOMEM;
		if (rc < 0)
			return rc;
		inode->map[inode->nmap++] = r;
		left -= r.len;
	}
	return 0;
}

/* What is not written by the caller. */
static uint32_t own_blocks(const struct build *b, const struct build_inode *x)
{
	if (x->value != NULL)
		return (uint32_t)DIV_UP(x->size, (uint64_t)b->z.bs);
	return S_ISDIR(x->mode) ? x->dir_blocks : is_long_link(x) ? 1 : 0;
}

/* Where the bill has blocks of the inode's contents. */
static uint64_t *row_of(struct build *b, const struct build_inode *x)
{
	return x->value != NULL   ? &b->bill.xattrs
	       : S_ISREG(x->mode) ? &b->bill.data
	       : S_ISDIR(x->mode) ? &b->bill.folders
				  : &b->bill.links;
}

static int place_inode(struct build *b, struct build_inode *x)
{
	int rc = 0;

	if (!S_ISREG(x->mode) || x->value != NULL) {
		x->nruns = 0;
		rc = build_place_run(b, x, 0, own_blocks(b, x));
	}
	x->data_blocks = 0;
	for (uint32_t i = 0; i < x->nruns; i++)
		x->data_blocks += build_whole(b, x->runs[i].len);
	*row_of(b, x) += x->data_blocks;
	x->map_blocks = x->nruns != 0 ? build_count_map(b, x) : 0;
	b->bill.maps += (uint64_t)x->map_blocks << b->z.log_cluster;
	return rc < 0 ? rc : take_map(b, x);
}

static int place_xattrs(struct build *b, struct build_inode *x)
{
	struct build_xattrs *set = x->xattrs;
	struct block_run r;
	int rc = 0;

	x->xattr_block = 0;
	if (set == NULL || set->nblocks == 0)
		return 0;
	if (set->given % BUILD_XATTR_USERS == 0) {
		rc = build_take(b, 1, 1, &r);
		if (rc < 0)
			return rc;
		set->pblk[set->given / BUILD_XATTR_USERS] = r.start;
		b->bill.xattrs += build_whole(b, 1);
	}
	x->xattr_block = set->pblk[set->given++ / BUILD_XATTR_USERS];
	return 0;
}

uint64_t build_inode_blocks(const struct build *b, const struct build_inode *x)
{
	uint64_t single = x->map_blocks + (x->xattr_block != 0 ? 1u : 0u);
	uint64_t values = x->xattrs != NULL ? x->xattrs->value_blocks : 0;

	return x->data_blocks + values + (single << b->z.log_cluster);
}

static int place_inodes(struct build *b)
{
	int rc = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		if (b->inodes[i]->xattrs != NULL)
			b->inodes[i]->xattrs->given = 0;
	}
	for (uint32_t i = 0; i < b->n && rc == 0; i++) {
		rc = place_inode(b, b->inodes[i]);
		if (rc == 0)
			rc = place_xattrs(b, b->inodes[i]);
	}
	return rc;
}

/* Contents that still wait get their places anew. */
static int place_contents(struct build *b)
{
	int rc = 0;

	for (struct build_inode *i = b->waiting; i != NULL && rc == 0; i = i->next_waiting) {
		build_unplace_runs(i);
		rc = build_place_runs(b, i);
	}
	return rc;
}

/* Group metadata behind what is there; clusters that it begins are on the bill. */
static int place_table(struct build *b, uint64_t len, uint64_t *ret)
{
	int rc = build_take_whole(b, len, ret);
	uint64_t from, end;

	if (rc < 0)
		return rc;
	from = MAX(*ret >> b->z.log_cluster << b->z.log_cluster, b->tables_end);
	end = build_whole(b, *ret + len);
	b->bill.tables += end - MIN(from, end);
	b->tables_end = MAX(b->tables_end, end);
	return 0;
}

/* Bitmaps and tables of some groups. */
static int place_flex(struct build *b, uint32_t first, uint32_t n)
{
	struct layout *l = &b->l;
	int rc = 0;

	for (uint32_t i = first; i < first + n && rc == 0; i++)
		rc = place_table(b, 1, &l->desc[i].block_bitmap.v);
	for (uint32_t i = first; i < first + n && rc == 0; i++)
		rc = place_table(b, 1, &l->desc[i].inode_bitmap.v);
	for (uint32_t i = first; i < first + n && rc == 0; i++)
		rc = place_table(b, l->geom.itable_blocks, &l->desc[i].inode_table.v);
	return rc;
}

static void place_in_groups(struct build *b)
{
	const struct geom *g = &b->l.geom;

	for (uint32_t i = 0; i < g->groups; i++) {
		uint64_t at = geom_group_start(g, i).v + build_whole(b, geom_base_meta(g, i));

		b->l.desc[i].block_bitmap = (ek_pblk){at};
		b->l.desc[i].inode_bitmap = (ek_pblk){at + 1};
		b->l.desc[i].inode_table = (ek_pblk){at + 2};
	}
	b->bill.tables = g->groups * build_whole(b, 2 + g->itable_blocks);
}

/* Of a size that is given the groups beyond the tree keep their tables to themselves, as long as
 * there is room for it. */
static int place_tables(struct build *b)
{
	const struct geom *g = &b->l.geom;
	uint32_t flex = 1u << g->log_flex;
	int rc = 0;

	b->tables_end = 0;
	if ((b->o.incompat & INCOMPAT_FLEX_BG) == 0) {
		place_in_groups(b);
		return 0;
	}
	for (uint32_t first = 0; first < g->groups && rc == 0; first += flex) {
		uint32_t n = MIN(flex, g->groups - first);
		uint64_t start = geom_group_start(g, first).v;
		uint64_t need = (uint64_t)n * (2 + g->itable_blocks);

		if (b->space.cursor < start && g->blocks - start > 2 * need + b->z.bpg / 2)
			b->space.cursor = start;
		rc = place_flex(b, first, n);
	}
	return rc;
}

static int take_file(struct build *b, struct placed_file *f, uint64_t left, uint64_t min_gap)
{
	f->count = 0;
	f->blocks = 0;
	f->map = (struct block_run){0};
	while (left != 0) {
		struct block_run r;
		int rc = build_take(b, MIN(left, 32768u), min_gap, &r);

		if (rc == 0 &&
		    mem_grow((void **)&f->runs, &f->cap, (size_t)f->count + 1, sizeof(r)) < 0)
			rc = -ENOMEM;
		if (rc < 0)
			return rc;
		if (f->count != 0 &&
		    f->runs[f->count - 1].start + f->runs[f->count - 1].len == r.start &&
		    f->runs[f->count - 1].len + r.len <= 32768)
			f->runs[f->count - 1].len += r.len;
		else
			f->runs[f->count++] = r;
		f->blocks += r.len;
		left -= r.len;
	}
	f->map.len = create_map_blocks(&b->l.geom, f->blocks, f->count);
	if (f->map.len != 0) {
		uint64_t len = build_whole(b, f->map.len);
		int rc = build_take_whole(b, len, &f->map.start);

		b->bill.maps += len;
		return rc < 0 ? rc : build_note_used(b, (struct block_run){f->map.start, len});
	}
	return 0;
}

static int take_one(struct build *b, uint64_t *ret)
{
	struct block_run r;
	int rc = build_take(b, 1, 1, &r);

	*ret = r.start;
	return rc;
}

/* A file of the filesystem's own that is on the bill as such. */
static int place_other(struct build *b, struct placed_file *f, uint64_t blocks)
{
	b->bill.other += build_whole(b, blocks);
	return take_file(b, f, blocks, JOURNAL_GAP);
}

static int place_quota(struct build *b)
{
	struct layout *l = &b->l;
	int rc = 0;

	for (unsigned type = 0; type < create_quota_types(&b->o) && rc == 0; type++)
		rc = place_other(b, &l->quota[type], create_quota_blocks(&l->geom, &b->use[type]));
	return rc;
}

static int place_journal(struct build *b)
{
	uint64_t blocks = b->o.journal_blocks != 0 ? b->o.journal_blocks
						   : create_default_journal(b->l.geom.blocks);

	b->l.fast_blocks = 0;
	if ((b->o.compat & COMPAT_FAST_COMMIT) != 0)
		b->l.fast_blocks = (uint32_t)(blocks / 64);
	b->bill.journal = build_whole(b, blocks + b->l.fast_blocks);
	return take_file(b, &b->l.journal, blocks + b->l.fast_blocks, JOURNAL_GAP);
}

/* What serves the filesystem itself. */
static int place_own(struct build *b)
{
	struct layout *l = &b->l;
	int rc = 0;

	b->bill.other = 0;
	if (l->geom.reserved_gdt != 0) {
		rc = take_one(b, &l->resize_dind);
		b->bill.other += build_whole(b, 1);
	}
	if (rc == 0 && (b->o.incompat & INCOMPAT_MMP) != 0) {
		rc = take_one(b, &l->mmp);
		b->bill.other += build_whole(b, 1);
	}
	if (rc == 0)
		rc = place_quota(b);
	if (rc == 0 && (b->o.compat & COMPAT_ORPHAN_FILE) != 0)
		rc = place_other(b, &l->orphan, MAX(2ull, MIN(l->geom.blocks >> 15, 32ull)));
	if (rc == 0 && build_has_log(b))
		rc = place_journal(b);
	return rc;
}

/* Shape of a filesystem of so many blocks. */
static int shape(struct build *b, uint64_t blocks, uint64_t inodes)
{
	struct create_opts o = b->o;
	struct layout *l = &b->l;
	uint32_t used = l->inodes_used;
	int rc;

	o.size = blocks * b->z.bs;
	o.inodes = (uint32_t)MIN(inodes, (uint64_t)UINT32_MAX);
	rc = create_sizes(&o, &b->z, b->diag);
	if (rc < 0)
		return rc;
	layout_free(l);
	l->inodes_used = used;
	l->orphan_ino = b->orphan_ino;
	l->project_ino = b->project_ino;
	return create_shape(&o, &b->z, b->diag, l);
}

static int start_space(struct build *b)
{
	int rc;

	b->bill = (struct build_bill){.files = b->bill.files, .entries = b->bill.entries};
	if (b->settled) {
		rc = build_space_copy(&b->space, &b->mark);
		if (rc == 0 && b->how != BUILD_FIXED)
			rc = build_free_heads(b);
		return rc;
	}
	b->space.cursor = b->z.first;
	b->space.ngaps = b->space.nused = b->space.ngiven = b->space.gap_at = 0;
	b->space.taken = 0;
	return place_contents(b);
}

static uint64_t all_heads(const struct build *b)
{
	const struct geom *g = &b->l.geom;
	uint64_t n = g->first_data_block;

	for (uint32_t i = 0; i < g->groups; i++)
		n += build_whole(b, geom_base_meta(g, i));
	return n;
}

/* Everything gets a place as if there were no end; *end says where that is. */
int build_try_size(struct build *b, uint64_t blocks, uint64_t inodes, uint64_t *end)
{
	int rc = shape(b, blocks, inodes);

	if (rc < 0)
		return rc;
	if (b->o.head_most != 0 && geom_base_meta(&b->l.geom, 0) > b->o.head_most)
		return diag_set(b->diag, -EFBIG,
				"a stream for %llu blocks: with this much, --size must be given",
				(unsigned long long)blocks);
	b->exact = true;
	rc = start_space(b);
	if (rc == 0)
		rc = place_inodes(b);
	if (rc == 0)
		rc = place_own(b);
	*end = b->space.cursor;
	if (rc == 0)
		rc = place_tables(b);
	*end = MAX(build_whole(b, b->space.cursor), *end);
	b->bill.heads = all_heads(b);
	return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How large the filesystem is and where everything lies.  A size is tried: all that is not contents
 * (and contents too, when they still wait) is dealt out behind them; where that ends beyond the
 * size, the end is the next size to try.  Sizes only grow, so this ends after a few rounds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/crc.h"
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

/* Numbers in the order of the list: root, lost+found, the orphan file's, then the others. */
static void number_inodes(struct build *b)
{
	const struct build_inode *lost = b->lost;
	uint32_t next = INUM_FIRST + (lost != NULL ? 1 : 0);

	b->orphan_ino = 0;
	if ((b->o.compat & COMPAT_ORPHAN_FILE) != 0)
		b->orphan_ino = next++;
	for (uint32_t i = 0; i < b->n; i++) {
		struct build_inode *x = b->inodes[i];

		x->ino = i == 0 ? INUM_ROOT : x == lost ? INUM_FIRST : next++;
	}
	b->l.inodes_used = next - 1;
}

static int count_links(struct build *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		b->inodes[i]->links = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		struct build_inode *x = b->inodes[i];

		if (!S_ISDIR(x->mode))
			continue;
		x->links += 2;
		for (uint32_t k = 0; k < x->nnames; k++) {
			struct build_inode *child = x->names[k]->inode;

			if (S_ISDIR(child->mode))
				x->links++;
			else
				child->links++;
		}
	}
	for (uint32_t i = 0; i < b->n; i++) {
		struct build_inode *x = b->inodes[i];

		if (x->links <= 65000)
			continue;
		if (!S_ISDIR(x->mode) || (b->o.ro_compat & RO_COMPAT_DIR_NLINK) == 0)
			return diag_set(b->diag, -EMLINK, "inode %u: %u links, at most 65000",
					x->ino, x->links);
		x->links = 1;
	}
	return 0;
}

/* So that no two filesystems with another seed have the same. */
static void choose_generations(struct build *b)
{
	uint32_t seed = crc32c(~0u, b->o.hash_seed, sizeof(b->o.hash_seed));

	for (uint32_t i = 1; i < b->n; i++) {
		le32 n = le32_make(b->inodes[i]->ino);

		b->inodes[i]->generation = crc32c(seed, &n, sizeof(n));
	}
}

static int plan_folders(struct build *b)
{
	int rc = 0;

	for (uint32_t i = 0; i < b->n && rc == 0; i++) {
		if (S_ISDIR(b->inodes[i]->mode))
			rc = build_dir_plan(b, b->inodes[i]);
	}
	return rc;
}

static int count_xattr_blocks(struct build *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		if (b->inodes[i]->xattrs != NULL)
			b->inodes[i]->xattrs->users = 0;
	}
	for (uint32_t i = 0; i < b->n; i++) {
		struct build_xattrs *set = b->inodes[i]->xattrs;

		if (set != NULL && set->block != NULL)
			set->nblocks = DIV_UP(++set->users, BUILD_XATTR_USERS);
	}
	for (uint32_t i = 0; i < b->n; i++) {
		struct build_xattrs *set = b->inodes[i]->xattrs;

		if (set == NULL || set->nblocks == 0 || set->pblk != NULL)
			continue;
		set->pblk = mem_array(set->nblocks, sizeof(*set->pblk), MEM_CAP, b->diag);
		if (set->pblk == NULL)
			return -ENOMEM;
	}
	return 0;
}

/* ---- one size ---- */

/* Blocks behind runs that lie in one row of pieces. */
static int take_map(struct build *b, struct build_inode *inode)
{
	uint32_t left = inode->map_blocks;

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
		left -= (uint32_t)r.len;
	}
	return 0;
}

static int place_inode(struct build *b, struct build_inode *x)
{
	uint32_t blocks = S_ISDIR(x->mode) ? x->dir_blocks : is_long_link(x) ? 1 : 0;
	int rc = 0;

	if (!S_ISREG(x->mode)) {
		x->nruns = 0;
		rc = blocks != 0 ? build_place_run(b, x, 0, blocks) : 0;
		b->bill.folders += S_ISDIR(x->mode) ? blocks : 0;
		b->bill.links += S_ISDIR(x->mode) ? 0 : blocks;
	}
	x->data_blocks = 0;
	for (uint32_t i = 0; i < x->nruns; i++)
		x->data_blocks += x->runs[i].len;
	b->bill.data += S_ISREG(x->mode) ? x->data_blocks : 0;
	x->map_blocks = x->nruns != 0 ? build_count_map(b, x) : 0;
	b->bill.maps += x->map_blocks;
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
		b->bill.xattrs++;
	}
	x->xattr_block = set->pblk[set->given++ / BUILD_XATTR_USERS];
	return 0;
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

/* Bitmaps and tables of some groups, behind what is there. */
static int place_flex(struct build *b, uint32_t first, uint32_t n)
{
	struct layout *l = &b->l;
	int rc = 0;

	for (uint32_t i = first; i < first + n && rc == 0; i++)
		rc = build_take_whole(b, 1, &l->desc[i].block_bitmap.v);
	for (uint32_t i = first; i < first + n && rc == 0; i++)
		rc = build_take_whole(b, 1, &l->desc[i].inode_bitmap.v);
	for (uint32_t i = first; i < first + n && rc == 0; i++)
		rc = build_take_whole(b, l->geom.itable_blocks, &l->desc[i].inode_table.v);
	return rc;
}

/* Of a size that is given the groups beyond the tree keep their tables to themselves, as long as
 * there is room for it. */
static int place_tables(struct build *b)
{
	const struct geom *g = &b->l.geom;
	uint32_t flex = 1u << g->log_flex;
	int rc = 0;

	b->bill.tables = (uint64_t)g->groups * (2 + g->itable_blocks);
	if ((b->o.incompat & INCOMPAT_FLEX_BG) == 0) {
		for (uint32_t i = 0; i < g->groups; i++) {
			uint64_t at = geom_group_start(g, i).v + geom_base_meta(g, i);

			b->l.desc[i].block_bitmap = (ek_pblk){at};
			b->l.desc[i].inode_bitmap = (ek_pblk){at + 1};
			b->l.desc[i].inode_table = (ek_pblk){at + 2};
		}
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
		int rc = build_take_whole(b, f->map.len, &f->map.start);

		return rc < 0 ? rc : build_note_used(b, f->map);
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

static int place_journal(struct build *b)
{
	uint64_t blocks = b->o.journal_blocks != 0 ? b->o.journal_blocks
						   : create_default_journal(b->l.geom.blocks);

	b->l.fast_blocks = 0;
	if ((b->o.compat & COMPAT_FAST_COMMIT) != 0)
		b->l.fast_blocks = (uint32_t)(blocks / 64);
	b->bill.journal = blocks + b->l.fast_blocks;
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
		b->bill.other++;
	}
	if (rc == 0 && (b->o.incompat & INCOMPAT_MMP) != 0) {
		rc = take_one(b, &l->mmp);
		b->bill.other++;
	}
	if (rc == 0 && (b->o.compat & COMPAT_ORPHAN_FILE) != 0) {
		rc = take_file(b, &l->orphan, MAX(2ull, MIN(l->geom.blocks >> 15, 32ull)),
			       JOURNAL_GAP);
		b->bill.other += l->orphan.blocks;
	}
	if (rc == 0 && (b->o.compat & COMPAT_HAS_JOURNAL) != 0)
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
	b->space.ngaps = b->space.nused = b->space.gap_at = 0;
	b->space.taken = 0;
	return place_contents(b);
}

static uint64_t all_heads(const struct build *b)
{
	const struct geom *g = &b->l.geom;
	uint64_t n = g->first_data_block;

	for (uint32_t i = 0; i < g->groups; i++)
		n += geom_base_meta(g, i);
	return n;
}

/* Everything gets a place as if there were no end; *end says where that is. */
static int try_size(struct build *b, uint64_t blocks, uint64_t inodes, uint64_t *end)
{
	int rc = shape(b, blocks, inodes);

	if (rc < 0)
		return rc;
	if (b->o.head_most != 0 && 1 + b->l.geom.gdt_blocks > b->o.head_most)
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
	*end = MAX(b->space.cursor, *end);
	b->bill.heads = all_heads(b);
	return rc;
}

/* ---- the size ---- */

/* Blocks in use, whatever the size is. */
static uint64_t in_use(const struct build *b)
{
	return b->space.taken + b->bill.tables + b->bill.heads;
}

/* Blocks that shall be left. */
static uint64_t wanted_free(const struct build *b)
{
	uint64_t n = DIV_UP(b->free_bytes, (uint64_t)b->z.bs);

	return b->how == BUILD_AUTO ? n + in_use(b) / 10 : n;
}

static uint64_t wanted_inodes(const struct build *b, uint64_t blocks)
{
	uint64_t need = b->l.inodes_used, more = 0;

	if (b->how != BUILD_FIXED) {
		uint64_t room = b->bill.heads != 0 ? wanted_free(b) : 0;

		more = b->o.inode_ratio != 0 ? room * b->z.bs / b->o.inode_ratio : 0;
	} else if (b->o.inode_ratio != 0) {
		need = MAX(need, blocks * b->z.bs / b->o.inode_ratio);
	}
	return MAX(need + more, (uint64_t)b->o.inodes);
}

/* A log in a filesystem that is too small for one would be the greater part of it. */
static void choose_journal(struct build *b, uint64_t blocks)
{
	const uint32_t needs = COMPAT_HAS_JOURNAL | COMPAT_ORPHAN_FILE | COMPAT_FAST_COMMIT;
	if (b->how == BUILD_FIXED || b->o.journal_blocks != 0)
		return;
	const uint32_t before = b->o.compat;

	b->o.compat |= b->without;
	b->without = 0;
	if ((b->o.compat & COMPAT_HAS_JOURNAL) != 0 && create_default_journal(blocks) == 0) {
		b->without = b->o.compat & needs;
		b->o.compat &= ~needs;
	}
	if (b->o.compat != before)
		number_inodes(b);
}

/* The size that holds what was placed and what shall be left. */
static uint64_t next_size(struct build *b, uint64_t blocks, uint64_t end)
{
	uint64_t want = MAX(end, in_use(b) + wanted_free(b));

	if (want > blocks)
		return b->how == BUILD_AUTO ? ROUND_UP(want, (1u << 20) / MIN(b->z.bs, 1u << 20))
					    : want;
	if (b->z.blocks < blocks) /* a last group of its head alone was cut off */
		return b->z.blocks + geom_base_meta(&b->l.geom, b->z.groups) + 16;
	return blocks;
}

/* Bitmaps of inodes are one block in each group, so many inodes want many groups. */
static uint64_t least_blocks(const struct build *b, uint64_t inodes)
{
	uint64_t groups = DIV_UP(inodes, (uint64_t)b->z.bs * 8);
	uint64_t head = (uint64_t)b->z.itable + b->reserve + b->z.gdt + b->z.reserved_gdt + 16;

	return groups < 2 ? 0 : b->z.first + (groups - 1) * b->z.bpg + head;
}

/* Contents, inodes and folders: seldom too much, and near to what it will be. */
static uint64_t first_guess(const struct build *b)
{
	uint64_t n = b->data_end + b->n / (b->z.bs / b->z.isize) + 16;

	for (uint32_t i = 0; i < b->n; i++) {
		n += b->inodes[i]->dir_blocks;
		for (uint32_t k = 0; !b->settled && k < b->inodes[i]->nruns; k++)
			n += b->inodes[i]->runs[k].len;
	}
	return n;
}

static int find_size(struct build *b)
{
	uint64_t blocks = first_guess(b), end, next;
	int rc;

	for (unsigned round = 0;; round++) {
		blocks = MAX(blocks, least_blocks(b, wanted_inodes(b, blocks)));
		choose_journal(b, blocks);
		rc = try_size(b, blocks, wanted_inodes(b, blocks), &end);
		if (rc < 0)
			return rc;
		next = next_size(b, blocks, end);
		if (next == blocks)
			return 0;
		if (round == 100)
			return diag_set(b->diag, -EFBIG,
					"no size holds the tree: tried up to %llu blocks",
					(unsigned long long)blocks);
		blocks = next;
	}
}

static int no_space(struct build *b, uint64_t missing)
{
	uint64_t inodes = b->z.ipg * (uint64_t)b->z.groups, need = b->l.inodes_used;

	b->diag->need_blocks = missing;
	b->diag->need_inodes = need > inodes ? need - inodes : 0;
	return diag_set(
	    b->diag, -ENOSPC,
	    "size %llu is too small for the tree: %llu blocks of %u bytes and %llu inodes "
	    "are missing",
	    (unsigned long long)b->o.size, (unsigned long long)missing, b->z.bs,
	    (unsigned long long)b->diag->need_inodes);
}

static int fit_size(struct build *b)
{
	uint64_t blocks = b->o.size / b->z.bs, end;
	int rc = try_size(b, blocks, wanted_inodes(b, blocks), &end);

	if (rc == 0 && end > b->l.geom.blocks) /* then without spare inodes */
		rc = try_size(b, blocks, MAX(b->l.inodes_used, b->o.inodes), &end);
	if (rc < 0)
		return rc;
	if (end > b->l.geom.blocks)
		return no_space(b, end - b->l.geom.blocks);
	return 0;
}

/* ---- the whole ---- */

static int by_start(const void *a, const void *b)
{
	const struct block_run *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* What is used, for the bitmaps. */
static void hand_over_used(struct build *b)
{
	struct build_space *s = &b->space;
	size_t n = 0;

	qsort(s->used, s->nused, sizeof(*s->used), by_start);
	for (size_t i = 0; i < s->nused; i++) {
		if (s->used[i].len == 0)
			continue;
		if (n != 0 && s->used[n - 1].start + s->used[n - 1].len == s->used[i].start)
			s->used[n - 1].len += s->used[i].len;
		else
			s->used[n++] = s->used[i];
	}
	b->l.used = s->used;
	b->l.used_count = (unsigned)n;
	b->l.used_cap = s->used_cap;
	s->used = NULL;
	s->nused = s->used_cap = 0;
}

static int count_dirs(struct build *b)
{
	b->dirs = mem_array(b->l.geom.groups, sizeof(*b->dirs), MEM_CAP, b->diag);
	if (b->dirs == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < b->n; i++) {
		if (S_ISDIR(b->inodes[i]->mode))
			b->dirs[(b->inodes[i]->ino - 1) / b->l.geom.inodes_per_group]++;
	}
	b->l.dirs = b->dirs;
	return 0;
}

static int finish(struct build *b)
{
	int rc = create_zones(&b->l, b->diag);

	if (rc == 0)
		rc = count_dirs(b);
	if (rc == 0) {
		choose_generations(b);
		hand_over_used(b);
		rc = create_count(&b->l, b->diag);
	}
	b->l.super.s_mmp_block = le64_make(b->l.mmp);
	b->bill.blocks = b->l.geom.blocks;
	b->bill.free = b->bill.blocks - MIN(b->bill.blocks, in_use(b));
	b->bill.inodes = b->l.geom.inodes;
	b->bill.inodes_used = b->l.inodes_used;
	b->bill.block_size = b->z.bs;
	b->bill.groups = b->l.geom.groups;
	return rc;
}

int build_plan(struct build *b, struct build_inode **inodes, uint32_t n, struct build_inode *lost,
	       struct build_bill *ret)
{
	int rc;

	b->inodes = inodes;
	b->n = n;
	b->data_end = b->space.cursor;
	b->lost = lost;
	number_inodes(b);
	rc = count_links(b);
	if (rc == 0)
		rc = plan_folders(b);
	if (rc == 0)
		rc = count_xattr_blocks(b);
	if (rc == 0)
		rc = build_space_copy(&b->mark, &b->space);
	if (rc == 0)
		rc = b->how == BUILD_FIXED ? fit_size(b) : find_size(b);
	if (rc == 0)
		rc = finish(b);
	if (rc == 0)
		*ret = b->bill;
	return rc;
}

uint64_t build_bytes(const struct build *b)
{
	return b->l.geom.blocks << b->l.geom.block_bits;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How large the filesystem is.  A size is tried (build_place.c); where everything ends beyond it,
 * the end is the next size to try.  Sizes only grow, so this ends after a few rounds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/crc.h"
#include "base/mem.h"
#include "fs/build_impl.h"
#include "fs/links.h"

/* ---- inodes ---- */

/* Numbers in the order of the list: root, lost+found, the quotas' of projects, the orphan file's,
 * then the others. */
static void number_inodes(struct build *b)
{
	const struct build_inode *lost = b->lost;
	uint32_t next = INUM_FIRST + (lost != NULL ? 1 : 0);

	b->orphan_ino = b->project_ino = 0;
	if (create_quota_types(&b->o) > QUOTA_PROJECT)
		b->project_ino = next++;
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
		b->inodes[i]->links = b->inodes[i]->value != NULL ? 1 : 0;
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

		if (x->links <= LINKS_MAX)
			continue;
		if (!S_ISDIR(x->mode) || (b->o.ro_compat & RO_COMPAT_DIR_NLINK) == 0)
			return diag_set(b->diag, -EMLINK, "inode %u: %u links, at most %u", x->ino,
					x->links, LINKS_MAX);
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

		if (set == NULL)
			continue;
		set->users++;
		if (set->block != NULL)
			set->nblocks = DIV_UP(set->users, BUILD_XATTR_USERS);
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
	if (build_has_log(b) && create_default_journal(blocks) == 0) {
		b->without = b->o.compat & needs;
		b->o.compat &= ~needs;
	}
	if (b->o.compat != before)
		number_inodes(b);
}

/* Sizes that are chosen freely are whole mebibytes, and whole clusters. */
static uint64_t auto_step(const struct build *b)
{
	return MAX((1u << 20) / MIN(b->z.bs, 1u << 20), 1u << b->z.log_cluster);
}

/* A size with the last group that was cut off because it had no room beside its head.  Inodes are
 * spread over one group more then. */
static uint64_t with_last_group(const struct build *b, uint64_t blocks)
{
	uint64_t groups = b->z.groups, head = geom_base_meta(&b->l.geom, b->z.groups), tables = 0;

	if ((b->o.incompat & INCOMPAT_FLEX_BG) == 0)
		tables = 2 + DIV_UP(groups * b->z.itable, groups + 1) + 2;
	head = build_whole(b, head) + build_whole(b, tables);
	return build_whole(b, MAX(b->z.blocks + head, blocks) + 16);
}

/* The size that holds what was placed and what shall be left. */
static uint64_t next_size(struct build *b, uint64_t blocks, uint64_t end)
{
	uint64_t want = MAX(end, build_whole(b, in_use(b) + wanted_free(b)));

	if (want > blocks)
		return b->how == BUILD_AUTO ? ROUND_UP(want, auto_step(b)) : want;
	return b->z.blocks < blocks ? with_last_group(b, blocks) : blocks;
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
	uint64_t blocks = first_guess(b), end, next, least;
	int rc;

	for (unsigned round = 0;; round++) {
		least = least_blocks(b, wanted_inodes(b, blocks));
		blocks = build_whole(b, MAX(blocks, least));
		choose_journal(b, blocks);
		rc = build_try_size(b, blocks, wanted_inodes(b, blocks), &end);
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
	int rc = build_try_size(b, blocks, wanted_inodes(b, blocks), &end);

	if (rc == 0 && end > b->l.geom.blocks) /* then without spare inodes */
		rc = build_try_size(b, blocks, MAX(b->l.inodes_used, b->o.inodes), &end);
	if (rc < 0)
		return rc;
	if (end > b->l.geom.blocks)
		return no_space(b, end - b->l.geom.blocks);
	return 0;
}

/* ---- the whole ---- */

/* What is used, for the bitmaps. */
static int hand_over_used(struct build *b)
{
	struct block_run *used;
	size_t n;
	int rc = build_used(b, &used, &n);

	if (rc < 0)
		return rc;
	free(b->l.used);
	b->l.used = used;
	b->l.used_count = (unsigned)n;
	b->l.used_cap = n;
	return 0;
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
	uint64_t log_blocks;
	int rc = 0;

	if (build_has_log(b))
		rc = create_journal_size(&b->o, b->l.geom.blocks, &log_blocks, b->diag);
	if (rc == 0)
		rc = create_zones(&b->l, b->diag);
	if (rc == 0)
		rc = count_dirs(b);
	if (rc == 0) {
		choose_generations(b);
		build_quota_count(b);
		rc = hand_over_used(b);
	}
	if (rc == 0)
		rc = create_count(&b->l, b->diag);
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
	rc = count_xattr_blocks(b);
	if (rc == 0)
		rc = build_values_list(b);
	if (rc < 0)
		return rc;
	number_inodes(b);
	rc = count_links(b);
	if (rc == 0)
		rc = build_quota_plan(b);
	if (rc == 0)
		rc = plan_folders(b);
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

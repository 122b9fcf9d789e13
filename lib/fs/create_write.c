/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A planned filesystem becomes bytes: inode tables and the log as zeros where the target is not
 * fresh, then bitmaps, inodes, folders, the log's superblock, descriptors with their backups, and
 * the primary superblock last, so that an interrupted run leaves nothing that looks like a
 * filesystem.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/mem.h"
#include "fs/create_impl.h"
#include "io/dev.h"
#include "ondisk/mmp.h"

uint8_t *create_blank(struct create_writer *w)
{
	memset(w->block, 0, w->g->block_size);
	return w->block;
}

int create_put(struct create_writer *w, uint64_t block)
{
	return dev_write(w->dev, block << w->g->block_bits, w->block, w->g->block_size);
}

int create_zero(struct create_writer *w, uint64_t block, uint64_t len)
{
	if (w->o->fresh || len == 0)
		return 0;
	return dev_zero(w->dev, block << w->g->block_bits, len << w->g->block_bits);
}

/* ---- bitmaps ---- */

static void mark(const struct geom *g, uint32_t group, uint8_t *map, uint64_t block, uint64_t len)
{
	uint64_t start = geom_group_start(g, group).v, end = start + geom_group_blocks(g, group);
	uint64_t from = MAX(block, start), to = MIN(block + len, end);
	uint64_t first = (from - start) >> g->cluster_bits;

	if (from < to)
		bitmap_set_range(map, first, ((to - 1 - start) >> g->cluster_bits) + 1 - first);
}

static int write_block_bitmap(struct create_writer *w, uint32_t group)
{
	const struct geom *g = w->g;
	uint64_t start = geom_group_start(g, group).v;
	uint32_t blocks = geom_group_blocks(g, group);
	uint32_t bits = DIV_UP(blocks, 1u << g->cluster_bits);
	uint8_t *map = create_blank(w);

	/* groups come in order, and so do zones: what ends before this group is done with */
	while (w->zone < g->zone_count && g->zones[w->zone].start + g->zones[w->zone].len <= start)
		w->zone++;
	for (unsigned i = w->zone; i < g->zone_count && g->zones[i].start < start + blocks; i++)
		mark(g, group, map, g->zones[i].start, g->zones[i].len);
	for (unsigned i = 0; i < w->l->used_count; i++)
		mark(g, group, map, w->l->used[i].start, w->l->used[i].len);
	bitmap_set_range(map, bits, (size_t)g->block_size * 8 - bits);
	w->desc[group].block_bitmap_csum = group_bitmap_csum(g, map, g->clusters_per_group);
	return create_put(w, w->desc[group].block_bitmap.v);
}

static int write_inode_bitmap(struct create_writer *w, uint32_t group)
{
	const struct geom *g = w->g;
	uint32_t used = g->inodes_per_group - w->desc[group].free_inodes;
	uint8_t *map = create_blank(w);

	bitmap_set_range(map, 0, used);
	bitmap_set_range(map, g->inodes_per_group, (size_t)g->block_size * 8 - g->inodes_per_group);
	w->desc[group].inode_bitmap_csum = group_bitmap_csum(g, map, g->inodes_per_group);
	return create_put(w, w->desc[group].inode_bitmap.v);
}

static int write_bitmaps(struct create_writer *w)
{
	int rc = 0;

	for (uint32_t i = 0; i < w->g->groups && rc == 0; i++) {
		if ((w->desc[i].flags & GROUP_BLOCK_UNINIT) == 0)
			rc = write_block_bitmap(w, i);
		if (rc == 0 && (w->desc[i].flags & GROUP_INODE_UNINIT) == 0)
			rc = write_inode_bitmap(w, i);
	}
	return rc;
}

static int zero_tables(struct create_writer *w)
{
	int rc = 0;

	/* Neighbouring tables are one run. */
	for (uint32_t i = 0; i < w->g->groups && rc == 0;) {
		uint64_t start = w->desc[i].inode_table.v, len = 0;

		while (i < w->g->groups && w->desc[i].inode_table.v == start + len) {
			len += w->g->itable_blocks;
			i++;
		}
		rc = create_zero(w, start, len);
	}
	return rc;
}

/* ---- descriptors and superblocks ---- */

static uint8_t *encode_table(struct create_writer *w)
{
	const struct geom *g = w->g;
	uint8_t *table = mem_array(g->gdt_blocks, g->block_size, MEM_CAP, w->diag);

	for (uint32_t i = 0; table != NULL && i < g->groups; i++)
		group_encode(g, i, &w->desc[i],
			     table + (size_t)(i / g->descs_per_block) * g->block_size +
				 (size_t)(i % g->descs_per_block) * g->desc_size);
	return table;
}

/* A copy of the superblock, and what of the descriptors lies behind every copy. */
static int write_backup(struct create_writer *w, const struct super_raw *sb, const uint8_t *table,
			uint32_t group)
{
	const struct geom *g = w->g;
	uint64_t at = geom_group_start(g, group).v;
	uint32_t behind = MIN(g->first_meta_bg, g->gdt_blocks);
	struct super_raw copy = *sb;
	int rc;

	copy.s_block_group_nr = le16_make((uint16_t)group);
	super_seal(&copy);
	memcpy(create_blank(w), &copy, sizeof(copy));
	rc = create_put(w, at);
	if (rc == 0 && behind != 0)
		rc = dev_write(w->dev, (at + 1) << g->block_bits, table,
			       (size_t)behind << g->block_bits);
	return rc < 0 ? rc : create_zero(w, at + 1 + behind, g->reserved_gdt);
}

/* One block of descriptors in the first, second and last of the groups that it describes. */
static int write_meta_block(struct create_writer *w, const uint8_t *block, uint32_t n)
{
	const struct geom *g = w->g;
	uint32_t first = n * g->descs_per_block, last = first + g->descs_per_block - 1;
	const uint32_t groups[] = {first, first + 1, last};
	int rc = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(groups) && rc == 0; i++) {
		uint32_t group = groups[i];

		if (group < g->groups)
			rc = dev_write(w->dev, geom_gdt_block_in(g, group).v << g->block_bits,
				       block, g->block_size);
	}
	return rc;
}

static int write_table(struct create_writer *w, const uint8_t *table)
{
	const struct geom *g = w->g;
	uint32_t front = MIN(g->first_meta_bg, g->gdt_blocks);
	int rc = 0;

	if (front != 0)
		rc = dev_write(w->dev, geom_gdt_block(g, 0).v << g->block_bits, table,
			       (size_t)front << g->block_bits);
	for (uint32_t n = front; n < g->gdt_blocks && rc == 0; n++)
		rc = write_meta_block(w, table + ((size_t)n << g->block_bits), n);
	return rc;
}

static int write_supers(struct create_writer *w, struct super_raw *sb)
{
	const struct geom *g = w->g;
	uint8_t *table = encode_table(w);
	int rc = table == NULL ? -ENOMEM : 0;

	for (uint32_t i = 1; i < g->groups && rc == 0; i++) {
		if (geom_has_super(g, i))
			rc = write_backup(w, sb, table, i);
	}
	if (rc == 0)
		rc = write_table(w, table);
	free(table);
	if (rc == 0 && !w->o->unflushed)
		rc = dev_flush(w->dev);
	super_seal(sb);
	if (rc == 0)
		rc = dev_write(w->dev, SUPER_OFFSET, sb, sizeof(*sb));
	return rc < 0 || w->o->unflushed ? rc : dev_flush(w->dev);
}

/* Nobody has it mounted. */
static int write_guard(struct create_writer *w)
{
	struct mmp_raw *mmp = (struct mmp_raw *)(void *)create_blank(w);

	mmp->mmp_magic = le32_make(MMP_MAGIC);
	mmp->mmp_seq = le32_make(MMP_SEQ_CLEAN);
	mmp->mmp_time = le64_make((uint64_t)w->o->now.sec);
	mmp->mmp_check_interval = w->l->super.s_mmp_update_interval;
	mmp_seal(w->g, mmp);
	return create_put(w, w->l->mmp);
}

static int write_all(struct create_writer *w)
{
	struct super_raw sb = w->l->super;
	int rc = create_zero(w, 0, w->g->first_data_block + 1u);

	if (rc == 0)
		rc = zero_tables(w);
	if (rc == 0)
		rc = write_bitmaps(w);
	if (rc == 0)
		rc = w->l->fill != NULL ? w->l->fill(w, &sb, w->l->fill_ctx) : create_files(w, &sb);
	if (rc == 0 && w->l->mmp != 0)
		rc = write_guard(w);
	return rc < 0 ? rc : write_supers(w, &sb);
}

int layout_write(const struct layout *l, const struct create_opts *o, struct dev *dev,
		 struct diag *d)
{
	struct create_writer w = {.l = l, .o = o, .g = &l->geom, .dev = dev, .diag = d};
	int rc = -ENOMEM;

	w.block = mem_aligned(4096, l->geom.block_size);
	w.desc = mem_array(l->geom.groups, sizeof(*w.desc), MEM_CAP, d);
	if (w.block != NULL && w.desc != NULL) {
		memcpy(w.desc, l->desc, l->geom.groups * sizeof(*w.desc));
		rc = write_all(&w);
	}
	free(w.block);
	free(w.desc);
	return rc;
}

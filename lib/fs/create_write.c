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
#include <sys/stat.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/crc.h"
#include "base/mem.h"
#include "fs/create.h"
#include "fs/dir.h"
#include "fs/dir_block.h"
#include "fs/orphan_file.h"
#include "io/dev.h"
#include "ondisk/extent.h"
#include "ondisk/inode.h"
#include "ondisk/jbd2.h"

struct writer {
	const struct layout *l;
	unsigned zone; /* the first one that the current group may have a part of */
	const struct create_opts *o;
	const struct geom *g;
	struct group_desc *desc; /* with bitmap checksums */
	struct dev *dev;
	struct diag *diag;
	uint8_t *block; /* one block of scratch */
};

static uint8_t *blank(struct writer *w)
{
	memset(w->block, 0, w->g->block_size);
	return w->block;
}

static int put(struct writer *w, uint64_t block)
{
	return dev_write(w->dev, block << w->g->block_bits, w->block, w->g->block_size);
}

static int zero(struct writer *w, uint64_t block, uint64_t len)
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

	if (from < to)
		bitmap_set_range(map, from - start, to - from);
}

static int write_block_bitmap(struct writer *w, uint32_t group)
{
	const struct geom *g = w->g;
	uint64_t start = geom_group_start(g, group).v;
	uint32_t blocks = geom_group_blocks(g, group);
	uint8_t *map = blank(w);

	/* groups come in order, and so do zones: what ends before this group is done with */
	while (w->zone < g->zone_count && g->zones[w->zone].start + g->zones[w->zone].len <= start)
		w->zone++;
	for (unsigned i = w->zone; i < g->zone_count && g->zones[i].start < start + blocks; i++)
		mark(g, group, map, g->zones[i].start, g->zones[i].len);
	for (unsigned i = 0; i < w->l->used_count; i++)
		mark(g, group, map, w->l->used[i].start, w->l->used[i].len);
	bitmap_set_range(map, blocks, (size_t)g->block_size * 8 - blocks);
	w->desc[group].block_bitmap_csum = group_bitmap_csum(g, map, g->clusters_per_group);
	return put(w, w->desc[group].block_bitmap.v);
}

static int write_inode_bitmap(struct writer *w, uint32_t group)
{
	const struct geom *g = w->g;
	uint32_t used = g->inodes_per_group - w->desc[group].free_inodes;
	uint8_t *map = blank(w);

	bitmap_set_range(map, 0, used);
	bitmap_set_range(map, g->inodes_per_group, (size_t)g->block_size * 8 - g->inodes_per_group);
	w->desc[group].inode_bitmap_csum = group_bitmap_csum(g, map, g->inodes_per_group);
	return put(w, w->desc[group].inode_bitmap.v);
}

static int write_bitmaps(struct writer *w)
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

static int zero_tables(struct writer *w)
{
	int rc = 0;

	/* Neighbouring tables are one run. */
	for (uint32_t i = 0; i < w->g->groups && rc == 0;) {
		uint64_t start = w->desc[i].inode_table.v, len = 0;

		while (i < w->g->groups && w->desc[i].inode_table.v == start + len) {
			len += w->g->itable_blocks;
			i++;
		}
		rc = zero(w, start, len);
	}
	return rc;
}

/* ---- inodes ---- */

static void record(const struct writer *w, uint16_t mode, uint16_t links, struct inode_rec *r)
{
	memset(r, 0, sizeof(*r));
	r->mode = mode;
	r->links = links;
	r->atime = w->o->now;
	r->mtime = w->o->now;
	r->ctime = w->o->now;
	r->crtime = w->o->now;
	r->extra_isize = w->g->inode_size > 128 ? 32 : 0;
}

static int put_inode(struct writer *w, uint32_t ino, const struct inode_rec *r)
{
	const struct geom *g = w->g;
	uint32_t index = ino - 1;
	uint64_t at = (w->desc[0].inode_table.v << g->block_bits) + (uint64_t)index * g->inode_size;
	uint8_t *raw = blank(w);

	inode_encode(g, (ek_inum){ino}, r, raw);
	return dev_write(w->dev, at, raw, g->inode_size);
}

static void set_blocks(const struct writer *w, struct inode_rec *r, uint64_t blocks)
{
	r->blocks = blocks << (w->g->block_bits - 9);
}

/* Extents for up to four runs in the inode. */
static void map_runs(struct inode_rec *r, const struct block_run *runs, unsigned n)
{
	struct extent_node *node = (struct extent_node *)(void *)r->block;
	uint32_t lblk = 0;

	r->flags |= INODE_EXTENTS;
	extent_node_init(node, EXTENT_ROOT_ENTRIES, 0);
	for (unsigned i = 0; i < n; i++) {
		struct extent e = {{lblk}, (uint32_t)runs[i].len, {runs[i].start}, false};

		extent_encode(&e, &node->e.leaf[i]);
		lblk += e.len;
	}
	node->h.eh_entries = le16_make((uint16_t)n);
}

/* Reserved inodes that are never used still carry the time they were made. */
static int write_reserved(struct writer *w)
{
	int rc = 0;

	for (uint32_t ino = 1; ino < INUM_FIRST && rc == 0; ino++) {
		struct inode_rec r;

		if (ino == INUM_ROOT || (ino == INUM_RESIZE && w->l->resize_dind != 0) ||
		    (ino == INUM_JOURNAL && w->l->journal_blocks != 0))
			continue;
		record(w, 0, 0, &r);
		if (ino != INUM_BAD)
			r.extra_isize = 0;
		rc = put_inode(w, ino, &r);
	}
	return rc;
}

/* ---- folders ---- */

static void put_entry(const struct geom *g, uint8_t *at, uint32_t len, uint32_t ino,
		      const char *name)
{
	struct dirent_raw *e = (struct dirent_raw *)(void *)at;

	e->inode = le32_make(ino);
	dir_set_rec_len(g, e, len);
	e->name_len = (uint8_t)strlen(name);
	e->file_type = (g->incompat & INCOMPAT_FILETYPE) != 0 ? DIRENT_DIR : 0;
	memcpy(e->name, name, e->name_len);
}

static int put_dir_block(struct writer *w, uint64_t block, uint32_t ino)
{
	struct buf b = {.pblk = {block},
			.data = w->block,
			.size = w->g->block_size,
			.owner = {ino, 0},
			.ver = &verify_dir_block};

	verify_dir_block.seal(w->g, &b);
	return put(w, block);
}

static int write_root(struct writer *w)
{
	bool has_lost = w->l->lost_found_blocks != 0;
	struct block_run run = {w->l->root, 1};
	uint32_t end = dir_usable(w->g);
	struct inode_rec r;
	int rc;

	dir_block_init(w->g, w->block);
	put_entry(w->g, w->block, 12, INUM_ROOT, ".");
	put_entry(w->g, w->block + 12, has_lost ? 12 : end - 12, INUM_ROOT, "..");
	if (has_lost)
		put_entry(w->g, w->block + 24, end - 24, INUM_FIRST, "lost+found");
	rc = put_dir_block(w, w->l->root, INUM_ROOT);
	record(w, S_IFDIR | 0755, has_lost ? 3 : 2, &r);
	r.size = w->g->block_size;
	map_runs(&r, &run, 1);
	set_blocks(w, &r, 1);
	return rc < 0 ? rc : put_inode(w, INUM_ROOT, &r);
}

static int write_lost_found(struct writer *w)
{
	uint32_t n = w->l->lost_found_blocks;
	struct block_run run = {w->l->lost_found, n};
	struct inode_rec r;
	int rc = 0;

	for (uint32_t i = 0; i < n && rc == 0; i++) {
		dir_block_init(w->g, w->block);
		if (i == 0) {
			put_entry(w->g, w->block, 12, INUM_FIRST, ".");
			put_entry(w->g, w->block + 12, dir_usable(w->g) - 12, INUM_ROOT, "..");
		}
		rc = put_dir_block(w, w->l->lost_found + i, INUM_FIRST);
	}
	if (rc < 0)
		return rc;
	record(w, n != 0 ? S_IFDIR | 0700 : 0, n != 0 ? 2 : 0, &r);
	if (n != 0) {
		r.size = (uint64_t)n << w->g->block_bits;
		map_runs(&r, &run, 1);
		set_blocks(w, &r, n);
	}
	return put_inode(w, INUM_FIRST, &r);
}

/* ---- resize inode ---- */

/* Each reserved descriptor block of the primary lists its copies in the backup groups. */
static int write_resize(struct writer *w)
{
	const struct geom *g = w->g;
	uint64_t first = (uint64_t)g->first_data_block + 1 + g->gdt_blocks, blocks = 1;
	struct inode_rec r;
	int rc = 0;

	if (w->l->resize_dind == 0)
		return 0;
	for (uint32_t k = 0; k < g->reserved_gdt && rc == 0; k++) {
		le32 *entry = (le32 *)(void *)blank(w);
		uint32_t n = 0;

		for (uint32_t i = 1; i < g->groups; i++) {
			if (geom_has_super(g, i))
				entry[n++] = le32_make(
				    (uint32_t)(first + k + (uint64_t)i * g->blocks_per_group));
		}
		blocks += 1 + n;
		rc = put(w, first + k);
	}
	if (rc == 0) {
		le32 *entry = (le32 *)(void *)blank(w);
		uint32_t per = g->block_size / 4;

		for (uint32_t k = 0; k < g->reserved_gdt; k++)
			entry[(g->gdt_blocks + k) % per] = le32_make((uint32_t)(first + k));
		rc = put(w, w->l->resize_dind);
	}
	if (rc < 0)
		return rc;
	record(w, S_IFREG | 0600, 1, &r);
	{
		uint64_t per = g->block_size / 4;
		le32 dind = le32_make((uint32_t)w->l->resize_dind);

		r.size = (per * per + per + 12) << g->block_bits;
		memcpy(r.block + (size_t)13 * 4, &dind, sizeof(dind));
	}
	set_blocks(w, &r, blocks);
	return put_inode(w, INUM_RESIZE, &r);
}

/* ---- journal ---- */

static int write_log_super(struct writer *w)
{
	struct jbd2_super *js = (struct jbd2_super *)(void *)blank(w);

	js->header.h_magic = be32_make(JBD2_MAGIC);
	js->header.h_blocktype = be32_make(JBD2_SUPER_V2);
	js->s_blocksize = be32_make(w->g->block_size);
	js->s_maxlen = be32_make(w->l->journal_blocks);
	js->s_first = be32_make(1);
	js->s_sequence = be32_make(1);
	js->s_nr_users = be32_make(1);
	memcpy(js->s_uuid, w->o->uuid, 16);
	return put(w, w->l->journal[0].start);
}

static int write_log_tree(struct writer *w, struct inode_rec *r)
{
	struct extent_node *node = (struct extent_node *)(void *)blank(w);
	struct extent_node *root = (struct extent_node *)(void *)r->block;
	struct buf b = {.pblk = {w->l->tree_block},
			.data = w->block,
			.size = w->g->block_size,
			.owner = {INUM_JOURNAL, 0}};
	uint32_t lblk = 0;

	if (w->l->journal_runs > extent_block_entries(w->g))
		return diag_set(w->diag, -ENOSPC,
				"the journal would be in %u pieces, at most %u fit",
				w->l->journal_runs, extent_block_entries(w->g));
	extent_node_init(node, extent_block_entries(w->g), 0);
	for (unsigned i = 0; i < w->l->journal_runs; i++) {
		struct extent e = {
		    {lblk}, (uint32_t)w->l->journal[i].len, {w->l->journal[i].start}, false};

		extent_encode(&e, &node->e.leaf[i]);
		lblk += e.len;
	}
	node->h.eh_entries = le16_make((uint16_t)w->l->journal_runs);
	r->flags |= INODE_EXTENTS;
	extent_node_init(root, EXTENT_ROOT_ENTRIES, 1);
	root->h.eh_entries = le16_make(1);
	extent_set_child(&root->e.index[0], 0, b.pblk);
	verify_extent_block.seal(w->g, &b);
	return put(w, w->l->tree_block);
}

static int write_journal(struct writer *w, struct super_raw *sb)
{
	struct inode_rec r;
	int rc = 0;

	if (w->l->journal_blocks == 0)
		return 0;
	for (unsigned i = 0; i < w->l->journal_runs && rc == 0; i++)
		rc = zero(w, w->l->journal[i].start, w->l->journal[i].len);
	if (rc == 0)
		rc = write_log_super(w);
	record(w, S_IFREG | 0600, 1, &r);
	r.size = (uint64_t)w->l->journal_blocks << w->g->block_bits;
	set_blocks(w, &r, w->l->journal_blocks + (w->l->tree_block != 0 ? 1 : 0));
	if (rc == 0 && w->l->tree_block != 0)
		rc = write_log_tree(w, &r);
	else
		map_runs(&r, w->l->journal, w->l->journal_runs);
	if (rc < 0)
		return rc;
	sb->s_journal_inum = le32_make(INUM_JOURNAL);
	sb->s_jnl_backup_type = 1;
	memcpy(sb->s_jnl_blocks, r.block, sizeof(r.block));
	sb->s_jnl_blocks[15] = le32_make((uint32_t)(r.size >> 32));
	sb->s_jnl_blocks[16] = le32_make((uint32_t)r.size);
	return put_inode(w, INUM_JOURNAL, &r);
}

/* The first inode behind lost+found, or in its place. */
static uint32_t orphan_inum(const struct writer *w)
{
	return INUM_FIRST + (w->l->lost_found_blocks != 0 ? 1 : 0);
}

static int write_orphan_file(struct writer *w, struct super_raw *sb)
{
	const struct verifier *v = orphan_block_verifier();
	uint32_t n = w->l->orphan_blocks;
	struct block_run run = {w->l->orphan, n};
	struct inode_rec r;
	int rc = 0;

	if (n == 0)
		return 0;
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		struct buf b = {.pblk = {w->l->orphan + i},
				.data = w->block,
				.size = w->g->block_size,
				.owner = {orphan_inum(w), 0}};

		orphan_block_init(w->g, w->block);
		v->seal(w->g, &b);
		rc = put(w, w->l->orphan + i);
	}
	record(w, S_IFREG | 0600, 1, &r);
	r.size = (uint64_t)n << w->g->block_bits;
	map_runs(&r, &run, 1);
	set_blocks(w, &r, n);
	sb->s_orphan_file_inum = le32_make(orphan_inum(w));
	return rc < 0 ? rc : put_inode(w, orphan_inum(w), &r);
}

/* ---- descriptors and superblocks ---- */

static uint8_t *encode_table(struct writer *w)
{
	const struct geom *g = w->g;
	uint8_t *table = mem_array(g->gdt_blocks, g->block_size, MEM_CAP, w->diag);

	for (uint32_t i = 0; table != NULL && i < g->groups; i++)
		group_encode(g, i, &w->desc[i],
			     table + (size_t)(i / g->descs_per_block) * g->block_size +
				 (size_t)(i % g->descs_per_block) * g->desc_size);
	return table;
}

static int write_backup(struct writer *w, const struct super_raw *sb, const uint8_t *table,
			uint32_t group)
{
	const struct geom *g = w->g;
	uint64_t at = geom_group_start(g, group).v;
	struct super_raw copy = *sb;
	int rc;

	copy.s_block_group_nr = le16_make((uint16_t)group);
	super_seal(&copy);
	memcpy(blank(w), &copy, sizeof(copy));
	rc = put(w, at);
	if (rc == 0)
		rc = dev_write(w->dev, (at + 1) << g->block_bits, table,
			       (size_t)g->gdt_blocks << g->block_bits);
	return rc < 0 ? rc : zero(w, at + 1 + g->gdt_blocks, g->reserved_gdt);
}

static int write_supers(struct writer *w, struct super_raw *sb)
{
	const struct geom *g = w->g;
	uint8_t *table = encode_table(w);
	int rc = table == NULL ? -ENOMEM : 0;

	for (uint32_t i = 1; i < g->groups && rc == 0; i++) {
		if (geom_has_super(g, i))
			rc = write_backup(w, sb, table, i);
	}
	if (rc == 0)
		rc = dev_write(w->dev, ((uint64_t)g->first_data_block + 1) << g->block_bits, table,
			       (size_t)g->gdt_blocks << g->block_bits);
	free(table);
	if (rc == 0)
		rc = dev_flush(w->dev);
	super_seal(sb);
	if (rc == 0)
		rc = dev_write(w->dev, SUPER_OFFSET, sb, sizeof(*sb));
	return rc < 0 ? rc : dev_flush(w->dev);
}

static int write_all(struct writer *w)
{
	struct super_raw sb = w->l->super;
	int rc = zero(w, 0, w->g->first_data_block + 1u);

	if (rc == 0)
		rc = zero_tables(w);
	if (rc == 0)
		rc = write_bitmaps(w);
	if (rc == 0)
		rc = write_reserved(w);
	if (rc == 0)
		rc = write_root(w);
	if (rc == 0)
		rc = write_lost_found(w);
	if (rc == 0)
		rc = write_resize(w);
	if (rc == 0)
		rc = write_journal(w, &sb);
	if (rc == 0)
		rc = write_orphan_file(w, &sb);
	return rc < 0 ? rc : write_supers(w, &sb);
}

int layout_write(const struct layout *l, const struct create_opts *o, struct dev *dev,
		 struct diag *d)
{
	struct writer w = {.l = l, .o = o, .g = &l->geom, .dev = dev, .diag = d};
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

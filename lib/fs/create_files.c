/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a new filesystem holds: the reserved inodes, root, lost+found, the inode that lists the
 * descriptor blocks kept for growth, the log and the file of orphans.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "fs/create_impl.h"
#include "fs/dir_block.h"
#include "fs/orphan_file.h"
#include "io/dev.h"
#include "ondisk/buf.h"
#include "ondisk/jbd2.h"

/* ---- inodes ---- */

void create_record(const struct create_writer *w, uint16_t mode, uint16_t links,
		   struct inode_rec *r)
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

int create_put_inode(struct create_writer *w, uint32_t ino, const struct inode_rec *r)
{
	const struct geom *g = w->g;
	uint32_t index = ino - 1;
	uint64_t at = (w->desc[0].inode_table.v << g->block_bits) + (uint64_t)index * g->inode_size;
	uint8_t *raw = create_blank(w);

	inode_encode(g, (ek_inum){ino}, r, raw);
	return dev_write(w->dev, at, raw, g->inode_size);
}

/* Reserved inodes that are never used still carry the time they were made. */
static int write_reserved(struct create_writer *w)
{
	int rc = 0;

	for (uint32_t ino = 1; ino < INUM_FIRST && rc == 0; ino++) {
		struct inode_rec r;

		if (ino == INUM_ROOT || (ino == INUM_RESIZE && w->l->resize_dind != 0) ||
		    (ino == INUM_JOURNAL && w->l->journal.blocks != 0) ||
		    (w->l->quota[QUOTA_USER].blocks != 0 &&
		     (ino == create_quota_inum(w->l, QUOTA_USER) ||
		      ino == create_quota_inum(w->l, QUOTA_GROUP))))
			continue;
		create_record(w, 0, 0, &r);
		if (ino != INUM_BAD)
			r.extra_isize = 0;
		rc = create_put_inode(w, ino, &r);
	}
	return rc;
}

/* ---- folders ---- */

#define DOTDOT_AT 12u /* behind ".", and before what has room left */

static int put_dir_block(struct create_writer *w, uint64_t block, uint32_t ino)
{
	struct buf b = {.pblk = {block},
			.data = w->block,
			.size = w->g->block_size,
			.owner = {ino, 0},
			.ver = &verify_dir_block};

	verify_dir_block.seal(w->g, &b);
	return create_put(w, block);
}

static int write_root(struct create_writer *w)
{
	bool has_lost = w->l->lost_found.blocks != 0;
	struct inode_rec r;
	int rc;

	dir_block_init(w->g, w->block);
	dir_block_dots(w->g, w->block, INUM_ROOT, INUM_ROOT);
	if (has_lost)
		dir_block_fill(w->g, w->block, DOTDOT_AT, "lost+found", 10, INUM_FIRST, DIRENT_DIR);
	rc = put_dir_block(w, w->l->root.runs[0].start, INUM_ROOT);
	create_record(w, S_IFDIR | 0755, has_lost ? 3 : 2, &r);
	r.uid = w->o->root_uid;
	r.gid = w->o->root_gid;
	if (rc == 0)
		rc = create_map(w, INUM_ROOT, &w->l->root, &r);
	return rc < 0 ? rc : create_put_inode(w, INUM_ROOT, &r);
}

static int write_lost_found(struct create_writer *w)
{
	const struct placed_file *f = &w->l->lost_found;
	struct inode_rec r;
	int rc = 0;

	for (uint64_t i = 0; i < f->blocks && rc == 0; i++) {
		dir_block_init(w->g, w->block);
		if (i == 0)
			dir_block_dots(w->g, w->block, INUM_FIRST, INUM_ROOT);
		rc = put_dir_block(w, f->runs[0].start + i, INUM_FIRST);
	}
	if (rc < 0)
		return rc;
	create_record(w, f->blocks != 0 ? S_IFDIR | 0700 : 0, f->blocks != 0 ? 2 : 0, &r);
	if (f->blocks != 0)
		rc = create_map(w, INUM_FIRST, f, &r);
	return rc < 0 ? rc : create_put_inode(w, INUM_FIRST, &r);
}

/* ---- resize inode ---- */

/* Each reserved descriptor block of the primary lists its copies in the backup groups. */
static int write_resize(struct create_writer *w)
{
	const struct geom *g = w->g;
	uint64_t first = geom_gdt_block(g, 0).v + g->gdt_blocks, blocks = 1;
	struct inode_rec r;
	int rc = 0;

	if (w->l->resize_dind == 0)
		return 0;
	for (uint32_t k = 0; k < g->reserved_gdt && rc == 0; k++) {
		le32 *entry = (le32 *)(void *)create_blank(w);
		uint32_t n = 0;

		for (uint32_t i = 1; i < g->groups; i++) {
			if (geom_has_super(g, i))
				entry[n++] = le32_make(
				    (uint32_t)(first + k + (uint64_t)i * g->blocks_per_group));
		}
		blocks += 1 + n;
		rc = create_put(w, first + k);
	}
	if (rc == 0) {
		le32 *entry = (le32 *)(void *)create_blank(w);
		uint32_t per = g->block_size / 4;

		for (uint32_t k = 0; k < g->reserved_gdt; k++)
			entry[(g->gdt_blocks + k) % per] = le32_make((uint32_t)(first + k));
		rc = create_put(w, w->l->resize_dind);
	}
	if (rc < 0)
		return rc;
	create_record(w, S_IFREG | 0600, 1, &r);
	{
		uint64_t per = g->block_size / 4;
		le32 dind = le32_make((uint32_t)w->l->resize_dind);

		r.size = (per * per + per + 12) << g->block_bits;
		memcpy(r.block + (size_t)13 * 4, &dind, sizeof(dind));
	}
	r.blocks = blocks << (g->block_bits - 9) << g->cluster_bits;
	return create_put_inode(w, INUM_RESIZE, &r);
}

/* ---- journal ---- */

void create_log_super(const struct create_opts *o, uint32_t block_size, uint64_t blocks,
		      uint32_t fast, uint32_t first, uint32_t users, uint8_t *raw)
{
	struct jbd2_super *js = (struct jbd2_super *)(void *)raw;

	js->header.h_magic = be32_make(JBD2_MAGIC);
	js->header.h_blocktype = be32_make(JBD2_SUPER_V2);
	js->s_blocksize = be32_make(block_size);
	js->s_maxlen = be32_make((uint32_t)blocks);
	js->s_first = be32_make(first);
	js->s_sequence = be32_make(1);
	js->s_nr_users = be32_make(users);
	js->s_num_fc_blks = be32_make(fast);
	memcpy(js->s_uuid, o->uuid, 16);
}

static int write_journal(struct create_writer *w, struct super_raw *sb)
{
	const struct placed_file *f = &w->l->journal;
	struct inode_rec r;
	int rc = 0;

	if (f->blocks == 0)
		return 0;
	for (unsigned i = 0; i < f->count && rc == 0; i++)
		rc = create_zero(w, f->runs[i].start, f->runs[i].len);
	create_log_super(w->o, w->g->block_size, f->blocks, w->l->fast_blocks, 1, 1,
			 create_blank(w));
	if (rc == 0)
		rc = create_put(w, f->runs[0].start);
	create_record(w, S_IFREG | 0600, 1, &r);
	if (rc == 0)
		rc = create_map(w, INUM_JOURNAL, f, &r);
	if (rc < 0)
		return rc;
	sb->s_journal_inum = le32_make(INUM_JOURNAL);
	sb->s_jnl_backup_type = 1;
	memcpy(sb->s_jnl_blocks, r.block, sizeof(r.block));
	sb->s_jnl_blocks[15] = le32_make((uint32_t)(r.size >> 32));
	sb->s_jnl_blocks[16] = le32_make((uint32_t)r.size);
	return create_put_inode(w, INUM_JOURNAL, &r);
}

/* ---- orphan file ---- */

/* The first inode behind lost+found and project quotas, or in their place. */
static uint32_t orphan_inum(const struct create_writer *w)
{
	if (w->l->orphan_ino != 0)
		return w->l->orphan_ino;
	return INUM_FIRST + (w->l->lost_found.blocks != 0 ? 1 : 0) +
	       (w->l->quota[QUOTA_PROJECT].blocks != 0 ? 1 : 0);
}

static int write_orphan_file(struct create_writer *w, struct super_raw *sb)
{
	const struct verifier *v = orphan_block_verifier();
	const struct placed_file *f = &w->l->orphan;
	struct inode_rec r;
	int rc = 0;

	if (f->blocks == 0)
		return 0;
	for (uint64_t i = 0; i < f->blocks && rc == 0; i++) {
		struct buf b = {.pblk = {create_file_block(f, i)},
				.data = w->block,
				.size = w->g->block_size,
				.owner = {orphan_inum(w), 0}};

		orphan_block_init(w->g, w->block);
		v->seal(w->g, &b);
		rc = create_put(w, b.pblk.v);
	}
	create_record(w, S_IFREG | 0600, 1, &r);
	if (rc == 0)
		rc = create_map(w, orphan_inum(w), f, &r);
	sb->s_orphan_file_inum = le32_make(orphan_inum(w));
	return rc < 0 ? rc : create_put_inode(w, orphan_inum(w), &r);
}

int create_own_files(struct create_writer *w, struct super_raw *sb)
{
	int rc = write_reserved(w);

	if (rc == 0)
		rc = write_resize(w);
	if (rc == 0)
		rc = write_journal(w, sb);
	if (rc == 0)
		rc = create_quota(w, sb);
	return rc < 0 ? rc : write_orphan_file(w, sb);
}

int create_files(struct create_writer *w, struct super_raw *sb)
{
	int rc = write_root(w);

	if (rc == 0)
		rc = write_lost_found(w);
	return rc < 0 ? rc : create_own_files(w, sb);
}

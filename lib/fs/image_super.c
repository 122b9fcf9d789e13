/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The superblock of an open image: read, changed under handles, marked as in use and as clean.
 *
 * Its two sectors may be of two ages after a power cut.  Outside the log only its RECOVER bit ever
 * changes, so that such a tear is told from damage; every other change of it is in the log, and
 * recovery must bring it back.
 */
#include "ondisk/super.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fs/image_impl.h"
#include "fs/orphan_file.h"
#include "io/dev.h"

static const struct super_raw *super_in(const struct geom *g, const struct buf *b)
{
	return buf_view(b, g->block_size == 1024 ? 0 : SUPER_OFFSET, SUPER_SIZE);
}

static int check_super(const struct geom *g, const struct buf *b, struct diag *d)
{
	return super_verify(super_in(g, b), UINT64_MAX, "superblock", d);
}

static int check_torn_super(const struct geom *g, const struct buf *b, struct diag *d)
{
	return super_verify_torn(super_in(g, b), UINT64_MAX, "superblock", d);
}

static void seal_super(const struct geom *g, struct buf *b)
{
	super_seal(
	    (struct super_raw *)(void *)(b->data + (g->block_size == 1024 ? 0 : SUPER_OFFSET)));
}

static const struct verifier verify_super_block = {"superblock", check_super, seal_super};
static const struct verifier verify_torn_super = {"torn superblock", check_torn_super, seal_super};

const struct super_raw *image_super(const struct ek_image *img)
{
	return (const struct super_raw *)(const void *)(img->super_buf->data + img->super_off);
}

int image_super_write(struct ek_image *img, struct handle *h, struct super_raw **ret)
{
	void *view;
	int rc = handle_write(h, img->super_buf, &view);

	if (rc == 0)
		*ret = (struct super_raw *)(void *)((uint8_t *)view + img->super_off);
	return rc;
}

int image_super_dirty(struct ek_image *img, struct handle *h)
{
	return handle_dirty(h, img->super_buf);
}

int image_note_mount(struct ek_image *img, struct handle *h)
{
	struct super_raw *sb = NULL;
	int rc = image_super_write(img, h, &sb);

	if (rc < 0 || sb == NULL)
		return rc;
	memset(sb->s_last_mounted, 0, sizeof(sb->s_last_mounted));
	sb->s_last_mounted[0] = '/';
	return image_super_dirty(img, h);
}

int image_add_features(struct task *t, uint32_t compat, uint32_t ro_compat)
{
	struct geom *g = &t->img->geom;
	struct super_raw *sb = NULL;
	int rc;

	if ((compat & ~g->compat) == 0 && (ro_compat & ~g->ro_compat) == 0)
		return 0;
	rc = image_super_write(t->img, t->user.current, &sb);
	if (rc < 0 || sb == NULL)
		return rc;
	if (le32_get(sb->s_rev_level) == 0) { /* which has no features */
		sb->s_rev_level = le32_make(1);
		sb->s_first_ino = le32_make(INUM_FIRST);
		sb->s_inode_size = le16_make(128);
	}
	g->compat |= compat;
	g->ro_compat |= ro_compat;
	sb->s_feature_compat = le32_make(g->compat);
	sb->s_feature_ro_compat = le32_make(le32_get(sb->s_feature_ro_compat) | ro_compat);
	return image_super_dirty(t->img, t->user.current);
}

int image_lay_over(struct ek_image *img)
{
	struct dev *over;
	int rc;

	if (img->writable || img->overlay != NULL)
		return 0;
	rc = dev_open_overlay(img->dev, &over);
	if (rc < 0)
		return rc;
	img->overlay = img->dev;
	img->dev = over;
	return 0;
}

/* The checksum is wrong: a tear of the RECOVER bit is mended here and now, any other is left to the
 * log if there is one. */
static int mend_super(struct ek_image *img, const char *where, struct super_raw *sb)
{
	int rc;

	if (super_mend(sb)) {
		rc = image_lay_over(img);
		if (rc == 0)
			rc = dev_write(img->dev, SUPER_OFFSET, sb, sizeof(*sb));
		return rc < 0 ? rc : super_verify(sb, img->dev->size, where, &img->diag);
	}
	if ((img->opts.flags & IMAGE_NO_RECOVERY) != 0 || img->recovered ||
	    (le32_get(sb->s_feature_compat) & COMPAT_HAS_JOURNAL) == 0 ||
	    (le32_get(sb->s_feature_incompat) & INCOMPAT_RECOVER) == 0 ||
	    super_verify_torn(sb, img->dev->size, where, &img->diag) < 0)
		return super_verify(sb, img->dev->size, where, &img->diag);
	img->torn_super = true;
	return 0;
}

int image_read_super(struct ek_image *img)
{
	struct super_raw sb;
	char where[200];
	int rc;

	if (img->dev->size < SUPER_OFFSET + SUPER_SIZE)
		return diag_set(&img->diag, -EINVAL,
				"no ext filesystem: %s: %llu bytes are too few for a superblock",
				img->dev->name, (unsigned long long)img->dev->size);
	snprintf(where, sizeof(where), "superblock of %s", img->dev->name);
	rc = dev_read(img->dev, SUPER_OFFSET, &sb, sizeof(sb));
	if (rc == 0)
		rc = super_verify(&sb, img->dev->size, where, &img->diag);
	if (rc == -EBADMSG)
		rc = mend_super(img, where, &sb);
	else if (rc == 0)
		img->torn_super = false;
	if (rc < 0)
		return rc;
	geom_free(&img->geom);
	geom_from_super(&sb, &img->geom);
	return 0;
}

int image_hold_super(struct ek_image *img)
{
	uint64_t block = img->geom.block_size == 1024 ? 1 : 0;

	img->super_off = block != 0 ? 0 : SUPER_OFFSET;
	return buf_get(img->cache, (ek_pblk){block},
		       img->torn_super ? &verify_torn_super : &verify_super_block,
		       (struct buf_owner){0, 0}, &img->super_buf);
}

/* ---- use ---- */

/* The superblock as it is on disk, with the RECOVER bit (which only a log asks for) and nothing
 * else changed: see the top of this file. */
static int write_recover_bit(struct ek_image *img, bool on)
{
	struct super_raw sb;
	uint32_t bits, want;
	int rc = dev_read(img->dev, SUPER_OFFSET, &sb, sizeof(sb));

	if (rc < 0)
		return rc;
	bits = le32_get(sb.s_feature_incompat);
	want = on ? bits | INCOMPAT_RECOVER : bits & ~INCOMPAT_RECOVER;
	if (bits == want)
		return 0;
	sb.s_feature_incompat = le32_make(want);
	super_seal(&sb);
	rc = dev_flush(img->dev);
	if (rc == 0)
		rc = dev_write(img->dev, SUPER_OFFSET, &sb, sizeof(sb));
	return rc < 0 ? rc : dev_flush(img->dev);
}

/* Without a log there is no way but to write the whole of it at once. */
static int write_super_home(struct ek_image *img, struct super_raw *sb)
{
	int rc = dev_flush(img->dev);

	super_seal(sb);
	if (rc == 0)
		rc = dev_write(img->dev, SUPER_OFFSET, sb, sizeof(*sb));
	return rc < 0 ? rc : dev_flush(img->dev);
}

typedef void super_fn(struct ek_image *img, struct super_raw *sb);

static int change_super(struct task *t, super_fn *change)
{
	struct super_raw *sb;
	struct handle *h;
	int rc = task_start(t, HANDLE_MISC, 1, &h);

	if (rc < 0)
		return rc;
	rc = image_super_write(t->img, h, &sb);
	if (rc == 0) {
		change(t->img, sb);
		rc = image_super_dirty(t->img, h);
	}
	return handle_end(h, rc);
}

/* What a mount writes: the log is in use, and orphans may be in the file. */
static void note_use(struct ek_image *img, struct super_raw *sb)
{
	uint32_t bits;

	if (jnl_is_none(img->jnl)) {
		bits = le16_get(sb->s_state) & ~SUPER_STATE_VALID;
		sb->s_state = le16_make((uint16_t)bits);
	} else {
		bits = le32_get(sb->s_feature_incompat) | INCOMPAT_RECOVER;
		sb->s_feature_incompat = le32_make(bits);
	}
	if (img->orphan_file != NULL) {
		bits = le32_get(sb->s_feature_ro_compat) | RO_COMPAT_ORPHAN_PRESENT;
		sb->s_feature_ro_compat = le32_make(bits);
	}
	sb->s_mtime = le32_make((uint32_t)img->now.sec);
	sb->s_mtime_hi = (uint8_t)(img->now.sec >> 32);
	sb->s_mnt_count = le16_make((uint16_t)(le16_get(sb->s_mnt_count) + 1));
}

int image_mark_in_use(struct task *t)
{
	struct ek_image *img = t->img;
	bool none = jnl_is_none(img->jnl);
	struct super_raw sb;
	int rc = none ? 0 : write_recover_bit(img, true);

	if (rc == 0)
		rc = change_super(t, note_use);
	if (rc < 0 || !none)
		return rc;
	memcpy(&sb, image_super(img), sizeof(sb));
	return write_super_home(img, &sb);
}

/* Counts that the superblock keeps, and the flags of a clean filesystem. */
static void settle(struct ek_image *img, struct super_raw *sb)
{
	uint64_t free_blocks = img->groups.space.free << img->geom.cluster_bits;
	uint32_t bits;

	sb->s_free_blocks_count_lo = le32_make((uint32_t)free_blocks);
	if (geom_incompat(&img->geom, INCOMPAT_64BIT))
		sb->s_free_blocks_count_hi = le32_make((uint32_t)(free_blocks >> 32));
	sb->s_free_inodes_count = le32_make((uint32_t)img->groups.free_inodes);
	sb->s_wtime = le32_make((uint32_t)img->now.sec);
	sb->s_wtime_hi = (uint8_t)(img->now.sec >> 32);
	if (orphan_file_used(img) == 0) {
		bits = le32_get(sb->s_feature_ro_compat) & ~RO_COMPAT_ORPHAN_PRESENT;
		sb->s_feature_ro_compat = le32_make(bits);
	}
}

int image_settle_super(struct task *t)
{
	return change_super(t, settle);
}

/* The last write of all, when everything else is home, is the one that says so. */
int image_mark_clean(struct ek_image *img, bool none)
{
	struct super_raw sb;

	if (!none)
		return write_recover_bit(img, false);
	memcpy(&sb, image_super(img), sizeof(sb));
	settle(img, &sb);
	sb.s_state = le16_make((uint16_t)(le16_get(sb.s_state) | SUPER_STATE_VALID));
	return write_super_home(img, &sb);
}

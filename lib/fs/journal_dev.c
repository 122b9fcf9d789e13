/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * External journals: the device is named by whoever opened the image, and proved by its UUID.
 *
 * A journal device begins with a superblock of ext that has the feature journal_dev and nothing of
 * a filesystem; in the block behind it lies the superblock of the log.  Blocks of the log have the
 * numbers of the device's blocks.
 */
#include "fs/journal_dev.h"

#include <errno.h>
#include <string.h>
#include <uuid.h>

#include "base/str.h"
#include "fs/image.h"
#include "io/bio.h"
#include "io/dev.h"
#include "ondisk/features.h"
#include "ondisk/jbd2.h"
#include "ondisk/super.h"

bool journal_is_external(const struct ek_image *img)
{
	return geom_compat(&img->geom, COMPAT_HAS_JOURNAL) && img->geom.journal_inum == 0;
}

static int bad(struct ek_image *img, const struct dev *dev, const char *why)
{
	return diag_set(&img->diag, -EUCLEAN, "wrong journal device: %s: %s", dev->name, why);
}

static int prove_uuid(struct ek_image *img, const struct dev *dev, const uint8_t found[16])
{
	const uint8_t *wanted = image_super(img)->s_journal_uuid;
	char want[UUID_STR_LEN], have[UUID_STR_LEN];

	if (memcmp(found, wanted, 16) == 0)
		return 0;
	uuid_unparse_lower(wanted, want);
	uuid_unparse_lower(found, have);
	return diag_set(&img->diag, -EUCLEAN,
			"wrong journal device: %s: its UUID is %s, the filesystem's journal is %s",
			dev->name, have, want);
}

static int prove_super(struct ek_image *img, struct dev *dev, const struct super_raw *sb)
{
	struct super_raw sealed = *sb;
	uint64_t blocks = dev->size >> img->geom.block_bits;

	super_seal(&sealed);
	if (le16_get(sb->s_magic) != SUPER_MAGIC ||
	    (le32_get(sb->s_feature_incompat) & INCOMPAT_JOURNAL_DEV) == 0)
		return bad(img, dev, "it has no superblock with journal_dev");
	if ((le32_get(sb->s_feature_ro_compat) & RO_COMPAT_METADATA_CSUM) != 0 &&
	    le32_get(sealed.s_checksum) != le32_get(sb->s_checksum))
		return diag_set(&img->diag, -EBADMSG, "bad checksum: superblock of %s", dev->name);
	if (le32_get(sb->s_log_block_size) != img->geom.block_bits - 10u)
		return bad(img, dev, "its blocks have another size than the filesystem's");
	if (le32_get(sb->s_blocks_count_lo) > blocks)
		return bad(img, dev, "it is shorter than its superblock says");
	return prove_uuid(img, dev, sb->s_uuid);
}

/* The log's superblock has the UUID once more: checksums begin with it. */
static int prove_log_super(struct ek_image *img, struct dev *dev, uint32_t at)
{
	struct jbd2_super sb;
	int rc = dev_read(dev, (uint64_t)at << img->geom.block_bits, &sb, sizeof(sb));

	return rc < 0 ? rc : prove_uuid(img, dev, sb.s_uuid);
}

static int find(struct ek_image *img, struct dev **ret)
{
	const struct image_opts *o = &img->opts;
	char text[UUID_STR_LEN];
	int rc = -ENOENT;

	if (o->find_journal != NULL)
		rc = o->find_journal(o->find_ctx, image_super(img)->s_journal_uuid, ret);
	if (rc != -ENOENT)
		return rc;
	uuid_unparse_lower(image_super(img)->s_journal_uuid, text);
	return diag_set(&img->diag, -EOPNOTSUPP,
			"unsupported: the journal is external, on the device with UUID %s, and no "
			"device was named",
			text);
}

/* Once for an image: it is opened again and again while it recovers. */
static int open_once(struct ek_image *img)
{
	struct dev *dev;
	int rc;

	if (img->log_dev != NULL)
		return 0;
	rc = find(img, &dev);
	if (rc < 0)
		return rc;
	if (!img->writable) {
		img->log_under = dev;
		rc = dev_open_overlay(img->log_under, &dev);
	}
	if (rc < 0)
		return rc;
	img->log_dev = dev;
	return bioq_open(dev, &img->counters, &img->diag, &img->log_bioq);
}

int journal_dev_open(struct ek_image *img, struct jnl_config *cfg, struct jnl_run *run)
{
	uint32_t at = img->geom.block_size == 1024 ? 2 : 1;
	struct super_raw sb;
	int rc = open_once(img);

	if (rc == 0 && img->log_dev->size < ((uint64_t)at + 1) << img->geom.block_bits)
		rc = bad(img, img->log_dev, "it is too short for a journal");
	if (rc == 0)
		rc = dev_read(img->log_dev, SUPER_OFFSET, &sb, sizeof(sb));
	if (rc == 0)
		rc = prove_super(img, img->log_dev, &sb);
	if (rc == 0)
		rc = prove_log_super(img, img->log_dev, at);
	if (rc < 0)
		return rc;
	*run = (struct jnl_run){0, le32_get(sb.s_blocks_count_lo), 0};
	cfg->runs = run;
	cfg->run_count = 1;
	cfg->blocks = run->len;
	cfg->log_dev = img->log_dev;
	cfg->log_bioq = img->log_bioq;
	cfg->super_at = at;
	return 0;
}

void journal_dev_close(struct ek_image *img)
{
	if (img->log_bioq != NULL)
		bioq_close(img->log_bioq);
	img->log_bioq = NULL;
	if (img->log_under != NULL)
		dev_close(img->log_dev);
	img->log_dev = img->log_under = NULL;
}

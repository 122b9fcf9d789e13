/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logs outside their filesystem: a device or file whose superblock has journal_dev and nothing but
 * the log behind it, and the tie between the two, which is each other's UUID.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/create_impl.h"
#include "io/dev.h"
#include "ondisk/jbd2.h"

/* The block behind the one that holds the superblock. */
static uint32_t log_block(uint32_t block_size)
{
	return SUPER_OFFSET / block_size + 1;
}

static void device_super(const struct create_opts *o, uint32_t blocks, struct super_raw *sb)
{
	struct sizes z = {.bs = o->block_size, .isize = 256, .blocks = blocks};
	struct create_opts plain = *o;

	plain.compat = plain.ro_compat = 0;
	plain.incompat = INCOMPAT_JOURNAL_DEV;
	plain.reserved_percent = 0;
	z.bpg = z.bs * 8;
	z.first = log_block(z.bs) - 1;
	z.desc_size = 32;
	create_super(&plain, &z, sb);
}

int create_journal_device(const struct create_opts *o, struct dev *dev, struct diag *d)
{
	uint64_t blocks = o->size / o->block_size;
	struct super_raw sb;
	uint8_t *block;
	int rc;

	if (blocks > UINT32_MAX)
		return diag_set(d, -EINVAL, "journal of %llu blocks: more than 2^32",
				(unsigned long long)blocks);
	if (blocks < JBD2_MIN_BLOCKS + log_block(o->block_size))
		return diag_set(d, -EINVAL, "journal of %llu blocks: at least %u wanted",
				(unsigned long long)blocks,
				JBD2_MIN_BLOCKS + log_block(o->block_size));
	block = mem_aligned(4096, o->block_size);
	if (block == NULL)
		return diag_set(d, -ENOMEM, "out of memory for a block");
	device_super(o, (uint32_t)blocks, &sb);
	memset(block, 0, o->block_size);
	create_log_super(o, o->block_size, blocks, 0, log_block(o->block_size) + 1, 0, block);
	rc = o->fresh ? 0 : dev_zero(dev, 0, o->size);
	if (rc == 0)
		rc = dev_write(dev, (uint64_t)log_block(o->block_size) * o->block_size, block,
			       o->block_size);
	if (rc == 0)
		rc = dev_write(dev, SUPER_OFFSET, &sb, sizeof(sb));
	free(block);
	return rc < 0 ? rc : dev_flush(dev);
}

static int refuse(struct dev *dev, const char *why)
{
	return diag_set(dev->diag, -EINVAL, "%s is no journal for this filesystem: %s", dev->name,
			why);
}

static int check_device(struct dev *dev, const struct super_raw *sb, uint32_t block_size)
{
	if (le16_get(sb->s_magic) != SUPER_MAGIC ||
	    (le32_get(sb->s_feature_incompat) & INCOMPAT_JOURNAL_DEV) == 0)
		return refuse(dev, "its superblock does not have journal_dev");
	if (le32_get(sb->s_log_block_size) > 6 ||
	    1024u << le32_get(sb->s_log_block_size) != block_size)
		return refuse(dev, "its blocks have another size");
	return 0;
}

/* The log of a filesystem that is used no more may be taken over. */
static int check_log(struct dev *dev, const struct jbd2_super *js, bool force)
{
	if (be32_get(js->header.h_magic) != JBD2_MAGIC)
		return refuse(dev, "there is no log behind its superblock");
	if (jbd2_super_has_csum(js) && be32_get(js->s_checksum) != jbd2_super_csum(js))
		return refuse(dev, "the checksum of its log is wrong");
	if (be32_get(js->s_start) != 0)
		return refuse(dev, "its log was not replayed");
	if (be32_get(js->s_nr_users) != 0 && !force)
		return refuse(dev, "another filesystem uses it; force would take it over");
	return 0;
}

int create_check_log(struct dev *dev, uint32_t block_size, bool force, uint8_t *uuid)
{
	uint64_t at = (uint64_t)log_block(block_size) * block_size;
	struct jbd2_super js;
	struct super_raw sb;
	int rc = 0;

	if (dev->size < at + sizeof(js))
		return refuse(dev, "it is too small");
	rc = dev_read(dev, SUPER_OFFSET, &sb, sizeof(sb));
	if (rc == 0)
		rc = check_device(dev, &sb, block_size);
	if (rc == 0)
		rc = dev_read(dev, at, &js, sizeof(js));
	if (rc == 0)
		rc = check_log(dev, &js, force);
	if (rc == 0)
		memcpy(uuid, sb.s_uuid, sizeof(sb.s_uuid));
	return rc;
}

int create_join_log(struct dev *dev, uint32_t block_size, const uint8_t *uuid)
{
	uint64_t at = (uint64_t)log_block(block_size) * block_size;
	struct jbd2_super js;
	int rc = dev_read(dev, at, &js, sizeof(js));

	if (rc < 0)
		return rc;
	memset(js.s_users, 0, sizeof(js.s_users));
	memcpy(js.s_users, uuid, 16);
	js.s_nr_users = be32_make(1);
	jbd2_super_seal(&js);
	rc = dev_write(dev, at, &js, sizeof(js));
	return rc < 0 ? rc : dev_flush(dev);
}

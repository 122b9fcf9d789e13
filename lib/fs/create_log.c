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

#define MAX_USERS 48u

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
	rc = o->fresh ? 0 : dev_zero(dev, 0, dev->size);
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

/* Adds one more user to the log's list. */
static int add_user(struct dev *dev, struct jbd2_super *js, const uint8_t *uuid)
{
	uint32_t n = be32_get(js->s_nr_users);

	if (be32_get(js->header.h_magic) != JBD2_MAGIC)
		return refuse(dev, "there is no log behind its superblock");
	if (be32_get(js->s_start) != 0)
		return refuse(dev, "its log was not replayed");
	if (n >= MAX_USERS)
		return refuse(dev, "its log has as many users as fit");
	memcpy(js->s_users + (size_t)n * 16, uuid, 16);
	js->s_nr_users = be32_make(n + 1);
	return 0;
}

int create_join_log(const struct create_opts *o, uint32_t block_size, struct dev *dev,
		    struct super_raw *ret)
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
		rc = add_user(dev, &js, o->uuid);
	if (rc == 0)
		rc = dev_write(dev, at, &js, sizeof(js));
	if (rc == 0)
		rc = dev_flush(dev);
	if (rc == 0)
		memcpy(ret->s_journal_uuid, sb.s_uuid, sizeof(sb.s_uuid));
	return rc;
}

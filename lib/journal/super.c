/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The superblock of the log: proven before use, changed in memory, written whole.
 *
 * Version 1 ends after s_errno and has no features; a writer turns it into version 2 once the log
 * is empty.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/bio.h"
#include "io/dev.h"
#include "journal/log.h"

#define KNOWN_INCOMPAT                                                             \
	(JBD2_INCOMPAT_REVOKE | JBD2_INCOMPAT_64BIT | JBD2_INCOMPAT_ASYNC_COMMIT | \
	 JBD2_INCOMPAT_CSUM_V2 | JBD2_INCOMPAT_CSUM_V3 | JBD2_INCOMPAT_FAST_COMMIT)

static int bad(const struct jnl *j, const char *field, uint64_t value, const char *why)
{
	return diag_set(j->cfg.diag, -EUCLEAN,
			"corrupt journal superblock: log block %u: %s %llu %s", j->cfg.super_at,
			field, (unsigned long long)value, why);
}

static uint32_t fast_blocks(const struct jbd2_super *sb)
{
	uint32_t n = be32_get(sb->s_num_fc_blks);

	if ((be32_get(sb->s_feature_incompat) & JBD2_INCOMPAT_FAST_COMMIT) == 0)
		return 0;
	return n != 0 ? n : JBD2_FC_BLOCKS;
}

static int verify_features(const struct jnl *j)
{
	const struct jbd2_super *sb = jnl_sb(j);
	uint32_t incompat = be32_get(sb->s_feature_incompat);
	uint32_t ro = be32_get(sb->s_feature_ro_compat);
	bool v1 = (be32_get(sb->s_feature_compat) & JBD2_COMPAT_CHECKSUM) != 0;
	uint32_t v23 = incompat & (JBD2_INCOMPAT_CSUM_V2 | JBD2_INCOMPAT_CSUM_V3);

	if ((incompat & ~KNOWN_INCOMPAT) != 0)
		return diag_set(j->cfg.diag, -EOPNOTSUPP,
				"unsupported journal: s_feature_incompat has unknown bits 0x%x",
				incompat & ~KNOWN_INCOMPAT);
	if (ro != 0)
		return diag_set(j->cfg.diag, -EOPNOTSUPP,
				"unsupported journal: s_feature_ro_compat has unknown bits 0x%x",
				ro);
	if ((v1 && v23 != 0) || v23 == (JBD2_INCOMPAT_CSUM_V2 | JBD2_INCOMPAT_CSUM_V3))
		return bad(j, "s_feature_incompat", incompat, "has two kinds of checksums");
	if (v23 == 0)
		return 0;
	if (sb->s_checksum_type != JBD2_CSUM_CRC32C)
		return bad(j, "s_checksum_type", sb->s_checksum_type, "is not 4 (crc32c)");
	if (be32_get(sb->s_checksum) != jbd2_super_csum(sb))
		return diag_set(j->cfg.diag, -EBADMSG,
				"bad checksum: journal superblock: s_checksum 0x%08x, expected "
				"0x%08x",
				be32_get(sb->s_checksum), jbd2_super_csum(sb));
	return 0;
}

static int verify_shape(const struct jnl *j)
{
	const struct jbd2_super *sb = jnl_sb(j);
	uint32_t maxlen = be32_get(sb->s_maxlen), first = be32_get(sb->s_first);
	uint32_t start = be32_get(sb->s_start), fc = fast_blocks(sb);

	if (be32_get(sb->s_blocksize) != j->block_size)
		return bad(j, "s_blocksize", be32_get(sb->s_blocksize),
			   "is not that of the filesystem");
	if (maxlen < JBD2_MIN_BLOCKS)
		return bad(j, "s_maxlen", maxlen, "is less than 1024");
	if (maxlen > j->cfg.blocks)
		return bad(j, "s_maxlen", maxlen, "exceeds the blocks of the log");
	if (fc > maxlen - JBD2_MIN_BLOCKS)
		return bad(j, "s_num_fc_blks", fc, "leaves less than 1024 blocks");
	if (first <= j->cfg.super_at || first >= maxlen - fc)
		return bad(j, "s_first", first, "is not inside the log");
	if (start != 0 && (start < first || start >= maxlen - fc))
		return bad(j, "s_start", start, "is not inside the log");
	if (maxlen - fc - first < JBD2_MIN_BLOCKS / 2)
		return bad(j, "s_first", first, "leaves less than 512 blocks");
	return 0;
}

static int verify(const struct jnl *j)
{
	const struct jbd2_super *sb = jnl_sb(j);
	uint32_t type = be32_get(sb->header.h_blocktype);
	int rc;

	if (be32_get(sb->header.h_magic) != JBD2_MAGIC)
		return bad(j, "h_magic", be32_get(sb->header.h_magic), "is not 3225106840");
	if (type != JBD2_SUPER_V1 && type != JBD2_SUPER_V2)
		return bad(j, "h_blocktype", type, "is neither 3 nor 4");
	if (jnl_external(j) && be32_get(sb->s_nr_users) != 1)
		return diag_set(
		    j->cfg.diag, -EOPNOTSUPP,
		    "unsupported journal: s_nr_users %u, one filesystem only may use it",
		    be32_get(sb->s_nr_users));
	rc = verify_features(j);
	return rc < 0 ? rc : verify_shape(j);
}

/* What version 1 does not have reads as zeros. */
static void cut_version_1(struct jnl *j)
{
	size_t at = offsetof(struct jbd2_super, s_feature_compat);

	if (be32_get(jnl_sb(j)->header.h_blocktype) == JBD2_SUPER_V1)
		memset(j->super + at, 0, sizeof(struct jbd2_super) - at);
}

void log_take_super(struct jnl *j)
{
	const struct jbd2_super *sb = jnl_sb(j);
	uint32_t maxlen = be32_get(sb->s_maxlen);
	unsigned tail = log_tail_size(j), size = log_tag_size(j);

	j->fc_blocks = fast_blocks(sb);
	j->first = be32_get(sb->s_first);
	j->last = maxlen - j->fc_blocks;
	j->seed = crc32c(~0u, sb->s_uuid, sizeof(sb->s_uuid));
	/* After the header come tags and one uuid; a descriptor is closed when a tag, a uuid and
	 * the tail would no longer fit. */
	j->tags = (j->block_size - (uint32_t)sizeof(struct jbd2_header) - 32 - tail) / size;
	j->records = (j->block_size - (uint32_t)sizeof(struct jbd2_revoke) - tail) /
		     (jnl_incompat(j, JBD2_INCOMPAT_64BIT) ? 8 : 4);
	j->max_blocks = (maxlen - j->fc_blocks) / 3;
	j->max_credits = j->max_blocks - 1 - DIV_UP(j->max_blocks, j->tags);
	j->head = j->tail = j->first;
	j->free = j->last - j->first;
	j->next_tid = j->tail_tid = be32_get(sb->s_sequence);
	j->committed_tid = j->next_tid - 1;
	j->dirty = be32_get(sb->s_start) != 0;
	j->super_stale = !j->dirty;
}

void log_set_features(struct jnl *j)
{
	const struct geom *g = buf_cache_geom(j->cfg.cache);
	struct jbd2_super *sb = jnl_sb(j);
	uint32_t incompat = be32_get(sb->s_feature_incompat) | JBD2_INCOMPAT_REVOKE;
	uint32_t compat = be32_get(sb->s_feature_compat);

	if (geom_incompat(g, INCOMPAT_64BIT))
		incompat |= JBD2_INCOMPAT_64BIT;
	if (geom_csum(g)) {
		incompat = (incompat & ~JBD2_INCOMPAT_CSUM_V2) | JBD2_INCOMPAT_CSUM_V3;
		compat &= ~JBD2_COMPAT_CHECKSUM;
		sb->s_checksum_type = JBD2_CSUM_CRC32C;
	}
	sb->header.h_blocktype = be32_make(JBD2_SUPER_V2);
	sb->s_feature_incompat = be32_make(incompat);
	sb->s_feature_compat = be32_make(compat);
	log_take_super(j);
}

int log_open(struct jnl *j)
{
	struct dev *dev = jnl_log_dev(j);
	int rc = log_check_runs(j);

	if (rc < 0)
		return rc;
	rc = dev_read(dev, log_place(j, j->cfg.super_at, NULL), j->super, j->block_size);
	if (rc < 0)
		return rc;
	cut_version_1(j);
	rc = verify(j);
	if (rc < 0)
		return rc;
	log_take_super(j);
	if (!j->dirty && !j->cfg.read_only)
		log_set_features(j);
	return 0;
}

void log_set_place(struct jnl *j, uint32_t start, uint32_t sequence)
{
	struct jbd2_super *sb = jnl_sb(j);
	uint32_t incompat = be32_get(sb->s_feature_incompat);

	sb->s_start = be32_make(start);
	sb->s_sequence = be32_make(sequence);
	if (start == 0)
		sb->s_feature_incompat = be32_make(incompat & ~JBD2_INCOMPAT_FAST_COMMIT);
	jbd2_super_seal(jnl_sb(j));
}

int log_write_super(struct jnl *j, uint32_t start, uint32_t sequence, unsigned flags)
{
	struct jbd2_super *sb = jnl_sb(j);
	int rc;

	if (start == 0)
		sb->s_head = be32_make(j->head);
	log_set_place(j, start, sequence);
	jnl_count(j, COUNTER_WRITE_SUPERBLOCK, 1);
	rc = jnl_write_log(j, log_place(j, j->cfg.super_at, NULL), j->super,
			   BIO_META | BIO_SYNC | flags);
	return rc < 0 ? rc : jnl_wait(j);
}

static void fill_super(struct jnl *j, uint32_t incompat, const uint8_t uuid[16], uint32_t fc_blocks)
{
	struct jbd2_super *sb = jnl_sb(j);

	log_put_header(j->super, JBD2_SUPER_V2, 0);
	sb->s_blocksize = be32_make(j->block_size);
	sb->s_maxlen = be32_make(j->cfg.blocks);
	sb->s_first = be32_make(j->cfg.super_at + 1);
	sb->s_sequence = be32_make(1);
	sb->s_feature_incompat = be32_make(incompat);
	memcpy(sb->s_uuid, uuid, sizeof(sb->s_uuid));
	sb->s_nr_users = be32_make(1);
	sb->s_num_fc_blks = be32_make(fc_blocks);
	if (jnl_csum(j))
		sb->s_checksum_type = JBD2_CSUM_CRC32C;
	jbd2_super_seal(jnl_sb(j));
}

static int write_empty(struct jnl *j)
{
	struct dev *dev = jnl_log_dev(j);
	uint32_t len;
	int rc = 0;

	for (uint32_t at = j->cfg.super_at; at < j->cfg.blocks && rc == 0; at += len) {
		uint64_t place = log_place(j, at, &len);

		rc = dev_zero(dev, place, (uint64_t)len << j->block_bits);
	}
	if (rc == 0)
		rc = dev_write(dev, log_place(j, j->cfg.super_at, NULL), j->super, j->block_size);
	return rc;
}

int log_format(struct jnl *j, uint32_t incompat, const uint8_t uuid[16], uint32_t fc_blocks)
{
	int rc = log_check_runs(j);

	if (rc < 0)
		return rc;
	fill_super(j, incompat, uuid, fc_blocks);
	rc = verify(j);
	return rc < 0 ? rc : write_empty(j);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Superblock verification: a row of small proofs, each about the numbers that the next one uses.
 * Sizes come first, because every other bound is computed from them.
 */
#include "ondisk/super.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/crc.h"
#include "base/diag.h"
#include "ondisk/features.h"

static int bad(struct diag *d, const char *where, const char *field, uint64_t value,
	       const char *why)
{
	return diag_set(d, -EUCLEAN, "corrupt %s: %s %llu: %s", where, field,
			(unsigned long long)value, why);
}

static bool has_csum(const struct super_raw *sb)
{
	return le32_get(sb->s_rev_level) > 0 &&
	       (le32_get(sb->s_feature_ro_compat) & RO_COMPAT_METADATA_CSUM) != 0;
}

static uint32_t super_csum(const struct super_raw *sb)
{
	return crc32c(~0u, sb, offsetof(struct super_raw, s_checksum));
}

void super_seal(struct super_raw *sb)
{
	if (has_csum(sb))
		sb->s_checksum = le32_make(super_csum(sb));
}

static int verify_checksum(const struct super_raw *sb, const char *where, struct diag *d)
{
	if (!has_csum(sb))
		return 0;
	if (sb->s_checksum_type != 1)
		return bad(d, where, "s_checksum_type", sb->s_checksum_type, "only 1 (crc32c)");
	if (le32_get(sb->s_checksum) != super_csum(sb))
		return diag_set(d, -EBADMSG, "bad checksum: %s: stored 0x%08x, computed 0x%08x",
				where, le32_get(sb->s_checksum), super_csum(sb));
	return 0;
}

static int verify_sizes(const struct super_raw *sb, const char *where, struct diag *d)
{
	uint32_t log_block = le32_get(sb->s_log_block_size);
	uint32_t isize = le16_get(sb->s_inode_size);
	uint32_t dsize = le16_get(sb->s_desc_size);

	if (log_block > 6)
		return bad(d, where, "s_log_block_size", log_block, "maximum 6 (64 KiB)");
	if (le32_get(sb->s_rev_level) == 0)
		return 0;
	if (isize < 128 || isize > (1024u << log_block) || !is_pow2(isize))
		return bad(d, where, "s_inode_size", isize,
			   "want a power of two from 128 to the block size");
	if ((le32_get(sb->s_feature_incompat) & INCOMPAT_64BIT) != 0 &&
	    (dsize < 64 || dsize > 1024 || !is_pow2(dsize)))
		return bad(d, where, "s_desc_size", dsize, "want a power of two from 64 to 1024");
	return 0;
}

static int verify_features(const struct super_raw *sb, const char *where, struct diag *d)
{
	uint32_t lacking;
	char names[256];

	if (le32_get(sb->s_rev_level) == 0)
		return 0;
	if (le32_get(sb->s_rev_level) > 1)
		return diag_set(d, -EOPNOTSUPP, "unsupported %s: revision %u, newest known is 1",
				where, le32_get(sb->s_rev_level));
	lacking = feature_lacking(FEATURE_INCOMPAT, le32_get(sb->s_feature_incompat), FEATURE_READ);
	if (lacking != 0)
		return diag_set(d, -EOPNOTSUPP, "unsupported feature: %s",
				feature_list(FEATURE_INCOMPAT, lacking, names, sizeof(names)));
	return 0;
}

/* Revision 0 has no features, whatever their words hold. */
static bool has_clusters(const struct super_raw *sb)
{
	return le32_get(sb->s_rev_level) > 0 &&
	       (le32_get(sb->s_feature_ro_compat) & RO_COMPAT_BIGALLOC) != 0;
}

static int verify_clusters(const struct super_raw *sb, const char *where, struct diag *d)
{
	uint32_t log_block = le32_get(sb->s_log_block_size);
	uint32_t log_cluster = le32_get(sb->s_log_cluster_size);
	uint64_t bpg = le32_get(sb->s_blocks_per_group), cpg = le32_get(sb->s_clusters_per_group);

	if (!has_clusters(sb))
		return 0;
	if (log_cluster < log_block || log_cluster > 19 + log_block)
		return bad(d, where, "s_log_cluster_size", log_cluster,
			   "want at least s_log_block_size and at most 19 above it");
	if (bpg != cpg << (log_cluster - log_block))
		return bad(d, where, "s_clusters_per_group", cpg,
			   "disagrees with s_blocks_per_group");
	return 0;
}

static int verify_groups(const struct super_raw *sb, const char *where, struct diag *d)
{
	uint32_t block = 1024u << le32_get(sb->s_log_block_size);
	uint32_t isize = le32_get(sb->s_rev_level) == 0 ? 128 : le16_get(sb->s_inode_size);
	uint32_t bpg = le32_get(sb->s_blocks_per_group), ipg = le32_get(sb->s_inodes_per_group);
	uint32_t first = le32_get(sb->s_first_data_block);
	uint32_t shift = has_clusters(sb)
			     ? le32_get(sb->s_log_cluster_size) - le32_get(sb->s_log_block_size)
			     : 0;

	if (bpg < 8 || ((uint64_t)bpg >> shift) > 8ull * block)
		return bad(d, where, "s_blocks_per_group", bpg,
			   "want 8 up to eight bits per byte of a block");
	if (ipg < block / isize || ipg > 8 * block)
		return bad(d, where, "s_inodes_per_group", ipg,
			   "want at least a block of inodes and at most 8 per byte of a block");
	if (first != (block == 1024 && shift == 0 ? 1u : 0u))
		return bad(d, where, "s_first_data_block", first,
			   "want 1 with 1 KiB blocks, else 0");
	return 0;
}

static int verify_counts(const struct super_raw *sb, uint64_t dev_size, const char *where,
			 struct diag *d)
{
	uint32_t block_bits = 10 + le32_get(sb->s_log_block_size);
	bool wide = le32_get(sb->s_rev_level) > 0 &&
		    (le32_get(sb->s_feature_incompat) & INCOMPAT_64BIT) != 0;
	uint64_t blocks = le32_get(sb->s_blocks_count_lo) |
			  (wide ? (uint64_t)le32_get(sb->s_blocks_count_hi) << 32 : 0);
	uint64_t first = le32_get(sb->s_first_data_block), bpg = le32_get(sb->s_blocks_per_group);
	uint64_t groups, bytes;

	if (blocks <= first || ck_shl(blocks, block_bits, &bytes))
		return bad(d, where, "s_blocks_count", blocks, "no such filesystem size");
	if (bytes > dev_size)
		return diag_set(d, -EUCLEAN,
				"corrupt %s: s_blocks_count %llu: the filesystem needs %llu bytes, "
				"the image has %llu: %llu bytes are missing",
				where, (unsigned long long)blocks, (unsigned long long)bytes,
				(unsigned long long)dev_size,
				(unsigned long long)(bytes - dev_size));
	groups = DIV_UP(blocks - first, bpg);
	if (groups > UINT32_MAX ||
	    le32_get(sb->s_inodes_count) != groups * le32_get(sb->s_inodes_per_group))
		return bad(d, where, "s_inodes_count", le32_get(sb->s_inodes_count),
			   "is not groups times s_inodes_per_group");
	return 0;
}

static int verify_tables(const struct super_raw *sb, const char *where, struct diag *d)
{
	uint32_t block = 1024u << le32_get(sb->s_log_block_size);
	uint32_t first_meta = le32_get(sb->s_first_meta_bg);
	bool rev1 = le32_get(sb->s_rev_level) > 0;
	bool wide = rev1 && (le32_get(sb->s_feature_incompat) & INCOMPAT_64BIT) != 0;
	bool meta_bg = rev1 && (le32_get(sb->s_feature_incompat) & INCOMPAT_META_BG) != 0;
	uint64_t blocks = le32_get(sb->s_blocks_count_lo) |
			  (wide ? (uint64_t)le32_get(sb->s_blocks_count_hi) << 32 : 0);
	uint64_t bpg = le32_get(sb->s_blocks_per_group);
	uint64_t groups = DIV_UP(blocks - le32_get(sb->s_first_data_block), bpg);
	uint64_t gdt = DIV_UP(groups, block / (wide ? le16_get(sb->s_desc_size) : 32));

	if (meta_bg && first_meta > gdt)
		return bad(d, where, "s_first_meta_bg", first_meta, "is past the descriptor table");
	if (le16_get(sb->s_reserved_gdt_blocks) > block / 4)
		return bad(d, where, "s_reserved_gdt_blocks", le16_get(sb->s_reserved_gdt_blocks),
			   "is more than a quarter block of pointers");
	if (!meta_bg && gdt + le16_get(sb->s_reserved_gdt_blocks) + 1 > bpg)
		return bad(d, where, "s_blocks_per_group", bpg, "cannot hold the descriptor table");
	return 0;
}

static int verify_magic(const struct super_raw *sb, const char *where, struct diag *d)
{
	if (le16_get(sb->s_magic) != SUPER_MAGIC)
		return diag_set(d, -EINVAL, "no ext filesystem: %s: magic 0x%04x, expected 0xef53",
				where, le16_get(sb->s_magic));
	return 0;
}

int super_verify_torn(const struct super_raw *sb, uint64_t dev_size, const char *where,
		      struct diag *d)
{
	int rc;

	if ((rc = verify_magic(sb, where, d)) < 0 || (rc = verify_sizes(sb, where, d)) < 0 ||
	    (rc = verify_features(sb, where, d)) < 0 || (rc = verify_clusters(sb, where, d)) < 0 ||
	    (rc = verify_groups(sb, where, d)) < 0)
		return rc;
	rc = verify_counts(sb, dev_size, where, d);
	return rc < 0 ? rc : verify_tables(sb, where, d);
}

int super_verify(const struct super_raw *sb, uint64_t dev_size, const char *where, struct diag *d)
{
	int rc = verify_magic(sb, where, d);

	if (rc == 0)
		rc = verify_checksum(sb, where, d);
	return rc < 0 ? rc : super_verify_torn(sb, dev_size, where, d);
}

bool super_mend(struct super_raw *sb)
{
	struct super_raw other = *sb;

	if (!has_csum(sb) || sb->s_checksum_type != 1)
		return false;
	other.s_feature_incompat = le32_make(le32_get(sb->s_feature_incompat) ^ INCOMPAT_RECOVER);
	if (le32_get(other.s_checksum) != super_csum(&other))
		return false;
	sb->s_feature_incompat = le32_make(le32_get(sb->s_feature_incompat) | INCOMPAT_RECOVER);
	super_seal(sb);
	return true;
}

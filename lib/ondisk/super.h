/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The superblock: 1,024 bytes at byte 1,024 of the image and at the start of some groups.
 *
 * super_verify proves that every number that later code divides, shifts or multiplies by is sane;
 * geom_from_super turns the proven bytes into native numbers.  Nothing else reads a superblock.
 */
#ifndef ONDISK_SUPER_H
#define ONDISK_SUPER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

struct diag;

#define SUPER_OFFSET 1024u
#define SUPER_SIZE   1024u
#define SUPER_MAGIC  0xEF53u

#define SUPER_STATE_VALID  0x1u
#define SUPER_STATE_ERROR  0x2u
#define SUPER_STATE_ORPHAN 0x4u

#define SUPER_ENCODING_UTF8      1u /* of Unicode 12.1 */
#define SUPER_OS_HURD            1u
#define SUPER_FLAG_SIGNED_HASH   0x1u
#define SUPER_FLAG_UNSIGNED_HASH 0x2u

struct super_raw {
	le32 s_inodes_count;
	le32 s_blocks_count_lo;
	le32 s_r_blocks_count_lo;
	le32 s_free_blocks_count_lo;
	le32 s_free_inodes_count;
	le32 s_first_data_block;
	le32 s_log_block_size;
	le32 s_log_cluster_size;
	le32 s_blocks_per_group;
	le32 s_clusters_per_group;
	le32 s_inodes_per_group;
	le32 s_mtime;
	le32 s_wtime;
	le16 s_mnt_count;
	le16 s_max_mnt_count;
	le16 s_magic;
	le16 s_state;
	le16 s_errors;
	le16 s_minor_rev_level;
	le32 s_lastcheck;
	le32 s_checkinterval;
	le32 s_creator_os;
	le32 s_rev_level;
	le16 s_def_resuid;
	le16 s_def_resgid;
	le32 s_first_ino;
	le16 s_inode_size;
	le16 s_block_group_nr;
	le32 s_feature_compat;
	le32 s_feature_incompat;
	le32 s_feature_ro_compat;
	uint8_t s_uuid[16];
	uint8_t s_volume_name[16];
	uint8_t s_last_mounted[64];
	le32 s_algorithm_usage_bitmap;
	uint8_t s_prealloc_blocks;
	uint8_t s_prealloc_dir_blocks;
	le16 s_reserved_gdt_blocks;
	uint8_t s_journal_uuid[16];
	le32 s_journal_inum;
	le32 s_journal_dev;
	le32 s_last_orphan;
	le32 s_hash_seed[4];
	uint8_t s_def_hash_version;
	uint8_t s_jnl_backup_type;
	le16 s_desc_size;
	le32 s_default_mount_opts;
	le32 s_first_meta_bg;
	le32 s_mkfs_time;
	le32 s_jnl_blocks[17];
	le32 s_blocks_count_hi;
	le32 s_r_blocks_count_hi;
	le32 s_free_blocks_count_hi;
	le16 s_min_extra_isize;
	le16 s_want_extra_isize;
	le32 s_flags;
	le16 s_raid_stride;
	le16 s_mmp_update_interval;
	le64 s_mmp_block;
	le32 s_raid_stripe_width;
	uint8_t s_log_groups_per_flex;
	uint8_t s_checksum_type;
	uint8_t s_encryption_level;
	uint8_t s_reserved_pad;
	le64 s_kbytes_written;
	le32 s_snapshot_inum;
	le32 s_snapshot_id;
	le64 s_snapshot_r_blocks_count;
	le32 s_snapshot_list;
	le32 s_error_count;
	le32 s_first_error_time;
	le32 s_first_error_ino;
	le64 s_first_error_block;
	uint8_t s_first_error_func[32];
	le32 s_first_error_line;
	le32 s_last_error_time;
	le32 s_last_error_ino;
	le32 s_last_error_line;
	le64 s_last_error_block;
	uint8_t s_last_error_func[32];
	uint8_t s_mount_opts[64];
	le32 s_usr_quota_inum;
	le32 s_grp_quota_inum;
	le32 s_overhead_clusters;
	le32 s_backup_bgs[2];
	uint8_t s_encrypt_algos[4];
	uint8_t s_encrypt_pw_salt[16];
	le32 s_lpf_ino;
	le32 s_prj_quota_inum;
	le32 s_checksum_seed;
	uint8_t s_wtime_hi;
	uint8_t s_mtime_hi;
	uint8_t s_mkfs_time_hi;
	uint8_t s_lastcheck_hi;
	uint8_t s_first_error_time_hi;
	uint8_t s_last_error_time_hi;
	uint8_t s_first_error_errcode;
	uint8_t s_last_error_errcode;
	le16 s_encoding;
	le16 s_encoding_flags;
	le32 s_orphan_file_inum;
	le32 s_reserved[94];
	le32 s_checksum;
};

static_assert(sizeof(struct super_raw) == SUPER_SIZE, "superblock is 1,024 bytes");
static_assert(offsetof(struct super_raw, s_uuid) == 0x68, "s_uuid at 0x68");
static_assert(offsetof(struct super_raw, s_journal_inum) == 0xE0, "s_journal_inum at 0xE0");
static_assert(offsetof(struct super_raw, s_blocks_count_hi) == 0x150, "high words at 0x150");
static_assert(offsetof(struct super_raw, s_mmp_block) == 0x168, "s_mmp_block at 0x168");
static_assert(offsetof(struct super_raw, s_error_count) == 0x194, "s_error_count at 0x194");
static_assert(offsetof(struct super_raw, s_mount_opts) == 0x200, "s_mount_opts at 0x200");
static_assert(offsetof(struct super_raw, s_checksum_seed) == 0x270, "s_checksum_seed at 0x270");
static_assert(offsetof(struct super_raw, s_orphan_file_inum) == 0x280, "orphan file at 0x280");
static_assert(offsetof(struct super_raw, s_checksum) == 0x3FC, "s_checksum is the last word");

/* Proves the superblock sane for a device of dev_size bytes (the filesystem's own bytes).
 * where names the copy for messages ("superblock", "backup superblock of group 1").
 * -EINVAL when this is no ext filesystem at all, -EBADMSG on a checksum mismatch, -EOPNOTSUPP for
 * incompatible features by name, -EUCLEAN for damage. */
int super_verify(const struct super_raw *sb, uint64_t dev_size, const char *where, struct diag *d);

/* The same without a look at the checksum: for what a log may still put right. */
int super_verify_torn(const struct super_raw *sb, uint64_t dev_size, const char *where,
		      struct diag *d);

/* The power may have gone between the two sectors of a superblock whose only change was the RECOVER
 * bit.  True when that explains the bad checksum: sb then has the bit, and is sealed. */
bool super_mend(struct super_raw *sb);

/* Writes the checksum when the filesystem has metadata_csum. */
void super_seal(struct super_raw *sb);

#endif

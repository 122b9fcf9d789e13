/* SPDX-License-Identifier: BSD-2-Clause */
/* Structures of the jbd2 log, all big-endian (delalloc-facts: log format of Linux 6.18). */
#ifndef ONDISK_JBD2_H
#define ONDISK_JBD2_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

#define JBD2_MAGIC 0xC03B3998u

enum jbd2_type {
	JBD2_DESCRIPTOR = 1,
	JBD2_COMMIT = 2,
	JBD2_SUPER_V1 = 3,
	JBD2_SUPER_V2 = 4,
	JBD2_REVOKE = 5
};

#define JBD2_COMPAT_CHECKSUM 0x1u

#define JBD2_INCOMPAT_REVOKE       0x01u
#define JBD2_INCOMPAT_64BIT        0x02u
#define JBD2_INCOMPAT_ASYNC_COMMIT 0x04u
#define JBD2_INCOMPAT_CSUM_V2      0x08u
#define JBD2_INCOMPAT_CSUM_V3      0x10u
#define JBD2_INCOMPAT_FAST_COMMIT  0x20u

#define JBD2_CSUM_CRC32  1u
#define JBD2_CSUM_CRC32C 4u

#define JBD2_TAG_ESCAPED   1u
#define JBD2_TAG_SAME_UUID 2u
#define JBD2_TAG_DELETED   4u
#define JBD2_TAG_LAST      8u

#define JBD2_MIN_BLOCKS 1024u
#define JBD2_FC_BLOCKS  256u /* fast-commit area when s_num_fc_blks is 0 */

struct jbd2_header {
	be32 h_magic, h_blocktype, h_sequence;
};

struct jbd2_super {
	struct jbd2_header header;
	be32 s_blocksize, s_maxlen, s_first;
	be32 s_sequence, s_start;
	be32 s_errno;
	be32 s_feature_compat, s_feature_incompat, s_feature_ro_compat;
	uint8_t s_uuid[16];
	be32 s_nr_users, s_dynsuper, s_max_transaction, s_max_trans_data;
	uint8_t s_checksum_type, s_padding2[3];
	be32 s_num_fc_blks, s_head;
	be32 s_padding[40];
	be32 s_checksum;
	uint8_t s_users[16 * 48];
};

/* CSUM_V3: 16 bytes. */
struct jbd2_tag3 {
	be32 t_blocknr, t_flags, t_blocknr_high, t_checksum;
};

/* Others: 8 bytes, 12 with 64BIT; two more with CSUM_V2. */
struct jbd2_tag {
	be32 t_blocknr;
	be16 t_checksum, t_flags;
	be32 t_blocknr_high;
};

struct jbd2_revoke {
	struct jbd2_header header;
	be32 r_count; /* bytes used, this header included */
};

struct jbd2_commit {
	struct jbd2_header header;
	uint8_t h_chksum_type, h_chksum_size, h_padding[2];
	be32 h_chksum[8];
	be64 h_commit_sec;
	be32 h_commit_nsec;
};

/* Last four bytes of descriptor and revoke blocks under CSUM_V2 and V3. */
struct jbd2_tail {
	be32 t_checksum;
};

static_assert(sizeof(struct jbd2_super) == 1024, "log superblock is 1,024 bytes");
static_assert(offsetof(struct jbd2_super, s_checksum) == 0xFC, "s_checksum at 0xFC");
static_assert(sizeof(struct jbd2_tag3) == 16, "v3 tag");
static_assert(sizeof(struct jbd2_tag) == 12, "tag");
static_assert(offsetof(struct jbd2_commit, h_commit_sec) == 0x30, "commit time at 0x30");

/* Fast commit records are little-endian: tag, length, value. */
struct jbd2_fc_tl {
	le16 tag, len;
};

enum jbd2_fc_tag {
	JBD2_FC_ADD_RANGE = 1,
	JBD2_FC_DEL_RANGE = 2,
	JBD2_FC_CREATE = 3,
	JBD2_FC_LINK = 4,
	JBD2_FC_UNLINK = 5,
	JBD2_FC_INODE = 6,
	JBD2_FC_PAD = 7,
	JBD2_FC_TAIL = 8,
	JBD2_FC_HEAD = 9
};

/* crc32c of the superblock with its checksum taken as 0. */
uint32_t jbd2_super_csum(const struct jbd2_super *sb);

/* The log is of a kind whose superblock has one. */
bool jbd2_super_has_csum(const struct jbd2_super *sb);

/* Makes it right where there is one. */
void jbd2_super_seal(struct jbd2_super *sb);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Group descriptors: 32 or 64 bytes (more with a larger s_desc_size) per group. */
#ifndef ONDISK_GROUP_H
#define ONDISK_GROUP_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "ondisk/geom.h"

#define GROUP_INODE_UNINIT 0x1u /* inode bitmap and table not initialised */
#define GROUP_BLOCK_UNINIT 0x2u /* block bitmap not initialised */
#define GROUP_INODE_ZEROED 0x4u /* inode table is zeroed */

struct group_raw {
	le32 bg_block_bitmap_lo;
	le32 bg_inode_bitmap_lo;
	le32 bg_inode_table_lo;
	le16 bg_free_blocks_count_lo;
	le16 bg_free_inodes_count_lo;
	le16 bg_used_dirs_count_lo;
	le16 bg_flags;
	le32 bg_exclude_bitmap_lo;
	le16 bg_block_bitmap_csum_lo;
	le16 bg_inode_bitmap_csum_lo;
	le16 bg_itable_unused_lo;
	le16 bg_checksum;
	le32 bg_block_bitmap_hi;
	le32 bg_inode_bitmap_hi;
	le32 bg_inode_table_hi;
	le16 bg_free_blocks_count_hi;
	le16 bg_free_inodes_count_hi;
	le16 bg_used_dirs_count_hi;
	le16 bg_itable_unused_hi;
	le32 bg_exclude_bitmap_hi;
	le16 bg_block_bitmap_csum_hi;
	le16 bg_inode_bitmap_csum_hi;
	le32 bg_reserved;
};

static_assert(sizeof(struct group_raw) == 64, "64-byte descriptor");
static_assert(offsetof(struct group_raw, bg_checksum) == 30, "bg_checksum at 30");

/* A descriptor as native numbers.  Free blocks are counted in clusters. */
struct group_desc {
	ek_pblk block_bitmap, inode_bitmap, inode_table;
	uint32_t free_clusters, free_inodes, used_dirs, itable_unused;
	uint32_t block_bitmap_csum, inode_bitmap_csum;
	uint16_t flags;
};

/* Decodes the descriptor of group; raw points to g->desc_size bytes.  Locations outside the
 * filesystem and counts above the group's size are -EUCLEAN, a bad checksum -EBADMSG. */
int group_decode(const struct geom *g, uint32_t group, const void *raw, struct diag *d,
		 struct group_desc *ret);

/* Encodes into raw and writes the checksum; fields not in struct group_desc keep their bytes. */
void group_encode(const struct geom *g, uint32_t group, const struct group_desc *desc, void *raw);

/* Checksum of a bitmap block for the descriptor: bits is what the bitmap covers. */
/* Makes the checksum of a descriptor right that was changed in place. */
void group_seal(const struct geom *g, uint32_t group, void *raw);

uint32_t group_bitmap_csum(const struct geom *g, const void *bitmap, uint32_t bits);

/* True when stored (from the descriptor) matches; 32-byte descriptors keep 16 bits only. */
bool group_bitmap_csum_ok(const struct geom *g, uint32_t stored, const void *bitmap, uint32_t bits);

#endif

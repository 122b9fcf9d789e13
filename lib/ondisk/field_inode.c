/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of group descriptors, inodes and extent nodes. */
#include "ondisk/extent.h"
#include "ondisk/field_impl.h"
#include "ondisk/group.h"
#include "ondisk/inode.h"

static const struct field group_rows[] = {
    FIELD(group_raw, bg_block_bitmap_lo, FIELD_BLOCK, "", "block of the block bitmap"),
    FIELD(group_raw, bg_inode_bitmap_lo, FIELD_BLOCK, "", "block of the inode bitmap"),
    FIELD(group_raw, bg_inode_table_lo, FIELD_BLOCK, "", "first block of the inode table"),
    FIELD(group_raw, bg_free_blocks_count_lo, FIELD_NUMBER, "",
	  "free blocks (clusters with bigalloc)"),
    FIELD(group_raw, bg_free_inodes_count_lo, FIELD_NUMBER, "", "free inodes"),
    FIELD(group_raw, bg_used_dirs_count_lo, FIELD_NUMBER, "", "folders"),
    FIELD(group_raw, bg_flags, FIELD_FLAGS, "uninit_bg",
	  "1 no inode bitmap yet, 2 no block bitmap yet, 4 table is zeroed"),
    FIELD(group_raw, bg_exclude_bitmap_lo, FIELD_BLOCK, "snapshot", "block of the exclude bitmap"),
    FIELD(group_raw, bg_block_bitmap_csum_lo, FIELD_CSUM, "metadata_csum",
	  "checksum of the block bitmap"),
    FIELD(group_raw, bg_inode_bitmap_csum_lo, FIELD_CSUM, "metadata_csum",
	  "checksum of the inode bitmap"),
    FIELD(group_raw, bg_itable_unused_lo, FIELD_NUMBER, "uninit_bg",
	  "inodes at the end of the table that were never used"),
    FIELD(group_raw, bg_checksum, FIELD_CSUM, "uninit_bg", "checksum of the descriptor"),
    FIELD(group_raw, bg_block_bitmap_hi, FIELD_BLOCK, "64bit", "high part"),
    FIELD(group_raw, bg_inode_bitmap_hi, FIELD_BLOCK, "64bit", "high part"),
    FIELD(group_raw, bg_inode_table_hi, FIELD_BLOCK, "64bit", "high part"),
    FIELD(group_raw, bg_free_blocks_count_hi, FIELD_NUMBER, "64bit", "high part"),
    FIELD(group_raw, bg_free_inodes_count_hi, FIELD_NUMBER, "64bit", "high part"),
    FIELD(group_raw, bg_used_dirs_count_hi, FIELD_NUMBER, "64bit", "high part"),
    FIELD(group_raw, bg_itable_unused_hi, FIELD_NUMBER, "64bit", "high part"),
    FIELD(group_raw, bg_exclude_bitmap_hi, FIELD_BLOCK, "64bit", "high part"),
    FIELD(group_raw, bg_block_bitmap_csum_hi, FIELD_CSUM, "64bit", "high part"),
    FIELD(group_raw, bg_inode_bitmap_csum_hi, FIELD_CSUM, "64bit", "high part"),
    FIELD(group_raw, bg_reserved, FIELD_NUMBER, "", "unused"),
};

const struct field_table field_group = FIELD_TABLE("group", 64, false, group_rows);

static const struct field inode_rows[] = {
    FIELD(inode_raw, i_mode, FIELD_FLAGS, "", "type and permissions"),
    FIELD(inode_raw, i_uid, FIELD_NUMBER, "", "owner, low part"),
    FIELD(inode_raw, i_size_lo, FIELD_NUMBER, "", "bytes, low part"),
    FIELD(inode_raw, i_atime, FIELD_TIME, "", "last read"),
    FIELD(inode_raw, i_ctime, FIELD_TIME, "", "last change of the inode"),
    FIELD(inode_raw, i_mtime, FIELD_TIME, "", "last change of the contents"),
    FIELD(inode_raw, i_dtime, FIELD_TIME, "",
	  "when it was deleted; the next orphan while on the list"),
    FIELD(inode_raw, i_gid, FIELD_NUMBER, "", "group, low part"),
    FIELD(inode_raw, i_links_count, FIELD_NUMBER, "", "names"),
    FIELD(inode_raw, i_blocks_lo, FIELD_NUMBER, "",
	  "512-byte sectors, or blocks with the huge-file flag"),
    FIELD(inode_raw, i_flags, FIELD_FLAGS, "", "how it is stored and treated"),
    FIELD(inode_raw, i_version, FIELD_NUMBER, "", "counts changes"),
    FIELD(inode_raw, i_block, FIELD_BYTES, "",
	  "pointers, extent root, link target, device numbers or inline data"),
    FIELD(inode_raw, i_generation, FIELD_NUMBER, "", "counts uses of the number; seeds checksums"),
    FIELD(inode_raw, i_file_acl_lo, FIELD_BLOCK, "", "block of attributes"),
    FIELD(inode_raw, i_size_high, FIELD_NUMBER, "large_file", "bytes, high part"),
    FIELD(inode_raw, i_obso_faddr, FIELD_NUMBER, "", "unused"),
    FIELD(inode_raw, i_blocks_high, FIELD_NUMBER, "huge_file", "high part"),
    FIELD(inode_raw, i_file_acl_high, FIELD_BLOCK, "64bit", "high part"),
    FIELD(inode_raw, i_uid_high, FIELD_NUMBER, "", "high part"),
    FIELD(inode_raw, i_gid_high, FIELD_NUMBER, "", "high part"),
    FIELD(inode_raw, i_checksum_lo, FIELD_CSUM, "metadata_csum", "checksum, low part"),
    FIELD(inode_raw, i_reserved, FIELD_NUMBER, "", "unused"),
    FIELD(inode_raw, i_extra_isize, FIELD_NUMBER, "extra_isize",
	  "bytes in use beyond the first 128"),
    FIELD(inode_raw, i_checksum_hi, FIELD_CSUM, "metadata_csum", "checksum, high part"),
    FIELD(inode_raw, i_ctime_extra, FIELD_TIME_HI, "extra_isize",
	  "two more bits of seconds, then nanoseconds"),
    FIELD(inode_raw, i_mtime_extra, FIELD_TIME_HI, "extra_isize",
	  "two more bits of seconds, then nanoseconds"),
    FIELD(inode_raw, i_atime_extra, FIELD_TIME_HI, "extra_isize",
	  "two more bits of seconds, then nanoseconds"),
    FIELD(inode_raw, i_crtime, FIELD_TIME, "extra_isize", "when it was made"),
    FIELD(inode_raw, i_crtime_extra, FIELD_TIME_HI, "extra_isize",
	  "two more bits of seconds, then nanoseconds"),
    FIELD(inode_raw, i_version_hi, FIELD_NUMBER, "extra_isize", "high part"),
    FIELD(inode_raw, i_projid, FIELD_NUMBER, "project", "project"),
};

const struct field_table field_inode = FIELD_TABLE("inode", 160, false, inode_rows);

static const struct field header_rows[] = {
    FIELD(extent_header, eh_magic, FIELD_MAGIC, "extent", "0xF30A"),
    FIELD(extent_header, eh_entries, FIELD_NUMBER, "extent", "entries in use"),
    FIELD(extent_header, eh_max, FIELD_NUMBER, "extent", "entries that fit"),
    FIELD(extent_header, eh_depth, FIELD_NUMBER, "extent", "0 in leaves, else levels below"),
    FIELD(extent_header, eh_generation, FIELD_NUMBER, "extent", "unused"),
};

const struct field_table field_extent_header = FIELD_TABLE("extent-header", 12, false, header_rows);

static const struct field index_rows[] = {
    FIELD(extent_index, ei_block, FIELD_NUMBER, "extent", "first file block below"),
    FIELD(extent_index, ei_leaf_lo, FIELD_BLOCK, "extent", "block of the node below"),
    FIELD(extent_index, ei_leaf_hi, FIELD_BLOCK, "extent", "high part"),
    FIELD(extent_index, ei_unused, FIELD_NUMBER, "extent", "unused"),
};

const struct field_table field_extent_index = FIELD_TABLE("extent-index", 12, false, index_rows);

static const struct field leaf_rows[] = {
    FIELD(extent_leaf, ee_block, FIELD_NUMBER, "extent", "first file block"),
    FIELD(extent_leaf, ee_len, FIELD_NUMBER, "extent",
	  "blocks; above 32768 unwritten and 32768 less"),
    FIELD(extent_leaf, ee_start_hi, FIELD_BLOCK, "extent", "high part"),
    FIELD(extent_leaf, ee_start_lo, FIELD_BLOCK, "extent", "first block on disk"),
};

const struct field_table field_extent_leaf = FIELD_TABLE("extent", 12, false, leaf_rows);

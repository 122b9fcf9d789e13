/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of folders, attributes, orphans and the log.  The layers above own the C structs of most
 * of these, so offsets are numbers here, and tests/unit/field.c compares them.
 */
#include "ondisk/field_impl.h"

static const struct field dirent_rows[] = {
    {"inode", 0, 4, FIELD_INODE, "", "what the name stands for; 0 for none"},
    {"rec_len", 4, 2, FIELD_NUMBER, "", "bytes to the next entry"},
    {"name_len", 6, 1, FIELD_NUMBER, "", "bytes of the name"},
    {"file_type", 7, 1, FIELD_NUMBER, "filetype",
     "1 file, 2 folder, 3 character device, 4 block device, 5 FIFO, 6 socket, 7 link"},
};

const struct field_table field_dirent = FIELD_TABLE("dirent", 8, false, dirent_rows);

static const struct field dir_tail_rows[] = {
    {"det_reserved_zero1", 0, 4, FIELD_MAGIC, "metadata_csum", "0, as of an unused entry"},
    {"det_rec_len", 4, 2, FIELD_MAGIC, "metadata_csum", "12"},
    {"det_reserved_zero2", 6, 1, FIELD_MAGIC, "metadata_csum", "0"},
    {"det_reserved_ft", 7, 1, FIELD_MAGIC, "metadata_csum", "0xDE"},
    {"det_checksum", 8, 4, FIELD_CSUM, "metadata_csum", "checksum of the block"},
};

const struct field_table field_dir_tail = FIELD_TABLE("dir-tail", 12, false, dir_tail_rows);

static const struct field dx_root_rows[] = {
    {"dot_inode", 0, 4, FIELD_INODE, "dir_index", "the folder itself"},
    {"dot_rec_len", 4, 2, FIELD_NUMBER, "dir_index", "12"},
    {"dotdot_inode", 12, 4, FIELD_INODE, "dir_index", "the folder above"},
    {"dotdot_rec_len", 16, 2, FIELD_NUMBER, "dir_index", "the rest of the block"},
    {"reserved_zero", 24, 4, FIELD_NUMBER, "dir_index", "unused"},
    {"hash_version", 28, 1, FIELD_NUMBER, "dir_index",
     "0 legacy, 1 half MD4, 2 TEA, 3 to 5 unsigned, 6 SipHash"},
    {"info_length", 29, 1, FIELD_NUMBER, "dir_index", "8"},
    {"indirect_levels", 30, 1, FIELD_NUMBER, "dir_index", "levels between the root and the leaves"},
    {"unused_flags", 31, 1, FIELD_FLAGS, "dir_index", "unused"},
    {"limit", 32, 2, FIELD_NUMBER, "dir_index", "entries that fit"},
    {"count", 34, 2, FIELD_NUMBER, "dir_index", "entries in use, this one included"},
    {"block", 36, 4, FIELD_NUMBER, "dir_index", "file block of the names below the first hash"},
};

const struct field_table field_dx_root = FIELD_TABLE("dx-root", 40, false, dx_root_rows);

static const struct field dx_node_rows[] = {
    {"fake_inode", 0, 4, FIELD_MAGIC, "dir_index", "0, as of an unused entry"},
    {"fake_rec_len", 4, 2, FIELD_NUMBER, "dir_index", "the whole block"},
    {"limit", 8, 2, FIELD_NUMBER, "dir_index", "entries that fit"},
    {"count", 10, 2, FIELD_NUMBER, "dir_index", "entries in use, this one included"},
    {"block", 12, 4, FIELD_NUMBER, "dir_index", "file block of the names below the first hash"},
};

const struct field_table field_dx_node = FIELD_TABLE("dx-node", 16, false, dx_node_rows);

static const struct field dx_entry_rows[] = {
    {"hash", 0, 4, FIELD_NUMBER, "dir_index", "first hash of the block"},
    {"block", 4, 4, FIELD_NUMBER, "dir_index", "file block of a node or of names"},
};

const struct field_table field_dx_entry = FIELD_TABLE("dx-entry", 8, false, dx_entry_rows);

static const struct field xattr_block_rows[] = {
    {"h_magic", 0, 4, FIELD_MAGIC, "ext_attr", "0xEA020000"},
    {"h_refcount", 4, 4, FIELD_NUMBER, "ext_attr", "inodes that share the block"},
    {"h_blocks", 8, 4, FIELD_NUMBER, "ext_attr", "1"},
    {"h_hash", 12, 4, FIELD_NUMBER, "ext_attr", "hash of all attributes"},
    {"h_checksum", 16, 4, FIELD_CSUM, "metadata_csum", "checksum of the block"},
    {"h_reserved", 20, 12, FIELD_BYTES, "ext_attr", "unused"},
};

const struct field_table field_xattr_block =
    FIELD_TABLE("xattr-block", 32, false, xattr_block_rows);

static const struct field xattr_entry_rows[] = {
    {"e_name_len", 0, 1, FIELD_NUMBER, "ext_attr", "bytes of the name"},
    {"e_name_index", 1, 1, FIELD_NUMBER, "ext_attr", "prefix of the name"},
    {"e_value_offs", 2, 2, FIELD_NUMBER, "ext_attr", "where the value lies"},
    {"e_value_inum", 4, 4, FIELD_INODE, "ea_inode", "inode that holds the value"},
    {"e_value_size", 8, 4, FIELD_NUMBER, "ext_attr", "bytes of the value"},
    {"e_hash", 12, 4, FIELD_NUMBER, "ext_attr", "hash of name and value"},
};

const struct field_table field_xattr_entry =
    FIELD_TABLE("xattr-entry", 16, false, xattr_entry_rows);

static const struct field orphan_tail_rows[] = {
    {"ob_magic", 0, 4, FIELD_MAGIC, "orphan_file", "0x0B10CA04"},
    {"ob_checksum", 4, 4, FIELD_CSUM, "metadata_csum", "checksum of the block"},
};

const struct field_table field_orphan_tail = FIELD_TABLE("orphan-tail", 8, false, orphan_tail_rows);

static const struct field log_rows[] = {
    {"h_magic", 0, 4, FIELD_MAGIC, "", "0xC03B3998"},
    {"h_blocktype", 4, 4, FIELD_NUMBER, "", "3 first version, 4 second"},
    {"h_sequence", 8, 4, FIELD_NUMBER, "", "unused"},
    {"s_blocksize", 12, 4, FIELD_NUMBER, "", "bytes of a log block"},
    {"s_maxlen", 16, 4, FIELD_NUMBER, "", "blocks of the log"},
    {"s_first", 20, 4, FIELD_NUMBER, "", "first block that transactions use"},
    {"s_sequence", 24, 4, FIELD_NUMBER, "", "number of the first transaction to recover"},
    {"s_start", 28, 4, FIELD_NUMBER, "", "its block; 0 for an empty log"},
    {"s_errno", 32, 4, FIELD_NUMBER, "", "error that stopped the log, negative"},
    {"s_feature_compat", 36, 4, FIELD_FLAGS, "v2", "features that everyone may ignore"},
    {"s_feature_incompat", 40, 4, FIELD_FLAGS, "v2", "features without which nobody may recover"},
    {"s_feature_ro_compat", 44, 4, FIELD_FLAGS, "v2", "features without which nobody may write"},
    {"s_uuid", 48, 16, FIELD_UUID, "v2", "identity of the log"},
    {"s_nr_users", 64, 4, FIELD_NUMBER, "v2", "filesystems that share the log"},
    {"s_dynsuper", 68, 4, FIELD_BLOCK, "v2", "block of a copy of the dynamic superblock"},
    {"s_max_transaction", 72, 4, FIELD_NUMBER, "v2", "most blocks of a transaction"},
    {"s_max_trans_data", 76, 4, FIELD_NUMBER, "v2", "most data blocks of a transaction"},
    {"s_checksum_type", 80, 1, FIELD_NUMBER, "csum_v2", "4 is crc32c"},
    {"s_num_fc_blks", 84, 4, FIELD_NUMBER, "fast_commit", "blocks of the fast-commit area"},
    {"s_head", 88, 4, FIELD_NUMBER, "fast_commit", "where the log ends, when it is empty"},
    {"s_checksum", 252, 4, FIELD_CSUM, "csum_v2", "crc32c of the log's superblock"},
    {"s_users", 256, 768, FIELD_BYTES, "v2", "identities of the filesystems"},
};

const struct field_table field_log_super = FIELD_TABLE("log-super", 1024, true, log_rows);

static const struct field guard_rows[] = {
    {"mmp_magic", 0, 4, FIELD_MAGIC, "mmp", "0x004D4D50"},
    {"mmp_seq", 4, 4, FIELD_NUMBER, "mmp",
     "counts while mounted; 0xFF4D4D50 not mounted, 0xE24D4D50 a tool is at work"},
    {"mmp_time", 8, 8, FIELD_NUMBER, "mmp", "seconds since 1970 of the last count"},
    {"mmp_nodename", 16, 64, FIELD_TEXT, "mmp", "host that counts"},
    {"mmp_bdevname", 80, 32, FIELD_TEXT, "mmp", "its name of the device"},
    {"mmp_check_interval", 112, 2, FIELD_NUMBER, "mmp", "seconds between looks"},
    {"mmp_checksum", 1020, 4, FIELD_CSUM, "metadata_csum", "crc32c of what is above"},
};

const struct field_table field_guard = FIELD_TABLE("guard", 1024, false, guard_rows);

/* SPDX-License-Identifier: BSD-2-Clause */
/* Inodes: s_inode_size bytes in the inode table; decoded once into a native record. */
#ifndef ONDISK_INODE_H
#define ONDISK_INODE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "ondisk/geom.h"

#define INODE_SECRM        0x00000001u
#define INODE_SYNC         0x00000008u
#define INODE_IMMUTABLE    0x00000010u
#define INODE_APPEND       0x00000020u
#define INODE_NODUMP       0x00000040u
#define INODE_NOATIME      0x00000080u
#define INODE_ENCRYPT      0x00000800u
#define INODE_INDEX        0x00001000u
#define INODE_JOURNAL_DATA 0x00004000u
#define INODE_NOTAIL       0x00008000u
#define INODE_DIRSYNC      0x00010000u
#define INODE_TOPDIR       0x00020000u
#define INODE_HUGE_FILE    0x00040000u
#define INODE_EXTENTS      0x00080000u
#define INODE_VERITY       0x00100000u
#define INODE_EA_INODE     0x00200000u
#define INODE_DAX          0x02000000u
#define INODE_INLINE_DATA  0x10000000u
#define INODE_PROJINHERIT  0x20000000u
#define INODE_CASEFOLD     0x40000000u

/* Flags that a child inherits from its folder. */
#define INODE_INHERITED                                                                 \
	(INODE_SECRM | INODE_SYNC | INODE_NODUMP | INODE_NOATIME | INODE_JOURNAL_DATA | \
	 INODE_NOTAIL | INODE_DIRSYNC | INODE_PROJINHERIT | INODE_CASEFOLD | INODE_DAX | 0x4u)

#define INODE_BLOCK_BYTES 60u /* i_block: pointers, extent root, short link target, inline data */

struct inode_raw {
	le16 i_mode;
	le16 i_uid;
	le32 i_size_lo;
	le32 i_atime;
	le32 i_ctime;
	le32 i_mtime;
	le32 i_dtime;
	le16 i_gid;
	le16 i_links_count;
	le32 i_blocks_lo;
	le32 i_flags;
	le32 i_version;
	uint8_t i_block[INODE_BLOCK_BYTES];
	le32 i_generation;
	le32 i_file_acl_lo;
	le32 i_size_high;
	le32 i_obso_faddr;
	le16 i_blocks_high;
	le16 i_file_acl_high;
	le16 i_uid_high;
	le16 i_gid_high;
	le16 i_checksum_lo;
	le16 i_reserved;
	/* from here only in inodes larger than 128 bytes, as far as i_extra_isize says */
	le16 i_extra_isize;
	le16 i_checksum_hi;
	le32 i_ctime_extra;
	le32 i_mtime_extra;
	le32 i_atime_extra;
	le32 i_crtime;
	le32 i_crtime_extra;
	le32 i_version_hi;
	le32 i_projid;
};

static_assert(offsetof(struct inode_raw, i_block) == 40, "i_block at 40");
static_assert(offsetof(struct inode_raw, i_extra_isize) == 128, "extra part at 128");
static_assert(sizeof(struct inode_raw) == 160, "known part is 160 bytes");

struct inode_rec {
	uint16_t mode;
	uint16_t links;
	uint16_t extra_isize; /* 0 with 128-byte inodes */
	uint32_t uid, gid, projid;
	uint32_t flags, generation;
	uint64_t size;     /* bytes; for folders and files 64 bit */
	uint64_t blocks;   /* in 512-byte sectors, or filesystem blocks with INODE_HUGE_FILE */
	uint64_t file_acl; /* raw block number of the xattr block, 0 for none */
	uint64_t version;
	struct ek_time atime, ctime, mtime, crtime;
	uint32_t dtime; /* deletion time, or the next orphan while on the orphan list */
	uint8_t block[INODE_BLOCK_BYTES];
};

/* Decodes raw (g->inode_size bytes).  -EBADMSG on a bad checksum, -EUCLEAN for an extra size that
 * is odd or past the inode. */
int inode_decode(const struct geom *g, ek_inum ino, const void *raw, struct diag *d,
		 struct inode_rec *ret);

/* Encodes into raw and seals; bytes past the known fields (in-inode xattrs) are kept. */
void inode_encode(const struct geom *g, ek_inum ino, const struct inode_rec *rec, void *raw);

/* Seals raw after its xattr part was changed in place. */
void inode_seal(const struct geom *g, ek_inum ino, void *raw);

/* True when every byte of the inode is zero: never used, and so without a checksum. */
bool inode_is_blank(const struct geom *g, const void *raw);

/* crc32c seed of everything that belongs to one inode: extent blocks, folder blocks. */
uint32_t inode_csum_seed(const struct geom *g, ek_inum ino, uint32_t generation);

/* The two halves of a device number in i_block and back; the old form for small numbers. */
void inode_set_rdev(struct inode_rec *rec, uint32_t major, uint32_t minor);
void inode_get_rdev(const struct inode_rec *rec, uint32_t *major, uint32_t *minor);

#endif

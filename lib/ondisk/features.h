/* SPDX-License-Identifier: BSD-2-Clause */
/* Feature words of the superblock: bits, names, and which of them this library can read or write.
 */
#ifndef ONDISK_FEATURES_H
#define ONDISK_FEATURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum feature_word { FEATURE_COMPAT, FEATURE_INCOMPAT, FEATURE_RO_COMPAT };

#define COMPAT_DIR_PREALLOC  0x0001u
#define COMPAT_IMAGIC_INODES 0x0002u
#define COMPAT_HAS_JOURNAL   0x0004u
#define COMPAT_EXT_ATTR      0x0008u
#define COMPAT_RESIZE_INODE  0x0010u
#define COMPAT_DIR_INDEX     0x0020u
#define COMPAT_SPARSE_SUPER2 0x0200u
#define COMPAT_FAST_COMMIT   0x0400u
#define COMPAT_STABLE_INODES 0x0800u
#define COMPAT_ORPHAN_FILE   0x1000u

#define INCOMPAT_COMPRESSION 0x00001u
#define INCOMPAT_FILETYPE    0x00002u
#define INCOMPAT_RECOVER     0x00004u
#define INCOMPAT_JOURNAL_DEV 0x00008u
#define INCOMPAT_META_BG     0x00010u
#define INCOMPAT_EXTENTS     0x00040u
#define INCOMPAT_64BIT       0x00080u
#define INCOMPAT_MMP         0x00100u
#define INCOMPAT_FLEX_BG     0x00200u
#define INCOMPAT_EA_INODE    0x00400u
#define INCOMPAT_DIRDATA     0x01000u
#define INCOMPAT_CSUM_SEED   0x02000u
#define INCOMPAT_LARGEDIR    0x04000u
#define INCOMPAT_INLINE_DATA 0x08000u
#define INCOMPAT_ENCRYPT     0x10000u
#define INCOMPAT_CASEFOLD    0x20000u

#define RO_COMPAT_SPARSE_SUPER   0x00001u
#define RO_COMPAT_LARGE_FILE     0x00002u
#define RO_COMPAT_BTREE_DIR      0x00004u
#define RO_COMPAT_HUGE_FILE      0x00008u
#define RO_COMPAT_GDT_CSUM       0x00010u
#define RO_COMPAT_DIR_NLINK      0x00020u
#define RO_COMPAT_EXTRA_ISIZE    0x00040u
#define RO_COMPAT_HAS_SNAPSHOT   0x00080u
#define RO_COMPAT_QUOTA          0x00100u
#define RO_COMPAT_BIGALLOC       0x00200u
#define RO_COMPAT_METADATA_CSUM  0x00400u
#define RO_COMPAT_REPLICA        0x00800u
#define RO_COMPAT_READONLY       0x01000u
#define RO_COMPAT_PROJECT        0x02000u
#define RO_COMPAT_SHARED_BLOCKS  0x04000u
#define RO_COMPAT_VERITY         0x08000u
#define RO_COMPAT_ORPHAN_PRESENT 0x10000u

/* What this library does with a feature that an image has. */
enum feature_support {
	FEATURE_READ = 1 << 0,  /* images with it are read */
	FEATURE_WRITE = 1 << 1, /* and changed */
	FEATURE_MAKE = 1 << 2   /* and made */
};

struct feature {
	enum feature_word word;
	uint32_t bit;
	const char *name; /* as mke2fs -O and dumpe2fs spell it */
	unsigned support;
};

/* The table ends with a row whose name is NULL. */
extern const struct feature feature_table[];

/* Row for a bit, or NULL when the bit is unknown. */
const struct feature *feature_of(enum feature_word word, uint32_t bit);

/* Row for a name ("uninit_bg" and "uninit_groups" are both known), or NULL. */
const struct feature *feature_named(const char *name, size_t len);

/* Writes the names of all bits of mask, separated by spaces, into buf; unknown bits appear as
 * FEATURE_C12, FEATURE_I12, FEATURE_R12 (word letter and bit number).  Returns buf. */
const char *feature_list(enum feature_word word, uint32_t mask, char *buf, size_t size);

/* Bits of mask whose support lacks any of want. */
uint32_t feature_lacking(enum feature_word word, uint32_t mask, unsigned want);

#endif

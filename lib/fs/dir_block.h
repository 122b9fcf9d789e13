/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One folder block: entries that fill it without gaps, and with metadata_csum a checksum disguised
 * as a last, unused entry.  Index blocks (fs/htree.h) look like blocks without live entries to code
 * that does not know them.
 */
#ifndef FS_DIR_BLOCK_H
#define FS_DIR_BLOCK_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "fs/dir.h"
#include "ondisk/buf.h"
#include "ondisk/geom.h"

struct dirent_raw {
	le32 inode;
	le16 rec_len;
	uint8_t name_len, file_type;
	char name[];
};

static_assert(sizeof(struct dirent_raw) == 8, "entry head is 8 bytes");

struct dir_tail {
	le32 zero;
	le16 rec_len;           /* 12 */
	uint8_t zero_len, type; /* 0xDE */
	le32 checksum;
};

#define DIR_TAIL_TYPE 0xDEu

extern const struct verifier verify_dir_block;

/* Bytes of a block that entries may use. */
uint32_t dir_usable(const struct geom *g);

/* Length of an entry; 64 KiB blocks store 65,536 as 65,535 or 0. */
uint32_t dir_rec_len(const struct geom *g, const struct dirent_raw *e);
void dir_set_rec_len(const struct geom *g, struct dirent_raw *e, uint32_t len);

/* Room that a name needs. */
static inline uint32_t dir_entry_size(uint32_t name_len)
{
	return (8 + name_len + 3) & ~3u;
}

/* One free entry over the whole block, and the tail where the filesystem has checksums. */
void dir_block_init(const struct geom *g, uint8_t *data);
void dir_tail_init(const struct geom *g, uint8_t *data);

/* The live entry of that name in a verified block, or NULL; *prev (may be NULL) gets the entry
 * before. */
struct dirent_raw *dir_block_find(const struct geom *g, uint8_t *data, const char *name,
				  uint32_t len, struct dirent_raw **prev);

/* The first entry that is free or leaves room for a name of that length: 0 and its offset, or
 * -ENOSPC.  The search begins at the entry at *from, before which there must be no room for any
 * name, and moves *from as far as that stays true. */
int dir_block_gap(const struct geom *g, const uint8_t *data, uint32_t len, uint32_t *from,
		  uint32_t *ret);

/* Puts a name into the gap that dir_block_gap found; the block has not changed since. */
void dir_block_fill(const struct geom *g, uint8_t *data, uint32_t at, const char *name,
		    uint32_t len, uint32_t ino, uint8_t type);

/* "." and ".." into a block that dir_block_init has made. */
void dir_block_dots(const struct geom *g, uint8_t *data, uint32_t ino, uint32_t parent);

void dir_block_remove(const struct geom *g, struct dirent_raw *e, struct dirent_raw *prev);

/* True when the block is the root or an inner node of an index. */
bool dir_block_is_index(const struct geom *g, const uint8_t *data);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attributes as they lie on disk: entries grow from the front, values from the back; four zero
 * bytes end the entries.  The same layout is used behind an inode's fields (value offsets count
 * from the first entry) and in a block (offsets count from the block, entries start behind a header
 * of 32 bytes).
 */
#ifndef FS_XATTR_FORMAT_H
#define FS_XATTR_FORMAT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "fs/inode.h"

#define XATTR_MAGIC      0xEA020000u
#define XATTR_BLOCK_HEAD 32u
#define XATTR_SYSTEM     7u /* name index of system. */

struct xattr_head {
	le32 h_magic, h_refcount, h_blocks, h_hash, h_checksum;
	le32 h_reserved[3];
};

struct xattr_entry {
	uint8_t e_name_len, e_name_index;
	le16 e_value_offs;
	le32 e_value_inum, e_value_size, e_hash;
	char e_name[];
};

static_assert(sizeof(struct xattr_head) == 32, "attribute block header");
static_assert(sizeof(struct xattr_entry) == 16, "attribute entry head");

/* One area of attributes in memory. */
struct xattr_area {
	uint8_t *base;  /* offsets count from here */
	uint32_t first; /* offset of the first entry */
	uint32_t size;  /* bytes from base to the end of the area */
};

extern const struct verifier verify_xattr_block;

/* Proves an area; where and number name it for messages. */
int xattr_area_verify(const struct xattr_area *a, const char *where, uint64_t number,
		      struct diag *d);

/* The entry, or NULL. */
struct xattr_entry *xattr_area_find(const struct xattr_area *a, uint8_t index, const char *name,
				    uint32_t len);

/* The entry at offset *at, which moves on; NULL at the end.  Start with *at = a->first. */
struct xattr_entry *xattr_area_next(const struct xattr_area *a, uint32_t *at);

struct xattr_value {
	const void *bytes;
	uint32_t size;
	uint32_t inum, hash; /* the inode that has the bytes and their checksum, or 0 */
};

/* Bytes that an attribute takes with its value. */
uint32_t xattr_need(uint32_t name_len, const struct xattr_value *value);

/* Sets (value not NULL) or removes one attribute, keeping values packed at the end.  sorted:
 * entries ordered by index, length, name, as blocks want.  -ENOSPC when it does not fit. */
int xattr_area_set(struct xattr_area *a, uint8_t index, const char *name, uint32_t len,
		   const struct xattr_value *value, bool sorted);

/* A value that lies in an inode; inum 0 for none. */
struct xattr_ref {
	uint32_t inum, size;
};

static inline struct xattr_ref xattr_ref_of(const struct xattr_entry *e)
{
	return (struct xattr_ref){le32_get(e->e_value_inum), le32_get(e->e_value_size)};
}

/* Bytes of the area that the entry's value takes there. */
static inline uint32_t xattr_entry_room(const struct xattr_entry *e)
{
	return le32_get(e->e_value_inum) == 0 ? (le32_get(e->e_value_size) + 3) & ~3u : 0;
}

/* Offset of the lowest value; the area's size when there is none. */
uint32_t xattr_area_low(const struct xattr_area *a);

/* Bytes between the end mark and the lowest value. */
uint32_t xattr_area_room(const struct xattr_area *a);

/* True when no entry is left. */
bool xattr_area_empty(const struct xattr_area *a);

/* Hashes of entries and of the block, from contents. */
void xattr_block_rehash(uint8_t *block, uint32_t size);

/* Index of the longest known prefix of a full name, and what follows it; 0 when there is none. */
uint8_t xattr_prefix(const char *full, const char **rest);
const char *xattr_prefix_text(uint8_t index);

/* POSIX ACLs: the kernel's user form <-> the packed form on disk.  Return the length or -EINVAL. */
int xattr_acl_pack(const void *user, size_t len, void *out, size_t cap);
int xattr_acl_unpack(const void *disk, size_t len, void *out, size_t cap);

#endif

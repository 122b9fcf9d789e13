/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Extent tree nodes: a header and entries of 12 bytes, in i_block (4 entries) or in a block of
 * their own (340 with 4 KiB), where a checksum follows the last possible entry.
 */
#ifndef ONDISK_EXTENT_H
#define ONDISK_EXTENT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "ondisk/buf.h"
#include "ondisk/geom.h"

#define EXTENT_MAGIC         0xF30Au
#define EXTENT_MAX_DEPTH     5u
#define EXTENT_MAX_WRITTEN   32768u /* blocks in one written extent */
#define EXTENT_MAX_UNWRITTEN 32767u
#define EXTENT_ROOT_ENTRIES  4u

struct extent_header {
	le16 eh_magic, eh_entries, eh_max, eh_depth;
	le32 eh_generation;
};

struct extent_index {
	le32 ei_block, ei_leaf_lo;
	le16 ei_leaf_hi, ei_unused;
};

struct extent_leaf {
	le32 ee_block;
	le16 ee_len, ee_start_hi; /* length above 32768 means unwritten, of length - 32768 */
	le32 ee_start_lo;
};

static_assert(sizeof(struct extent_header) == 12, "extent header");
static_assert(sizeof(struct extent_index) == 12, "extent index");
static_assert(sizeof(struct extent_leaf) == 12, "extent");

/* A node in memory: header first, entries behind it. */
struct extent_node {
	struct extent_header h;
	union {
		struct extent_index index[1];
		struct extent_leaf leaf[1];
	} e;
};

/* One extent as native numbers. */
struct extent {
	ek_lblk lblk;
	uint32_t len;
	ek_pblk pblk;
	bool unwritten;
};

extern const struct verifier verify_extent_block;

/* Entries that fit in a block. */
static inline uint32_t extent_block_entries(const struct geom *g)
{
	return (g->block_size - 12) / 12;
}

static inline unsigned extent_entries(const struct extent_node *n)
{
	return le16_get(n->h.eh_entries);
}

static inline unsigned extent_max(const struct extent_node *n)
{
	return le16_get(n->h.eh_max);
}

static inline unsigned extent_depth(const struct extent_node *n)
{
	return le16_get(n->h.eh_depth);
}

static inline uint32_t extent_key(const struct extent_node *n, unsigned i)
{
	return le32_get(n->e.leaf[i].ee_block); /* same place in leaf and index */
}

struct extent extent_decode(const struct extent_leaf *raw);
void extent_encode(const struct extent *e, struct extent_leaf *raw);

static inline uint64_t extent_child(const struct extent_index *i)
{
	return le32_get(i->ei_leaf_lo) | (uint64_t)le16_get(i->ei_leaf_hi) << 32;
}

void extent_set_child(struct extent_index *i, uint32_t lblk, ek_pblk child);

/* Fills in an empty node. */
void extent_node_init(struct extent_node *n, unsigned max, unsigned depth);

/* Verifies a node with room bytes that belongs to inode ino; where names it for messages. */
int extent_node_verify(const struct geom *g, const struct extent_node *n, size_t room, uint32_t ino,
		       const char *where, uint64_t block, struct diag *d);

#endif

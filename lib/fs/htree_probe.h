/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the index of a folder: what its blocks hold (htree_block.c), the way from the root to a
 * leaf (htree_probe.c), and how it grows (htree_split.c).
 */
#ifndef FS_HTREE_PROBE_H
#define FS_HTREE_PROBE_H

#include "fs/htree.h"

#define HTREE_INFO         24u /* offset of the info behind "." and ".." */
#define HTREE_ROOT_ENTRIES 32u
#define HTREE_NODE_ENTRIES 8u
#define HTREE_MAX_LEVELS   3u /* indirect levels, with large_dir; 2 without */

/* ---- blocks ---- */

static inline struct htree_entry *htree_entries(const uint8_t *data, uint32_t off)
{
	return (struct htree_entry *)(uintptr_t)(data + off);
}

static inline struct htree_info *htree_info(const uint8_t *data)
{
	return (struct htree_info *)(uintptr_t)(data + HTREE_INFO);
}

static inline unsigned htree_count(const struct htree_entry *e)
{
	return le16_get(e[0].u.head.count);
}

static inline unsigned htree_limit(const struct htree_entry *e)
{
	return le16_get(e[0].u.head.limit);
}

static inline void htree_set_count(struct htree_entry *e, unsigned n)
{
	e[0].u.head.count = le16_make((uint16_t)n);
}

static inline bool htree_full(const struct htree_entry *e)
{
	return htree_count(e) >= htree_limit(e);
}

/* Where the entries of an index block begin: in the root behind "." and "..". */
uint32_t htree_entries_offset(const struct geom *g, const uint8_t *data);

/* An empty node; its entries. */
struct htree_entry *htree_node_init(const struct geom *g, uint8_t *data);
/* Block 0 keeps "." and ".." and becomes the root of an index with one entry: block 1. */
void htree_root_init(const struct geom *g, uint8_t *data, unsigned version);

/* ---- the way to a leaf ---- */

struct htree_frame {
	struct buf *buf;
	struct htree_entry *entries;
	unsigned pos;
};

struct htree_probe {
	struct htree_frame frames[HTREE_MAX_LEVELS + 1];
	unsigned levels; /* index of the last frame */
	uint32_t hash;
	unsigned version;
};

/* Highest value of levels in this filesystem. */
static inline unsigned htree_max_levels(const struct ek_image *img)
{
	return image_wide_dirs(img) ? HTREE_MAX_LEVELS - 1 : HTREE_MAX_LEVELS - 2;
}

/* The block that the frame's entry names. */
static inline uint32_t htree_child(const struct htree_frame *f)
{
	return le32_get(f->entries[f->pos].block) & 0x0fffffff;
}

static inline int htree_writable(struct task *t, struct buf *b)
{
	void *view;

	return handle_write(t->user.current, b, &view);
}

/* Down to the node above the name's leaf: 0, -ENODATA when the index is damaged.  End the probe in
 * any case. */
int htree_probe_name(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		     struct htree_probe *p);
void htree_probe_end(struct htree_probe *p);

/* ---- growth ---- */

/* Makes room for one more entry in the lowest node: splits full nodes, or adds a level. */
int htree_make_room(struct task *t, struct ek_inode *dir, struct htree_probe *p);

/* Splits a leaf below a node with room; on return *leaf is the block where the probe's hash belongs
 * (the caller's reference moves).  -ENODATA when there is nothing to divide. */
int htree_split_leaf(struct task *t, struct ek_inode *dir, struct htree_probe *p,
		     struct buf **leaf);

#endif

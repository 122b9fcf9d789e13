/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps of files read without belief: extent nodes and pointer blocks in order, each checked only
 * for what would lead out of the device or around in circles.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/inspect.h"
#include "io/dev.h"
#include "ondisk/extent.h"
#include "ondisk/inode.h"

#define NODES_MAX (1u << 20) /* more than any file of a sound filesystem this side of 64 TiB */
#define LEVELS    EXTENT_MAX_DEPTH

int inspect_read_block(struct ek_inspect *ins, uint64_t block, const char *what, uint8_t *data)
{
	const struct geom *g = &ins->geom;

	if (block >= g->blocks)
		return diag_set(ins->diag, -EUCLEAN,
				"corrupt %s: block %llu lies outside the filesystem of %llu", what,
				(unsigned long long)block, (unsigned long long)g->blocks);
	return dev_read(ins->dev, block << g->block_bits, data, g->block_size);
}

/* ---- extents ---- */

/* A walk down an extent tree: a buffer for each level, what is called at nodes and at leaves. */
struct tree {
	struct ek_inspect *ins;
	struct buf_owner owner;
	uint8_t *level[LEVELS + 1];
	uint32_t nodes, *index;
	found_fn *fn;            /* each structure, or NULL */
	inspect_block_fn *block; /* each block of a leaf, or NULL */
	uint64_t limit;          /* file blocks that block is told of */
	void *arg;
};

static int emit(struct tree *t, const struct unit *u, const struct field_table *table, uint32_t off)
{
	struct found f = {.unit = u, .table = table, .off = off, .index = (*t->index)++};

	return t->fn(t->ins, &f, t->arg);
}

static int visit_leaf(struct tree *t, const struct extent_leaf *raw)
{
	struct extent e = extent_decode(raw);
	int rc = 0;

	for (uint64_t i = 0; i < e.len && e.lblk.v + i < t->limit && rc == 0; i++)
		rc = t->block(t->ins, e.lblk.v + i, e.pblk.v + i, t->arg);
	return rc;
}

static int visit_node(struct tree *t, const struct unit *u, uint32_t off, unsigned depth);

static int descend(struct tree *t, const struct extent_index *raw, unsigned depth)
{
	struct unit u = {.kind = UNIT_BLOCK,
			 .len = t->ins->geom.block_size,
			 .data = t->level[depth],
			 .ver = &verify_extent_block,
			 .owner = t->owner};
	uint64_t block = extent_child(raw);
	int rc;

	if (++t->nodes > NODES_MAX)
		return diag_set(t->ins->diag, -EUCLEAN,
				"corrupt extent tree of inode %u: more than %u nodes", t->owner.ino,
				NODES_MAX);
	u.at = block << t->ins->geom.block_bits;
	rc = inspect_read_block(t->ins, block, "extent index", u.data);
	return rc != 0 ? rc : visit_node(t, &u, 0, depth);
}

static int visit_entries(struct tree *t, const struct unit *u, uint32_t off, unsigned n)
{
	const struct extent_node *node = (const struct extent_node *)(const void *)(u->data + off);
	unsigned depth = extent_depth(node);
	int rc = 0;

	for (unsigned i = 0; i < n && rc == 0 && t->fn != NULL; i++)
		rc = emit(t, u, depth == 0 ? &field_extent_leaf : &field_extent_index,
			  off + 12 + 12 * i);
	for (unsigned i = 0; i < n && rc == 0; i++) {
		if (depth != 0)
			rc = descend(t, &node->e.index[i], depth - 1);
		else if (t->block != NULL)
			rc = visit_leaf(t, &node->e.leaf[i]);
	}
	return rc;
}

/* A node that claims another depth than its place, or more entries than fit, is shown and not
 * entered. */
static int visit_node(struct tree *t, const struct unit *u, uint32_t off, unsigned depth)
{
	const struct extent_node *node = (const struct extent_node *)(const void *)(u->data + off);
	uint32_t room = u->kind == UNIT_INODE ? INODE_BLOCK_BYTES : u->len;
	bool root = u->kind == UNIT_INODE;
	int rc = t->fn != NULL ? emit(t, u, &field_extent_header, off) : 0;

	if (rc != 0)
		return rc;
	if (le16_get(node->h.eh_magic) != EXTENT_MAGIC || extent_depth(node) > LEVELS ||
	    (!root && extent_depth(node) != depth) || extent_entries(node) > (room - 12) / 12)
		return diag_set(t->ins->diag, -EUCLEAN,
				"corrupt extent node of inode %u at byte %llu: it is not entered",
				t->owner.ino, (unsigned long long)(u->at + off));
	return visit_entries(t, u, off, extent_entries(node));
}

static int walk_tree(struct tree *t, const struct unit *inode)
{
	const struct inode_raw *raw = (const struct inode_raw *)(const void *)inode->data;
	int rc = 0;

	t->owner = (struct buf_owner){inode->number, le32_get(raw->i_generation)};
	for (unsigned i = 0; i < LEVELS; i++) {
		t->level[i] = mem_aligned(64, t->ins->geom.block_size);
		if (t->level[i] == NULL)
			rc = diag_set(t->ins->diag, -ENOMEM, "out of memory for extent nodes");
	}
	if (rc == 0)
		rc = visit_node(t, inode, offsetof(struct inode_raw, i_block), 0);
	for (unsigned i = 0; i < LEVELS; i++)
		free(t->level[i]);
	return rc;
}

int inspect_extents(struct ek_inspect *ins, const struct unit *inode, found_fn *fn, void *arg,
		    uint32_t *index)
{
	struct tree t = {.ins = ins, .fn = fn, .arg = arg, .index = index};

	return walk_tree(&t, inode);
}

/* ---- pointers ---- */

struct pointers {
	struct ek_inspect *ins;
	inspect_block_fn *fn;
	void *arg;
	uint64_t lblk, limit;
	uint32_t nodes;
};

static int follow(struct pointers *p, uint64_t block, unsigned level);

static int follow_all(struct pointers *p, const le32 *entry, unsigned n, unsigned level)
{
	int rc = 0;

	for (unsigned i = 0; i < n && p->lblk < p->limit && rc == 0; i++)
		rc = follow(p, le32_get(entry[i]), level);
	return rc;
}

static int follow(struct pointers *p, uint64_t block, unsigned level)
{
	uint64_t per = p->ins->geom.block_size / 4, reach = 1;
	uint8_t *data;
	int rc;

	for (unsigned i = 0; i < level; i++)
		reach *= per;
	if (block == 0) {
		p->lblk += reach;
		return 0;
	}
	if (level == 0)
		return p->fn(p->ins, p->lblk++, block, p->arg);
	if (++p->nodes > NODES_MAX)
		return diag_set(p->ins->diag, -EUCLEAN, "corrupt pointers: more than %u blocks",
				NODES_MAX);
	data = mem_aligned(64, p->ins->geom.block_size);
	if (data == NULL)
		return diag_set(p->ins->diag, -ENOMEM, "out of memory for pointers");
	rc = inspect_read_block(p->ins, block, "block pointer", data);
	if (rc == 0)
		rc = follow_all(p, (const le32 *)(const void *)data, (unsigned)per, level - 1);
	free(data);
	return rc;
}

int inspect_file_blocks(struct ek_inspect *ins, const uint8_t *inode, uint64_t limit,
			inspect_block_fn *fn, void *arg)
{
	const struct inode_raw *raw = (const struct inode_raw *)(const void *)inode;
	const le32 *entry = (const le32 *)(const void *)raw->i_block;
	struct pointers p = {.ins = ins, .fn = fn, .arg = arg, .limit = limit};
	uint32_t flags = le32_get(raw->i_flags), index = 0;
	struct unit u = {.kind = UNIT_INODE, .data = (uint8_t *)(uintptr_t)inode};
	struct tree t = {.ins = ins, .block = fn, .arg = arg, .index = &index, .limit = limit};
	int rc;

	if ((flags & INODE_INLINE_DATA) != 0)
		return diag_set(ins->diag, -ENOENT, "its contents lie in the inode itself");
	if ((flags & INODE_EXTENTS) != 0)
		return walk_tree(&t, &u);
	rc = follow_all(&p, entry, 12, 0);
	for (unsigned level = 1; level <= 3 && rc == 0 && p.lblk < limit; level++)
		rc = follow(&p, le32_get(entry[11 + level]), level);
	return rc;
}

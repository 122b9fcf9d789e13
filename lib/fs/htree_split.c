/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growth of the index of a folder.  A full leaf is split by size at a hash, its upper half moves to
 * a new block, and the new block's entry goes into the node above; full nodes split the same way, a
 * full root grows a level.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/htree_probe.h"

/* Puts an entry for block, from hash on, behind the frame's position. */
static void insert_entry(struct htree_frame *f, uint32_t hash, uint32_t block)
{
	unsigned n = htree_count(f->entries), at = f->pos + 1;

	memmove(&f->entries[at + 1], &f->entries[at], (n - at) * sizeof(f->entries[0]));
	f->entries[at].u.hash = le32_make(hash);
	f->entries[at].block = le32_make(block);
	htree_set_count(f->entries, n + 1);
}

/* ---- leaves ---- */

/* Where the kernel divides a leaf is part of what it does to the disk: there an entry counts with
 * the free room behind it, rec_len, and moves without. */
struct map_entry {
	uint32_t hash;
	uint16_t offset, rec_len;
};

static int by_hash(const void *x, const void *y)
{
	const struct map_entry *a = x, *b = y;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

/* Live entries of a leaf, in the order of their hashes. */
static int map_leaf(const struct geom *g, unsigned version, const uint8_t *data,
		    struct map_entry *map, unsigned *n)
{
	uint32_t end = dir_usable(g), minor;

	*n = 0;
	for (uint32_t off = 0; off < end;) {
		const struct dirent_raw *e = (const struct dirent_raw *)(const void *)(data + off);

		if (le32_get(e->inode) != 0) {
			struct map_entry *m = &map[(*n)++];
			int rc =
			    dir_hash(g->hash_seed, version, e->name, e->name_len, &m->hash, &minor);

			if (rc < 0)
				return rc;
			m->offset = (uint16_t)off;
			m->rec_len = (uint16_t)dir_rec_len(g, e);
		}
		off += dir_rec_len(g, e);
	}
	qsort(map, *n, sizeof(*map), by_hash);
	return 0;
}

/* First entry that moves: from there on it is about half of the block in bytes. */
static unsigned split_point(const struct geom *g, const struct map_entry *map, unsigned n)
{
	uint32_t moved = 0;
	unsigned i = n;

	while (i > 0 && moved + map[i - 1].rec_len / 2u <= g->block_size / 2) {
		moved += map[i - 1].rec_len;
		i--;
	}
	return i > 0 ? i : n / 2;
}

/* Writes the chosen entries of copy, tightly, into data; the last one gets the rest of the block.
 */
static void fill_leaf(const struct geom *g, uint8_t *data, const uint8_t *copy,
		      const struct map_entry *map, unsigned n)
{
	uint32_t off = 0, end = dir_usable(g);
	struct dirent_raw *last = NULL;

	dir_block_init(g, data);
	for (unsigned i = 0; i < n; i++) {
		const struct dirent_raw *e =
		    (const struct dirent_raw *)(const void *)(copy + map[i].offset);
		uint32_t size = dir_entry_size(e->name_len);

		last = (struct dirent_raw *)(void *)(data + off);
		memcpy(last, e, 8u + e->name_len);
		dir_set_rec_len(g, last, size);
		off += size;
	}
	if (last != NULL)
		dir_set_rec_len(g, last, dir_rec_len(g, last) + (end - off));
}

/* Entries that stay keep the order they had in the block. */
static int by_offset(const void *x, const void *y)
{
	const struct map_entry *a = x, *b = y;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

int htree_split_leaf(struct task *t, struct ek_inode *dir, struct htree_probe *p, struct buf **leaf)
{
	const struct geom *g = &dir->img->geom;
	struct htree_frame *f = &p->frames[p->levels];
	size_t room = g->block_size + (g->block_size / 12 + 1) * sizeof(struct map_entry);
	uint8_t *copy = mem_array(1, room, MEM_CAP, &dir->img->diag);
	struct map_entry *map;
	struct buf *fresh = NULL;
	unsigned n, at;
	uint32_t number, border;
	int rc;

	if (copy == NULL)
		return -ENOMEM;
	map = (struct map_entry *)(void *)(copy + g->block_size);
	memcpy(copy, (*leaf)->data, g->block_size);
	rc = map_leaf(g, p->version, copy, map, &n);
	if (rc == 0 && n < 2)
		rc = -ENODATA;
	if (rc == 0)
		rc = dir_block_append(t, dir, &number, &fresh);
	if (rc == 0)
		rc = htree_writable(t, *leaf);
	if (rc == 0)
		rc = htree_writable(t, f->buf);
	if (rc < 0)
		goto out;
	at = split_point(g, map, n);
	border = map[at].hash;
	if (at > 0 && border == map[at - 1].hash)
		border |= 1;
	fill_leaf(g, fresh->data, copy, map + at, n - at);
	qsort(map, at, sizeof(*map), by_offset);
	fill_leaf(g, (*leaf)->data, copy, map, at);
	insert_entry(f, border, number);
	rc = handle_dirty(t->user.current, f->buf);
	if (rc == 0)
		rc = handle_dirty(t->user.current, fresh);
	if (rc == 0)
		rc = handle_dirty(t->user.current, *leaf);
	if (p->hash >= (border & ~1u)) {
		struct buf *old = *leaf;

		*leaf = fresh;
		fresh = old;
	}
out:
	buf_put(fresh);
	free(copy);
	return rc;
}

/* ---- nodes ---- */

/* A new node of n entries; the hash of the first one is not kept. */
static struct htree_entry *node_of(const struct geom *g, uint8_t *data,
				   const struct htree_entry *from, unsigned n)
{
	struct htree_entry *to = htree_node_init(g, data);

	to[0].block = from[0].block;
	memcpy(to + 1, from + 1, (n - 1) * sizeof(*to));
	htree_set_count(to, n);
	return to;
}

/* The root is full: its entries move to a new node one level down. */
static int grow_root(struct task *t, struct ek_inode *dir, struct htree_probe *p)
{
	const struct geom *g = &dir->img->geom;
	struct htree_frame *root = &p->frames[0];
	struct htree_entry *to;
	struct buf *fresh;
	uint32_t number;
	int rc;

	if (p->levels >= htree_max_levels(dir->img))
		return diag_set(&dir->img->diag, -ENOSPC,
				"folder %u is full: its index has %u levels", dir->ino.v,
				p->levels + 1);
	rc = dir_block_append(t, dir, &number, &fresh);
	if (rc == 0)
		rc = htree_writable(t, root->buf);
	if (rc < 0)
		return rc;
	to = node_of(g, fresh->data, root->entries, htree_count(root->entries));
	htree_set_count(root->entries, 1);
	root->entries[0].block = le32_make(number);
	htree_info(root->buf->data)->indirect_levels++;
	memmove(&p->frames[2], &p->frames[1], (HTREE_MAX_LEVELS - 1) * sizeof(p->frames[0]));
	p->frames[1] = (struct htree_frame){fresh, to, root->pos};
	root->pos = 0;
	p->levels++;
	rc = handle_dirty(t->user.current, root->buf);
	return rc < 0 ? rc : handle_dirty(t->user.current, fresh);
}

/* The node at level is full and the one above has room: its upper half moves to a new node. */
static int split_node(struct task *t, struct ek_inode *dir, struct htree_probe *p, unsigned level)
{
	const struct geom *g = &dir->img->geom;
	struct htree_frame *f = &p->frames[level], *up = &p->frames[level - 1];
	unsigned n = htree_count(f->entries), keep = n / 2;
	struct htree_entry *to;
	struct buf *fresh;
	uint32_t number, border;
	int rc = dir_block_append(t, dir, &number, &fresh);

	if (rc == 0)
		rc = htree_writable(t, f->buf);
	if (rc == 0)
		rc = htree_writable(t, up->buf);
	if (rc < 0)
		return rc;
	border = le32_get(f->entries[keep].u.hash);
	to = node_of(g, fresh->data, &f->entries[keep], n - keep);
	htree_set_count(f->entries, keep);
	insert_entry(up, border, number);
	rc = handle_dirty(t->user.current, f->buf);
	if (rc == 0)
		rc = handle_dirty(t->user.current, up->buf);
	if (rc == 0)
		rc = handle_dirty(t->user.current, fresh);
	if (f->pos >= keep) { /* go on in the new half */
		buf_put(f->buf);
		*f = (struct htree_frame){fresh, to, f->pos - keep};
		up->pos++;
	} else {
		buf_put(fresh);
	}
	return rc;
}

int htree_make_room(struct task *t, struct ek_inode *dir, struct htree_probe *p)
{
	while (htree_full(p->frames[p->levels].entries)) {
		unsigned level = p->levels;
		int rc;

		while (level > 0 && htree_full(p->frames[level - 1].entries))
			level--;
		rc = level == 0 ? grow_root(t, dir, p) : split_node(t, dir, p, level);
		if (rc < 0)
			return rc;
	}
	return 0;
}

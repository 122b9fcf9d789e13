/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Indexed folders.
 *
 * Probe: from the root down, in each node the last entry whose hash is at or before the name's.  A
 * leaf may be continued in the next one when names of one hash were split: the next entry's hash
 * then has its lowest bit set. Insert: a full leaf is split by size at a hash, its upper half moves
 * to a new block, and the new block's entry goes into the node above; full nodes split the same
 * way, a full root grows a level.
 */
#include "fs/htree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/crc.h"
#include "base/mem.h"
#include "fs/map.h"

#define ROOT_INFO    24u /* offset of the info behind "." and ".." */
#define ROOT_ENTRIES 32u
#define NODE_ENTRIES 8u
#define MAX_LEVELS   3u /* indirect levels, with large_dir; 2 without */

struct frame {
	struct buf *buf;
	struct htree_entry *entries;
	unsigned pos;
};

struct probe {
	struct frame frames[MAX_LEVELS + 1];
	unsigned levels; /* index of the last frame */
	uint32_t hash;
	unsigned version;
};

/* ---- format ---- */

static uint32_t tail_bytes(const struct geom *g)
{
	return geom_csum(g) ? 8 : 0;
}

static unsigned root_limit(const struct geom *g)
{
	return (g->block_size - ROOT_ENTRIES - tail_bytes(g)) / 8;
}

static unsigned node_limit(const struct geom *g)
{
	return (g->block_size - NODE_ENTRIES - tail_bytes(g)) / 8;
}

static struct htree_entry *entries_at(const uint8_t *data, uint32_t off)
{
	return (struct htree_entry *)(uintptr_t)(data + off);
}

static struct htree_info *info_of(const uint8_t *data)
{
	return (struct htree_info *)(uintptr_t)(data + ROOT_INFO);
}

static unsigned count_of(const struct htree_entry *e)
{
	return le16_get(e[0].u.head.count);
}

static unsigned limit_of(const struct htree_entry *e)
{
	return le16_get(e[0].u.head.limit);
}

static void set_count(struct htree_entry *e, unsigned n)
{
	e[0].u.head.count = le16_make((uint16_t)n);
}

static void set_limit(struct htree_entry *e, unsigned n)
{
	e[0].u.head.limit = le16_make((uint16_t)n);
}

static bool counts_sane(const struct htree_entry *e, unsigned limit)
{
	return limit_of(e) == limit && count_of(e) >= 1 && count_of(e) <= limit;
}

bool htree_root_plausible(const struct geom *g, const uint8_t *data)
{
	const struct htree_info *i = info_of(data);

	return le32_get(i->reserved_zero) == 0 && i->info_length == 8 &&
	       counts_sane(entries_at(data, ROOT_ENTRIES), root_limit(g));
}

bool htree_node_plausible(const struct geom *g, const uint8_t *data)
{
	return counts_sane(entries_at(data, NODE_ENTRIES), node_limit(g));
}

static uint32_t entries_offset(const struct geom *g, const uint8_t *data)
{
	const struct dirent_raw *first = (const struct dirent_raw *)(const void *)data;

	return dir_rec_len(g, first) == 12 ? ROOT_ENTRIES : NODE_ENTRIES;
}

struct htree_tail {
	le32 reserved, checksum;
};

static struct htree_tail *tail_of(const struct geom *g, const uint8_t *data)
{
	uint32_t off = entries_offset(g, data);

	return (struct htree_tail *)(void *)&entries_at(data, off)[limit_of(entries_at(data, off))];
}

static uint32_t index_csum(const struct geom *g, const struct buf *b)
{
	static const uint8_t zero[4];
	uint32_t off = entries_offset(g, b->data);
	uint32_t c = inode_csum_seed(g, (ek_inum){b->owner.ino}, b->owner.generation);

	c = crc32c(c, b->data, off + count_of(entries_at(b->data, off)) * 8);
	c = crc32c(c, &tail_of(g, b->data)->reserved, 4);
	return crc32c(c, zero, sizeof(zero));
}

int htree_check_csum(const struct geom *g, const struct buf *b, struct diag *d)
{
	uint32_t stored = le32_get(tail_of(g, b->data)->checksum), want = index_csum(g, b);

	if (stored == want)
		return 0;
	return diag_set(
	    d, -EBADMSG,
	    "bad checksum: index block %llu of folder %u: stored 0x%08x, computed 0x%08x",
	    (unsigned long long)b->pblk.v, b->owner.ino, stored, want);
}

void htree_seal(const struct geom *g, struct buf *b)
{
	tail_of(g, b->data)->checksum = le32_make(index_csum(g, b));
}

bool htree_in_use(const struct ek_inode *dir)
{
	return (dir->rec.flags & INODE_INDEX) != 0 &&
	       geom_compat(&dir->img->geom, COMPAT_DIR_INDEX);
}

/* ---- probe ---- */

static void probe_end(struct probe *p)
{
	for (unsigned i = 0; i <= MAX_LEVELS; i++) {
		buf_put(p->frames[i].buf);
		p->frames[i].buf = NULL;
	}
}

/* Last entry at or before hash; entry 0 is before everything. */
static unsigned search(const struct htree_entry *e, uint32_t hash)
{
	unsigned lo = 1, hi = count_of(e);

	while (lo < hi) {
		unsigned mid = lo + (hi - lo) / 2;

		if (le32_get(e[mid].u.hash) > hash)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo - 1;
}

static uint32_t child_of(const struct frame *f)
{
	return le32_get(f->entries[f->pos].block) & 0x0fffffff;
}

static int open_root(struct task *t, struct ek_inode *dir, struct probe *p)
{
	const struct geom *g = &dir->img->geom;
	struct frame *f = &p->frames[0];
	const struct htree_info *i;
	int rc = dir_block_get(t, dir, 0, &f->buf);

	if (rc < 0)
		return rc;
	if (!dir_block_is_index(g, f->buf->data) || entries_offset(g, f->buf->data) != ROOT_ENTRIES)
		return -ENODATA;
	i = info_of(f->buf->data);
	p->levels = i->indirect_levels;
	p->version = i->hash_version;
	if (p->levels > (image_wide_dirs(dir->img) ? MAX_LEVELS - 1 : MAX_LEVELS - 2) ||
	    p->version > 2 || i->unused_flags & 1)
		return -ENODATA;
	if (g->hash_version >= 3)
		p->version += 3;
	f->entries = entries_at(f->buf->data, ROOT_ENTRIES);
	return 0;
}

static int probe_name(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		      struct probe *p)
{
	const struct geom *g = &dir->img->geom;
	uint32_t minor;
	int rc;

	memset(p, 0, sizeof(*p));
	rc = open_root(t, dir, p);
	if (rc == 0)
		rc = dir_hash(g->hash_seed, p->version, name, len, &p->hash, &minor);
	for (unsigned i = 0; rc == 0; i++) {
		struct frame *f = &p->frames[i];

		f->pos = search(f->entries, p->hash);
		if (i == p->levels)
			return 0;
		rc = dir_block_get(t, dir, child_of(f), &p->frames[i + 1].buf);
		if (rc == 0 && (!dir_block_is_index(g, p->frames[i + 1].buf->data) ||
				entries_offset(g, p->frames[i + 1].buf->data) != NODE_ENTRIES))
			rc = -ENODATA;
		if (rc == 0)
			p->frames[i + 1].entries =
			    entries_at(p->frames[i + 1].buf->data, NODE_ENTRIES);
	}
	return rc;
}

/* Moves to the next leaf if names with this hash may go on there: 1 moved, 0 not. */
static int next_leaf(struct task *t, struct ek_inode *dir, struct probe *p)
{
	int i = (int)p->levels;

	while (i >= 0 && p->frames[i].pos + 1 >= count_of(p->frames[i].entries))
		i--;
	if (i < 0)
		return 0;
	p->frames[i].pos++;
	if (le32_get(p->frames[i].entries[p->frames[i].pos].u.hash) != (p->hash | 1))
		return 0;
	for (unsigned k = (unsigned)i + 1; k <= p->levels; k++) {
		int rc;

		buf_put(p->frames[k].buf);
		p->frames[k].buf = NULL;
		rc = dir_block_get(t, dir, child_of(&p->frames[k - 1]), &p->frames[k].buf);
		if (rc < 0)
			return rc;
		if (!dir_block_is_index(&dir->img->geom, p->frames[k].buf->data))
			return -ENODATA;
		p->frames[k].entries = entries_at(p->frames[k].buf->data, NODE_ENTRIES);
		p->frames[k].pos = 0;
	}
	return 1;
}

int htree_lookup(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		 struct buf **leaf, struct dirent_raw **e, struct dirent_raw **prev)
{
	const struct geom *g = &dir->img->geom;
	struct probe p;
	int rc = probe_name(t, dir, name, len, &p);

	while (rc == 0) {
		struct buf *b;

		rc = dir_block_get(t, dir, child_of(&p.frames[p.levels]), &b);
		if (rc < 0)
			break;
		*e = dir_block_find(g, b->data, name, len, prev);
		if (*e != NULL) {
			*leaf = b;
			break;
		}
		buf_put(b);
		rc = next_leaf(t, dir, &p);
		rc = rc == 1 ? 0 : rc == 0 ? -ENOENT : rc;
	}
	probe_end(&p);
	return rc;
}

/* ---- splitting leaves ---- */

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

static int leaf_write(struct task *t, struct buf *b)
{
	void *view;

	return handle_write(t->user.current, b, &view);
}

/* Puts an entry for block, from hash on, behind the frame's position. */
static void insert_entry(struct frame *f, uint32_t hash, uint32_t block)
{
	unsigned n = count_of(f->entries), at = f->pos + 1;

	memmove(&f->entries[at + 1], &f->entries[at], (n - at) * sizeof(f->entries[0]));
	f->entries[at].u.hash = le32_make(hash);
	f->entries[at].block = le32_make(block);
	set_count(f->entries, n + 1);
}

/* Splits leaf; on return *leaf is the block where hash belongs (the caller's reference moves). */
static int split_leaf(struct task *t, struct ek_inode *dir, struct probe *p, struct buf **leaf)
{
	const struct geom *g = &dir->img->geom;
	struct frame *f = &p->frames[p->levels];
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
		rc = leaf_write(t, *leaf);
	if (rc == 0)
		rc = leaf_write(t, f->buf);
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

/* ---- splitting nodes ---- */

static void node_init(const struct geom *g, uint8_t *data)
{
	memset(data, 0, g->block_size);
	dir_set_rec_len(g, (struct dirent_raw *)(void *)data, g->block_size);
	set_limit(entries_at(data, NODE_ENTRIES), node_limit(g));
}

/* The root is full: its entries move to a new node one level down. */
static int grow_root(struct task *t, struct ek_inode *dir, struct probe *p)
{
	const struct geom *g = &dir->img->geom;
	unsigned max = image_wide_dirs(dir->img) ? MAX_LEVELS - 1 : MAX_LEVELS - 2;
	struct frame *root = &p->frames[0];
	struct htree_entry *to;
	struct buf *fresh;
	uint32_t number;
	unsigned n;
	int rc;

	if (p->levels >= max)
		return diag_set(&dir->img->diag, -ENOSPC,
				"folder %u is full: its index has %u levels", dir->ino.v,
				p->levels + 1);
	rc = dir_block_append(t, dir, &number, &fresh);
	if (rc == 0)
		rc = leaf_write(t, root->buf);
	if (rc < 0)
		return rc;
	node_init(g, fresh->data);
	to = entries_at(fresh->data, NODE_ENTRIES);
	n = count_of(root->entries);
	memcpy(to, root->entries, n * sizeof(*to));
	set_limit(to, node_limit(g));
	set_count(root->entries, 1);
	root->entries[0].block = le32_make(number);
	info_of(root->buf->data)->indirect_levels++;
	memmove(&p->frames[2], &p->frames[1], (MAX_LEVELS - 1) * sizeof(p->frames[0]));
	p->frames[1] = (struct frame){fresh, to, root->pos};
	root->pos = 0;
	p->levels++;
	rc = handle_dirty(t->user.current, root->buf);
	return rc < 0 ? rc : handle_dirty(t->user.current, fresh);
}

/* The node at level is full and the one above has room: its upper half moves to a new node. */
static int split_node(struct task *t, struct ek_inode *dir, struct probe *p, unsigned level)
{
	const struct geom *g = &dir->img->geom;
	struct frame *f = &p->frames[level], *up = &p->frames[level - 1];
	unsigned n = count_of(f->entries), keep = n / 2;
	struct htree_entry *to;
	struct buf *fresh;
	uint32_t number, border;
	int rc = dir_block_append(t, dir, &number, &fresh);

	if (rc == 0)
		rc = leaf_write(t, f->buf);
	if (rc == 0)
		rc = leaf_write(t, up->buf);
	if (rc < 0)
		return rc;
	node_init(g, fresh->data);
	to = entries_at(fresh->data, NODE_ENTRIES);
	border = le32_get(f->entries[keep].u.hash);
	memcpy(to, &f->entries[keep], (n - keep) * sizeof(*to));
	set_limit(to, node_limit(g));
	set_count(to, n - keep);
	set_count(f->entries, keep);
	insert_entry(up, border, number);
	rc = handle_dirty(t->user.current, f->buf);
	if (rc == 0)
		rc = handle_dirty(t->user.current, up->buf);
	if (rc == 0)
		rc = handle_dirty(t->user.current, fresh);
	if (f->pos >= keep) { /* go on in the new half */
		buf_put(f->buf);
		*f = (struct frame){fresh, to, f->pos - keep};
		up->pos++;
	} else {
		buf_put(fresh);
	}
	return rc;
}

/* The lowest node gets room for one more entry. */
static int make_room(struct task *t, struct ek_inode *dir, struct probe *p)
{
	while (count_of(p->frames[p->levels].entries) >= limit_of(p->frames[p->levels].entries)) {
		unsigned level = p->levels;
		int rc;

		while (level > 0 && count_of(p->frames[level - 1].entries) >=
					limit_of(p->frames[level - 1].entries))
			level--;
		rc = level == 0 ? grow_root(t, dir, p) : split_node(t, dir, p, level);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- adding ---- */

/* Into the gap that was found at that offset; what is known of gaps stays true. */
static int add_to_leaf(struct task *t, struct ek_inode *dir, struct buf *leaf, uint32_t at,
		       const struct new_entry *n)
{
	uint32_t hint = leaf->hint;
	int rc = leaf_write(t, leaf);

	if (rc < 0)
		return rc;
	dir_block_fill(&dir->img->geom, leaf->data, at, n->name, n->len, n->ino, n->type);
	leaf->hint = hint;
	return handle_dirty(t->user.current, leaf);
}

/* Splits the leaf when the name has no room in it, or in any case. */
static int add_name(struct task *t, struct ek_inode *dir, const struct new_entry *n, bool split)
{
	const struct geom *g = &dir->img->geom;
	struct probe p;
	struct buf *leaf = NULL;
	uint32_t at = 0;
	int rc = probe_name(t, dir, n->name, n->len, &p);
	bool room;

	if (rc == 0)
		rc = dir_block_get(t, dir, child_of(&p.frames[p.levels]), &leaf);
	if (rc == 0 && !n->is_new && dir_block_find(g, leaf->data, n->name, n->len, NULL) != NULL)
		rc = -EEXIST;
	room = rc == 0 && dir_block_gap(g, leaf->data, n->len, &leaf->hint, &at) == 0;
	if (rc == 0 && (split || !room)) {
		rc = make_room(t, dir, &p);
		if (rc == 0)
			rc = split_leaf(t, dir, &p, &leaf);
		if (rc == -ENODATA && room) /* a single entry cannot be divided */
			rc = 0;
		if (rc == 0)
			rc = dir_block_gap(g, leaf->data, n->len, &leaf->hint, &at);
	}
	if (rc == 0)
		rc = add_to_leaf(t, dir, leaf, at, n);
	buf_put(leaf);
	probe_end(&p);
	return rc;
}

int htree_add(struct task *t, struct ek_inode *dir, const struct new_entry *n)
{
	return add_name(t, dir, n, false);
}

/* Block 0 keeps "." and ".." and becomes the root of an index with one entry: block 1. */
static void root_init(const struct geom *g, uint8_t *data, unsigned version)
{
	struct dirent_raw *dotdot = (struct dirent_raw *)(void *)(data + 12);
	struct htree_entry *e = entries_at(data, ROOT_ENTRIES);
	struct htree_info *i = info_of(data);

	dir_set_rec_len(g, dotdot, g->block_size - 12);
	memset(data + ROOT_INFO, 0, g->block_size - ROOT_INFO);
	i->hash_version = (uint8_t)version;
	i->info_length = 8;
	set_limit(e, root_limit(g));
	set_count(e, 1);
	e[0].block = le32_make(1);
}

/* Everything behind "." and ".." of the first block moves to leaf as it is, gaps included: they
 * count when the leaf is divided. */
static void move_entries(const struct geom *g, const uint8_t *first, uint8_t *leaf)
{
	uint32_t end = dir_usable(g), off = 12, len, at;
	struct dirent_raw *last;

	off += dir_rec_len(g, (const struct dirent_raw *)(const void *)(first + off));
	len = end - off;
	dir_block_init(g, leaf);
	if (len == 0)
		return;
	memcpy(leaf, first + off, len);
	for (at = 0; at < len; at += dir_rec_len(g, last))
		last = (struct dirent_raw *)(void *)(leaf + at);
	dir_set_rec_len(g, last, dir_rec_len(g, last) + off);
}

int htree_make(struct task *t, struct ek_inode *dir, struct buf *first, const struct new_entry *n)
{
	const struct geom *g = &dir->img->geom;
	struct buf *leaf;
	uint32_t number;
	int rc = leaf_write(t, first);

	if (rc == 0)
		rc = dir_block_append(t, dir, &number, &leaf);
	if (rc < 0)
		return rc;
	move_entries(g, first->data, leaf->data);
	root_init(g, first->data, g->hash_version % 3u);
	dir->rec.flags |= INODE_INDEX;
	rc = handle_dirty(t->user.current, first);
	if (rc == 0)
		rc = handle_dirty(t->user.current, leaf);
	buf_put(leaf);
	/* Linux divides the new leaf at once, even where "." and ".." left room enough. */
	return rc < 0 ? rc : add_name(t, dir, n, true);
}

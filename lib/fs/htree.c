/* SPDX-License-Identifier: BSD-2-Clause */
/* Names into the index of a folder: into the leaf that the probe finds, which is split when it is
 * full; and the index of a folder that outgrew its first block. */
#include "fs/htree.h"

#include <errno.h>
#include <string.h>

#include "fs/htree_probe.h"

/* Into the gap that was found at that offset; what is known of gaps stays true. */
static int add_to_leaf(struct task *t, struct ek_inode *dir, struct buf *leaf, uint32_t at,
		       const struct new_entry *n)
{
	uint32_t hint = leaf->hint;
	int rc = htree_writable(t, leaf);

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
	struct htree_probe p;
	struct buf *leaf = NULL;
	uint32_t at = 0;
	int rc = htree_probe_name(t, dir, n->name, n->len, &p);
	bool room;

	if (rc == 0)
		rc = dir_block_get(t, dir, htree_child(&p.frames[p.levels]), &leaf);
	if (rc == 0 && !n->is_new && dir_block_find(g, leaf->data, n->name, n->len, NULL) != NULL)
		rc = -EEXIST;
	room = rc == 0 && dir_block_gap(g, leaf->data, n->len, &leaf->hint, &at) == 0;
	if (rc == 0 && (split || !room)) {
		rc = htree_make_room(t, dir, &p);
		if (rc == 0)
			rc = htree_split_leaf(t, dir, &p, &leaf);
		if (rc == -ENODATA && room) /* a single entry cannot be divided */
			rc = 0;
		if (rc == 0)
			rc = dir_block_gap(g, leaf->data, n->len, &leaf->hint, &at);
	}
	if (rc == 0)
		rc = add_to_leaf(t, dir, leaf, at, n);
	buf_put(leaf);
	htree_probe_end(&p);
	return rc;
}

int htree_add(struct task *t, struct ek_inode *dir, const struct new_entry *n)
{
	return add_name(t, dir, n, false);
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
	int rc = htree_writable(t, first);

	if (rc == 0)
		rc = dir_block_append(t, dir, &number, &leaf);
	if (rc < 0)
		return rc;
	move_entries(g, first->data, leaf->data);
	htree_root_init(g, first->data, g->hash_version % 3u);
	dir->rec.flags |= INODE_INDEX;
	rc = handle_dirty(t->user.current, first);
	if (rc == 0)
		rc = handle_dirty(t->user.current, leaf);
	buf_put(leaf);
	/* Linux divides the new leaf at once, even where "." and ".." left room enough. */
	return rc < 0 ? rc : add_name(t, dir, n, true);
}

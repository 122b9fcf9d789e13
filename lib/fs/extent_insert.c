/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Insertion into an extent tree, and merging.
 *
 * 1. A neighbour in the leaf grows when it can.
 * 2. Else a slot is opened after the path's position.  A full leaf first tries the next leaf; then
 *    everything right of the position moves to a new leaf, with new index blocks as far up as
 * levels are full; a full root moves into a block of its own and the tree is one level deeper.
 * 3. The new entry merges with both sides.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "fs/blocks.h"
#include "fs/extent.h"
#include "fs/map.h"

static uint32_t max_len(bool unwritten)
{
	return unwritten ? EXTENT_MAX_UNWRITTEN : EXTENT_MAX_WRITTEN;
}

/* True when b continues a, on disk and in the file. */
static bool can_join(const struct extent *a, const struct extent *b)
{
	return a->unwritten == b->unwritten && a->lblk.v + a->len == b->lblk.v &&
	       a->pblk.v + a->len == b->pblk.v && a->len + b->len <= max_len(a->unwritten);
}

static struct extent leaf_at(const struct ext_level *l, int i)
{
	return extent_decode(&l->node->e.leaf[i]);
}

static void set_entries(struct extent_node *n, unsigned count)
{
	n->h.eh_entries = le16_make((uint16_t)count);
}

static void delete_entry(struct extent_node *n, int i)
{
	unsigned count = extent_entries(n);

	memmove(&n->e.leaf[i], &n->e.leaf[i + 1], (count - (unsigned)i - 1) * sizeof(n->e.leaf[0]));
	memset(&n->e.leaf[count - 1], 0, sizeof(n->e.leaf[0]));
	set_entries(n, count - 1);
}

static void open_entry(struct extent_node *n, int i)
{
	unsigned count = extent_entries(n);

	memmove(&n->e.leaf[i + 1], &n->e.leaf[i], (count - (unsigned)i) * sizeof(n->e.leaf[0]));
	set_entries(n, count + 1);
}

/* The first key of the leaf changed: index entries above follow, as far as they are first too. */
static int correct_keys(struct task *t, struct ext_path *p)
{
	uint32_t key = extent_key(ext_leaf(p)->node, 0);

	for (unsigned i = p->depth; i > 0; i--) {
		struct ext_level *up = &p->at[i - 1];
		int rc;

		if (extent_key(up->node, (unsigned)up->pos) == key)
			break;
		rc = ext_level_write(t, p, i - 1);
		if (rc < 0)
			return rc;
		up->node->e.index[up->pos].ei_block = le32_make(key);
		rc = ext_level_dirty(t, p, i - 1, MARK_EXT_INSERT);
		if (rc < 0)
			return rc;
		if (up->pos > 0)
			break;
	}
	return 0;
}

/* Joins entry i with the ones right of it while they continue it. */
static bool join_right(struct ext_level *l, int i)
{
	bool joined = false;

	while ((unsigned)(i + 1) < extent_entries(l->node)) {
		struct extent a = leaf_at(l, i), b = leaf_at(l, i + 1);

		if (!can_join(&a, &b))
			break;
		a.len += b.len;
		extent_encode(&a, &l->node->e.leaf[i]);
		delete_entry(l->node, i + 1);
		joined = true;
	}
	return joined;
}

/* A tree of one leaf that fits into the root goes there. */
static void merge_up(struct task *t, struct ext_path *p)
{
	struct ext_level *root = &p->at[0], *leaf = &p->at[1];
	struct extent_leaf copy[EXTENT_ROOT_ENTRIES];
	unsigned n;
	ek_pblk old;

	if (p->depth != 1 || extent_entries(root->node) != 1)
		return;
	n = extent_entries(leaf->node);
	if (n > EXTENT_ROOT_ENTRIES || handle_extend(t->user.current, 2, 1) != 0)
		return;
	memcpy(copy, leaf->node->e.leaf, n * sizeof(copy[0]));
	old = leaf->buf->pblk;
	extent_node_init(root->node, EXTENT_ROOT_ENTRIES, 0);
	set_entries(root->node, n);
	memcpy(root->node->e.leaf, copy, n * sizeof(copy[0]));
	root->pos = leaf->pos;
	p->depth = 0;
	inode_free_metadata(t, p->inode, leaf->buf, old);
	leaf->buf = NULL;
}

void ext_try_merge(struct task *t, struct ext_path *p)
{
	struct ext_level *l = ext_leaf(p);

	if (l->pos > 0 && join_right(l, l->pos - 1)) {
		struct extent left = leaf_at(l, l->pos - 1);

		/* The extent was swallowed by its left neighbour unless only others merged. */
		if ((unsigned)l->pos >= extent_entries(l->node) ||
		    leaf_at(l, l->pos).lblk.v >= left.lblk.v + left.len)
			l->pos--;
	} else {
		join_right(l, l->pos);
	}
	merge_up(t, p);
}

/* 1 when a neighbour took e in. */
static int join_neighbour(struct task *t, struct ext_path *p, const struct extent *e)
{
	struct ext_level *l = ext_leaf(p);
	struct extent n;
	int rc, at = -1;

	if (l->pos >= 0 && (n = leaf_at(l, l->pos), can_join(&n, e))) {
		n.len += e->len;
		at = l->pos;
	} else if ((unsigned)(l->pos + 1) < extent_entries(l->node) &&
		   (n = leaf_at(l, l->pos + 1), can_join(e, &n))) {
		n.lblk = e->lblk;
		n.pblk = e->pblk;
		n.len += e->len;
		at = l->pos + 1;
	}
	if (at < 0)
		return 0;
	rc = ext_level_write(t, p, p->depth);
	if (rc < 0)
		return rc;
	extent_encode(&n, &l->node->e.leaf[at]);
	l->pos = at;
	ext_try_merge(t, p);
	rc = ext_leaf(p)->pos == 0 ? correct_keys(t, p) : 0;
	if (rc == 0)
		rc = ext_level_dirty(t, p, p->depth, MARK_EXT_INSERT);
	return rc < 0 ? rc : 1;
}

/* ---- room ---- */

struct fresh_node {
	struct buf *buf;
	struct extent_node *node;
};

static int fresh_make(struct task *t, struct ek_inode *inode, ek_pblk pblk, unsigned depth,
		      struct fresh_node *ret)
{
	const struct geom *g = &inode->img->geom;
	void *view;
	int rc =
	    buf_new(inode->img->cache, pblk, &verify_extent_block, inode_owner(inode), &ret->buf);

	if (rc < 0)
		return rc;
	rc = handle_create(t->user.current, ret->buf, &view);
	if (rc < 0) {
		buf_put(ret->buf);
		return rc;
	}
	ret->node = view;
	extent_node_init(ret->node, extent_block_entries(g), depth);
	return 0;
}

/* Moves entries [from, end) of node behind those of fresh. */
static void move_tail(struct extent_node *node, unsigned from, struct extent_node *fresh)
{
	unsigned n = extent_entries(node) - from, have = extent_entries(fresh);

	memcpy(&fresh->e.leaf[have], &node->e.leaf[from], n * sizeof(node->e.leaf[0]));
	set_entries(fresh, have + n);
	memset(&node->e.leaf[from], 0, n * sizeof(node->e.leaf[0]));
	set_entries(node, from);
}

/* Splits one level below the one with room: what is right of the position moves to a new node,
 * after an index entry for child when this is an index level. */
static int split_level(struct task *t, struct ext_path *p, unsigned level, uint32_t border,
		       ek_pblk child, ek_pblk pblk)
{
	struct ext_level *l = &p->at[level];
	struct fresh_node f;
	int rc = fresh_make(t, p->inode, pblk, p->depth - level, &f);

	if (rc < 0)
		return rc;
	rc = ext_level_write(t, p, level);
	if (rc == 0) {
		if (level < p->depth) {
			extent_set_child(&f.node->e.index[0], border, child);
			set_entries(f.node, 1);
		}
		move_tail(l->node, (unsigned)MAX(l->pos, 0) + 1, f.node);
		rc = ext_level_dirty(t, p, level, MARK_EXT_INSERT);
	}
	if (rc == 0)
		rc = handle_dirty(t->user.current, f.buf);
	buf_put(f.buf);
	return rc;
}

static int insert_index(struct task *t, struct ext_path *p, unsigned level, uint32_t border,
			ek_pblk child)
{
	struct ext_level *l = &p->at[level];
	int rc = ext_level_write(t, p, level);
	int at;

	if (rc < 0)
		return rc;
	at = border > extent_key(l->node, (unsigned)l->pos) ? l->pos + 1 : l->pos;
	open_entry(l->node, at);
	extent_set_child(&l->node->e.index[at], border, child);
	return ext_level_dirty(t, p, level, MARK_EXT_INSERT);
}

/* level has room; levels below it are full and get new nodes for their right halves. */
static int split_below(struct task *t, struct ext_path *p, unsigned level, ek_lblk lblk,
		       unsigned flags)
{
	struct ext_level *leaf = ext_leaf(p);
	ek_pblk blocks[PATH_LEVELS], child = {0};
	unsigned next = (unsigned)MAX(leaf->pos, 0) + 1, got = 0;
	uint32_t border = next < extent_entries(leaf->node) ? extent_key(leaf->node, next) : lblk.v;
	int rc = 0;

	for (; got < p->depth - level && rc == 0; got++) {
		rc = ext_new_block(t, p->inode, ext_goal(p, lblk), flags, &blocks[got]);
		if (rc < 0)
			break;
	}
	if (rc < 0) {
		while (got-- > 0)
			inode_free_metadata(t, p->inode, NULL, blocks[got]);
		return rc;
	}
	for (unsigned i = p->depth; i > level && rc == 0; i--) {
		rc = split_level(t, p, i, border, child, blocks[p->depth - i]);
		child = blocks[p->depth - i];
	}
	return rc < 0 ? rc : insert_index(t, p, level, border, child);
}

/* The root's entries move into a block; the root keeps one index entry. */
static int grow(struct task *t, struct ext_path *p, ek_lblk lblk, unsigned flags)
{
	struct extent_node *root = p->at[0].node;
	uint32_t key = extent_entries(root) != 0 ? extent_key(root, 0) : 0;
	struct fresh_node f;
	ek_pblk pblk;
	int rc;

	if (extent_depth(root) == EXTENT_MAX_DEPTH)
		return diag_set(&p->inode->img->diag, -EFBIG,
				"extent tree of inode %u is full: depth %u", p->inode->ino.v,
				EXTENT_MAX_DEPTH);
	rc = ext_new_block(t, p->inode, inode_goal(p->inode), flags, &pblk);
	if (rc < 0)
		return rc;
	rc = fresh_make(t, p->inode, pblk, extent_depth(root), &f);
	if (rc < 0) {
		inode_free_metadata(t, p->inode, NULL, pblk);
		return rc;
	}
	memcpy(f.node->e.leaf, root->e.leaf, extent_entries(root) * sizeof(root->e.leaf[0]));
	set_entries(f.node, extent_entries(root));
	rc = handle_dirty(t->user.current, f.buf);
	buf_put(f.buf);
	extent_node_init(root, EXTENT_ROOT_ENTRIES, p->depth + 1);
	set_entries(root, 1);
	memset(root->e.leaf, 0, EXTENT_ROOT_ENTRIES * sizeof(root->e.leaf[0]));
	extent_set_child(&root->e.index[0], key, pblk);
	return rc < 0 ? rc : inode_mark_dirty(t, p->inode, MARK_EXT_INSERT);
}

static int find_again(struct ext_path *p, ek_lblk lblk)
{
	struct ek_inode *inode = p->inode;

	ext_path_put(p);
	return ext_path_find(inode, lblk, p);
}

static bool is_full(const struct ext_level *l)
{
	return extent_entries(l->node) >= extent_max(l->node);
}

/* The leaf at p is full.  1 when the next leaf has room: p stands before its first entry. */
static int try_next_leaf(struct ext_path *p, ek_lblk lblk)
{
	struct ext_level *l = ext_leaf(p);
	int rc;

	if (lblk.v < extent_key(l->node, extent_entries(l->node) - 1))
		return 0;
	rc = ext_path_step(p);
	if (rc <= 0)
		return rc;
	if (!is_full(ext_leaf(p))) {
		ext_leaf(p)->pos = -1;
		return 1;
	}
	return find_again(p, lblk);
}

static int make_room(struct task *t, struct ext_path *p, ek_lblk lblk, unsigned flags)
{
	int rc = p->depth > 0 ? try_next_leaf(p, lblk) : 0;

	if (rc != 0)
		return rc;
	for (unsigned tries = 0; is_full(ext_leaf(p)); tries++) {
		int level = (int)p->depth - 1;

		if (tries > 2 * EXTENT_MAX_DEPTH)
			return diag_set(&p->inode->img->diag, -EUCLEAN,
					"corrupt extent tree: inode %u: splitting makes no room",
					p->inode->ino.v);
		while (level >= 0 && is_full(&p->at[level]))
			level--;
		rc = level >= 0 ? split_below(t, p, (unsigned)level, lblk, flags)
				: grow(t, p, lblk, flags);
		if (rc < 0)
			return rc;
		rc = find_again(p, lblk);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int ext_insert(struct task *t, struct ext_path *p, const struct extent *e, unsigned flags)
{
	struct ext_level *l;
	int rc = (flags & EXT_NO_MERGE) == 0 ? join_neighbour(t, p, e) : 0;

	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (is_full(ext_leaf(p))) {
		rc = make_room(t, p, e->lblk, flags);
		if (rc < 0)
			return rc;
	}
	rc = ext_level_write(t, p, p->depth);
	if (rc < 0)
		return rc;
	l = ext_leaf(p);
	l->pos++;
	open_entry(l->node, l->pos);
	extent_encode(e, &l->node->e.leaf[l->pos]);
	if (l->pos == 0)
		rc = correct_keys(t, p);
	if (rc == 0 && (flags & EXT_NO_MERGE) == 0)
		ext_try_merge(t, p);
	return rc < 0 ? rc : ext_level_dirty(t, p, p->depth, MARK_EXT_INSERT);
}

int ext_split_at(struct task *t, struct ext_path *p, ek_lblk lblk, bool left_unwritten,
		 bool right_unwritten, unsigned flags)
{
	struct ext_level *l = ext_leaf(p);
	struct extent left = leaf_at(l, l->pos), whole = left, right = left;
	int rc = ext_level_write(t, p, p->depth);

	if (rc < 0)
		return rc;
	if (lblk.v == left.lblk.v) {
		left.unwritten = right_unwritten;
		extent_encode(&left, &l->node->e.leaf[l->pos]);
		if ((flags & EXT_NO_MERGE) == 0)
			ext_try_merge(t, p);
		return ext_level_dirty(t, p, p->depth, MARK_EXT_INSERT);
	}
	left.len = lblk.v - left.lblk.v;
	left.unwritten = left_unwritten;
	right.lblk = lblk;
	right.len = whole.len - left.len;
	right.pblk.v += left.len;
	right.unwritten = right_unwritten;
	extent_encode(&left, &l->node->e.leaf[l->pos]);
	rc = ext_level_dirty(t, p, p->depth, MARK_EXT_INSERT);
	if (rc == 0)
		rc = ext_insert(t, p, &right, flags);
	if (rc < 0 && find_again(p, whole.lblk) == 0) {
		/* Nothing was inserted: the extent becomes whole again. */
		if (ext_level_write(t, p, p->depth) == 0)
			extent_encode(&whole, &ext_leaf(p)->node->e.leaf[ext_leaf(p)->pos]);
		return rc;
	}
	return rc < 0 ? rc : find_again(p, whole.lblk);
}

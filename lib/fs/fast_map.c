/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps while fast commits are applied.
 *
 * Fast commits say which blocks a range has, and nothing of the blocks that the map itself consists
 * of: those are made anew here.  Trees of pointers are walked row by row, at most three levels deep
 * and each block once, since a budget of the filesystem's blocks ends what an image claims beyond.
 */
#include "fs/fast_map.h"

#include <errno.h>

#include "base/check.h"
#include "fs/blocks.h"
#include "fs/extent.h"
#include "fs/fast_space.h"
#include "fs/indirect.h"
#include "fs/map.h"

struct walk {
	struct task *t;
	struct ek_inode *inode;
	fast_run_fn *fn;
	uint64_t *blocks;
	uint64_t cluster; /* behind the last one of data that was counted */
	uint64_t budget;
};

/* Runs come in the file's order, and neighbours may share a cluster. */
static int visit_data(struct walk *w, ek_pblk pblk, uint32_t len)
{
	const struct geom *g = &w->inode->img->geom;
	uint64_t first = pblk.v >> g->cluster_bits;
	uint64_t end = ((pblk.v + len - 1) >> g->cluster_bits) + 1;

	*w->blocks += (end - first - (first + 1 == w->cluster)) << g->cluster_bits;
	w->cluster = end;
	return w->fn(w->t, pblk, len);
}

static int visit_node(struct walk *w, ek_pblk pblk)
{
	*w->blocks += (uint64_t)1 << w->inode->img->geom.cluster_bits;
	return w->fn(w->t, pblk, 1);
}

static int too_many(const struct walk *w)
{
	return diag_set(&w->inode->img->diag, -EUCLEAN,
			"corrupt map: inode %u: more blocks than the %llu of the filesystem",
			w->inode->ino.v, (unsigned long long)w->inode->img->geom.blocks);
}

/* ---- extents ---- */

/* The nodes of a path that were not on the one before. */
static int walk_nodes(struct walk *w, const struct ext_path *p, ek_pblk *seen)
{
	int rc = 0;

	for (unsigned i = 1; i <= p->depth && rc == 0; i++) {
		if (p->at[i].buf->pblk.v == seen[i].v)
			continue;
		seen[i] = p->at[i].buf->pblk;
		rc = visit_node(w, seen[i]);
	}
	return rc;
}

static int walk_leaf(struct walk *w, const struct ext_path *p)
{
	const struct extent_node *leaf = p->at[p->depth].node;
	int rc = 0;

	for (unsigned i = 0; i < extent_entries(leaf) && rc == 0; i++) {
		struct extent e = extent_decode(&leaf->e.leaf[i]);

		rc = visit_data(w, e.pblk, e.len);
	}
	return rc;
}

static int walk_extents(struct walk *w)
{
	ek_pblk seen[PATH_LEVELS] = {{0}};
	struct ext_path p;
	int rc = ext_path_find(w->inode, (ek_lblk){0}, &p), more = 1;

	while (rc == 0 && more == 1) {
		rc = w->budget-- != 0 ? walk_nodes(w, &p, seen) : too_many(w);
		if (rc == 0)
			rc = walk_leaf(w, &p);
		if (rc == 0)
			more = ext_path_step(&p);
	}
	ext_path_put(&p);
	return rc < 0 ? rc : MIN(more, 0);
}

/* ---- pointers ---- */

/* Pointers [i, end) of a row, to data. */
static int walk_row(struct walk *w, const le32 *row, uint32_t i, uint32_t end)
{
	int rc = 0;

	for (uint32_t n; i < end && rc == 0; i += n) {
		uint32_t first = le32_get(row[i]);
		ek_pblk at;

		for (n = 1;
		     i + n < end && first != 0 && le32_get(row[i + n]) == (uint64_t)first + n;)
			n++;
		if (first == 0)
			continue;
		if (w->budget < n)
			return too_many(w);
		w->budget -= n;
		rc = geom_data_run(&w->inode->img->geom, first, n, w->inode->ino.v,
				   "corrupt block pointer", &w->inode->img->diag, &at);
		if (rc == 0)
			rc = visit_data(w, at, n);
	}
	return rc;
}

static int open_row(struct walk *w, uint32_t pointer, struct buf **ret)
{
	ek_pblk at;
	int rc = geom_data_run(&w->inode->img->geom, pointer, 1, w->inode->ino.v,
			       "corrupt block of pointers", &w->inode->img->diag, &at);

	if (rc == 0 && w->budget-- == 0)
		rc = too_many(w);
	if (rc == 0)
		rc = visit_node(w, at);
	return rc < 0 ? rc
		      : buf_get(w->inode->img->cache, at, &verify_any, inode_owner(w->inode), ret);
}

/* The block of pointers that a pointer names, and all below: levels of them in all. */
static int walk_below(struct walk *w, uint32_t pointer, unsigned levels)
{
	uint32_t count = 1u << ind_bits(w->inode);
	const le32 *row;
	struct buf *b;
	int rc = pointer != 0 ? open_row(w, pointer, &b) : 1;

	if (rc != 0)
		return MIN(rc, 0);
	row = (const le32 *)(const void *)b->data;
	if (levels == 1)
		rc = walk_row(w, row, 0, count);
	for (uint32_t i = 0; i < count && levels > 1 && rc == 0; i++)
		rc = walk_below(w, le32_get(row[i]), levels - 1);
	buf_put(b);
	return rc;
}

static int walk_pointers(struct walk *w)
{
	const le32 *row = (const le32 *)(const void *)w->inode->rec.block;
	int rc = walk_row(w, row, 0, IND_DIRECT);

	for (unsigned l = 1; l <= IND_LEVELS && rc == 0; l++)
		rc = walk_below(w, le32_get(row[IND_DIRECT + l - 1]), l);
	return rc;
}

int fast_walk_map(struct task *t, struct ek_inode *inode, fast_run_fn *fn, uint64_t *blocks)
{
	struct walk w = {t, inode, fn, blocks, 0, inode->img->geom.blocks};

	return inode_has_extents(inode) ? walk_extents(&w) : walk_pointers(&w);
}

/* ---- setting pointers ---- */

/* The row that the place ends at, to be changed. */
static int write_row(struct task *t, struct ek_inode *inode, const struct ind_place *p, le32 **ret)
{
	void *row = inode->rec.block;
	int rc = p->step.buf != NULL ? handle_write(t->user.current, p->step.buf, &row) : 0;

	if (rc == 0)
		*ret = row;
	return rc;
}

static int file_row(struct task *t, struct ek_inode *inode, const struct ind_place *p)
{
	return p->step.buf != NULL ? handle_dirty(t->user.current, p->step.buf)
				   : inode_mark_dirty(t, inode, MARK_IND_SPLICE);
}

/* Hangs an empty block of pointers in at the place. */
static int add_block(struct task *t, struct ek_inode *inode, const struct ind_place *p)
{
	ek_pblk goal = p->step.buf != NULL ? p->step.buf->pblk : inode_goal(inode), at;
	struct buf *b;
	void *view;
	le32 *row = NULL;
	int rc = ext_new_block(t, inode, goal, 0, &at);

	if (rc == 0 && at.v > UINT32_MAX)
		rc = diag_set(&t->img->diag, -ENOSPC,
			      "no space: inode %u: block %llu is past those that pointers reach",
			      inode->ino.v, (unsigned long long)at.v);
	if (rc == 0)
		rc = buf_new(t->img->cache, at, &verify_any, inode_owner(inode), &b);
	if (rc < 0)
		return rc;
	rc = handle_create(t->user.current, b, &view);
	if (rc == 0)
		rc = handle_dirty(t->user.current, b);
	buf_put(b);
	if (rc == 0)
		rc = write_row(t, inode, p, &row);
	if (rc < 0)
		return rc;
	row[p->step.at] = le32_make((uint32_t)at.v);
	return file_row(t, inode, p);
}

/* As many of e's pointers as the place's row has. */
static int set_row(struct task *t, struct ek_inode *inode, const struct ind_place *p,
		   const struct extent *e, uint32_t n)
{
	le32 *row = NULL;
	int rc = write_row(t, inode, p, &row);

	for (uint32_t i = 0; i < n && rc == 0; i++) {
		le32 *at = &row[p->step.at + i];
		uint32_t old = le32_get(*at), now = (uint32_t)(e->pblk.v + i);
		ek_pblk was;

		if (old != 0 && old != now) {
			rc = geom_data_run(&t->img->geom, old, 1, inode->ino.v,
					   "corrupt block pointer", &t->img->diag, &was);
			if (rc == 0)
				rc = fast_mark(t, was, 1, false);
		}
		*at = le32_make(now);
	}
	if (rc == 0)
		rc = file_row(t, inode, p);
	return rc < 0 ? rc : fast_mark(t, e->pblk, n, true);
}

int fast_set_pointers(struct task *t, struct ek_inode *inode, const struct extent *e)
{
	struct extent left = *e;
	int rc = 0;

	if (left.unwritten || left.pblk.v + left.len - 1 > UINT32_MAX)
		return diag_set(&t->img->diag, -EUCLEAN,
				"corrupt fast commit: inode %u: pointers cannot say %u blocks at "
				"%llu%s",
				inode->ino.v, left.len, (unsigned long long)left.pblk.v,
				left.unwritten ? ", unwritten" : "");
	while (rc == 0 && left.len > 0) {
		struct ind_place p;
		uint32_t n = 0;

		rc = ind_find(inode, left.lblk, &p);
		if (rc == 0 && p.levels != 0) {
			rc = add_block(t, inode, &p);
		} else if (rc == 0) {
			n = MIN(left.len, p.step.count - p.step.at);
			rc = set_row(t, inode, &p, &left, n);
		}
		ind_leave(&p);
		left.lblk.v += n;
		left.pblk.v += n;
		left.len -= n;
	}
	return rc;
}

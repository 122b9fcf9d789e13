/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collapse and insert: every extent from a block on moves left or right in the file by the same
 * distance.  Physical places do not change.  Left shifts begin at the left, right shifts at the
 * right, so that entries stay in order at every step.
 */
#include <errno.h>

#include "base/check.h"
#include "fs/extent.h"
#include "fs/map.h"

#define STEP_CREDITS 12u

static int credits(struct task *t)
{
	struct handle *h = t->user.current;
	int rc;

	if (handle_has_credits(h, STEP_CREDITS))
		return 0;
	rc = handle_extend(h, STEP_CREDITS, 0);
	return rc > 0 ? handle_restart(h, STEP_CREDITS, 0) : rc;
}

/* The entry above level must carry key; going up while it is the first of its node. */
static int set_key_above(struct task *t, struct ext_path *p, uint32_t key)
{
	for (unsigned i = p->depth; i > 0; i--) {
		struct ext_level *up = &p->at[i - 1];
		int rc = ext_level_write(t, p, i - 1);

		if (rc < 0)
			return rc;
		up->node->e.index[up->pos].ei_block = le32_make(key);
		rc = ext_level_dirty(t, p, i - 1, MARK_FALLOCATE);
		if (rc < 0 || up->pos > 0)
			return rc;
	}
	return 0;
}

/* Moves the entries of one leaf that start at or after from; p stands anywhere in the leaf. */
static int shift_leaf(struct task *t, struct ext_path *p, uint32_t from, uint32_t distance,
		      bool right)
{
	struct ext_level *l = ext_leaf(p);
	unsigned n = extent_entries(l->node);
	int rc = credits(t);

	if (rc == 0)
		rc = ext_level_write(t, p, p->depth);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < n; i++) {
		struct extent e = extent_decode(&l->node->e.leaf[i]);

		if (e.lblk.v < from)
			continue;
		e.lblk.v = right ? e.lblk.v + distance : e.lblk.v - distance;
		extent_encode(&e, &l->node->e.leaf[i]);
	}
	rc = ext_level_dirty(t, p, p->depth, MARK_FALLOCATE);
	if (rc == 0 && p->depth > 0)
		rc = set_key_above(t, p, extent_key(l->node, 0));
	return rc;
}

/* The border extent may continue its left neighbour once the gap between them is closed. */
static int merge_border(struct task *t, struct ek_inode *inode, uint32_t at)
{
	struct ext_path p;
	struct extent e;
	int rc = ext_path_find(inode, (ek_lblk){at}, &p);

	if (rc == 0 && ext_path_extent(&p, &e) && e.lblk.v == at && ext_leaf(&p)->pos > 0) {
		rc = ext_level_write(t, &p, p.depth);
		if (rc == 0) {
			ext_try_merge(t, &p);
			rc = ext_level_dirty(t, &p, p.depth, MARK_FALLOCATE);
		}
	}
	ext_path_put(&p);
	return rc;
}

static int shift_left(struct task *t, struct ek_inode *inode, uint32_t from, uint32_t distance)
{
	uint32_t at = from;

	for (;;) {
		struct ext_path p;
		struct extent e;
		uint32_t next = UINT32_MAX;
		int rc = ext_path_find(inode, (ek_lblk){at}, &p);

		/* The first extent at or after at; the next leaf when this one ends before it. */
		if (rc == 0 && !(ext_path_extent(&p, &e) && e.lblk.v >= at)) {
			next = ext_path_next(&p);
			ext_path_put(&p);
			if (next == UINT32_MAX)
				break;
			at = next;
			continue;
		}
		if (rc == 0) {
			struct ext_level *l = ext_leaf(&p);

			l->pos = (int)extent_entries(l->node) - 1;
			next = ext_path_next(&p);
			rc = shift_leaf(t, &p, at, distance, false);
		}
		ext_path_put(&p);
		if (rc < 0)
			return rc;
		if (next == UINT32_MAX)
			break;
		at = next;
	}
	return merge_border(t, inode, from - distance);
}

static int shift_right(struct task *t, struct ek_inode *inode, uint32_t from, uint32_t distance)
{
	uint32_t end = UINT32_MAX - 1;

	for (;;) {
		struct ext_path p;
		struct extent e;
		uint32_t first;
		int rc = ext_path_find(inode, (ek_lblk){end}, &p);

		if (rc < 0 || !ext_path_extent(&p, &e) || e.lblk.v < from) {
			ext_path_put(&p);
			return rc;
		}
		first = extent_key(ext_leaf(&p)->node, 0);
		rc = shift_leaf(t, &p, from, distance, true);
		ext_path_put(&p);
		if (rc < 0 || first <= from)
			return rc;
		end = first - 1;
	}
}

int ext_shift(struct task *t, struct ek_inode *inode, ek_lblk from, uint32_t distance, bool right)
{
	return right ? shift_right(t, inode, from.v, distance)
		     : shift_left(t, inode, from.v, distance);
}

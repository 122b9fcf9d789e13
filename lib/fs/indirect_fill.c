/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growth of a tree of pointers, in one step: the missing pointer blocks and a run of data blocks
 * are allocated, the new blocks are filled from the top down, and last the one pointer above them
 * that was 0 is set.  Until then nothing leads to them, so a failure gives all of them back.
 */
#include <errno.h>

#include "base/check.h"
#include "fs/blocks.h"
#include "fs/extent.h"
#include "fs/indirect.h"
#include "fs/map.h"

/* What is to be hung in at a place. */
struct branch {
	struct task *t;
	struct ek_inode *inode;
	const struct ind_place *place;
	ek_lblk lblk;
	unsigned data_flags; /* that the data blocks were asked for with */
	struct ind_blocks to;
};

/* Beside what is mapped already: the nearest pointer before, else the pointer block, else where the
 * inode is. */
static ek_pblk find_goal(const struct ek_inode *inode, const struct ind_step *s)
{
	for (uint32_t i = s->at; i-- > 0;) {
		if (le32_get(s->row[i]) != 0)
			return (ek_pblk){le32_get(s->row[i])};
	}
	return s->buf != NULL ? s->buf->pblk : inode_goal(inode);
}

/* Data pointers that one branch can set: to the end of its lowest block, or to the next that is set
 * already. */
static uint32_t branch_room(const struct ek_inode *inode, const struct ind_place *p, uint32_t want)
{
	uint32_t per = 1u << ind_bits(inode);

	if (p->levels == 0)
		return ind_run(&p->step, want);
	return MIN(want, per - (uint32_t)(p->in & (per - 1)));
}

/* Gives back what was allocated, the data last as it came last. */
static void give_back(struct branch *b)
{
	if (b->to.len != 0)
		inode_unalloc_blocks(b->t, b->inode, b->data_flags, b->to.data, b->to.len);
	while (b->to.metas > 0)
		inode_free_metadata(b->t, b->inode, NULL, b->to.meta[--b->to.metas]);
}

/* Pointers have 32 bits. */
static int check_reach(const struct ek_inode *inode, ek_pblk at, uint32_t len)
{
	if (at.v + len - 1 <= UINT32_MAX)
		return 0;
	return diag_set(&inode->img->diag, -ENOSPC,
			"no space: inode %u: block %llu is past those that pointers reach",
			inode->ino.v, (unsigned long long)at.v);
}

static int check_branch(const struct branch *b)
{
	int rc = check_reach(b->inode, b->to.data, b->to.len);

	for (unsigned i = 0; i < b->to.metas && rc == 0; i++)
		rc = check_reach(b->inode, b->to.meta[i], 1);
	return rc;
}

static int allocate(struct branch *b, const struct mb_request *req)
{
	struct mb_request data = *req;
	unsigned flags = (req->flags & MB_DELALLOC_RESERVED) != 0 ? EXT_DELALLOC : 0;
	int rc = 0;

	if (ind_by_ext3(b->t->img)) {
		rc = ind_take_ext3(b->t, b->inode, &b->place->step, req, b->place->levels, &b->to);
		return rc < 0 ? rc : check_branch(b);
	}
	data.goal = find_goal(b->inode, &b->place->step);
	while (b->to.metas < b->place->levels) {
		rc = ext_new_block(b->t, b->inode, data.goal, flags, &b->to.meta[b->to.metas]);
		if (rc < 0)
			return rc;
		data.goal = b->to.meta[b->to.metas++];
		rc = check_reach(b->inode, data.goal, 1);
		if (rc < 0)
			return rc;
	}
	rc = inode_alloc_blocks(b->t, b->inode, &data, &b->to.data, &b->to.len);
	return rc < 0 ? rc : check_reach(b->inode, b->to.data, b->to.len);
}

/* n pointers from row on to neighbouring blocks. */
static void set_run(le32 *row, ek_pblk first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		row[i] = le32_make((uint32_t)first.v + i);
}

/* Fills new pointer block i, which leads on at the place of the branch's first data block. */
static int fill_block(struct branch *b, unsigned i)
{
	unsigned below = b->to.metas - i - 1, bits = ind_bits(b->inode);
	uint32_t at = (uint32_t)(b->place->in >> bits * below) & ((1u << bits) - 1);
	struct handle *h = b->t->user.current;
	struct buf *buf;
	void *view;
	int rc =
	    buf_new(b->inode->img->cache, b->to.meta[i], &verify_any, inode_owner(b->inode), &buf);

	if (rc < 0)
		return rc;
	rc = handle_create(h, buf, &view);
	if (rc == 0) {
		if (below == 0)
			set_run((le32 *)view + at, b->to.data, b->to.len);
		else
			set_run((le32 *)view + at, b->to.meta[i + 1], 1);
		rc = handle_dirty(h, buf);
	}
	buf_put(buf);
	return rc;
}

/* Sets the pointer that was 0, or a run of them when they are to data. */
static int hang_in(struct branch *b)
{
	const struct ind_step *s = &b->place->step;
	struct handle *h = b->t->user.current;
	ek_pblk top = b->to.metas != 0 ? b->to.meta[0] : b->to.data;
	void *row = b->inode->rec.block;
	int rc = s->buf != NULL ? handle_write(h, s->buf, &row) : 0;

	if (rc < 0)
		return rc;
	set_run((le32 *)row + s->at, top, b->to.metas != 0 ? 1 : b->to.len);
	rc = s->buf != NULL ? handle_dirty(h, s->buf) : 0;
	if (rc == 0 && ind_by_ext3(b->t->img))
		return ind_splice_ext3(b->t, b->inode, s->buf == NULL, b->lblk, &b->to);
	return rc < 0 || s->buf != NULL ? rc : inode_mark_dirty(b->t, b->inode, MARK_IND_SPLICE);
}

static int grow(struct task *t, struct ek_inode *inode, const struct ind_place *p, struct map *m,
		const struct mb_request *req)
{
	struct branch b = {
	    .t = t, .inode = inode, .place = p, .lblk = m->lblk, .data_flags = req->flags};
	struct mb_request data = *req;
	int rc;

	data.lblk = m->lblk;
	data.len = branch_room(inode, p, m->len);
	data.low = true;
	rc = allocate(&b, &data);
	for (unsigned i = 0; i < b.to.metas && rc == 0; i++)
		rc = fill_block(&b, i);
	if (rc < 0) {
		give_back(&b);
		return rc;
	}
	m->pblk = b.to.data;
	m->len = b.to.len;
	m->state = MAP_MAPPED;
	m->fresh = true;
	return hang_in(&b);
}

int ind_fill(struct task *t, struct ek_inode *inode, struct map *m, const struct mb_request *req)
{
	struct ind_place p;
	int rc = ind_find(inode, m->lblk, &p);

	count(&inode->img->counters, COUNTER_IND_MAP_BLOCKS, 1);
	if (rc == 0 && le32_get(p.step.row[p.step.at]) != 0)
		rc = ind_answer(inode, &p, m);
	else if (rc == 0)
		rc = grow(t, inode, &p, m, req);
	ind_leave(&p);
	return rc;
}

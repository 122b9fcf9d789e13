/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Blocks for a branch of pointers by ext3's rules (delalloc-facts 6.1, 6.2).
 *
 * Pointer blocks and data are asked for together.  The quota is charged for all of it first and
 * given back what was not found; the second is a mark of the inode too, though the amount is 0,
 * until the first patch.
 */
#include "base/check.h"
#include "fs/blocks.h"
#include "fs/extent.h"
#include "fs/indirect.h"
#include "fs/map.h"
#include "fs/policy.h"

/* What ext3 colours by: programs that make files in one group begin in different parts of it. */
#define COLOURS 16u

bool ind_by_ext3(const struct ek_image *img)
{
	enum allocation_rule rule = img->opts.policy->allocation;

	return rule == ALLOC_EXT3 || rule == ALLOC_EXT3_PATCH1 || rule == ALLOC_EXT3_PATCHED;
}

/* Behind the last block, when the file goes on; beside what the row names, else near the row. */
static ek_pblk find_goal(const struct task *t, const struct ek_inode *inode,
			 const struct ind_step *s, ek_lblk lblk)
{
	const struct geom *g = &inode->img->geom;
	const struct mb_inode *mi = &inode->mb;
	uint32_t group = geom_inode_group(g, inode->ino);

	if (mi->last_pblk != 0 && lblk.v == mi->last_lblk + 1)
		return (ek_pblk){mi->last_pblk + 1};
	for (uint32_t i = s->at; i-- > 0;) {
		if (le32_get(s->row[i]) != 0)
			return (ek_pblk){le32_get(s->row[i])};
	}
	if (s->buf != NULL)
		return s->buf->pblk;
	return (ek_pblk){geom_group_start(g, group).v +
			 t->pid % COLOURS * (g->blocks_per_group / COLOURS)};
}

/* A run of up to want blocks near the goal, with the quota's marks. */
static int take_run(struct task *t, struct ek_inode *inode, const struct mb_request *req,
		    ek_pblk *ret, uint32_t *len)
{
	bool always = t->img->opts.policy->allocation == ALLOC_EXT3;
	int64_t back = req->len;
	int rc = inode_charge(t, inode, req->len, MARK_QUOTA_CLAIM), end;

	if (rc < 0)
		return rc;
	rc = mb_window_blocks(t->img->mb, t->user.current, req, ret, len);
	if (rc == 0)
		back -= *len;
	if (rc == 0 && back == 0 && !always)
		return 0;
	end = inode_charge(t, inode, -back, MARK_QUOTA_GIVE_BACK);
	return rc < 0 ? rc : end;
}

int ind_take_ext3(struct task *t, struct ek_inode *inode, const struct ind_step *s,
		  const struct mb_request *req, unsigned levels, struct ind_blocks *ret)
{
	struct mb_request r = *req;
	uint32_t len = 0, used;
	ek_pblk at;

	r.goal = find_goal(t, inode, s, req->lblk);
	r.inode = &inode->mb;
	r.flags |= t->privileged ? (unsigned)MB_ROOT : 0;
	for (r.len = req->len + levels; ret->len == 0; r.len -= len) {
		int rc = take_run(t, inode, &r, &at, &len);

		if (rc < 0)
			return rc;
		for (used = 0; used < len && ret->metas < levels; used++)
			ret->meta[ret->metas++] = (ek_pblk){at.v + used};
		r.goal = (ek_pblk){at.v + len};
		ret->data = (ek_pblk){at.v + used};
		ret->len = len - used;
	}
	tap_send(&t->img->tap, STAGE_ALLOCATION, "", inode->ino.v, req->lblk.v, ret->len,
		 ret->data.v);
	return 0;
}

int ind_splice_ext3(struct task *t, struct ek_inode *inode, bool in_inode, ek_lblk lblk,
		    const struct ind_blocks *b)
{
	struct ek_time now = inode_change_now(inode);
	bool moved = inode->rec.ctime.sec != now.sec;

	inode->mb.last_lblk = lblk.v + b->len - 1;
	inode->mb.last_pblk = b->data.v + b->len - 1;
	if (t->img->opts.policy->allocation == ALLOC_EXT3_PATCHED && !moved && !in_inode)
		return 0;
	inode->rec.ctime = now;
	return inode_mark_dirty(t, inode, MARK_IND_SPLICE);
}

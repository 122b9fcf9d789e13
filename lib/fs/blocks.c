/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Charging blocks to inodes.  Reservations live in two counters that must agree: inode->reserved
 * and the filesystem's dirty clusters (groups.space.dirty).
 */
#include "fs/blocks.h"

#include <errno.h>

#include "base/check.h"
#include "fs/cluster.h"
#include "fs/data.h"
#include "fs/extent.h"
#include "fs/fast_space.h"
#include "fs/map.h"

static unsigned space_flags(const struct task *t)
{
	return t->privileged ? SPACE_ROOT : 0;
}

int inode_charge(struct task *t, struct ek_inode *inode, int64_t blocks, enum mark_site site)
{
	struct handle *h;
	int rc;

	inode_add_blocks(inode, blocks);
	data_dirtied(inode);
	rc = task_start_inode(t, inode, HANDLE_INODE, 2, 0, &h);
	if (rc < 0)
		return rc;
	rc = inode_mark_dirty(t, inode, site);
	return handle_end(h, rc);
}

static int charge(struct task *t, struct ek_inode *inode, int64_t blocks)
{
	return inode_charge(t, inode, blocks, MARK_QUOTA_CLAIM);
}

/* Data that were reserved are charged when their reservation is claimed. */
static bool is_charged(unsigned mb_flags)
{
	unsigned reserved = MB_DELALLOC_RESERVED | MB_DATA;

	return (mb_flags & reserved) != reserved;
}

/* The blocks of all clusters that a run touches. */
static int64_t whole(const struct ek_inode *inode, ek_pblk pblk, uint32_t len)
{
	const struct geom *g = &inode->img->geom;

	return (int64_t)geom_clusters(g, pblk.v, len) << g->cluster_bits;
}

int inode_alloc_blocks(struct task *t, struct ek_inode *inode, struct mb_request *req, ek_pblk *ret,
		       uint32_t *len)
{
	int rc;

	if (t->img->fast != NULL) {
		*len = 1;
		inode->state &= ~(unsigned)INODE_STATE_KEPT;
		rc = fast_take(t, req->goal, ret);
		return rc < 0 ? rc : charge(t, inode, whole(inode, *ret, 1));
	}
	req->ino = inode->ino.v;
	req->inode = &inode->mb;
	req->size = inode->size;
	req->open_for_write = inode->writers != 0;
	req->cpu = t->cpu;
	if (t->privileged)
		req->flags |= MB_ROOT;
	rc = mb_new_blocks(t->img->mb, t->user.current, req, ret, len);
	if (rc == 0)
		tap_send(&t->img->tap, STAGE_ALLOCATION, "", inode->ino.v, req->lblk.v, *len,
			 ret->v);
	return rc < 0 || !is_charged(req->flags) ? rc : charge(t, inode, whole(inode, *ret, *len));
}

void inode_unalloc_blocks(struct task *t, struct ek_inode *inode, unsigned mb_flags, ek_pblk pblk,
			  uint32_t len)
{
	mb_free_blocks(t->img->mb, t->user.current, pblk, len, false);
	if (is_charged(mb_flags))
		charge(t, inode, -whole(inode, pblk, len));
}

/* Fast commits are counted when all of them are applied. */
static int free_blocks(struct task *t, struct ek_inode *inode, ek_pblk pblk, uint32_t len,
		       bool metadata)
{
	int rc;

	if (t->img->fast != NULL)
		return fast_mark(t, pblk, len, false);
	rc = mb_free_blocks(t->img->mb, t->user.current, pblk, len, metadata);
	return rc < 0 ? rc : charge(t, inode, -whole(inode, pblk, len));
}

/* What went through the log must not be brought back by it. */
static int forget_blocks(struct task *t, ek_pblk pblk, uint32_t len)
{
	int rc = 0;

	for (uint32_t i = 0; i < len && rc == 0; i++)
		rc = handle_forget(t->user.current, NULL, (ek_pblk){pblk.v + i});
	return rc;
}

/* The run without the clusters that are kept; 0 blocks when nothing is left. */
static uint32_t without_kept(const struct geom *g, ek_pblk *pblk, uint32_t len, unsigned keep)
{
	uint32_t size = 1u << g->cluster_bits, head = size - geom_in_cluster(g, pblk->v);
	uint32_t tail = geom_in_cluster(g, pblk->v + len - 1) + 1;

	if ((keep & KEEP_FIRST) != 0) {
		if (len <= head)
			return 0;
		pblk->v += head;
		len -= head;
	}
	if ((keep & KEEP_LAST) != 0)
		len -= MIN(len, tail);
	return len;
}

int inode_free_blocks(struct task *t, struct ek_inode *inode, ek_pblk pblk, uint32_t len,
		      unsigned keep)
{
	bool metadata = !inode_is_file(inode);
	int rc = inode_logs_blocks(inode) ? forget_blocks(t, pblk, len) : 0;

	if (rc < 0)
		return rc;
	if (keep != 0 && t->img->fast != NULL) {
		rc = fast_keep(t->img, pblk, len);
		if (rc < 0)
			return rc;
	} else if (keep != 0) {
		len = without_kept(&inode->img->geom, &pblk, len, keep);
	}
	if (len != 0)
		return free_blocks(t, inode, pblk, len, metadata);
	count(&t->img->counters, COUNTER_FREE_BLOCKS, 1); /* asked for all the same, as in Linux */
	return 0;
}

int inode_free_metadata(struct task *t, struct ek_inode *inode, struct buf *buf, ek_pblk pblk)
{
	int rc = handle_forget(t->user.current, buf, pblk);

	return rc < 0 ? rc : free_blocks(t, inode, pblk, 1, true);
}

ek_pblk inode_goal(const struct ek_inode *inode)
{
	const struct geom *g = &inode->img->geom;
	uint32_t group = geom_inode_group(g, inode->ino);

	if (g->log_flex >= 2) {
		group &= ~((1u << g->log_flex) - 1);
		if (inode_is_file(inode))
			group++;
	}
	return (ek_pblk){g->first_data_block + (uint64_t)group * g->blocks_per_group};
}

ek_pblk ext_goal(const struct ext_path *p, ek_lblk lblk)
{
	const struct ext_level *l = &p->at[p->depth];

	if (extent_entries(l->node) != 0) {
		struct extent e = extent_decode(&l->node->e.leaf[MAX(l->pos, 0)]);

		return (ek_pblk){lblk.v > e.lblk.v ? e.pblk.v + (lblk.v - e.lblk.v)
						   : e.pblk.v - (e.lblk.v - lblk.v)};
	}
	return l->buf != NULL ? l->buf->pblk : inode_goal(p->inode);
}

int ext_new_block(struct task *t, struct ek_inode *inode, ek_pblk goal, unsigned flags,
		  ek_pblk *ret)
{
	struct mb_request req = {.len = 1, .goal = goal};
	uint32_t len;

	if ((flags & EXT_RESERVED) != 0)
		req.flags |= MB_USE_RESERVED;
	if ((flags & EXT_DELALLOC) != 0)
		req.flags |= MB_DELALLOC_RESERVED;
	return inode_alloc_blocks(t, inode, &req, ret, &len);
}

int inode_reserve(struct task *t, struct ek_inode *inode, uint64_t clusters)
{
	struct space *s = &t->img->groups.space;
	int rc = space_check(s, clusters, space_flags(t), &t->img->diag);

	if (rc < 0)
		return rc;
	s->dirty += clusters;
	inode->reserved += clusters;
	count(&t->img->counters, COUNTER_DA_RESERVE_SPACE, 1);
	count(&t->img->counters, COUNTER_RESERVE_BLOCKS, clusters);
	return 0;
}

void inode_release(struct task *t, struct ek_inode *inode, uint64_t clusters)
{
	uint64_t n = MIN(clusters, inode->reserved);

	if (clusters == 0)
		return;
	inode->reserved -= n;
	t->img->groups.space.dirty -= n;
	count(&t->img->counters, COUNTER_DA_RELEASE_SPACE, 1);
	count(&t->img->counters, COUNTER_RELEASE_BLOCKS, n);
}

int inode_claim(struct task *t, struct ek_inode *inode, uint64_t clusters, bool reserved)
{
	uint64_t n = MIN(clusters, inode->reserved);
	int rc = 0;

	inode->reserved -= n;
	t->img->groups.space.dirty -= n;
	count(&t->img->counters, COUNTER_DA_UPDATE_RESERVE_SPACE, 1);
	count(&t->img->counters, COUNTER_CLAIM_BLOCKS, clusters);
	if (reserved)
		rc = charge(t, inode, (int64_t)clusters << t->img->geom.cluster_bits);
	if (inode->reserved == 0 && inode->writers == 0)
		mb_discard_inode(t->img->mb, &inode->mb);
	return rc;
}

void inode_reserve_again(struct ek_inode *inode)
{
	inode->reserved++;
	inode->img->groups.space.dirty++;
}

int inode_forget(struct task *t, struct ek_inode *inode, ek_lblk from, uint32_t len)
{
	uint64_t released = 0, clusters = 0;
	int rc = 0;

	if (has_clusters(inode) && inode->es.delayed != 0)
		rc = clusters_given_up(inode, from, len, &clusters);
	if (rc == 0)
		rc = es_remove(&inode->es, from, len, &released);
	if (rc == 0)
		inode_release(t, inode, has_clusters(inode) ? clusters : released);
	return rc;
}

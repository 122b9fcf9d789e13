/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growth of an extent tree: a hole gets blocks next to its neighbours, or those of its cluster when
 * a neighbour in it has a place, and an extent.  When the extent finds no room the blocks go back.
 */
#include "base/check.h"
#include "fs/blocks.h"
#include "fs/cluster.h"
#include "fs/extent.h"
#include "fs/inode_cache.h"
#include "fs/map.h"

static void set_neighbours(const struct ext_path *p, struct mb_request *req)
{
	const struct ext_level *l = &p->at[p->depth];
	struct extent x;

	if (ext_path_extent(p, &x)) {
		req->left.lblk = x.lblk;
		req->left.pblk = x.pblk;
		req->left.len = x.len;
	}
	if ((unsigned)(l->pos + 1) < extent_entries(l->node)) {
		x = extent_decode(&l->node->e.leaf[l->pos + 1]);
		req->right.lblk = x.lblk;
		req->right.pblk = x.pblk;
		req->right.len = x.len;
	}
}

/* Places for the hole at m: in its cluster when that has one, else new ones, up to the cluster of
 * what is mapped next. */
static int place_hole(struct task *t, struct ek_inode *inode, const struct ext_path *p,
		      struct map *m, struct mb_request *req, struct extent *x)
{
	const struct geom *g = &inode->img->geom;
	uint32_t next = ext_path_next(p), end = next, room = 0;
	int rc = cluster_place(inode, p, m->lblk, &x->pblk, &room);

	if (rc < 0)
		return rc;
	if (rc == 0) {
		/* A key may come before the extent that it leads to. */
		if (next != UINT32_MAX && next - geom_in_cluster(g, next) > m->lblk.v)
			end = next - geom_in_cluster(g, next);
		room = end - m->lblk.v;
	}
	req->len = MIN(MIN(m->len, room), x->unwritten ? EXTENT_MAX_UNWRITTEN : EXTENT_MAX_WRITTEN);
	x->len = req->len;
	if (rc > 0)
		return 0;
	set_neighbours(p, req);
	rc = inode_alloc_blocks(t, inode, req, &x->pblk, &x->len);
	if (rc == 0)
		m->clusters = geom_clusters(g, x->pblk.v, x->len);
	return rc;
}

int ext_fill(struct task *t, struct ext_path *p, struct map *m, unsigned mb_flags, unsigned flags)
{
	struct ek_inode *inode = p->inode;
	bool unwritten = (flags & MAP_UNWRITTEN) != 0;
	struct mb_request req = {.lblk = m->lblk, .goal = ext_goal(p, m->lblk), .flags = mb_flags};
	struct extent x = {.lblk = m->lblk, .unwritten = unwritten};
	int rc = place_hole(t, inode, p, m, &req, &x);

	if (rc < 0)
		return rc;
	rc = ext_insert(t, p, &x,
			((flags & (MAP_PRE_IO | MAP_NO_MERGE)) != 0 ? EXT_NO_MERGE : 0) |
			    ((flags & MAP_METADATA_NOFAIL) != 0 ? EXT_RESERVED : 0) |
			    ((flags & MAP_DELALLOC) != 0 ? EXT_DELALLOC : 0));
	if (rc < 0) {
		if (m->clusters != 0)
			inode_unalloc_blocks(t, inode, req.flags, x.pblk, x.len);
		return rc;
	}
	m->len = x.len;
	m->pblk = x.pblk;
	m->state = unwritten ? MAP_IS_UNWRITTEN : MAP_MAPPED;
	m->fresh = true;
	if (!unwritten)
		inode_note_datasync(t, inode);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mapping: what is known is answered by the extent-status tree; what is not is read from the extent
 * tree and remembered, holes included; what must exist is allocated next to its neighbours.
 *
 * The order of calls follows Linux 6.18, because the counters are compared: one status lookup per
 * call, one tree walk per miss, one status insertion per result.
 */
#include "fs/map.h"

#include <errno.h>

#include "base/check.h"
#include "fs/blocks.h"
#include "fs/cluster.h"
#include "fs/data.h"
#include "fs/extent.h"
#include "fs/indirect.h"
#include "fs/inline.h"
#include "fs/inode_cache.h"
#include "fs/policy.h"
#include "io/dev.h"

static void answer(struct map *m, const struct es_extent *e)
{
	uint32_t skip = m->lblk.v - e->lblk.v;

	m->len = MIN(m->len, e->len - skip);
	m->pblk = (ek_pblk){0};
	if (e->type == ES_WRITTEN || e->type == ES_UNWRITTEN)
		m->pblk = (ek_pblk){e->pblk.v + skip};
	m->state = e->type == ES_WRITTEN     ? MAP_MAPPED
		   : e->type == ES_UNWRITTEN ? MAP_IS_UNWRITTEN
		   : e->type == ES_DELAYED   ? MAP_IS_DELAYED
					     : MAP_HOLE;
}

/* The piece of extent x at m. */
static void answer_extent(struct map *m, const struct extent *x)
{
	struct es_extent e = {x->lblk, x->len, x->pblk, x->unwritten ? ES_UNWRITTEN : ES_WRITTEN};

	answer(m, &e);
}

/* A hole around m in the tree; delayed blocks inside it are not part of it.  Remembers it. */
static int learn_hole(struct ek_inode *inode, const struct ext_path *p, struct map *m)
{
	struct es_extent hole = {{0}, 0, {0}, ES_HOLE}, delayed;
	uint32_t next = ext_path_next(p);
	struct extent x;

	if (ext_path_extent(p, &x))
		hole.lblk.v = x.lblk.v + x.len;
	hole.len = next - hole.lblk.v;
	while (es_find(&inode->es, ES_DELAYED, hole.lblk, &delayed) && delayed.lblk.v < next) {
		if (delayed.lblk.v > m->lblk.v) { /* keep to the side of m */
			hole.len = delayed.lblk.v - hole.lblk.v;
			break;
		}
		hole.lblk.v = MAX(hole.lblk.v, delayed.lblk.v + delayed.len);
		hole.len = next - hole.lblk.v;
	}
	if (hole.lblk.v > m->lblk.v || m->lblk.v - hole.lblk.v >= hole.len) {
		hole.lblk = m->lblk;
		hole.len = 1;
	}
	answer(m, &hole);
	return es_insert(&inode->es, &hole, NULL);
}

/* Asks the tree and remembers the whole piece that was asked for. */
static int query(struct ek_inode *inode, struct map *m)
{
	struct ext_path p;
	struct extent x;
	int rc = ext_path_find(inode, m->lblk, &p);

	count(&inode->img->counters, COUNTER_EXT_MAP_BLOCKS, 1);
	if (rc < 0) {
		ext_path_put(&p);
		return rc;
	}
	if (ext_path_extent(&p, &x) && m->lblk.v < x.lblk.v + x.len) {
		struct es_extent e;

		answer_extent(m, &x);
		e = (struct es_extent){m->lblk, m->len, m->pblk,
				       x.unwritten ? ES_UNWRITTEN : ES_WRITTEN};
		rc = es_insert(&inode->es, &e, NULL);
	} else {
		rc = learn_hole(inode, &p, m);
	}
	ext_path_put(&p);
	return rc;
}

/* Asks the pointers; what they answer is a run of one state.  Like Linux this remembers no holes;
 * delayed blocks inside one are not part of it. */
static int query_pointers(struct ek_inode *inode, struct map *m)
{
	struct es_extent e;
	int rc = ind_lookup(inode, m);

	if (rc < 0)
		return rc;
	if (m->state == MAP_MAPPED) {
		e = (struct es_extent){m->lblk, m->len, m->pblk, ES_WRITTEN};
		return es_insert(&inode->es, &e, NULL);
	}
	if (inode->reserved != 0 && es_next(&inode->es, m->lblk, &e) && e.lblk.v > m->lblk.v)
		m->len = MIN(m->len, e.lblk.v - m->lblk.v);
	return 0;
}

static int ask(struct ek_inode *inode, struct map *m)
{
	return inode_has_extents(inode) ? query(inode, m) : query_pointers(inode, m);
}

static void hole_up_to_delayed(struct ek_inode *inode, struct map *m)
{
	struct es_extent delayed;

	if (es_find(&inode->es, ES_DELAYED, m->lblk, &delayed) && delayed.lblk.v > m->lblk.v)
		m->len = MIN(m->len, delayed.lblk.v - m->lblk.v);
	m->state = MAP_HOLE;
	m->pblk = (ek_pblk){0};
}

int map_lookup(struct task *t, struct ek_inode *inode, struct map *m)
{
	struct es_extent e;

	m->fresh = false;
	m->clusters = 0;
	if (es_lookup(&inode->es, m->lblk, &e)) {
		answer(m, &e);
		return 0;
	}
	if (inode_is_inline(inode)) { /* there is no tree to ask */
		hole_up_to_delayed(inode, m);
		return 0;
	}
	return ask(inode, m);
}

bool map_writes_unwritten(const struct ek_inode *inode)
{
	return inode_has_extents(inode) &&
	       inode->img->opts.policy->completion == COMPLETION_UNWRITTEN;
}

/* ---- allocation ---- */

static unsigned request_flags(const struct ek_inode *inode, unsigned flags)
{
	unsigned f = inode_is_file(inode) ? MB_DATA : 0;

	if ((flags & MAP_NO_NORMALIZE) != 0)
		f |= MB_NOPREALLOC;
	if ((flags & MAP_DELALLOC) != 0)
		f |= MB_DELALLOC_RESERVED;
	if ((flags & MAP_METADATA_NOFAIL) != 0)
		f |= MB_USE_RESERVED;
	return f;
}

/* ---- unwritten extents ---- */

/* Splits so that [from, from + len) of the extent at p becomes an extent of its own, in the given
 * state; what is left of it on both sides keeps its own.  Where nothing is to be split its
 * beginning is stored all the same, as in Linux. */
static int isolate(struct task *t, struct ext_path *p, ek_lblk from, uint32_t len, bool unwritten,
		   unsigned flags)
{
	struct extent x;
	int rc = 0;

	if (!ext_path_extent(p, &x))
		return -EUCLEAN;
	if (from.v + len < x.lblk.v + x.len)
		rc = ext_split_at(t, p, (ek_lblk){from.v + len}, x.unwritten, x.unwritten,
				  flags | EXT_NO_MERGE);
	return rc < 0 ? rc : ext_split_at(t, p, from, x.unwritten, unwritten, flags);
}

/* I/O of [lblk, lblk + len) is done: the piece becomes written. */
static int convert_done(struct task *t, struct ext_path *p, struct map *m)
{
	struct ek_inode *inode = p->inode;
	struct ext_level *l;
	struct extent x;
	int rc;

	if (!ext_path_extent(p, &x))
		return -EUCLEAN;
	if (x.lblk.v != m->lblk.v || x.len > m->len) {
		rc = isolate(t, p, m->lblk, m->len, true, EXT_NO_MERGE);
		ext_path_put(p);
		if (rc == 0)
			rc = ext_path_find(inode, m->lblk, p);
		if (rc < 0 || !ext_path_extent(p, &x))
			return rc < 0 ? rc : -EUCLEAN;
	}
	rc = ext_level_write(t, p, p->depth);
	if (rc < 0)
		return rc;
	x.unwritten = false;
	l = ext_leaf(p);
	extent_encode(&x, &l->node->e.leaf[l->pos]);
	ext_try_merge(t, p);
	return ext_level_dirty(t, p, p->depth, MARK_EXT_CONVERT);
}

static int handle_unwritten(struct task *t, struct ext_path *p, struct map *m, unsigned flags)
{
	int rc;

	count(&t->img->counters, COUNTER_EXT_HANDLE_UNWRITTEN, 1);
	if ((flags & MAP_PRE_IO) != 0)
		return isolate(t, p, m->lblk, m->len, true, EXT_NO_MERGE);
	if ((flags & MAP_CONVERT) != 0) {
		rc = convert_done(t, p, m);
		if (rc == 0) {
			m->state = MAP_MAPPED;
			inode_note_datasync(t, p->inode);
		}
		return rc;
	}
	if ((flags & MAP_UNWRITTEN) != 0 || (flags & MAP_CREATE) == 0)
		return 0;
	count(&t->img->counters, COUNTER_EXT_CONVERT_INIT, 1);
	rc = isolate(t, p, m->lblk, m->len, false, 0);
	if (rc == 0) {
		inode_note_datasync(t, p->inode);
		m->state = MAP_MAPPED;
		m->fresh = true; /* the contents on disk are not valid */
	}
	return rc;
}

/* Written blocks become unwritten: they read as zeros and keep their place. */
static int forget_contents(struct task *t, struct ext_path *p, struct map *m)
{
	int rc;

	m->len = MIN(m->len, EXTENT_MAX_UNWRITTEN);
	rc = isolate(t, p, m->lblk, m->len, true, 0);
	if (rc == 0)
		m->state = MAP_IS_UNWRITTEN;
	return rc;
}

static int map_in_tree(struct task *t, struct ek_inode *inode, struct map *m, unsigned flags)
{
	struct ext_path p;
	struct extent x;
	int rc = ext_path_find(inode, m->lblk, &p);

	count(&t->img->counters, COUNTER_EXT_MAP_BLOCKS, 1);
	if (rc < 0) {
		ext_path_put(&p);
		return rc;
	}
	if (ext_path_extent(&p, &x) && m->lblk.v < x.lblk.v + x.len) {
		answer_extent(m, &x);
		if (x.unwritten)
			rc = handle_unwritten(t, &p, m, flags);
		else if ((flags & MAP_TO_UNWRITTEN) != 0)
			rc = forget_contents(t, &p, m);
	} else if ((flags & MAP_CREATE) != 0) {
		rc = ext_fill(t, &p, m, request_flags(inode, flags), flags);
	} else {
		rc = learn_hole(inode, &p, m);
	}
	ext_path_put(&p);
	return rc;
}

/* Where there is a hole, a branch of pointers and data. */
static int map_by_pointers(struct task *t, struct ek_inode *inode, struct map *m, unsigned flags)
{
	struct mb_request req = {.flags = request_flags(inode, flags)};
	int rc = cluster_no_pointers(inode);

	if (rc < 0)
		return rc;
	rc = (flags & MAP_CREATE) != 0 ? ind_fill(t, inode, m, &req) : ind_lookup(inode, m);

	if (rc == 0 && m->fresh)
		inode_note_datasync(t, inode);
	return rc;
}

/* What the tree answered is remembered; reservations under it, or for the rest of clusters that
 * have a place now, are claimed. */
static int remember(struct task *t, struct ek_inode *inode, const struct map *m, bool reserved)
{
	struct es_extent e = {m->lblk, m->len, m->pblk,
			      m->state == MAP_MAPPED ? ES_WRITTEN : ES_UNWRITTEN};
	uint64_t consumed = 0, clusters = 0;
	int rc;

	if (has_clusters(inode) && m->clusters != 0)
		clusters = clusters_delayed(inode, m->lblk, m->len);
	rc = es_insert(&inode->es, &e, &consumed);
	if (has_clusters(inode))
		consumed = clusters;
	if (rc == 0 && consumed != 0)
		rc = inode_claim(t, inode, consumed, reserved);
	return rc;
}

static int zero_blocks(struct ek_inode *inode, const struct map *m)
{
	const struct geom *g = &inode->img->geom;

	return dev_zero(inode->img->dev, m->pblk.v << g->block_bits,
			(uint64_t)m->len << g->block_bits);
}

/* New blocks that are written at once show what they held before, unless a commit waits for their
 * data. */
static int order_data(struct task *t, struct ek_inode *inode, const struct map *m, unsigned flags)
{
	unsigned bits = inode->img->geom.block_bits;
	uint64_t from = (uint64_t)m->lblk.v << bits;

	if (!m->fresh || m->state != MAP_MAPPED || (flags & MAP_ZERO) != 0 ||
	    inode_data_mode(inode) != DATA_MODE_ORDERED || inode->img->data.ordered == NULL)
		return 0;
	return handle_order(t->user.current, &inode->jinode, from,
			    from + ((uint64_t)m->len << bits), (flags & MAP_IO_SUBMIT) != 0);
}

/* True when what is known already satisfies the request. */
static bool satisfied(const struct map *m, unsigned flags)
{
	if ((flags & (MAP_CREATE | MAP_CONVERT | MAP_TO_UNWRITTEN)) == 0)
		return true;
	if (m->state == MAP_MAPPED)
		return (flags & MAP_TO_UNWRITTEN) == 0;
	if (m->state == MAP_IS_UNWRITTEN)
		return (flags & MAP_UNWRITTEN) != 0 && (flags & (MAP_PRE_IO | MAP_CONVERT)) == 0;
	return (flags & MAP_CREATE) == 0;
}

int map_blocks(struct task *t, struct ek_inode *inode, struct map *m, unsigned flags)
{
	uint32_t want = m->len;
	struct es_extent e;
	int rc;

	m->fresh = false;
	m->clusters = 0;
	if (inode_is_inline(inode))
		return diag_set(&inode->img->diag, -EOPNOTSUPP,
				"unsupported: inode %u holds its data itself and maps no blocks",
				inode->ino.v);
	inode->state &= ~(unsigned)INODE_STATE_MAY_INLINE; /* what has blocks keeps them */
	if (es_lookup(&inode->es, m->lblk, &e)) {
		answer(m, &e);
	} else {
		rc = ask(inode, m);
		if (rc < 0)
			return rc;
	}
	if (satisfied(m, flags))
		return 0;
	if (m->state == MAP_IS_DELAYED)
		flags |= MAP_DELALLOC;
	else if (m->state == MAP_HOLE)
		m->len = MIN(want, m->len);
	rc = inode_has_extents(inode) ? map_in_tree(t, inode, m, flags)
				      : map_by_pointers(t, inode, m, flags);
	if (rc == 0 && (flags & MAP_ZERO) != 0 && m->fresh)
		rc = zero_blocks(inode, m);
	if (rc < 0 || m->state == MAP_HOLE)
		return rc;
	rc = remember(t, inode, m, (flags & MAP_DELALLOC) != 0);
	return rc < 0 ? rc : order_data(t, inode, m, flags);
}

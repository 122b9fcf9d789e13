/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Removal from an extent tree: leaves from right to left, extents in a leaf from right to left, so
 * that every step leaves a valid tree and the handle may be restarted between two steps.  An extent
 * that reaches past the range is cut; one that reaches past both ends was split before.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "fs/blocks.h"
#include "fs/cluster.h"
#include "fs/extent.h"
#include "fs/map.h"

/* Leaf, the index blocks above it, bitmap, descriptor, inode, superblock: one step of removal. */
#define STEP_CREDITS 16u

static void drop_entry(struct extent_node *n, int i)
{
	unsigned count = extent_entries(n);

	memmove(&n->e.leaf[i], &n->e.leaf[i + 1], (count - (unsigned)i - 1) * sizeof(n->e.leaf[0]));
	memset(&n->e.leaf[count - 1], 0, sizeof(n->e.leaf[0]));
	n->h.eh_entries = le16_make((uint16_t)(count - 1));
}

/* After the first entry of a node changed, the keys above it follow. */
static int lift_key(struct task *t, struct ext_path *p, unsigned level)
{
	uint32_t key = extent_key(p->at[level].node, 0);

	for (unsigned i = level; i > 0; i--) {
		struct ext_level *up = &p->at[i - 1];
		int rc;

		if (extent_key(up->node, (unsigned)up->pos) == key)
			return 0;
		rc = ext_level_write(t, p, i - 1);
		if (rc < 0)
			return rc;
		up->node->e.index[up->pos].ei_block = le32_make(key);
		rc = ext_level_dirty(t, p, i - 1, MARK_TRUNCATE);
		if (rc < 0 || up->pos > 0)
			return rc;
	}
	return 0;
}

/* Removes the index entry at level's position and the child block behind it, which is empty; goes
 * on upwards while that empties index blocks. */
static int remove_child(struct task *t, struct ext_path *p, unsigned level)
{
	for (int i = (int)level; i >= 0; i--) {
		struct ext_level *l = &p->at[i], *child = &p->at[i + 1];
		int rc = ext_level_write(t, p, (unsigned)i);

		if (rc < 0)
			return rc;
		count(&t->img->counters, COUNTER_EXT_RM_IDX, 1);
		drop_entry(l->node, l->pos);
		rc = inode_free_metadata(t, p->inode, child->buf, child->buf->pblk);
		child->buf = NULL;
		if (rc == 0)
			rc = ext_level_dirty(t, p, (unsigned)i, MARK_TRUNCATE);
		if (rc == 0 && extent_entries(l->node) != 0)
			return l->pos == 0 ? lift_key(t, p, (unsigned)i) : 0;
		if (rc < 0)
			return rc;
		if (i == 0)
			extent_node_init(l->node, EXTENT_ROOT_ENTRIES, 0);
	}
	return 0;
}

/* 1 when the cluster of a block that was just taken off the tree has no mapped block left; what is
 * delayed in it wants it reserved again. */
static int is_left(struct ek_inode *inode, uint32_t lblk)
{
	int rc = cluster_mapped(inode, (ek_lblk){lblk});

	if (rc == 0 && cluster_delayed(inode, (ek_lblk){lblk}))
		inode_reserve_again(inode);
	return rc < 0 ? rc : rc == 0;
}

/* The run is not in the tree any more.  Its clusters are freed where no other block needs them. */
static int free_run(struct task *t, struct ek_inode *inode, const struct extent *e)
{
	const struct geom *g = &inode->img->geom;
	uint32_t last = e->lblk.v + e->len - 1;
	bool head = geom_in_cluster(g, e->lblk.v) != 0, tail = geom_in_cluster(g, last + 1) != 0;
	unsigned keep = 0, calls = 0;
	int rc;

	if (head || (tail && geom_clusters(g, e->lblk.v, e->len) == 1)) {
		rc = is_left(inode, e->lblk.v);
		if (rc < 0)
			return rc;
		keep |= rc == 0 ? KEEP_FIRST : 0;
		calls += (unsigned)rc;
	}
	if (tail && geom_clusters(g, e->lblk.v, e->len) > 1) {
		rc = is_left(inode, last);
		if (rc < 0)
			return rc;
		keep |= rc == 0 ? KEEP_LAST : 0;
		calls += (unsigned)rc;
	}
	/* Linux frees the clusters at the ends in calls of their own. */
	count(&t->img->counters, COUNTER_FREE_BLOCKS, calls);
	return inode_free_blocks(t, inode, e->pblk, e->len, keep);
}

/* Takes [from, to] off the extent at the leaf's position.  The range covers its end or its start.
 */
static int cut_extent(struct task *t, struct ext_path *p, uint32_t from, uint32_t to)
{
	struct ext_level *l = ext_leaf(p);
	struct extent e = extent_decode(&l->node->e.leaf[l->pos]), gone = e;
	uint32_t last = e.lblk.v + e.len - 1;
	int rc = cluster_check(p->inode, &e);

	if (rc == 0)
		rc = ext_level_write(t, p, p->depth);
	if (rc < 0)
		return rc;
	count(&t->img->counters, COUNTER_REMOVE_BLOCKS, 1);
	if (from <= e.lblk.v && to >= last) {
		drop_entry(l->node, l->pos);
	} else if (from <= e.lblk.v) {
		gone.len = to - e.lblk.v + 1;
		e.lblk.v += gone.len;
		e.pblk.v += gone.len;
		e.len -= gone.len;
		extent_encode(&e, &l->node->e.leaf[l->pos]);
	} else {
		e.len = from - e.lblk.v;
		gone.lblk.v += e.len;
		gone.pblk.v += e.len;
		gone.len -= e.len;
		extent_encode(&e, &l->node->e.leaf[l->pos]);
	}
	rc = ext_level_dirty(t, p, p->depth, MARK_TRUNCATE);
	return rc < 0 ? rc : free_run(t, p->inode, &gone);
}

/* Room for one more step in the handle, restarting it when the transaction has none left. */
static int more_credits(struct task *t, unsigned revokes)
{
	struct handle *h = t->user.current;
	int rc;

	if (handle_has_credits(h, STEP_CREDITS) && h->revoke_credits >= revokes)
		return 0;
	rc = handle_extend(h, STEP_CREDITS, 8 + revokes);
	return rc > 0 ? handle_restart(h, STEP_CREDITS, 8 + revokes) : rc;
}

/* The piece of [*from, *to] that one step takes off extent e: all of it, but blocks that went
 * through the log are revoked one by one, and a transaction must be able to hold that.  Pieces come
 * off the end of the extent, or off its start when it stays behind the range. */
static void cut_piece(const struct ek_inode *inode, const struct extent *e, uint32_t *from,
		      uint32_t *to)
{
	uint32_t last = e->lblk.v + e->len - 1;
	uint32_t most = jnl_revoke_step(inode->img->jnl);
	bool tail = *to >= last;

	*from = MAX(*from, e->lblk.v);
	*to = MIN(*to, last);
	if (!inode_logs_blocks(inode) || *to - *from < most)
		return;
	if (tail)
		*from = *to - (most - 1);
	else
		*to = *from + (most - 1);
}

/* One step on the leaf's current entry, which has blocks of [from, to]: 1 when it has none left. */
static int remove_piece(struct task *t, struct ext_path *p, const struct extent *e, uint32_t from,
			uint32_t to)
{
	uint32_t first = from, last = to, end = e->lblk.v + e->len - 1;
	int rc;

	cut_piece(p->inode, e, &first, &last);
	rc = more_credits(t, inode_logs_blocks(p->inode) ? last - first + 1 : 0);
	if (rc == 0)
		rc = cut_extent(t, p, first, last);
	/* Another step may come in another transaction. */
	if (rc == 0 && first == e->lblk.v && last < end && last < to && ext_leaf(p)->pos == 0)
		rc = lift_key(t, p, p->depth);
	if (rc < 0)
		return rc;
	return last == MIN(to, end) && first == MAX(from, e->lblk.v);
}

/* Removes what the leaf at p has of [from, to], its last entry first. */
static int remove_in_leaf(struct task *t, struct ext_path *p, uint32_t from, uint32_t to)
{
	struct ext_level *l = ext_leaf(p);
	int rc = 0;

	count(&t->img->counters, COUNTER_EXT_RM_LEAF, 1);
	while (rc >= 0 && l->pos >= 0) {
		struct extent e = extent_decode(&l->node->e.leaf[l->pos]);

		if (e.lblk.v + e.len <= from)
			break;
		rc = remove_piece(t, p, &e, from, to);
		if (rc == 1)
			l->pos--;
	}
	if (rc < 0)
		return rc;
	if (extent_entries(l->node) == 0 && p->depth > 0)
		return remove_child(t, p, p->depth - 1);
	return extent_entries(l->node) != 0 && p->depth > 0 ? lift_key(t, p, p->depth) : 0;
}

/* An extent that reaches past both ends of [from, to] is split behind the range. */
static int split_middle(struct task *t, struct ek_inode *inode, uint32_t from, uint32_t to)
{
	struct ext_path p;
	struct extent e;
	int rc = ext_path_find(inode, (ek_lblk){to}, &p);

	if (rc == 0 && ext_path_extent(&p, &e) && e.lblk.v < from && e.lblk.v + e.len - 1 > to)
		rc = ext_split_at(t, &p, (ek_lblk){to + 1}, e.unwritten, e.unwritten,
				  EXT_NO_MERGE | EXT_RESERVED);
	ext_path_put(&p);
	return rc;
}

int ext_remove(struct task *t, struct ek_inode *inode, ek_lblk from, ek_lblk to)
{
	uint64_t budget = inode->img->geom.blocks + 2;
	uint32_t end = to.v;
	int rc = 0;

	count(&t->img->counters, COUNTER_EXT_REMOVE_SPACE, 1);
	if (end < UINT32_MAX - 1)
		rc = split_middle(t, inode, from.v, end);
	while (rc == 0 && budget-- > 0) {
		struct ext_path p;
		struct extent e;
		bool more;

		rc = ext_path_find(inode, (ek_lblk){end}, &p);
		more = rc == 0 && ext_path_extent(&p, &e) && e.lblk.v + e.len > from.v;
		if (rc == 0 && !more && p.depth > 0 && ext_leaf(&p)->pos < 0) {
			/* The range begins before this leaf: look left of its key. */
			uint32_t key =
			    extent_key(p.at[p.depth - 1].node, (unsigned)p.at[p.depth - 1].pos);

			ext_path_put(&p);
			if (key == 0 || key <= from.v)
				return 0;
			end = key - 1;
			continue;
		}
		if (more) {
			end = extent_key(ext_leaf(&p)->node, 0);
			rc = remove_in_leaf(t, &p, from.v, to.v);
		}
		ext_path_put(&p);
		if (!more || end <= from.v)
			break;
		end--;
	}
	/* Linux files an empty root once more, because it sets its depth. */
	if (rc == 0 && extent_entries(ext_root(inode)) == 0)
		rc = inode_mark_dirty(t, inode, MARK_TRUNCATE);
	return rc;
}

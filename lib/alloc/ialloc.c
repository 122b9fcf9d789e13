/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inode allocation.  Folders below the root spread over flex groups (Orlov), other folders stay
 * near their parent while that has room, files go into their parent's flex group.  Inside a flex
 * group the lowest group with a free inode is taken, and in a group the lowest free number.
 */
#include "alloc/ialloc.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/diag.h"

#define NO_GROUP UINT32_MAX

struct stats {
	uint64_t free_clusters;
	uint32_t free_inodes, used_dirs;
};

static uint32_t flex_size(const struct groups *gs)
{
	return 1u << gs->geom->log_flex;
}

/* Sums over a flex group (or the group itself without flex_bg). */
static struct stats flex_stats(const struct groups *gs, uint32_t flex)
{
	uint32_t first = flex << gs->geom->log_flex;
	uint32_t end = MIN(first + flex_size(gs), gs->geom->groups);
	struct stats s = {0, 0, 0};

	for (uint32_t i = first; i < end; i++) {
		s.free_clusters += gs->desc[i].free_clusters;
		s.free_inodes += gs->desc[i].free_inodes;
		s.used_dirs += gs->desc[i].used_dirs;
	}
	return s;
}

/* The first group of a flex with a free inode. */
static uint32_t first_with_inode(const struct groups *gs, uint32_t flex)
{
	uint32_t first = flex << gs->geom->log_flex;
	uint32_t end = MIN(first + flex_size(gs), gs->geom->groups);

	for (uint32_t i = first; i < end; i++) {
		if (gs->desc[i].free_inodes != 0)
			return i;
	}
	return NO_GROUP;
}

static uint32_t flex_count(const struct groups *gs)
{
	return (gs->geom->groups + flex_size(gs) - 1) >> gs->geom->log_flex;
}

/* Any group from the parent's on with at least the average of free inodes, then with any. */
static uint32_t fallback(const struct groups *gs, uint32_t parent)
{
	uint32_t n = gs->geom->groups;
	uint64_t average = (uint64_t)gs->seen_inodes.seen / n;

	for (;;) {
		for (uint32_t i = 0; i < n; i++) {
			uint32_t g = (parent + i) % n;

			if (gs->desc[g].free_inodes != 0 && gs->desc[g].free_inodes >= average)
				return g;
		}
		if (average == 0)
			return NO_GROUP;
		average = 0;
	}
}

/* A folder of the root: the flex group with fewest folders among those at least average in free
 * space, from a place that the name's hash picks. */
static uint32_t spread(const struct groups *gs, uint32_t hash, uint32_t parent)
{
	uint32_t n = flex_count(gs), best = NO_GROUP, best_dirs = gs->geom->inodes_per_group;
	uint64_t inodes = (uint64_t)gs->seen_inodes.seen / n;
	uint64_t clusters = (uint64_t)gs->seen_clusters.seen / n;
	uint32_t at;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t flex = (hash % n + i) % n;
		struct stats s = flex_stats(gs, flex);

		if (s.free_inodes == 0 || s.used_dirs >= best_dirs || s.free_inodes < inodes ||
		    s.free_clusters < clusters)
			continue;
		best = flex;
		best_dirs = s.used_dirs;
	}
	at = best != NO_GROUP ? first_with_inode(gs, best) : NO_GROUP;
	return at != NO_GROUP ? at : fallback(gs, parent);
}

/* A folder below others: the nearest flex group that is not crowded. */
static uint32_t near_parent(const struct groups *gs, uint32_t parent, uint32_t last)
{
	const struct geom *g = gs->geom;
	uint32_t n = flex_count(gs), flex = flex_size(gs);
	uint32_t from = (last != NO_GROUP ? last : parent) >> g->log_flex;
	uint32_t max_dirs = gs->dirs / n + g->inodes_per_group * flex / 16;
	int64_t inodes = gs->seen_inodes.seen / n - (int64_t)g->inodes_per_group * flex / 4;
	int64_t want = gs->seen_clusters.seen / n - (int64_t)g->clusters_per_group * flex / 4;
	uint64_t min_inodes = inodes < 1 ? 1 : (uint64_t)inodes;
	uint64_t min_clusters = want < 0 ? 0 : (uint64_t)want;

	for (uint32_t i = 0; i < n; i++) {
		struct stats s = flex_stats(gs, (from + i) % n);
		uint32_t at;

		if (s.used_dirs >= max_dirs || s.free_inodes < min_inodes ||
		    s.free_clusters < min_clusters)
			continue;
		at = first_with_inode(gs, (from + i) % n);
		return at != NO_GROUP ? at : fallback(gs, parent);
	}
	return fallback(gs, parent);
}

static uint32_t dir_group(const struct ialloc *ia, const struct ialloc_request *req,
			  uint32_t parent)
{
	if (req->parent_is_top)
		return spread(ia->gs, req->name_hash, parent);
	return near_parent(ia->gs, parent, ia->last_alloc_group);
}

/* Without flex groups: the parent's group, then a quadratic walk, then any. */
static uint32_t file_group_plain(const struct groups *gs, uint32_t parent, uint32_t dir_ino)
{
	uint32_t n = gs->geom->groups, at = parent;
	const struct group_desc *x = gs->desc;

	if (x[at].free_inodes != 0 && x[at].free_clusters != 0)
		return at;
	at = (parent + dir_ino) % n;
	for (uint32_t i = 1; i < n; i <<= 1) {
		at = (at + i) % n;
		if (x[at].free_inodes != 0 && x[at].free_clusters != 0)
			return at;
	}
	for (uint32_t i = 1; i <= n; i++) {
		at = (parent + i) % n;
		if (x[at].free_inodes != 0)
			return at;
	}
	return NO_GROUP;
}

static uint32_t file_group(const struct ialloc *ia, const struct ialloc_request *req,
			   uint32_t parent)
{
	const struct groups *gs = ia->gs;
	uint32_t at;

	if (gs->geom->log_flex == 0)
		return file_group_plain(gs, parent, req->parent.v);
	at = first_with_inode(gs, parent >> gs->geom->log_flex);
	if (at == NO_GROUP && ia->last_alloc_group != NO_GROUP)
		at = first_with_inode(gs, ia->last_alloc_group >> gs->geom->log_flex);
	return at != NO_GROUP ? at : near_parent(gs, parent, ia->last_alloc_group);
}

/* ---- taking ---- */

/* The group's first inode in use also makes its block bitmap real. */
static int settle_blocks(struct groups *gs, struct handle *h, uint32_t group)
{
	struct buf *b;
	void *view;
	int rc;

	if ((gs->desc[group].flags & GROUP_BLOCK_UNINIT) == 0)
		return 0;
	rc = groups_block_bitmap(gs, group, &b);
	if (rc < 0)
		return rc;
	rc = handle_write(h, b, &view);
	if (rc == 0) {
		gs->desc[group].flags &= (uint16_t)~GROUP_BLOCK_UNINIT;
		groups_block_bitmap_changed(gs, group);
		rc = handle_dirty(h, b);
	}
	buf_put(b);
	return rc;
}

static void take_counts(struct groups *gs, uint32_t group, uint32_t index, bool is_dir)
{
	struct group_desc *x = &gs->desc[group];
	uint32_t ipg = gs->geom->inodes_per_group;

	x->free_inodes--;
	gs->free_inodes--;
	lagging_add(&gs->seen_inodes, -1);
	if (is_dir) {
		x->used_dirs++;
		gs->dirs++;
	}
	if (!geom_gdt_csum(gs->geom))
		return;
	if ((x->flags & GROUP_INODE_UNINIT) != 0) {
		x->flags &= (uint16_t)~GROUP_INODE_UNINIT;
		x->itable_unused = ipg - index - 1;
	} else if (index >= ipg - MIN(x->itable_unused, ipg)) {
		x->itable_unused = ipg - index - 1;
	}
}

/* A free inode in the group, not before from: 1 taken, 0 none. */
static int take_in_group(struct groups *gs, struct handle *h, uint32_t group, uint32_t from,
			 bool is_dir, uint32_t *index)
{
	uint32_t ipg = gs->geom->inodes_per_group;
	struct buf *b;
	void *view;
	size_t bit;
	int rc;

	if (gs->desc[group].free_inodes == 0)
		return 0;
	rc = groups_inode_bitmap(gs, group, &b);
	if (rc < 0)
		return rc;
	bit = bitmap_find_next_zero(b->data, ipg, from);
	if (bit >= ipg) {
		buf_put(b);
		return 0;
	}
	rc = handle_write(h, b, &view);
	if (rc == 0) {
		bitmap_set(view, bit);
		take_counts(gs, group, (uint32_t)bit, is_dir);
		groups_inode_bitmap_changed(gs, group);
		rc = handle_dirty(h, b);
	}
	buf_put(b);
	if (rc == 0)
		rc = settle_blocks(gs, h, group);
	if (rc == 0)
		rc = groups_update(gs, h, group);
	*index = (uint32_t)bit;
	return rc < 0 ? rc : 1;
}

static int no_inodes(struct groups *gs)
{
	if (gs->diag->code == 0)
		gs->diag->need_inodes = 1;
	return diag_set(gs->diag, -ENOSPC, "no space: all %u inodes are in use: 1 missing",
			gs->geom->inodes);
}

int ialloc_new(struct ialloc *ia, struct handle *h, const struct ialloc_request *req, ek_inum *ret)
{
	struct groups *gs = ia->gs;
	const struct geom *g = gs->geom;
	uint32_t parent = geom_inode_group(g, req->parent), group, index = 0, from = 0;
	bool is_dir = S_ISDIR(req->mode);

	if (req->goal != 0) {
		group = (req->goal - 1) / g->inodes_per_group;
		from = (req->goal - 1) % g->inodes_per_group;
	} else {
		group = is_dir ? dir_group(ia, req, parent) : file_group(ia, req, parent);
	}
	if (group == NO_GROUP || gs->free_inodes == 0)
		return no_inodes(gs);
	ia->last_alloc_group = group;
	for (uint32_t i = 0; i < g->groups; i++) {
		int rc = take_in_group(gs, h, group, from, is_dir, &index);

		if (rc < 0)
			return rc;
		if (rc == 1) {
			*ret = (ek_inum){group * g->inodes_per_group + index + 1};
			return 0;
		}
		from = 0;
		group = (group + 1) % g->groups;
	}
	return no_inodes(gs);
}

int ialloc_free(struct ialloc *ia, struct handle *h, ek_inum ino, bool is_dir)
{
	struct groups *gs = ia->gs;
	uint32_t group = geom_inode_group(gs->geom, ino);
	uint32_t index = (ino.v - 1) % gs->geom->inodes_per_group;
	struct buf *b;
	void *view;
	int rc = groups_inode_bitmap(gs, group, &b);

	if (rc < 0)
		return rc;
	if (!bitmap_test(b->data, index)) {
		buf_put(b);
		return diag_set(gs->diag, -EUCLEAN,
				"corrupt inode bitmap: inode %u is free already", ino.v);
	}
	rc = handle_write(h, b, &view);
	if (rc == 0) {
		bitmap_clear(view, index);
		gs->desc[group].free_inodes++;
		gs->free_inodes++;
		lagging_add(&gs->seen_inodes, 1);
		if (is_dir && gs->desc[group].used_dirs != 0) {
			gs->desc[group].used_dirs--;
			gs->dirs--;
		}
		groups_inode_bitmap_changed(gs, group);
		rc = handle_dirty(h, b);
	}
	buf_put(b);
	return rc < 0 ? rc : groups_update(gs, h, group);
}

int ialloc_in_use(struct ialloc *ia, ek_inum ino, bool *ret)
{
	struct groups *gs = ia->gs;
	struct buf *b;
	int rc = groups_inode_bitmap(gs, geom_inode_group(gs->geom, ino), &b);

	if (rc < 0)
		return rc;
	*ret = bitmap_test(b->data, (ino.v - 1) % gs->geom->inodes_per_group);
	buf_put(b);
	return 0;
}

int ialloc_alone(struct ialloc *ia, ek_inum ino, bool *ret)
{
	const struct geom *g = ia->gs->geom;
	uint32_t at = (ino.v - 1) % g->inodes_per_group, n = g->inodes_per_block;
	struct buf *b;
	int rc = groups_inode_bitmap(ia->gs, geom_inode_group(g, ino), &b);

	if (rc < 0)
		return rc;
	*ret = bitmap_count(b->data, ROUND_DOWN(at, n), n) == (size_t)bitmap_test(b->data, at);
	buf_put(b);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests for free clusters, one after another served from a preallocation or by a search, and the
 * state that all of them share: the groups' buddies, made from their bitmaps when first wanted.
 */
#include "alloc/mballoc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/mb.h"
#include "base/bitmap.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"

void mb_config_default(const struct geom *g, struct mb_config *ret)
{
	*ret = (struct mb_config){.cpus = 1,
				  .min_to_scan = 10,
				  .max_to_scan = 200,
				  .stream_request = 16,
				  .group_prealloc = MAX(512u >> g->cluster_bits, 32u),
				  .optimize_scan = g->groups >= 16};
}

int mb_open(struct groups *gs, struct jnl *j, const struct mb_config *cfg, struct diag *d,
	    struct mb **ret)
{
	struct mb *mb = mem_zero(sizeof(*mb));
	uint32_t groups = gs->geom->groups;

	if (mb == NULL)
		return diag_set(d, -ENOMEM, "out of memory for the allocator");
	mb->gs = gs;
	mb->jnl = j;
	mb->geom = gs->geom;
	mb->diag = d;
	mb->counters = gs->counters;
	mb->cfg = *cfg;
	mb->goals = MAX(MIN(cfg->cpus, groups / 4), 1u);
	list_init(&mb->all);
	list_init(&mb->pending);
	mb->buddies = mem_array(groups, sizeof(*mb->buddies), MEM_CAP, d);
	mb->last_group = mem_array(mb->goals, sizeof(*mb->last_group), MEM_CAP, d);
	mb->asked = mem_array(groups / 8 + 1, 1, MEM_CAP, d);
	mb->local = mem_array(cfg->cpus, sizeof(*mb->local), MEM_CAP, d);
	if (mb->buddies == NULL || mb->last_group == NULL || mb->asked == NULL ||
	    mb->local == NULL) {
		mb_close(mb);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < cfg->cpus; i++) {
		for (unsigned k = 0; k < LG_LISTS; k++)
			list_init(&mb->local[i].lists[k]);
	}
	*ret = mb;
	return 0;
}

void mb_close(struct mb *mb)
{
	list_for_each_safe(p, &mb->all)
	{
		struct prealloc *pa = list_entry(p, struct prealloc, all);

		if (pa->inode != NULL)
			rb_init(&pa->inode->pas);
		free(pa);
	}
	list_for_each_safe(q, &mb->pending)
	{
		struct pending *pn = list_entry(q, struct pending, link);

		list_remove(&pn->link);
		free(pn->runs);
		free(pn);
	}
	for (uint32_t i = 0; mb->buddies != NULL && i < mb->geom->groups; i++)
		free(mb->buddies[i].map);
	free(mb->buddies);
	free(mb->last_group);
	free(mb->asked);
	free(mb->local);
	free(mb);
}

/* A cluster that the end of the filesystem cuts is given to nobody. */
static void keep_cut_cluster(const struct geom *g, uint32_t group, uint8_t *map)
{
	uint32_t blocks = geom_group_blocks(g, group);

	if (geom_in_cluster(g, blocks) != 0)
		bitmap_set(map, blocks >> g->cluster_bits);
}

int mb_load(struct mb *mb, uint32_t group, struct buddy **ret)
{
	struct buddy *b = &mb->buddies[group];
	const struct geom *g = mb->geom;
	struct buf *disk;
	uint8_t *map;
	int rc;

	*ret = b;
	if (b->map != NULL)
		return 0;
	rc = groups_block_bitmap(mb->gs, group, &disk);
	if (rc < 0)
		return rc;
	map = malloc(g->block_size);
	if (map != NULL) {
		memcpy(map, disk->data, g->block_size);
		keep_cut_cluster(g, group, map);
		buddy_init(b, map, g->clusters_per_group, g->block_bits);
	}
	buf_put(disk);
	return map != NULL ? 0 : diag_set(mb->diag, -ENOMEM, "out of memory for group %u", group);
}

static void begin(struct search *s, struct mb *mb, const struct mb_request *req, uint32_t clusters)
{
	const struct geom *g = mb->geom;
	uint32_t in = geom_in_cluster(g, req->lblk.v);
	ek_pblk goal = {req->goal.v - in};

	memset(s, 0, sizeof(*s));
	if (goal.v < g->first_data_block || goal.v >= g->blocks)
		goal.v = g->first_data_block;
	s->mb = mb;
	s->req = req;
	s->flags = req->flags;
	s->orig.group = geom_group_of(g, goal);
	s->orig.start = geom_offset_in_group(g, goal) >> g->cluster_bits;
	s->orig.len = MIN(clusters, g->clusters_per_group);
	s->orig.logical = req->lblk.v - in;
	s->goal = s->orig;
	s->orig_goal_len = s->goal.len;
}

int mb_commit_place(struct mb *mb, struct handle *h, const struct place *p)
{
	struct groups *gs = mb->gs;
	struct buf *b;
	void *view;
	int rc = groups_block_bitmap(gs, p->group, &b);

	if (rc < 0)
		return rc;
	rc = handle_write(h, b, &view);
	if (rc == 0) {
		bitmap_set_range(view, (size_t)p->start, p->len);
		gs->desc[p->group].flags &= (uint16_t)~GROUP_BLOCK_UNINIT;
		gs->desc[p->group].free_clusters -= p->len;
		gs->space.free -= p->len;
		lagging_add(&gs->seen_clusters, -(int64_t)p->len);
		groups_block_bitmap_changed(gs, p->group);
		rc = handle_dirty(h, b);
	}
	buf_put(b);
	return rc < 0 ? rc : groups_update(gs, h, p->group);
}

int mb_out_of_space(struct mb *mb, uint32_t clusters)
{
	uint32_t len = clusters << mb->geom->cluster_bits;

	if (mb->diag->code == 0)
		mb->diag->need_blocks = len;
	return diag_set(mb->diag, -ENOSPC, "no space: no run for %u blocks is free: %u missing",
			len, len);
}

int mb_check_space(struct mb *mb, const struct mb_request *req, uint32_t *clusters)
{
	unsigned flags = ((req->flags & MB_ROOT) != 0 ? SPACE_ROOT : 0) |
			 ((req->flags & MB_USE_RESERVED) != 0 ? SPACE_RESERVE : 0);
	const struct space *s = &mb->gs->space;
	uint32_t want = *clusters;

	if ((req->flags & MB_DELALLOC_RESERVED) != 0)
		return 0;
	while (want != 0 && space_check(s, want, flags, NULL) < 0)
		want /= 2;
	if (want == 0)
		return space_check(s, *clusters, flags, mb->diag);
	*clusters = want;
	return 0;
}

int mb_new_blocks(struct mb *mb, struct handle *h, const struct mb_request *req, ek_pblk *ret,
		  uint32_t *len)
{
	const struct geom *g = mb->geom;
	uint32_t in = geom_in_cluster(g, req->lblk.v);
	uint32_t want = geom_clusters(g, req->lblk.v, req->len);
	struct search s;
	int rc;

	count(mb->counters, COUNTER_REQUEST_BLOCKS, 1);
	rc = mb_check_space(mb, req, &want);
	for (unsigned tries = 0; rc == 0; tries++) {
		begin(&s, mb, req, want);
		mb_choose_kind(&s);
		if (mb_use_prealloc(&s)) {
			count(mb->counters, COUNTER_MBALLOC_PREALLOC, 1);
			break;
		}
		mb_normalize(&s);
		rc = mb_search(&s);
		if (rc < 0 || s.status == SCAN_FOUND)
			break;
		if (tries == 3 || !mb_discard_some(mb))
			rc = mb_out_of_space(mb, want);
	}
	if (rc < 0)
		return rc;
	rc = mb_commit_place(mb, h, &s.best);
	if (rc < 0)
		return rc;
	*ret = (ek_pblk){mb_block(mb, s.best.group, (uint32_t)s.best.start).v + in};
	*len = MIN((s.best.len << g->cluster_bits) - in, req->len);
	mb_settle_prealloc(&s);
	count(mb->counters, COUNTER_ALLOCATE_BLOCKS, 1);
	count(mb->counters, COUNTER_ALLOCATED_BLOCKS_DATA, *len);
	return 0;
}

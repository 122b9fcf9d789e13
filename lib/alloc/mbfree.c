/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frees.  The bitmap on disk changes at once, in the transaction; the buddy learns of it when that
 * transaction has committed, because until then a crash would bring the old owner back.
 */
#include <errno.h>
#include <stdlib.h>

#include "alloc/mb.h"
#include "base/bitmap.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"

/* Clears or sets a run that lies in one group; -EUCLEAN / -EEXIST when a bit already was so. */
static int change_bits(struct mb *mb, struct handle *h, uint32_t group, uint32_t start,
		       uint32_t len, bool used)
{
	struct groups *gs = mb->gs;
	struct buf *b;
	void *view;
	size_t set;
	int rc = groups_block_bitmap(gs, group, &b);

	if (rc < 0)
		return rc;
	set = bitmap_count(b->data, start, len);
	if (set != (used ? 0 : len)) {
		buf_put(b);
		return diag_set(mb->diag, used ? -EEXIST : -EUCLEAN,
				"corrupt block bitmap: group %u: %zu of %u %s at %llu are %s",
				group, used ? set : len - set, len,
				gs->geom->cluster_bits != 0 ? "clusters" : "blocks",
				(unsigned long long)mb_block(mb, group, start).v,
				used ? "in use already" : "free already");
	}
	rc = handle_write(h, b, &view);
	if (rc == 0) {
		if (used) {
			bitmap_set_range(view, start, len);
			gs->desc[group].free_clusters -= len;
			gs->space.free -= len;
			lagging_add(&gs->seen_clusters, -(int64_t)len);
		} else {
			bitmap_clear_range(view, start, len);
			gs->desc[group].free_clusters += len;
			gs->space.free += len;
			lagging_add(&gs->seen_clusters, (int64_t)len);
		}
		gs->desc[group].flags &= (uint16_t)~GROUP_BLOCK_UNINIT;
		groups_block_bitmap_changed(gs, group);
		rc = handle_dirty(h, b);
	}
	buf_put(b);
	return rc < 0 ? rc : groups_update(gs, h, group);
}

static void free_in_buddy(struct mb *mb, ek_pblk pblk, uint32_t clusters)
{
	const struct geom *g = mb->geom;
	uint32_t group = geom_group_of(g, pblk);

	if (mb->buddies[group].map != NULL)
		buddy_mark_free(&mb->buddies[group],
				geom_offset_in_group(g, pblk) >> g->cluster_bits, clusters);
}

/* ---- waiting for the commit ---- */

static void committed(struct jnl_callback *cb, int error)
{
	struct pending *pn = container_of(cb, struct pending, cb);

	for (size_t i = 0; i < pn->count && error == 0; i++)
		free_in_buddy(pn->mb, pn->runs[i].pblk, pn->runs[i].len);
	list_remove(&pn->link);
	free(pn->runs);
	free(pn);
}

static struct pending *pending_of(struct mb *mb, struct handle *h)
{
	uint32_t tid = handle_tid(h);
	struct pending *pn;

	if (!list_empty(&mb->pending)) {
		pn = list_entry(mb->pending.prev, struct pending, link);
		if (pn->tid == tid)
			return pn;
	}
	pn = mem_zero(sizeof(*pn));
	if (pn == NULL)
		return NULL;
	pn->mb = mb;
	pn->tid = tid;
	pn->cb.done = committed;
	list_append(&mb->pending, &pn->link);
	handle_callback(h, &pn->cb);
	return pn;
}

/* Neighbouring runs of one group are kept as one. */
static int remember(struct mb *mb, struct handle *h, ek_pblk pblk, uint32_t clusters)
{
	const struct geom *g = mb->geom;
	struct pending *pn = pending_of(mb, h);
	struct pending_run *last;

	if (pn == NULL)
		return -ENOMEM;
	last = pn->count != 0 ? &pn->runs[pn->count - 1] : NULL;
	if (last != NULL && geom_group_of(g, last->pblk) == geom_group_of(g, pblk)) {
		if (last->pblk.v + ((uint64_t)last->len << g->cluster_bits) == pblk.v) {
			last->len += clusters;
			return 0;
		}
		if (pblk.v + ((uint64_t)clusters << g->cluster_bits) == last->pblk.v) {
			last->pblk = pblk;
			last->len += clusters;
			return 0;
		}
	}
	if (mem_grow((void **)&pn->runs, &pn->cap, pn->count + 1, sizeof(*pn->runs)) < 0)
		return -ENOMEM;
	pn->runs[pn->count++] = (struct pending_run){pblk, clusters};
	return 0;
}

static int free_in_group(struct mb *mb, struct handle *h, ek_pblk pblk, uint32_t clusters)
{
	const struct geom *g = mb->geom;
	struct buddy *b;
	int rc = mb_load(mb, geom_group_of(g, pblk), &b);

	/* The buddy must be loaded before the bitmap changes: it keeps the run as used. */
	if (rc == 0)
		rc = change_bits(mb, h, geom_group_of(g, pblk),
				 geom_offset_in_group(g, pblk) >> g->cluster_bits, clusters, false);
	if (rc < 0)
		return rc;
	if (!jnl_is_none(mb->jnl))
		return remember(mb, h, pblk, clusters);
	free_in_buddy(mb, pblk, clusters);
	return 0;
}

int mb_free_blocks(struct mb *mb, struct handle *h, ek_pblk pblk, uint32_t len, bool metadata)
{
	const struct geom *g = mb->geom;
	uint32_t left = geom_clusters(g, pblk.v, len);

	pblk.v -= geom_in_cluster(g, pblk.v);
	count(mb->counters, COUNTER_FREE_BLOCKS, 1);
	while (left != 0) {
		uint32_t at = geom_offset_in_group(g, pblk) >> g->cluster_bits;
		uint32_t n = MIN(left, g->clusters_per_group - at);
		int rc = free_in_group(mb, h, pblk, n);

		if (rc < 0)
			return rc;
		pblk.v += (uint64_t)n << g->cluster_bits;
		left -= n;
	}
	return 0;
}

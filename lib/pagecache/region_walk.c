/* SPDX-License-Identifier: BSD-2-Clause */
/* What walks share: looking folios up by a mark, locking and examining them, going on to their
 * neighbours.  Each walk itself is a file of its own. */
#include "pagecache/region_walk.h"
#include "base/check.h"

#define BRIDGE 4096u /* of the walks that no study has fixed */

const struct walk_ops region_walks[] = {
    [WALK_REGION] = {walk_region, 0},   [WALK_BATCH] = {walk_batch, 0},
    [WALK_GENERIC] = {walk_generic, 0}, [WALK_INLINE] = {walk_inline, 0},
    [WALK_ITER] = {walk_iter, BRIDGE},  [WALK_BITMAP] = {walk_bitmap, BRIDGE},
};

static void pin(struct flush *f)
{
	f->pinned++;
	f->r->c[RC_PINNED] = MAX(f->r->c[RC_PINNED], (uint64_t)f->pinned);
}

void walk_put(struct flush *f, struct rfolio *o)
{
	f->pinned--;
	rfolio_put(o);
}

struct rfolio *walk_look(struct flush *f)
{
	uint64_t page;
	struct rfolio *o;

	rcount(f->r, RC_LOOKUPS, 1);
	page = rmark_next(f->file, f->mark, f->page, f->end);
	if (page >= f->end)
		return NULL;
	o = rfolio_find(f->file, page);
	pin(f);
	return o;
}

void walk_look_batch(struct flush *f, unsigned max, struct rbatch *b)
{
	uint64_t page;

	b->n = 0;
	rcount(f->r, RC_LOOKUPS, 1);
	while (b->n < max && (page = rmark_next(f->file, f->mark, f->page, f->end)) < f->end) {
		b->v[b->n] = rfolio_find(f->file, page);
		f->page = rfolio_end_page(b->v[b->n++]);
		pin(f);
	}
}

bool walk_trylock(struct flush *f, struct rfolio *o)
{
	if (f->sync) {
		walk_lock(f, o);
		return true;
	}
	return rfolio_trylock(o);
}

void walk_lock(struct flush *f, struct rfolio *o)
{
	if (rfolio_trylock(o))
		return;
	run_send(f);
	rfolio_lock(o);
}

enum rstate walk_check(struct flush *f, struct rfolio *o)
{
	rcount(f->r, RC_VISITED, 1);
	rcount(f->r, RC_DUPLICATES, o->pass == f->pass);
	if (o->gone || !o->dirty)
		return FOLIO_CLEAN;
	if (o->pending != 0 && !f->sync)
		return FOLIO_WRITEBACK;
	if (o->pending != 0) {
		run_send(f);
		flight_wait_folio(o, REGION_NOBODY);
	}
	return o->dirty ? FOLIO_READY : FOLIO_CLEAN;
}

/* The first folio of a pass is always taken: one that is larger than the budget would never be
 * stored otherwise. */
bool walk_affords(struct flush *f, const struct rfolio *o)
{
	uint64_t pages = (uint64_t)1 << o->order;

	if (f->left >= pages || (!f->took && f->left != 0))
		return true;
	rcount(f->r, RC_BUDGET_ENDS, 1);
	return false;
}

/* One neighbour; false ends the run before it. */
static bool extend_by(struct flush *f, struct rfolio *o)
{
	bool fits;

	if (!rfolio_trylock(o))
		return false;
	fits = o->dirty && o->pending == 0 && !o->gone && run_joins(f, o) && walk_affords(f, o);
	if (fits) {
		rcount(f->r, RC_VISITED, 1);
		run_take(f, o);
	}
	rfolio_unlock(o);
	return fits;
}

/* A folio that was refused is where the pass goes on: the cursor never moves past it. */
uint64_t walk_extend(struct flush *f, const struct rfolio *o)
{
	uint64_t page = rfolio_end_page(o);
	bool more = run_reaches_end(f, o);

	while (more && page < f->end) {
		struct rfolio *next = rfolio_find(f->file, page);

		if (next == NULL)
			break;
		pin(f);
		more = extend_by(f, next);
		if (more) {
			page = rfolio_end_page(next);
			more = run_reaches_end(f, next);
		}
		walk_put(f, next);
	}
	return page;
}

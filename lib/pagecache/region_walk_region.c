/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walk "region": one dirty folio is looked up and stored together with the neighbours that follow;
 * the next lookup begins behind them.
 *
 * A pass that does not wait ends at a folio that it cannot lock, and at the first in writeback
 * after the limit of those it has passed over.
 */
#include "pagecache/region_walk.h"

static bool pass_over(struct flush *f)
{
	if (f->skips >= f->r->k.skip_limit) {
		rcount(f->r, RC_ENDED_EARLY, 1);
		return false;
	}
	f->skips++;
	rcount(f->r, RC_SKIPS, 1);
	return true;
}

/* Takes the locked folio and what follows; false ends the pass. */
static bool take(struct flush *f, struct rfolio *o)
{
	enum rstate state = walk_check(f, o);

	if (state == FOLIO_READY && !walk_affords(f, o))
		return false;
	f->page = rfolio_end_page(o);
	if (state == FOLIO_WRITEBACK)
		return pass_over(f);
	if (state == FOLIO_READY) {
		run_take(f, o);
		f->page = walk_extend(f, o);
	}
	return true;
}

void walk_region(struct flush *f)
{
	struct rfolio *o;
	bool go = true;

	while (go && (o = walk_look(f)) != NULL) {
		go = walk_trylock(f, o);
		if (go) {
			go = take(f, o);
			rfolio_unlock(o);
			run_send(f);
		} else {
			rcount(f->r, RC_ENDED_EARLY, 1);
		}
		walk_put(f, o);
	}
}

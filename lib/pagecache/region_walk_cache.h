/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walker that knows nothing of stores: folios are looked up in batches, locked, and each that
 * is ready is given to the caller's function.  It is the body of two walks: "generic" gives it a
 * function whose address is only known when it runs, "inline" one that the compiler puts in place.
 */
#ifndef PAGECACHE_REGION_WALK_CACHE_H
#define PAGECACHE_REGION_WALK_CACHE_H

#include "pagecache/region_walk.h"

typedef void each_fn(struct flush *f, struct rfolio *o);

/* False when the budget is used up. */
static inline __attribute__((always_inline)) bool walk_cache_one(struct flush *f, struct rfolio *o,
								 each_fn *each)
{
	enum rstate state;
	bool go = true;

	walk_lock(f, o);
	state = walk_check(f, o);
	rcount(f->r, RC_SKIPS, state == FOLIO_WRITEBACK);
	if (state == FOLIO_READY) {
		go = walk_affords(f, o);
		if (go)
			each(f, o);
	}
	rfolio_unlock(o);
	return go;
}

static inline __attribute__((always_inline)) void walk_cache(struct flush *f, each_fn *each)
{
	struct rbatch b;
	bool go = true;

	do {
		walk_look_batch(f, f->r->k.batch, &b);
		for (unsigned i = 0; i < b.n; i++) {
			go = go && walk_cache_one(f, b.v[i], each);
			walk_put(f, b.v[i]);
		}
	} while (go && b.n != 0);
}

#endif

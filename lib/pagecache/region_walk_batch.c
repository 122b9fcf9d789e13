/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walk "batch": several dirty folios are looked up at once, then each is stored together with the
 * neighbours that follow.  All stay referenced while stores are made of the first ones, and those
 * that the first one has swallowed are visited again, found clean and dropped.
 *
 * A pass that does not wait passes over what it cannot take.  Which of these count against the
 * limit that ends it differs between afs and cifs.
 */
#include "pagecache/region_walk.h"

static const bool counts[][FOLIO_BUSY + 1] = {
    [SKIPS_AFS] = {[FOLIO_WRITEBACK] = true},
    [SKIPS_CIFS] = {[FOLIO_CLEAN] = true, [FOLIO_WRITEBACK] = true, [FOLIO_BUSY] = true},
};

static bool pass_over(struct flush *f, enum rstate state)
{
	if (f->sync)
		return true;
	rcount(f->r, RC_SKIPS, state != FOLIO_CLEAN || counts[f->r->k.skips][state]);
	if (!counts[f->r->k.skips][state])
		return true;
	if (f->skips >= f->r->k.skip_limit) {
		rcount(f->r, RC_ENDED_EARLY, 1);
		return false;
	}
	f->skips++;
	return true;
}

static bool one(struct flush *f, struct rfolio *o)
{
	enum rstate state = FOLIO_BUSY;
	bool locked = walk_trylock(f, o), go = true;

	if (locked)
		state = walk_check(f, o);
	if (state != FOLIO_READY) {
		go = pass_over(f, state);
	} else if (!walk_affords(f, o)) {
		go = false;
	} else {
		run_take(f, o);
		walk_extend(f, o);
	}
	if (locked)
		rfolio_unlock(o);
	run_send(f);
	return go;
}

void walk_batch(struct flush *f)
{
	struct rbatch b;
	bool go = true;

	do {
		walk_look_batch(f, f->r->k.batch, &b);
		for (unsigned i = 0; i < b.n; i++) {
			go = go && one(f, b.v[i]);
			walk_put(f, b.v[i]);
		}
	} while (go && b.n != 0);
}

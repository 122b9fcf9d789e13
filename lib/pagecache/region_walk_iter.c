/* SPDX-License-Identifier: BSD-2-Clause */
/* Walk "iter": an iterator hands out folios, locked and ready; the loop and what is done with each
 * are the caller's. */
#include "pagecache/region_walk.h"

struct riter {
	struct flush *f;
	struct rbatch b;
	unsigned at; /* in the batch */
	bool over;
};

static struct rfolio *look(struct riter *it)
{
	if (it->at == it->b.n && !it->over) {
		walk_look_batch(it->f, it->f->r->k.batch, &it->b);
		it->at = 0;
		it->over = it->b.n == 0;
	}
	return it->over ? NULL : it->b.v[it->at++];
}

/* The next folio, to be unlocked and put by the caller. */
static struct rfolio *next(struct riter *it)
{
	struct flush *f = it->f;
	struct rfolio *o;

	while ((o = look(it)) != NULL) {
		enum rstate state;

		walk_lock(f, o);
		state = walk_check(f, o);
		rcount(f->r, RC_SKIPS, state == FOLIO_WRITEBACK);
		if (state == FOLIO_READY && walk_affords(f, o))
			return o;
		it->over = state == FOLIO_READY;
		rfolio_unlock(o);
		walk_put(f, o);
	}
	return NULL;
}

/* What the budget has left in the batch. */
static void put_rest(struct riter *it)
{
	while (it->at < it->b.n)
		walk_put(it->f, it->b.v[it->at++]);
}

void walk_iter(struct flush *f)
{
	struct riter it = {.f = f};
	struct rfolio *o;

	while ((o = next(&it)) != NULL) {
		run_take(f, o);
		rfolio_unlock(o);
		walk_put(f, o);
	}
	put_rest(&it);
}

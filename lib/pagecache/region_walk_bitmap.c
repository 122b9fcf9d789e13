/* SPDX-License-Identifier: BSD-2-Clause */
/* Walk "bitmap": whole runs of dirty pages are read from the words of the marks; a lookup is one
 * run, however long. */
#include "base/check.h"
#include "pagecache/region_walk.h"

/* One folio of a run.  The marks may have changed since the run was read. */
static bool one(struct flush *f, struct rfolio *o)
{
	enum rstate state = FOLIO_BUSY;
	bool locked = walk_trylock(f, o), go = true;

	if (locked)
		state = walk_check(f, o);
	if (state == FOLIO_READY) {
		go = walk_affords(f, o);
		if (go)
			run_take(f, o);
	}
	rcount(f->r, RC_SKIPS, state == FOLIO_WRITEBACK || state == FOLIO_BUSY);
	if (locked)
		rfolio_unlock(o);
	return go;
}

void walk_bitmap(struct flush *f)
{
	bool go = true;

	while (go) {
		uint64_t end;

		rcount(f->r, RC_LOOKUPS, 1);
		f->page = rmark_next(f->file, f->mark, f->page, f->end);
		if (f->page >= f->end)
			return;
		end = rmark_end(f->file, f->mark, f->page, f->end);
		while (go && f->page < end) {
			struct rfolio *o = rfolio_find(f->file, f->page);

			f->page = o != NULL ? rfolio_end_page(o) : f->page + 1;
			if (o == NULL)
				continue;
			f->r->c[RC_PINNED] = MAX(f->r->c[RC_PINNED], 1u);
			go = one(f, o);
			rfolio_put(o);
		}
	}
}

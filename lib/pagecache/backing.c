/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory behind folios.
 *
 * How many pages the cache holds decides what it drops, and with that what a replay counts; how
 * many of them have memory is a matter of speed alone.  Memory that was never used is dear: the
 * host clears every page of it.  So once a share of the limit is backed, a new folio takes the
 * memory of the oldest clean one, which stays in the cache without any and is read again,
 * uncounted, when somebody wants it after all.  Every such return raises the share: a cache whose
 * contents are used comes to have all its memory, a stream goes round in a little.
 */
#include <errno.h>

#include "base/check.h"
#include "base/diag.h"
#include "io/bio.h"
#include "pagecache/hooks.h"
#include "pagecache/pagecache.h"

#define TAKE_PAGES 512u /* from clean folios at one go */

/* ---- pages that the cache holds ---- */

/* Gives up to n clean pages back; true when it gave any. */
static bool reclaim(struct pagecache *pc, size_t n)
{
	size_t given = 0, looked = 0;

	while (given < n && !list_empty(&pc->clean) && looked++ < 4 * n + 64) {
		struct folio *f = list_first(&pc->clean, struct folio, lru);

		list_remove(&f->lru);
		/* One that is being written gives nothing back before its write is done. */
		if ((f->flags & FOLIO_ACTIVE) != 0 || f->writes != 0) {
			f->flags &= (uint8_t)~FOLIO_ACTIVE;
			list_append(&pc->clean, &f->lru);
			continue;
		}
		given += folio_pages(f);
		folio_drop(f);
	}
	return given != 0;
}

/* Reclaims clean folios, then waits for reads and writes, then makes dirty ones clean; false when
 * nothing of all that gave a page. */
static bool make_room(struct pagecache *pc, size_t want)
{
	if (reclaim(pc, want))
		return true;
	reads_wait(pc);
	return bioq_drain(pc->img->bioq) == 0 && (reclaim(pc, want) || flush_some(pc) == 0);
}

/* ---- memory ---- */

/* Takes the memory of clean folios that nobody used since they became clean, oldest first. */
static bool take_from_clean(struct pagecache *pc, size_t want)
{
	size_t given = 0, looked = 0;

	while (given < want && !list_empty(&pc->backed) && looked++ < want) {
		struct folio *f = list_first(&pc->backed, struct folio, backed);

		list_remove(&f->backed);
		if ((f->flags & FOLIO_ACTIVE) != 0 || f->writes != 0) {
			list_append(&pc->backed, &f->backed);
			continue;
		}
		fpool_give(pc->pool, f->data, f->order);
		f->data = NULL;
		given += folio_pages(f);
	}
	return given != 0;
}

static uint8_t *take_memory(struct pagecache *pc, unsigned order)
{
	uint8_t *data = fpool_take(pc->pool, order);

	if (data == NULL && fpool_pages(pc->pool) >= pc->backed_goal &&
	    take_from_clean(pc, TAKE_PAGES))
		data = fpool_take(pc->pool, order);
	if (data == NULL && fpool_grow(pc->pool) == 0)
		data = fpool_take(pc->pool, order);
	return data;
}

uint8_t *backing_take(struct pagecache *pc, unsigned order)
{
	uint64_t pages = (uint64_t)1 << order;
	/* Not all at once: a small cache would lose what was read a moment ago. */
	size_t want = MIN((size_t)64 << order, (size_t)pc->limit / 16);
	/* A smaller folio will do as well: only the smallest is worth a long search. */
	unsigned most = order > pc->min_order ? 1 : 8;
	uint8_t *data = NULL;

	for (unsigned tries = 0; data == NULL; tries++) {
		if (pc->resident + pages <= pc->limit)
			data = take_memory(pc, order);
		if (data == NULL && (tries == most || !make_room(pc, want)))
			break;
	}
	return data;
}

/* What the cache would have held costs nothing in the model. */
static int reread_uncounted(struct task *t, struct folio *f)
{
	struct counters *c = f->map->pc->counters, before = *c;
	int rc = folio_reread(t, f);

	*c = before;
	return rc;
}

int backing_restore(struct task *t, struct folio *f, bool contents)
{
	struct pagecache *pc = f->map->pc;
	int rc = 0;

	pc->backed_goal = MIN(pc->backed_goal + folio_pages(f), pc->limit);
	f->data = take_memory(pc, f->order);
	if (f->data == NULL && bioq_drain(pc->img->bioq) == 0)
		f->data = take_memory(pc, f->order);
	if (f->data == NULL)
		return diag_set(&pc->img->diag, -ENOMEM,
				"page cache: no memory for a folio of %u pages", folio_pages(f));
	if (contents) {
		rc = reread_uncounted(t, f);
	} else { /* the write may still fail */
		folio_clear(f, BLOCK_UPTODATE, 0, f->blocks);
		f->flags &= (uint8_t)~FOLIO_UPTODATE;
	}
	if (rc < 0) {
		fpool_give(pc->pool, f->data, f->order);
		f->data = NULL;
		return rc;
	}
	list_append(&pc->backed, &f->backed);
	return 0;
}

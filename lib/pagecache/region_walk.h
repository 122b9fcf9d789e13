/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Passes: a walk finds dirty folios and gives them to region_run.c, which makes stores of what is
 * dirty in them.  All functions want the region's lock and may give it up while they wait.
 */
#ifndef PAGECACHE_REGION_WALK_H
#define PAGECACHE_REGION_WALK_H

#include "pagecache/region.h"

/* A pass over [page, end).  op is the store that is being filled. */
struct flush {
	struct ek_region *r;
	struct rfile *file;
	uint64_t page, end;
	bool sync;
	enum rmark mark;
	uint64_t pass;
	uint64_t left; /* pages that may be taken */
	bool took;
	unsigned skips, pinned;
	struct rop *op;
	/* Called for each folio by the walk "generic". */
	void (*each)(struct flush *f, struct rfolio *o);
};

/* Takes all that is dirty of a locked folio that is not in writeback: marks go, runs join stores.
 */
void run_take(struct flush *f, struct rfolio *o);

/* Whether the folio's dirty bytes go on where the open store ends and fit into it. */
bool run_joins(const struct flush *f, const struct rfolio *o);

/* Whether the open store ends where the folio does. */
bool run_reaches_end(const struct flush *f, const struct rfolio *o);

/* Sends the open store, if there is one. */
void run_send(struct flush *f);

/* ---- walks ---- */

struct walk_ops {
	void (*run)(struct flush *f);
	uint64_t bridge; /* usual */
};

extern const struct walk_ops region_walks[]; /* by enum region_walk */

void walk_region(struct flush *f);
void walk_batch(struct flush *f);
void walk_generic(struct flush *f);
void walk_inline(struct flush *f);
void walk_iter(struct flush *f);
void walk_bitmap(struct flush *f);

/* One lookup: the next folio with the mark at or behind f->page, with a reference.  NULL at
 * the end.  f->page stays. */
struct rfolio *walk_look(struct flush *f);

/* Up to max of them from f->page on, which moves past the last: one lookup. */
struct rbatch {
	unsigned n;
	struct rfolio *v[REGION_BATCH];
};
void walk_look_batch(struct flush *f, unsigned max, struct rbatch *b);
void walk_put(struct flush *f, struct rfolio *o);

/* False when the pass may not take the folio: its budget is used up. */
bool walk_affords(struct flush *f, const struct rfolio *o);

/* Locks the folio: a pass that does not wait may fail to.  What is open is sent before waiting, so
 * that nobody who holds the folio can be waiting for it. */
bool walk_trylock(struct flush *f, struct rfolio *o);
void walk_lock(struct flush *f, struct rfolio *o);

/* What a pass finds of a locked folio. */
enum rstate { FOLIO_READY, FOLIO_CLEAN, FOLIO_WRITEBACK, FOLIO_BUSY };

/* Counts the visit.  A sync pass waits for writeback, so it never gets FOLIO_WRITEBACK.  BUSY is
 * for those that could not be locked. */
enum rstate walk_check(struct flush *f, struct rfolio *o);

/* From the folio that was just taken on: neighbours that can join its store. */
uint64_t walk_extend(struct flush *f, const struct rfolio *o);

#endif

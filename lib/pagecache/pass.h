/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One writeback call in progress: a walk over dirty folios that collects an extent, gives it a
 * place and sends it, step by step.
 */
#ifndef PAGECACHE_PASS_H
#define PAGECACHE_PASS_H

#include "pagecache/ioend.h"
#include "pagecache/pagecache.h"

#define EXTENT_BLOCKS 2048u /* one step maps at most this many */

struct pass {
	struct task *t;
	struct pagecache *pc;
	struct mapping *m;
	struct wbc *wbc;
	const struct budget *budget;
	struct data_bio bio;
	struct ioend end; /* of the step that runs */
	enum folio_tag tag;
	uint32_t begin;      /* page: where the call began */
	uint32_t next, last; /* pages: where the walk is, where it ends */
	uint64_t start_pos;  /* bytes: everything before it was submitted; the next step begins
			      * here */
	bool do_map, done;   /* done: the range was scanned to its end */
	bool scanning;       /* a range was begun and not ended */
	bool wrapped;        /* the walk goes over what lies before where it began */
	bool paced;          /* the caller does other things between the steps */
	unsigned retries;    /* for want of room */
	/* The extent being collected: blocks, and what they are. */
	uint32_t lblk, len;
	uint32_t first_page;
	int64_t left; /* pages that may still be looked at by this collection */
	bool delay;
};

/* When a collection stops, for calls that nobody waits for (delalloc-facts 4.9). */
struct budget {
	/* Before a folio is looked at, and after it was taken; NULL: never. */
	bool (*before)(const struct pass *p);
	bool (*after)(const struct pass *p);
};

const struct budget *budget_of(enum budget_rule rule);

static inline uint32_t page_of(uint64_t byte)
{
	return (uint32_t)MIN(byte >> PAGE_BITS, (uint64_t)UINT32_MAX);
}

/* Walks tagged folios until one extent is together, or the range or the budget ends; folios that
 * need no place are sent on the way. */
int pass_collect(struct pass *p);

/* Blocks [at, ...) of a folio that was mapped in part become the next extent of this step; a folio
 * that needs nothing more is sent. */
int pass_collect_rest(struct pass *p, struct folio *f, uint32_t at);

/* A folio whose blocks are all mapped leaves: dirty blocks below the end of the file are sent. */
int pass_submit_folio(struct pass *p, struct folio *f);

/* A pass over the file that has done nothing yet. */
void pass_start(struct pass *p, struct task *t, struct mapping *m, struct wbc *wbc);

/* A call in steps.  pass_next: 1 after a step, 0 when there is nothing left to do.  pass_close
 * follows in any case. */
int pass_open(struct pass *p, struct task *t, struct mapping *m, struct wbc *wbc);
int pass_next(struct pass *p);
int pass_close(struct pass *p, int rc);

#endif

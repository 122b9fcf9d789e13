/* SPDX-License-Identifier: BSD-2-Clause */
/* What the page cache does for the layers below it, and small things its files share. */
#ifndef PAGECACHE_HOOKS_H
#define PAGECACHE_HOOKS_H

#include "pagecache/pagecache.h"

/* Puts the cache behind the image's data_ops, and takes it away again. */
void hooks_install(struct pagecache *pc);
void hooks_remove(struct pagecache *pc);

/* Ordered data of a commit: dirty blocks of [from, to) that have written places; others stay. */
int write_mapped(struct task *t, struct mapping *m, uint64_t from, uint64_t to);

/* Frees the mapping of an inode that goes. */
void mapping_evict(struct ek_inode *inode);

/* Memory is short: writes some dirty folios and waits for them. */
int flush_some(struct pagecache *pc);

/* The flusher's state, when it has a pace; what runs on a mapping that goes is given up. */
int flusher_open(struct pagecache *pc, struct diag *d);
void flusher_forget(struct mapping *m);

#define CHECK_PAGES 32u /* pages between two looks at the thresholds */
int balance_now(struct task *t, struct pagecache *pc);

/* True when that many pages more are no reason to look. */
static inline bool balance_is_far(const struct pagecache *pc, uint32_t pages)
{
	return pc->uncharged + pages < CHECK_PAGES && !pc->paced && !pc->threaded;
}

/* Called once per chunk of a write: starts the flusher and throttles. */
static inline int balance_dirty(struct task *t, struct pagecache *pc, uint32_t pages)
{
	bool far = balance_is_far(pc, pages);

	pc->uncharged += pages;
	return far ? 0 : balance_now(t, pc);
}

static inline uint32_t pages_of(uint64_t bytes)
{
	return (uint32_t)((bytes + PAGE_BYTES - 1) >> PAGE_BITS);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffered I/O over an open image: folios, delayed allocation, writeback, completion.
 *
 * A page cache installs itself as the image's data_ops, so that truncation, ranges and commits
 * below it see cached data.  Time is the image's clock: whoever drives the cache sets img->now and
 * calls pc_tick. Nothing here depends on how long real I/O takes, so that a run is reproducible: a
 * completion is processed at the end of the writeback call that sent it, and the commit that makes
 * it durable waits for the data.
 */
#ifndef PAGECACHE_PAGECACHE_H
#define PAGECACHE_PAGECACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "fs/image.h"
#include "fs/inode.h"
#include "fs/policy.h"
#include "pagecache/folio.h"
#include "pagecache/reads.h"

/* Happens at every n-th occasion; every == 0: never. */
struct pc_fault {
	uint32_t every, seen;
};

static inline bool pc_fault_due(struct pc_fault *f)
{
	return f->every != 0 && ++f->seen % f->every == 0;
}

/* What can be made to go wrong in writes to inline files, to see what their generations do about
 * it (delalloc-facts 2.8). */
struct pc_faults {
	struct pc_fault locate; /* the block of the inode cannot be had when the write ends */
	struct pc_fault copy;   /* the program's memory ends in the middle of what is copied */
	bool short_copy;        /* it just did */
};

/* Time that background writeback takes, on the image's clock; all 0: none, a call is done when it
 * begins. */
struct pc_pace {
	uint64_t extent_ns, page_ns;
};

struct pc_config {
	struct pc_pace pace;
	struct pc_faults faults;
	size_t memory;             /* bytes of cache; 0: 1 GiB */
	size_t backed;             /* bytes of it to have memory behind them before clean folios
				    * lose theirs to new ones; 0: an eighth */
	bool populate;             /* all of it has memory from the beginning */
	uint64_t background_pages; /* dirty pages that start the flusher; 0: 10 % of memory */
	uint64_t dirty_pages;      /* dirty pages that throttle writers; 0: 20 % */
	uint32_t periodic_ms;      /* flusher's interval, 5,000 when 0 */
	uint32_t expire_ms;        /* age that it writes, 30,000 when 0 */
	uint32_t ra_pages;         /* read-ahead, 640 when 0: what Linux gives a loop device */
	uint32_t ra_request;       /* pages of the device's largest transfer, 320 when 0 */
};

/* Why an inode is on the dirty list. */
enum wb_state { WB_PAGES = 1 << 0, WB_SYNC = 1 << 1 };

struct pagecache {
	struct ek_image *img;
	struct task *task;           /* of completions, the flusher and ordered data */
	const struct policy *policy; /* the image's */
	const struct generation *generation;
	bool threaded;   /* folios are overwritten by pc_overwrite meanwhile */
	bool overwrites; /* of what is dirty change bytes only: no handles, no look at the map */
	struct counters *counters;
	struct fpool *pool;
	struct folio *free_folios; /* recycled records, chained through map */
	struct pool records;       /* of struct mapping */
	struct list mappings;
	struct list dirty;    /* mappings by dirtied_when, oldest first */
	struct list clean;    /* folios that could be dropped, oldest first */
	struct list backed;   /* those of them that have memory */
	uint64_t limit;       /* pages the cache may hold */
	uint64_t resident;    /* pages it holds, with memory or without */
	uint64_t backed_goal; /* pages of memory up to which the pool grows freely */
	uint64_t dirty_total; /* pages */
	uint64_t background_pages, dirty_pages;
	uint64_t periodic_ns, expire_ns, next_periodic;
	unsigned page_blocks_bits; /* log2 of blocks per page when blocks are smaller, else 0 */
	unsigned min_order;        /* of folios, when blocks are larger than pages */
	unsigned max_order;
	uint32_t ra_pages, ra_request; /* as in pc_config */
	uint32_t writes_in_flight;     /* bios of data */
	/* Credits reserved by conversions that wait for their data, within one plug: those that
	 * were sent before the last sleep but one, and since then those in the first request and
	 * in all others. */
	struct {
		uint64_t round, request;
		unsigned before, first, others;
	} held;
	struct read_batch *reads[2]; /* reads.c */
	uint64_t read_batches;       /* that were begun */
	struct pc_faults faults;
	struct pc_pace pace;
	bool paced;            /* it is not all 0 */
	struct flush_run *run; /* NULL without a pace */
	uint32_t uncharged;    /* pages dirtied since the last throttle check */
	int error;             /* first failed write of data since the last fsync that told it */
};

int pc_open(struct ek_image *img, struct task *task, const struct pc_config *cfg, struct diag *d,
	    struct pagecache **ret);
/* Everything dirty must have been written (pc_sync); what is left is dropped. */
void pc_close(struct pagecache *pc);

/* Where written bytes come from: len bytes at ptr; a period that repeats (len 1 << n bytes at ptr)
 * when period is not 0; zeros when ptr is NULL. */
struct pc_source {
	const uint8_t *ptr;
	uint32_t period;
};

enum pc_write_flag { PC_DSYNC = 1 << 0, PC_SYNC = 1 << 1 };

/* write(2) at pos: len, or a negative errno when nothing could be written; a short count after a
 * failure half way. */
int64_t pc_write(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len,
		 const struct pc_source *src, unsigned flags);

/* Writes of one file that change nothing but bytes that are dirty already, and reads of what is
 * cached, between a begin that returned true and an end.  They may run beside those of other
 * files, and beside writeback and commits, which wait for the end where they come to the file;
 * whatever else is done to the cache must not run meanwhile.  Both are true when the call was one
 * and is done, at the (coarse) time now.  What is read goes nowhere. */
bool pc_overwrites_begin(struct ek_inode *inode);
void pc_overwrites_end(struct ek_inode *inode);
bool pc_overwrite(struct ek_inode *inode, uint64_t pos, uint64_t len, const struct pc_source *src,
		  struct ek_time now, struct counters *counters);

enum readahead_advice { READAHEAD_NORMAL, READAHEAD_RANDOM, READAHEAD_SEQUENTIAL };

/* What an open file remembers of its reads; all zeros when it was opened. */
struct readahead {
	uint64_t prev_pos;                /* where the last read ended; 0: there was none */
	uint32_t start, size, async_size; /* the last window, pages: its end is read in advance */
	uint32_t misses; /* faults on pages that were not cached, less the others */
	uint8_t order;   /* of the window's folios */
	uint8_t advice;  /* enum readahead_advice: no windows, or twice as large ones */
};

bool pc_reread(struct ek_inode *inode, uint64_t pos, uint64_t len, struct ek_time now,
	       struct readahead *ra);

/* Fills the cache for [pos, pos + len) like read(2), with read-ahead; copies into buf unless NULL.
 * Returns the bytes that lie below i_size.  ra is the open file's, NULL for one that is opened for
 * this read. */
int64_t pc_read(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len, void *buf,
		struct readahead *ra);
/* The same for one step of a copy inside the kernel: it asks for want bytes, of which len find room
 * in the pipe, and notes its place after each folio. */
int64_t pc_splice(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len, uint64_t want,
		  void *buf, struct readahead *ra);

/* A store through a shared mapping: the fault that makes the page writable, then the bytes. */
int pc_mmap_write(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len,
		  const struct pc_source *src, struct readahead *ra);

/* O_DIRECT. */
int64_t pc_direct_write(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len,
			const struct pc_source *src, unsigned flags);
int64_t pc_direct_read(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len,
		       void *buf);

int pc_fsync(struct task *t, struct ek_inode *inode, bool datasync);
/* sync_file_range(2) with its Linux flags. */
int pc_sync_range(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len,
		  unsigned flags);
/* syncfs(2), and sync(2) as far as it is about this image. */
int pc_sync(struct task *t);
int pc_sync_all(struct task *t);

/* The file is open (for writing); the last writer's close gives preallocation back. */
int pc_opened(struct task *t, struct ek_inode *inode, bool writer);
int pc_closed(struct task *t, struct ek_inode *inode, bool writer);

/* The clock moved: periodic writeback, background writeback, journal age. */
int pc_tick(struct task *t);

/* One step of background writeback, when it is due: 1 when there is more to do. */
int pc_background_step(struct task *t);

/* POSIX_FADV_WILLNEED: reads the range, as far as a window may go. */
int pc_will_need(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len);
/* POSIX_FADV_DONTNEED: starts writing what is dirty in the range, drops what is clean. */
int pc_dont_need(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len);
/* Drops clean folios of [pos, pos + len). */
void pc_drop(struct ek_inode *inode, uint64_t pos, uint64_t len);
/* Drops every clean folio that has a byte of [pos, pos + len): what is cached there is about to be
 * wrong. */
void pc_invalidate(struct ek_inode *inode, uint64_t pos, uint64_t len);
/* Drops all clean folios of all files. */
void pc_drop_caches(struct pagecache *pc);

/* ---- inside the page cache ---- */

struct pagecache *pc_of(const struct ek_inode *inode);
struct mapping *mapping_of(struct ek_inode *inode); /* made at first use; NULL without memory */

/* Memory for 1 << order more pages, from the pool or from clean folios; NULL when all are in use.
 */
uint8_t *backing_take(struct pagecache *pc, unsigned order);
/* Memory for a folio that lost its own, with its contents unless they are about to be overwritten.
 */
int backing_restore(struct task *t, struct folio *f, bool contents);

static inline int folio_back(struct task *t, struct folio *f, bool contents)
{
	int rc = (f->flags & FOLIO_READING) != 0 ? reads_wait_for(f->map->pc, f) : 0;

	if (rc < 0)
		return rc;
	return f->data != NULL ? 0 : backing_restore(t, f, contents);
}

/* A new folio of up to that order in the mapping, not up to date; NULL with *rc = -ENOMEM. */
struct folio *folio_make(struct mapping *m, uint32_t page, unsigned order, int *rc);
/* Takes the folio out of its mapping; frees it now or when its last write is done. */
void folio_drop(struct folio *f);
/* Makes the smallest possible folio of the page, and of the rest folios as large as alignment
 * allows; returns that of the page.  f is clean and not being written; what was known of its blocks
 * is forgotten.  NULL without memory, and then nothing was changed. */
struct folio *folio_split(struct folio *f, uint32_t page);
/* The bytes [from, to) are zeros from now on and what was dirty there is not: folios inside go,
 * larger ones are split at the ends when they are clean. */
void mapping_discard(struct mapping *m, uint64_t from, uint64_t to);
void folio_mark_dirty(struct folio *f);
void folio_clear_dirty(struct folio *f);
/* A write of the folio was queued or is done. */
static inline void folio_begin_write(struct folio *f)
{
	f->writes++;
}
void folio_end_write(struct folio *f);

/* Reads blocks [from, from + n) of the folio that are not up to date: holes and unwritten blocks as
 * zeros. */
int folio_read(struct task *t, struct folio *f, uint32_t from, uint32_t n);

/* Reads the blocks of a folio that are up to date again. */
int folio_reread(struct task *t, struct folio *f);

/* The page is not cached and want pages are asked for from there on; a folio with a mark is come to
 * by a reader of so many; a fault at the page. */
int readahead_miss(struct task *t, struct mapping *m, struct readahead *ra, uint32_t page,
		   uint32_t want);
int readahead_mark(struct task *t, struct mapping *m, struct readahead *ra, struct folio *f,
		   uint32_t want);
int readahead_fault(struct task *t, struct mapping *m, struct readahead *ra, uint32_t page);

/* Makes every block of [from, from + n) mapped or reserved, as write_begin does. */
int folio_reserve(struct task *t, struct folio *f, uint32_t from, uint32_t n);

/* What pc_overwrite looks at and changes belongs to others meanwhile. */
static inline void mapping_lock(struct mapping *m)
{
	if (m->pc->threaded)
		pthread_mutex_lock(&m->lock);
}

static inline void mapping_unlock(struct mapping *m)
{
	if (m->pc->threaded)
		pthread_mutex_unlock(&m->lock);
}

void mapping_note_dirty(struct mapping *m, unsigned why);

/* ---- writeback ---- */

#define WB_ALL_PAGES INT64_MAX

struct wbc {
	bool sync_all; /* WB_SYNC_ALL */
	bool tagged;   /* only what was dirty at the start, also without sync_all */
	bool cyclic;
	bool for_kupdate;
	int64_t nr_to_write; /* pages; lowered by what was written */
	uint64_t start, end; /* bytes, end inclusive */
};

int pc_writepages(struct task *t, struct mapping *m, struct wbc *wbc);

/* Waits for data I/O and returns its first error. */
int pc_wait(struct pagecache *pc);

static inline unsigned pc_block_bits(const struct pagecache *pc)
{
	return pc->img->geom.block_bits;
}

static inline uint32_t folio_lblk(const struct folio *f, unsigned block_bits)
{
	return (uint32_t)(((uint64_t)f->index << PAGE_BITS) >> block_bits);
}

#endif

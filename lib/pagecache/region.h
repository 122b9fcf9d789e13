/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of region writeback: what its files share.
 *
 *	region_folio.c    folios of a file: index, marks, locks, memory
 *	region_track*.c   what of a folio is dirty, one table of functions for each way
 *	region_stable.c   what happens to writers while a folio is stored
 *	region_run.c      dirty runs become stores
 *	region_flight.c   stores on their way
 *	region_walk_*.c   how dirty folios are found, one file for each walk; see region_walk.h
 *	region_write.c    bytes into and out of folios
 *	region_flush.c    flush, fsync, drop
 *	region_size.c     truncate, zero
 *	region_store_*.c  where the bytes go
 *
 * One lock of the region covers all state; it is not held while bytes are copied or stored.  Memory
 * of a folio belongs to whoever has locked the folio, and to stores that were taken from it.  Locks
 * in order: a file's turn, locks of folios (one at a time), the region's.
 */
#ifndef PAGECACHE_REGION_H
#define PAGECACHE_REGION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/diag.h"
#include "extkit/region.h"
#include "fs/policy.h"
#include "io/dev.h"
#include "pagecache/fpool.h"
#include "pagecache/region_store.h"

#define REGION_TOP   1024u /* tables of 512 chunks of 2 MiB: 1 TiB */
#define REGION_MAX   ((uint64_t)REGION_TOP * 512u * CHUNK_BYTES)
#define REGION_BATCH 31u

struct rfile;
struct rop;

/* ---- folios ---- */

/* Memory of a folio.  A store may keep it after the folio has moved on. */
struct rbuf {
	uint8_t *data;
	unsigned order, refs;
	struct rbuf *next; /* among the free ones */
};

/* Block `block` of a folio knows less than all of its bytes: valid ones, and dirty ones among them
 * (none: dirty_from == dirty_to). */
struct redge {
	uint32_t block;
	uint32_t valid_from, valid_to, dirty_from, dirty_to; /* bytes in the block */
};

struct rfolio {
	struct rfile *file;
	uint64_t page; /* its first */
	unsigned order;
	unsigned refs;    /* who looked it up, and stores */
	unsigned pending; /* stores on their way: the folio is in writeback */
	bool locked, dirty;
	bool gone;         /* out of the index: the last reference frees it */
	uint64_t pass;     /* that took it last */
	uint32_t from, to; /* dirty bytes, tracking "range" */
	struct redge *edges;
	size_t edge_count, edge_cap;
	struct rbuf *buf;
	struct rfolio *next; /* among the free ones */
	uint8_t *valid;      /* a bit for each block whose bytes are all there */
	uint8_t *blocks;     /* a bit for each block with dirty bytes, trackings of blocks */
	uint64_t bits[];     /* both */
};

enum rmark { MARK_DIRTY, MARK_TOWRITE, MARKS };

/* 2 MiB of a file. */
struct rchunk {
	uint8_t marks[MARKS][CHUNK_PAGES / 8] __attribute__((aligned(8)));
	unsigned marked[MARKS]; /* pages */
	struct rfolio *slot[CHUNK_PAGES];
};

/* ---- a region and its files ---- */

enum rskips { SKIPS_AFS, SKIPS_CIFS };
enum rstores { STORES_ASYNC, STORES_SYNC };
enum rzeros { ZEROS_WRITTEN, ZEROS_ZEROED };

struct rknobs {
	enum region_walk walk;
	enum region_track track;
	enum region_stable stable;
	enum rskips skips;
	enum rstores stores;
	enum rzeros zeros;
	uint32_t folio; /* 0: auto */
	uint32_t block, batch, skip_limit, inflight, segs;
	uint64_t max_store, align, bridge, nr_to_write, dirty, memory, slot;
	bool bridge_given;
};

#define REGION_COUNTERS(X)                     \
	X(WRITES, "writes")                    \
	X(BYTES_WRITTEN, "bytes_written")      \
	X(LOOKUPS, "lookups")                  \
	X(VISITED, "folios_visited")           \
	X(DUPLICATES, "duplicate_visits")      \
	X(SKIPS, "skips")                      \
	X(PASSES, "passes")                    \
	X(ENDED_EARLY, "passes_ended_early")   \
	X(BUDGET_ENDS, "passes_out_of_budget") \
	X(CONFLICTS, "conflict_flushes")       \
	X(STORES, "stores")                    \
	X(BYTES_STORED, "bytes_stored")        \
	X(BYTES_BRIDGED, "bytes_bridged")      \
	X(STORES_FAILED, "stores_failed")      \
	X(STORES_ZEROED, "stores_zeroed")      \
	X(WAITS, "waits")                      \
	X(LOCK_WAITS, "lock_waits")            \
	X(COPIED, "bytes_copied")              \
	X(COWS, "folios_replaced")             \
	X(FILLS, "fills")                      \
	X(BYTES_FILLED, "bytes_filled")        \
	X(ADDED, "folios_added")               \
	X(DROPPED, "folios_dropped")           \
	X(FLUSHES, "store_flushes")            \
	X(PINNED, "pinned_most")

enum rcounter {
#define X(id, name) RC_##id,
	REGION_COUNTERS(X)
#undef X
	    RC_COUNT
};

#define SIZE_CLASSES 18u /* 512 bytes or less, then doubling to 64 MiB or more */

struct rwriter {
	uint64_t bytes, waits, wait_ns;
};

struct ek_region {
	struct diag *d; /* of the context */
	struct rknobs k;
	const struct track_ops *track;
	const struct stable_ops *stable;
	const struct walk_ops *walk;
	struct region_store *store;
	bool threads;

	pthread_mutex_t lock;
	pthread_cond_t changed; /* a folio was unlocked, a store sent or done */
	bool closing, has_reaper;
	bool forgot;      /* files that were stored, but not made durable */
	int lost;         /* a hard failure that no sync of the whole has told yet */
	pthread_t reaper; /* with threads: moves stores along while nobody waits for them */
	struct fpool *pool;
	struct rbuf *free_bufs;
	struct rfolio *free_folios[POOL_ORDERS];
	uint64_t pages, dirty_pages;
	struct rop *ops, *free_ops;    /* all, those nobody uses */
	struct rop *live, **live_end;  /* in the order in which they were begun */
	struct rop *flying, **fly_end; /* in the order in which they were sent */
	unsigned inflight;
	int unanswered; /* sent and not answered; an answer may be counted before its store */
	uint64_t seq, pass;
	struct rfile *files;
	uint64_t c[RC_COUNT], sizes[SIZE_CLASSES], wait_ns, store_ns;
	struct rwriter writers[EK_REGION_WRITERS];
};

struct rfile {
	struct ek_region *r;
	char *name; /* NULL: unlinked */
	struct rdata *data;
	unsigned handles;
	uint64_t size;
	pthread_rwlock_t turn; /* shared by those who write, alone who changes the size */
	struct rchunk **top[REGION_TOP];
	uint64_t chunks;                  /* past the last one */
	uint64_t cyclic;                  /* page where the next flush for room begins */
	uint64_t failures, hard_failures; /* of stores, so far */
	int failure, hard_failure;        /* the last ones */
	uint64_t stored;                  /* bytes that the store may hold: behind it all is zero */
	struct rfile *next;
};

struct ek_region_file {
	struct rfile *file;
	uint64_t told; /* hard failures that this handle has heard of */
};

static inline void rcount(struct ek_region *r, enum rcounter which, uint64_t n)
{
	r->c[which] += n;
}

static inline uint64_t rfolio_bytes(const struct rfolio *o)
{
	return (uint64_t)PAGE_BYTES << o->order;
}

static inline uint64_t rfolio_start(const struct rfolio *o)
{
	return o->page * PAGE_BYTES;
}

static inline uint64_t rfolio_end_page(const struct rfolio *o)
{
	return o->page + (1u << o->order);
}

/* Goes over a region's files; to be called until it returns NULL.  The lock is held, and may be
 * given up between two calls: the file stays. */
struct rfile *rfile_next(struct ek_region *r, struct rfile *file);

/* ---- region_folio.c; the lock is held ---- */

/* The folio of a page, with a reference, or NULL. */
struct rfolio *rfolio_find(struct rfile *file, uint64_t page);

/* The same; one that is missing is made, for a write of len bytes at byte off.  It has no valid
 * bytes yet. */
int rfolio_get(struct rfile *file, uint64_t off, uint64_t len, struct rfolio **ret);
void rfolio_put(struct rfolio *o);

bool rfolio_trylock(struct rfolio *o);
void rfolio_lock(struct rfolio *o); /* waits */
void rfolio_unlock(struct rfolio *o);

/* Sets or clears the marks of its pages. */
void rfolio_set_dirty(struct rfolio *o);
void rfolio_clear_dirty(struct rfolio *o);

/* The first page with the mark in [page, end), or UINT64_MAX. */
uint64_t rmark_next(const struct rfile *file, enum rmark mark, uint64_t page, uint64_t end);

/* The end of the run of marked pages that begins at page. */
uint64_t rmark_end(const struct rfile *file, enum rmark mark, uint64_t page, uint64_t end);

/* Dirty pages of [page, end) become pages to write. */
void rmark_tag(struct rfile *file, uint64_t page, uint64_t end);

/* Takes a folio out of the index.  It is locked and not in writeback; what is dirty is lost. */
void rfolio_remove(struct rfolio *o);

/* Removes clean folios that nobody uses and that lie in [page, end) as a whole. */
void rfolio_drop_clean(struct rfile *file, uint64_t page, uint64_t end);

/* All folios, dirty ones too: nobody uses the file any more, and nothing of it is on its way. */
void rfile_free_index(struct rfile *file);

int rbuf_new(struct ek_region *r, unsigned order, struct rbuf **ret);
void rbuf_put(struct ek_region *r, struct rbuf *b);

/* ---- region_track.c, region_track_bytes.c; the lock is held, the folio locked ---- */

enum rfill { FILL_FOLIO, FILL_BLOCKS, FILL_NOTHING };

struct track_ops {
	/* What has to be valid before a part of it is written. */
	enum rfill fill;
	/* True when bytes [from, to) cannot become dirty before the folio is clean. */
	bool (*conflicts)(const struct rfolio *o, uint32_t from, uint32_t to);
	/* They are dirty and valid now; -ENOMEM changes nothing. */
	int (*mark)(struct rfolio *o, uint32_t from, uint32_t to);
	/* The first dirty run at or behind at. */
	bool (*next)(const struct rfolio *o, uint32_t at, uint32_t *from, uint32_t *to);
	/* That run is clean now. */
	void (*clear)(struct rfolio *o, uint32_t from, uint32_t to);
};

extern const struct track_ops *const region_tracks[]; /* by enum region_track */
extern const struct track_ops region_track_bytes;     /* the last of them */

bool track_never_conflicts(const struct rfolio *o, uint32_t from, uint32_t to);

/* Whether a folio may store the bytes between two of its dirty runs. */
bool track_all_valid(const struct rfolio *o, uint32_t from, uint32_t to);

/* Whether the store has nothing from byte at of the folio on. */
bool track_is_new(const struct rfolio *o, uint32_t at);

/* Blocks that lie in [from, to) as a whole are valid now. */
void track_set_valid(struct rfolio *o, uint32_t from, uint32_t to);

/* Nothing at or behind to is dirty. */
void track_trim(struct rfolio *o, uint32_t to);

/* What is known of a block with an edge, or NULL. */
struct redge *redge_find(const struct rfolio *o, uint32_t block);

/* ---- region_stable.c ---- */

struct stable_ops {
	/* Before bytes of a locked folio in writeback change; may unlock it, and locks it again. */
	int (*enter)(struct rfolio *o, unsigned writer);
	/* How many of len more bytes a store can take. */
	uint64_t (*room)(struct rop *op, uint64_t len);
	/* len bytes at from of the locked folio join the store. */
	void (*sample)(struct rop *op, struct rfolio *o, uint32_t from, uint32_t len);
};

extern const struct stable_ops region_stables[]; /* by enum region_stable */

/* ---- stores: region_flight.c ---- */

struct rseg {
	struct rfolio *o;
	struct rbuf *buf; /* NULL: sampled */
	uint32_t from, to;
};

/* A store from its first byte on.  off, len, iov, iovcnt and data are what its store needs. */
struct rop {
	struct ek_region *r;
	struct rfile *file;
	struct rdata *data;
	uint64_t off, len;
	struct iovec *iov;
	unsigned iovcnt;
	size_t iov_cap;
	struct dev_req req; /* for stores that are devices */
	struct rseg *segs;
	size_t seg_count, seg_cap;
	uint8_t *bounce;
	size_t bounce_cap;
	uint64_t seq, sent_ns;
	int result;
	bool answered;
	struct rop *next_all, *next_live, *next_fly, *next_free;
};

struct rop *op_begin(struct ek_region *r, struct rfile *file, uint64_t off);

/* Room for one more piece: false without memory, or when the knob says no more. */
bool op_room(struct rop *op);
void op_send(struct rop *op);

/* One step: at least one store more is done, or something changed.  One must be on its way, or
 * another thread about to send one. */
void flight_wait(struct ek_region *r);

/* Before a pass: without threads, everything that was sent is done. */
void flight_collect(struct ek_region *r);

/* Until no store of file (NULL: any) that was begun before now is left. */
void flight_drain(struct ek_region *r, const struct rfile *file);
bool flight_has(const struct ek_region *r, const struct rfile *file); /* anything not done */

/* Until the folio is not in writeback; counts for writer unless that is REGION_NOBODY. */
void flight_wait_folio(struct rfolio *o, unsigned writer);
#define REGION_NOBODY UINT32_MAX

int flight_open(struct ek_region *r);
void flight_close(struct ek_region *r); /* nothing is on its way; without the lock */

/* Called by stores, without the lock. */
void op_done(struct rop *op, int result);

/* ---- region_write.c, region_flush.c ---- */

/* Zeros into the bytes [from, to) of a file, through the cache; the lock is held, and its turn. */
int region_write_zeros(struct rfile *file, unsigned writer, uint64_t from, uint64_t to);

/* A pass over the pages; the lock is held.  A sync one returns the first failure of its stores. */
int region_pass(struct rfile *file, uint64_t page, uint64_t end, bool sync);

/* Flushes for room when too much is dirty or cached; the lock is held, that of no folio. */
int region_balance(struct rfile *file);

/* ---- options, reports ---- */

/* Counting begins. */
void region_start_over(struct ek_region *r);

int region_knobs(const char *text, struct diag *d, struct rknobs *ret);
/* A call of a writer begins: forgets the last story, -EINVAL for a writer that cannot be.  The lock
 * is held. */
int region_enter(struct ek_region *r, unsigned writer);

/* Whether a file may have bytes [off, off + len): -EFBIG, or -ENOSPC, told, when it is the store
 * that has no room.  The lock is held, or nobody else uses the region. */
int region_check_end(struct ek_region *r, uint64_t off, uint64_t len);

#endif

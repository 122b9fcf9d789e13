/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folios and the mapping that holds them.
 *
 * A mapping is a two-level table of chunks of 2 MiB of the file.  A chunk has a slot per page and,
 * one bit per page, which pages are the first of a folio, which folios are dirty, and which are
 * tagged to be written by the pass that runs now.  A folio lies inside one chunk.
 */
#ifndef PAGECACHE_FOLIO_H
#define PAGECACHE_FOLIO_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bitmap.h"
#include "base/list.h"
#include "pagecache/fpool.h"

struct ek_inode;
struct mapping;
struct pagecache;

enum folio_flag {
	FOLIO_UPTODATE = 1 << 0,
	FOLIO_DIRTY = 1 << 1,
	FOLIO_DROPPED = 1 << 2,    /* out of its mapping; freed when its last write is done */
	FOLIO_ACTIVE = 1 << 3,     /* used since it was last looked at for reclaim */
	FOLIO_HUGE_STATE = 1 << 4, /* block states do not fit into the folio itself */
	FOLIO_READAHEAD = 1 << 5,  /* who comes here starts the next window of read-ahead */
	FOLIO_READING = 1 << 6,    /* its bytes are on their way from the device */
	FOLIO_SETTLED = 1 << 7     /* each block is whole, dirty and has its place: a write changes
				    * bytes, nothing else; goes with the first that is not */
};

/* What is known of each block of a folio, one bit a block. */
enum block_state {
	BLOCK_MAPPED,    /* has a place on disk, or a reservation (then BLOCK_DELAY) */
	BLOCK_DELAY,     /* reserved, no place yet */
	BLOCK_UNWRITTEN, /* a place whose contents are not valid */
	BLOCK_DIRTY,
	BLOCK_UPTODATE,
	BLOCK_STATES
};

struct folio {
	struct mapping *map;
	uint8_t *data;  /* NULL when clean and its memory went to another: backing.c */
	uint32_t index; /* first page in the file */
	uint8_t order, flags;
	uint16_t blocks;
	uint32_t writes; /* bios in flight */
	struct list lru;
	struct list backed; /* on pagecache.backed when clean and data is there */
	union {
		uint64_t word[BLOCK_STATES];
		uint64_t *words; /* FOLIO_HUGE_STATE: BLOCK_STATES rows of ceil(blocks / 64) */
	} state;
};

enum folio_tag { TAG_HEAD, TAG_DIRTY, TAG_TOWRITE, TAG_COUNT };

struct chunk {
	uint64_t tag[TAG_COUNT][8];
	uint16_t count[TAG_COUNT];
	uint32_t slots; /* that there is memory for: a small file takes few */
	struct folio *slot[];
};

#define LEAF_CHUNKS 512u /* 1 GiB of the file */

struct chunk_leaf {
	uint64_t tagged[TAG_COUNT][LEAF_CHUNKS / 64]; /* chunks with that tag */
	uint32_t chunks;                              /* that there is memory for */
	struct chunk *chunk[];
};

struct mapping {
	struct pagecache *pc;
	struct ek_inode *inode;
	struct chunk_leaf **leaf; /* first_leaf until the file is large */
	uint32_t leaves;
	uint32_t pages, dirty_pages;
	struct folio *last;   /* found or made last */
	pthread_mutex_t lock; /* of the bytes and states of its folios, when there are threads */
	uint32_t writeback_index; /* page where the next cyclic pass begins */
	unsigned wb_state;        /* why the inode is on the dirty list: enum wb_state */
	uint64_t dirtied_when;    /* ns, virtual */
	struct list wb;           /* on pagecache.dirty or .io */
	struct list all;          /* on pagecache.mappings */
	uint64_t write_end;       /* where the last write ended */
	bool streaming;           /* the write now goes on from there */
	bool da_alloc_close;
	struct chunk_leaf *first_leaf;
};

/* The first page of the folio that holds page; page itself when none does. */
uint32_t mapping_head(struct mapping *m, uint32_t page);

/* The first folio that begins at or after page with that tag, not past last; NULL when there is
 * none. */
struct folio *mapping_next(struct mapping *m, enum folio_tag tag, uint32_t page, uint32_t last);

/* Puts a new folio into the table: 0, -ENOMEM. */
int mapping_insert(struct mapping *m, struct folio *f);
void mapping_remove(struct mapping *m, struct folio *f);

void mapping_tag(struct mapping *m, struct folio *f, enum folio_tag tag);
void mapping_untag(struct mapping *m, struct folio *f, enum folio_tag tag);

/* Every dirty folio of [first, last] becomes tagged TOWRITE. */
void mapping_tag_towrite(struct mapping *m, uint32_t first, uint32_t last);

/* Largest order up to want that fits at page without touching another folio. */
unsigned mapping_free_order(struct mapping *m, uint32_t page, unsigned want);

void mapping_free_table(struct mapping *m);

/* ---- folios ---- */

static inline uint32_t folio_pages(const struct folio *f)
{
	return 1u << f->order;
}

/* The folio that holds a page, or NULL: most often the one that was found last. */
struct folio *mapping_search(struct mapping *m, uint32_t page);

static inline struct folio *mapping_find(struct mapping *m, uint32_t page)
{
	struct folio *f = m->last;

	return f != NULL && page - f->index < folio_pages(f) ? f : mapping_search(m, page);
}

static inline uint64_t folio_bytes(const struct folio *f)
{
	return (uint64_t)PAGE_BYTES << f->order;
}

static inline uint64_t folio_pos(const struct folio *f)
{
	return (uint64_t)f->index << PAGE_BITS;
}

/* The blocks of the folio that hold the bytes [pos, pos + len) of the file, len not 0. */
static inline void folio_span(const struct folio *f, unsigned block_bits, uint64_t pos,
			      uint64_t len, uint32_t *first, uint32_t *last)
{
	*first = (uint32_t)((pos - folio_pos(f)) >> block_bits);
	*last = (uint32_t)((pos + len - 1 - folio_pos(f)) >> block_bits);
}

static inline uint64_t *folio_row(struct folio *f, enum block_state s)
{
	if ((f->flags & FOLIO_HUGE_STATE) != 0)
		return f->state.words + (size_t)s * ((f->blocks + 63u) / 64);
	return &f->state.word[s];
}

/* Bits [from, from + n) of a word, n up to 64. */
static inline uint64_t folio_mask(uint32_t from, uint32_t n)
{
	return n == 0 ? 0 : (UINT64_MAX >> (64 - n)) << from;
}

static inline bool folio_test(struct folio *f, enum block_state s, uint32_t block)
{
	return (folio_row(f, s)[block / 64] >> (block % 64) & 1) != 0;
}

/* True when all of [from, from + n) are set. */
static inline bool folio_all(struct folio *f, enum block_state s, uint32_t from, uint32_t n)
{
	if ((f->flags & FOLIO_HUGE_STATE) == 0)
		return (~f->state.word[s] & folio_mask(from, n)) == 0;
	if (n == 1)
		return folio_test(f, s, from);
	return bitmap_find_next_zero(folio_row(f, s), from + n, from) >= from + n;
}

static inline void folio_set(struct folio *f, enum block_state s, uint32_t from, uint32_t n)
{
	if ((f->flags & FOLIO_HUGE_STATE) == 0)
		f->state.word[s] |= folio_mask(from, n);
	else if (n == 1)
		folio_row(f, s)[from / 64] |= (uint64_t)1 << from % 64;
	else
		bitmap_set_range(folio_row(f, s), from, n);
}

/* Bytes of the folio past the end of the file must not reach the disk with old contents. */
void folio_zero_tail(struct folio *f, uint64_t size);
/* True when any of [from, from + n) is set. */
bool folio_any(struct folio *f, enum block_state s, uint32_t from, uint32_t n);
void folio_clear(struct folio *f, enum block_state s, uint32_t from, uint32_t n);
/* Length of the run of equal bits that starts at from. */
uint32_t folio_run(struct folio *f, enum block_state s, uint32_t from);

#endif

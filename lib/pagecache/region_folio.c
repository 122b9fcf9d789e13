/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folios of a file: found by page through a two-level table of 2 MiB chunks, marked in a bitmap of
 * each chunk, locked by a flag, backed by pieces of the pool.  Structs and memory are kept for the
 * next folio of their size.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/mem.h"
#include "pagecache/region.h"

/* ---- memory ---- */

int rbuf_new(struct ek_region *r, unsigned order, struct rbuf **ret)
{
	struct rbuf *b = r->free_bufs != NULL ? r->free_bufs : mem_zero(sizeof(*b));

	if (b == NULL)
		return -ENOMEM;
	if (r->free_bufs != NULL)
		r->free_bufs = b->next;
	b->data = fpool_take(r->pool, order);
	while (b->data == NULL && fpool_grow(r->pool) == 0)
		b->data = fpool_take(r->pool, order);
	b->order = order;
	b->refs = 1;
	if (b->data != NULL) {
		*ret = b;
		return 0;
	}
	b->next = r->free_bufs;
	r->free_bufs = b;
	return -ENOMEM;
}

void rbuf_put(struct ek_region *r, struct rbuf *b)
{
	if (--b->refs != 0)
		return;
	fpool_give(r->pool, b->data, b->order);
	b->next = r->free_bufs;
	r->free_bufs = b;
}

static struct rfolio *new_folio(struct ek_region *r, unsigned order)
{
	size_t blocks = ((size_t)PAGE_BYTES << order) / r->k.block, words = DIV_UP(blocks, 64u);
	struct rfolio *o = r->free_folios[order];

	if (o != NULL)
		r->free_folios[order] = o->next;
	else
		o = mem_zero(sizeof(*o) + 2 * words * sizeof(uint64_t));
	if (o == NULL)
		return NULL;
	memset(o, 0, sizeof(*o) + 2 * words * sizeof(uint64_t));
	o->order = order;
	o->valid = (uint8_t *)o->bits;
	o->blocks = (uint8_t *)(o->bits + words);
	if (rbuf_new(r, order, &o->buf) == 0)
		return o;
	o->next = r->free_folios[order];
	r->free_folios[order] = o;
	return NULL;
}

static void free_folio(struct rfolio *o)
{
	struct ek_region *r = o->file->r;

	rbuf_put(r, o->buf);
	free(o->edges);
	o->edges = NULL;
	o->next = r->free_folios[o->order];
	r->free_folios[o->order] = o;
	r->pages -= 1u << o->order;
}

/* ---- the index ---- */

static struct rchunk *chunk_at(const struct rfile *file, uint64_t n)
{
	struct rchunk **table = n < file->chunks ? file->top[n / CHUNK_PAGES] : NULL;

	return table != NULL ? table[n % CHUNK_PAGES] : NULL;
}

static struct rchunk *make_chunk(struct rfile *file, uint64_t n)
{
	struct rchunk ***table = &file->top[n / CHUNK_PAGES], **at;

	if (*table == NULL)
		*table = mem_zero(CHUNK_PAGES * sizeof(**table));
	if (*table == NULL)
		return NULL;
	at = &(*table)[n % CHUNK_PAGES];
	if (*at == NULL)
		*at = mem_zero(sizeof(**at));
	if (*at != NULL)
		file->chunks = MAX(file->chunks, n + 1);
	return *at;
}

static void free_chunk(struct rchunk *c)
{
	for (unsigned i = 0; c != NULL && i < CHUNK_PAGES; i++) {
		struct rfolio *o = c->slot[i];

		if (o == NULL)
			continue;
		i += (1u << o->order) - 1;
		if (o->dirty)
			rfolio_clear_dirty(o);
		free_folio(o);
	}
	free(c);
}

void rfile_free_index(struct rfile *file)
{
	for (unsigned i = 0; i < REGION_TOP; i++) {
		for (unsigned k = 0; file->top[i] != NULL && k < CHUNK_PAGES; k++)
			free_chunk(file->top[i][k]);
		free(file->top[i]);
		file->top[i] = NULL;
	}
	file->chunks = 0;
}

struct rfolio *rfolio_find(struct rfile *file, uint64_t page)
{
	struct rchunk *c = chunk_at(file, page / CHUNK_PAGES);
	struct rfolio *o = c != NULL ? c->slot[page % CHUNK_PAGES] : NULL;

	if (o != NULL)
		o->refs++;
	return o;
}

/* The largest folio for a write of len bytes at off: as long as the write, aligned to its length,
 * where none is yet. */
static unsigned order_for(const struct ek_region *r, const struct rchunk *c, uint64_t off,
			  uint64_t len)
{
	unsigned page = (unsigned)(off / PAGE_BYTES % CHUNK_PAGES), order;

	if (r->k.folio != 0)
		return ilog2(r->k.folio) - PAGE_BITS;
	len = MAX(len, (uint64_t)PAGE_BYTES);
	order = MIN(ilog2(len) - PAGE_BITS, POOL_ORDERS - 1);
	while (order > 0 && page % (1u << order) != 0)
		order--;
	for (unsigned i = 1; i < 1u << order; i++) {
		if (c->slot[page + i] != NULL)
			order = ilog2(i);
	}
	return order;
}

int rfolio_get(struct rfile *file, uint64_t off, uint64_t len, struct rfolio **ret)
{
	struct ek_region *r = file->r;
	uint64_t page = off / PAGE_BYTES;
	struct rfolio *o = rfolio_find(file, page);
	struct rchunk *c;
	unsigned order;

	if (o != NULL) {
		*ret = o;
		return 0;
	}
	c = make_chunk(file, page / CHUNK_PAGES);
	if (c == NULL)
		return -ENOMEM;
	order = order_for(r, c, off, len);
	o = new_folio(r, order);
	if (o == NULL)
		return -ENOMEM;
	o->file = file;
	o->page = page >> order << order;
	o->refs = 1;
	for (unsigned i = 0; i < 1u << order; i++)
		c->slot[o->page % CHUNK_PAGES + i] = o;
	r->pages += 1u << order;
	rcount(r, RC_ADDED, 1);
	*ret = o;
	return 0;
}

void rfolio_put(struct rfolio *o)
{
	if (--o->refs == 0 && o->gone)
		free_folio(o);
}

void rfolio_remove(struct rfolio *o)
{
	struct rchunk *c = chunk_at(o->file, o->page / CHUNK_PAGES);

	if (o->dirty)
		rfolio_clear_dirty(o);
	for (unsigned i = 0; i < 1u << o->order; i++)
		c->slot[o->page % CHUNK_PAGES + i] = NULL;
	o->gone = true;
	rcount(o->file->r, RC_DROPPED, 1);
}

static bool idle(const struct rfolio *o)
{
	return o->refs == 0 && o->pending == 0 && !o->locked && !o->dirty;
}

static void drop_in_chunk(struct rchunk *c, uint64_t base, uint64_t page, uint64_t end)
{
	for (unsigned i = 0; i < CHUNK_PAGES; i++) {
		struct rfolio *o = c->slot[i];

		if (o == NULL)
			continue;
		i = (unsigned)(rfolio_end_page(o) - base) - 1;
		if (o->page >= page && rfolio_end_page(o) <= end && idle(o)) {
			rfolio_remove(o);
			free_folio(o);
		}
	}
}

void rfolio_drop_clean(struct rfile *file, uint64_t page, uint64_t end)
{
	end = MIN(end, file->chunks * CHUNK_PAGES);
	for (uint64_t n = page / CHUNK_PAGES; n * CHUNK_PAGES < end; n++) {
		struct rchunk *c = chunk_at(file, n);

		if (c != NULL)
			drop_in_chunk(c, n * CHUNK_PAGES, page, end);
	}
}

/* ---- locks ---- */

bool rfolio_trylock(struct rfolio *o)
{
	if (o->locked)
		return false;
	o->locked = true;
	return true;
}

void rfolio_lock(struct rfolio *o)
{
	struct ek_region *r = o->file->r;

	if (o->locked)
		rcount(r, RC_LOCK_WAITS, 1);
	while (o->locked)
		pthread_cond_wait(&r->changed, &r->lock);
	o->locked = true;
}

void rfolio_unlock(struct rfolio *o)
{
	o->locked = false;
	if (o->file->r->threads && o->refs > 1)
		pthread_cond_broadcast(&o->file->r->changed);
}

/* ---- marks ---- */

/* A tag may be on some of the folio's pages only: those that a range had in it. */
static void set_mark(struct rchunk *c, enum rmark m, const struct rfolio *o, bool on)
{
	unsigned at = (unsigned)(o->page % CHUNK_PAGES), n = 1u << o->order;
	unsigned have = (unsigned)bitmap_count(c->marks[m], at, n);

	if (on)
		bitmap_set_range(c->marks[m], at, n);
	else
		bitmap_clear_range(c->marks[m], at, n);
	c->marked[m] += (on ? n : 0) - have;
}

void rfolio_set_dirty(struct rfolio *o)
{
	if (o->dirty)
		return;
	o->dirty = true;
	o->file->r->dirty_pages += 1u << o->order;
	set_mark(chunk_at(o->file, o->page / CHUNK_PAGES), MARK_DIRTY, o, true);
}

void rfolio_clear_dirty(struct rfolio *o)
{
	struct rchunk *c = chunk_at(o->file, o->page / CHUNK_PAGES);

	o->dirty = false;
	o->file->r->dirty_pages -= 1u << o->order;
	set_mark(c, MARK_DIRTY, o, false);
	set_mark(c, MARK_TOWRITE, o, false);
}

uint64_t rmark_next(const struct rfile *file, enum rmark mark, uint64_t page, uint64_t end)
{
	end = MIN(end, file->chunks * CHUNK_PAGES);
	while (page < end) {
		const struct rchunk *c = chunk_at(file, page / CHUNK_PAGES);
		uint64_t base = page / CHUNK_PAGES * CHUNK_PAGES;

		if (c != NULL && c->marked[mark] != 0) {
			page = base + bitmap_find_next_set(c->marks[mark], CHUNK_PAGES,
							   (size_t)(page - base));
			if (page < base + CHUNK_PAGES)
				return MIN(page, end);
		}
		page = base + CHUNK_PAGES;
	}
	return UINT64_MAX;
}

uint64_t rmark_end(const struct rfile *file, enum rmark mark, uint64_t page, uint64_t end)
{
	while (page < end) {
		const struct rchunk *c = chunk_at(file, page / CHUNK_PAGES);
		uint64_t base = page / CHUNK_PAGES * CHUNK_PAGES;

		if (c == NULL)
			break;
		page = base +
		       bitmap_find_next_zero(c->marks[mark], CHUNK_PAGES, (size_t)(page - base));
		if (page < base + CHUNK_PAGES)
			break;
	}
	return MIN(page, end);
}

void rmark_tag(struct rfile *file, uint64_t page, uint64_t end)
{
	while ((page = rmark_next(file, MARK_DIRTY, page, end)) < end) {
		struct rchunk *c = chunk_at(file, page / CHUNK_PAGES);
		uint64_t last = rmark_end(file, MARK_DIRTY, page, end);
		uint64_t to = MIN(last, (page / CHUNK_PAGES + 1) * CHUNK_PAGES);
		size_t at = (size_t)(page % CHUNK_PAGES), n = (size_t)(to - page);

		c->marked[MARK_TOWRITE] +=
		    (unsigned)(n - bitmap_count(c->marks[MARK_TOWRITE], at, n));
		bitmap_set_range(c->marks[MARK_TOWRITE], at, n);
		page = to;
	}
}

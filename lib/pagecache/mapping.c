/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of a mapping: chunks, tags, and ordered walks over them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/mem.h"
#include "pagecache/folio.h"

#define LEAF_PAGES (LEAF_CHUNKS * CHUNK_PAGES)

static struct chunk *chunk_of(const struct mapping *m, uint32_t page)
{
	uint32_t leaf = page / LEAF_PAGES, at;

	if (leaf >= m->leaves || m->leaf[leaf] == NULL)
		return NULL;
	at = page / CHUNK_PAGES % LEAF_CHUNKS;
	return at < m->leaf[leaf]->chunks ? m->leaf[leaf]->chunk[at] : NULL;
}

static int grow_leaves(struct mapping *m, uint32_t need)
{
	bool first = m->leaf == NULL || m->leaf == &m->first_leaf;
	uint32_t n = MAX(m->leaves * 2, need);
	struct chunk_leaf **p;

	if (need <= m->leaves)
		return 0;
	if (need == 1) {
		m->leaf = &m->first_leaf;
		m->leaves = 1;
		return 0;
	}
	p = realloc(first ? NULL : m->leaf, n * sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	memset(p + m->leaves, 0, (n - m->leaves) * sizeof(*p));
	if (first)
		p[0] = m->first_leaf;
	m->leaf = p;
	m->leaves = n;
	return 0;
}

/* Room for entry at of a table that ends in pointers: doubles from four, at most limit. */
static void *grow_tail(void *table, size_t head, uint32_t have, uint32_t at, uint32_t limit,
		       uint32_t *ret)
{
	uint32_t n = MIN(MAX(MAX(have * 2, at + 1), 4u), limit);
	uint8_t *p = realloc(table, head + n * sizeof(void *));

	if (p == NULL)
		return NULL;
	memset(p + head + have * sizeof(void *), 0, (n - have) * sizeof(void *));
	if (table == NULL)
		memset(p, 0, head);
	*ret = n;
	return p;
}

static struct chunk_leaf *leaf_for(struct mapping *m, uint32_t leaf, uint32_t at)
{
	struct chunk_leaf *l;
	uint32_t n;

	if (grow_leaves(m, leaf + 1) < 0)
		return NULL;
	l = m->leaf[leaf];
	if (l != NULL && at < l->chunks)
		return l;
	l = grow_tail(l, sizeof(*l), l != NULL ? l->chunks : 0, at, LEAF_CHUNKS, &n);
	if (l == NULL)
		return NULL;
	l->chunks = n;
	m->leaf[leaf] = l;
	return l;
}

static struct chunk *make_chunk(struct mapping *m, uint32_t page)
{
	uint32_t at = page / CHUNK_PAGES % LEAF_CHUNKS, slot = page % CHUNK_PAGES, n;
	struct chunk_leaf *l = leaf_for(m, page / LEAF_PAGES, at);
	struct chunk *c;

	if (l == NULL)
		return NULL;
	c = l->chunk[at];
	if (c != NULL && slot < c->slots)
		return c;
	c = grow_tail(c, sizeof(*c), c != NULL ? c->slots : 0, slot, CHUNK_PAGES, &n);
	if (c == NULL)
		return NULL;
	c->slots = n;
	l->chunk[at] = c;
	return c;
}

/* The last head at or before bit, or -1. */
static int head_before(const uint64_t *heads, uint32_t bit)
{
	uint32_t w = bit / 64;
	uint64_t word = heads[w] & (UINT64_MAX >> (63 - bit % 64));

	while (word == 0) {
		if (w == 0)
			return -1;
		word = heads[--w];
	}
	return (int)(w * 64 + 63u - (uint32_t)__builtin_clzll(word));
}

struct folio *mapping_search(struct mapping *m, uint32_t page)
{
	struct chunk *c = chunk_of(m, page);
	struct folio *f;
	int head;

	if (c == NULL)
		return NULL;
	head = head_before(c->tag[TAG_HEAD], page % CHUNK_PAGES);
	if (head < 0)
		return NULL;
	f = c->slot[head];
	if (page - f->index >= folio_pages(f))
		return NULL;
	m->last = f;
	/* Most files are gone over: the next folio comes while this one's bytes are copied. */
	head += (int)folio_pages(f);
	if ((uint32_t)head < c->slots)
		__builtin_prefetch(c->slot[head]);
	return f;
}

uint32_t mapping_head(struct mapping *m, uint32_t page)
{
	const struct folio *f = mapping_find(m, page);

	return f != NULL ? f->index : page;
}

static void summarise(struct mapping *m, struct chunk *c, uint32_t page, enum folio_tag tag)
{
	struct chunk_leaf *l = m->leaf[page / LEAF_PAGES];
	uint32_t bit = page / CHUNK_PAGES % LEAF_CHUNKS;

	if (c->count[tag] != 0)
		bitmap_set(l->tagged[tag], bit);
	else
		bitmap_clear(l->tagged[tag], bit);
}

static void set_tag(struct mapping *m, struct chunk *c, uint32_t page, enum folio_tag tag, bool on)
{
	uint32_t bit = page % CHUNK_PAGES;

	if (bitmap_test(c->tag[tag], bit) == on)
		return;
	if (on)
		bitmap_set(c->tag[tag], bit);
	else
		bitmap_clear(c->tag[tag], bit);
	c->count[tag] = (uint16_t)(c->count[tag] + (on ? 1 : -1));
	if (c->count[tag] <= 1)
		summarise(m, c, page, tag);
}

void mapping_tag(struct mapping *m, struct folio *f, enum folio_tag tag)
{
	set_tag(m, chunk_of(m, f->index), f->index, tag, true);
}

void mapping_untag(struct mapping *m, struct folio *f, enum folio_tag tag)
{
	set_tag(m, chunk_of(m, f->index), f->index, tag, false);
}

int mapping_insert(struct mapping *m, struct folio *f)
{
	struct chunk *c = make_chunk(m, f->index);

	if (c == NULL)
		return -ENOMEM;
	c->slot[f->index % CHUNK_PAGES] = f;
	set_tag(m, c, f->index, TAG_HEAD, true);
	m->pages += folio_pages(f);
	m->last = f;
	return 0;
}

void mapping_remove(struct mapping *m, struct folio *f)
{
	struct chunk *c = chunk_of(m, f->index);

	for (unsigned tag = 0; tag < TAG_COUNT; tag++)
		set_tag(m, c, f->index, (enum folio_tag)tag, false);
	c->slot[f->index % CHUNK_PAGES] = NULL;
	m->pages -= folio_pages(f);
	if (m->last == f)
		m->last = NULL;
}

/* First of n tags that is set, at or after bit from; n or more when none is.  Small files have few
 * chunks and few pages: their tables are not searched any further. */
static uint32_t next_tag(const uint64_t *tags, uint32_t n, uint32_t from)
{
	return (uint32_t)bitmap_find_next_set(tags, ROUND_UP(n, 64u), from);
}

struct folio *mapping_next(struct mapping *m, enum folio_tag tag, uint32_t page, uint32_t last)
{
	while (page <= last) {
		uint32_t leaf = page / LEAF_PAGES, at, bit;
		struct chunk_leaf *l;
		struct chunk *c;
		uint64_t next;

		if (leaf >= m->leaves)
			return NULL;
		l = m->leaf[leaf];
		next = ((uint64_t)leaf + 1) * LEAF_PAGES;
		if (l == NULL) {
			if (next > last)
				return NULL;
			page = (uint32_t)next;
			continue;
		}
		at = next_tag(l->tagged[tag], l->chunks, page / CHUNK_PAGES % LEAF_CHUNKS);
		if (at >= l->chunks) {
			if (next > last)
				return NULL;
			page = (uint32_t)next;
			continue;
		}
		if (leaf * LEAF_PAGES + at * CHUNK_PAGES > page)
			page = leaf * LEAF_PAGES + at * CHUNK_PAGES;
		c = l->chunk[at];
		bit = next_tag(c->tag[tag], c->slots, page % CHUNK_PAGES);
		if (bit < c->slots) {
			page = page / CHUNK_PAGES * CHUNK_PAGES + bit;
			return page <= last ? c->slot[bit] : NULL;
		}
		next = ((uint64_t)page / CHUNK_PAGES + 1) * CHUNK_PAGES;
		if (next > last)
			return NULL;
		page = (uint32_t)next;
	}
	return NULL;
}

void mapping_tag_towrite(struct mapping *m, uint32_t first, uint32_t last)
{
	struct folio *f;

	while ((f = mapping_next(m, TAG_DIRTY, first, last)) != NULL) {
		mapping_tag(m, f, TAG_TOWRITE);
		if (f->index + folio_pages(f) - 1 >= last)
			break;
		first = f->index + folio_pages(f);
	}
}

unsigned mapping_free_order(struct mapping *m, uint32_t page, unsigned want)
{
	struct chunk *c = chunk_of(m, page);
	unsigned align = page != 0 ? (unsigned)__builtin_ctz(page) : POOL_ORDERS - 1;

	want = MIN(MIN(want, align), POOL_ORDERS - 1);
	while (c != NULL && want > 0) {
		uint32_t end = page % CHUNK_PAGES + (1u << want);
		size_t next = bitmap_find_next_set(c->tag[TAG_HEAD], end, page % CHUNK_PAGES);

		if (next >= end)
			break;
		want--;
	}
	return want;
}

void mapping_free_table(struct mapping *m)
{
	for (uint32_t i = 0; i < m->leaves; i++) {
		if (m->leaf[i] == NULL)
			continue;
		for (uint32_t k = 0; k < m->leaf[i]->chunks; k++)
			free(m->leaf[i]->chunk[k]);
		free(m->leaf[i]);
	}
	if (m->leaf != &m->first_leaf)
		free(m->leaf);
	m->leaf = NULL;
	m->first_leaf = NULL;
	m->leaves = 0;
}

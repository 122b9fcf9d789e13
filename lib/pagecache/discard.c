/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Taking cached data away: ranges that a file loses, clean data that nobody needs, data that is
 * about to be wrong.
 *
 * A folio that reaches over an end of a lost range keeps its other blocks.  As in Linux 6.18 it is
 * split there, once at the page where the lost part begins and once where it ends, so that the
 * whole pages between go; one with dirty blocks left stays in one piece.
 */
#include <string.h>

#include "base/check.h"
#include "pagecache/pagecache.h"

/* ---- ranges that a file loses ---- */

/* Blocks that lie in the range with all their bytes. */
static void forget_blocks(struct folio *f, uint64_t from, uint64_t to)
{
	static const enum block_state lost[] = {BLOCK_MAPPED, BLOCK_DELAY, BLOCK_UNWRITTEN,
						BLOCK_DIRTY};
	unsigned bits = pc_block_bits(f->map->pc);
	uint32_t first = (uint32_t)((from + (1u << bits) - 1) >> bits);
	uint32_t last = (uint32_t)(to >> bits);

	for (unsigned i = 0; first < last && i < ARRAY_SIZE(lost); i++)
		folio_clear(f, lost[i], first, last - first);
	if ((f->flags & FOLIO_DIRTY) != 0 && !folio_any(f, BLOCK_DIRTY, 0, f->blocks))
		folio_clear_dirty(f);
}

/* What a split leaves behind the end of the file holds nothing. */
static void drop_behind_end(struct mapping *m, uint32_t last)
{
	uint64_t end = (m->inode->size + PAGE_BYTES - 1) >> PAGE_BITS;
	struct folio *f;

	while (end <= last && (f = mapping_next(m, TAG_HEAD, (uint32_t)end, last)) != NULL)
		folio_drop(f);
}

static void split_edges(struct folio *f, uint64_t from, uint64_t to)
{
	struct mapping *m = f->map;
	uint32_t first = f->index, last = first + folio_pages(f) - 1;
	uint32_t after = first + (uint32_t)(to >> PAGE_BITS);

	if (folio_split(f, first + (uint32_t)(from >> PAGE_BITS)) == NULL) {
		folio_drop(f);
		return;
	}
	drop_behind_end(m, last);
	f = after <= last ? mapping_find(m, after) : NULL;
	if (f != NULL && f->order > m->pc->min_order)
		folio_split(f, after);
}

/* The folio loses [from, to) of its own bytes, not all of them. */
static void discard_part(struct folio *f, uint64_t from, uint64_t to)
{
	struct pagecache *pc = f->map->pc;

	if ((f->flags & FOLIO_READING) != 0)
		(void)reads_wait_for(pc, f); /* where that fails the next call does too */
	if (f->writes != 0)
		pc_wait(pc); /* an error is told to whoever waits for the data */
	if (f->data != NULL)
		memset(f->data + from, 0, to - from);
	count(pc->counters, COUNTER_INVALIDATE_FOLIO, 1);
	forget_blocks(f, from, to);
	if (f->order > pc->min_order && (f->flags & FOLIO_DIRTY) == 0 && f->writes == 0)
		split_edges(f, from, to);
}

/* The folio that holds the page, when it reaches over an end of the range: where it ended. */
static uint64_t discard_edge(struct mapping *m, uint32_t page, uint64_t from, uint64_t to)
{
	struct folio *f = mapping_find(m, page);
	uint64_t pos, end;

	if (f == NULL)
		return 0;
	pos = folio_pos(f);
	end = pos + folio_bytes(f);
	if ((from > pos || to < end) && from < end && to > pos)
		discard_part(f, MAX(from, pos) - pos, MIN(to, end) - pos);
	return end;
}

void mapping_discard(struct mapping *m, uint64_t from, uint64_t to)
{
	const uint64_t limit = (uint64_t)UINT32_MAX << PAGE_BITS;
	uint32_t page = (uint32_t)(MIN(from, limit) >> PAGE_BITS);
	struct folio *f;

	if (discard_edge(m, page, from, to) < to && to < limit)
		discard_edge(m, (uint32_t)(to >> PAGE_BITS), from, to);
	while ((f = mapping_next(m, TAG_HEAD, page, UINT32_MAX)) != NULL && folio_pos(f) < to) {
		page = f->index + folio_pages(f);
		if (from <= folio_pos(f) && to >= folio_pos(f) + folio_bytes(f)) {
			count(m->pc->counters, COUNTER_INVALIDATE_FOLIO, 1);
			folio_drop(f);
		}
		if (page == 0)
			break;
	}
}

/* ---- clean data ---- */

void pc_drop(struct ek_inode *inode, uint64_t pos, uint64_t len)
{
	struct mapping *m = inode->mapping;
	uint32_t page, last;
	struct folio *f;

	if (m == NULL || len == 0)
		return;
	page = (uint32_t)((pos + PAGE_BYTES - 1) >> PAGE_BITS);
	last = (uint32_t)MIN((pos + MIN(len, UINT64_MAX - pos)) >> PAGE_BITS, (uint64_t)UINT32_MAX);
	while (last != 0 && (f = mapping_next(m, TAG_HEAD, page, last - 1)) != NULL) {
		page = f->index + folio_pages(f);
		if ((f->flags & FOLIO_DIRTY) == 0 && page <= last)
			folio_drop(f);
		if (page == 0)
			break;
	}
}

void pc_invalidate(struct ek_inode *inode, uint64_t pos, uint64_t len)
{
	struct mapping *m = inode->mapping;
	uint32_t page, last;
	struct folio *f;

	if (m == NULL || len == 0)
		return;
	page = (uint32_t)(pos >> PAGE_BITS);
	last = (uint32_t)MIN((pos + len - 1) >> PAGE_BITS, (uint64_t)UINT32_MAX - 1);
	f = mapping_find(m, page);
	if (f == NULL)
		f = mapping_next(m, TAG_HEAD, page, last);
	while (f != NULL) {
		page = f->index + folio_pages(f);
		if ((f->flags & FOLIO_DIRTY) == 0)
			folio_drop(f);
		f = page <= last && page != 0 ? mapping_next(m, TAG_HEAD, page, last) : NULL;
	}
}

void pc_drop_caches(struct pagecache *pc)
{
	while (!list_empty(&pc->clean))
		folio_drop(list_first(&pc->clean, struct folio, lru));
}

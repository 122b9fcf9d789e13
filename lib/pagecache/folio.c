/* SPDX-License-Identifier: BSD-2-Clause */
/* Block states of a folio: rows of bits. */
#include "pagecache/folio.h"

#include <string.h>

#include "base/check.h"

void folio_zero_tail(struct folio *f, uint64_t size)
{
	uint64_t pos = folio_pos(f);

	if (size > pos && size < pos + folio_bytes(f))
		memset(f->data + (size - pos), 0, pos + folio_bytes(f) - size);
}

bool folio_any(struct folio *f, enum block_state s, uint32_t from, uint32_t n)
{
	if ((f->flags & FOLIO_HUGE_STATE) == 0)
		return (f->state.word[s] & folio_mask(from, n)) != 0;
	return bitmap_find_next_set(folio_row(f, s), from + n, from) < from + n;
}

void folio_clear(struct folio *f, enum block_state s, uint32_t from, uint32_t n)
{
	f->flags &= (uint8_t)~FOLIO_SETTLED;
	if ((f->flags & FOLIO_HUGE_STATE) == 0)
		f->state.word[s] &= ~folio_mask(from, n);
	else
		bitmap_clear_range(folio_row(f, s), from, n);
}

uint32_t folio_run(struct folio *f, enum block_state s, uint32_t from)
{
	const uint64_t *row = folio_row(f, s);
	bool on = folio_test(f, s, from);
	size_t end;

	if ((f->flags & FOLIO_HUGE_STATE) == 0) {
		uint64_t other = (on ? ~row[0] : row[0]) >> from;
		uint32_t left = f->blocks - from;

		return other != 0 ? MIN((uint32_t)__builtin_ctzll(other), left) : left;
	}
	end = on ? bitmap_find_next_zero(row, f->blocks, from)
		 : bitmap_find_next_set(row, f->blocks, from);
	return (uint32_t)end - from;
}

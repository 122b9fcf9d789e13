/* SPDX-License-Identifier: BSD-2-Clause */
/* Buddy chunks of a group, derived from its bitmap. */
#include "alloc/buddy.h"

#include <assert.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/check.h"

/* Order of the chunk at the start of a free run. */
static unsigned first_order(const struct buddy *b, uint32_t start, uint32_t len)
{
	unsigned align = start != 0 ? (unsigned)__builtin_ctz(start) : b->max_order;
	unsigned fit = ilog2(len);

	return MIN(MIN(align, fit), (unsigned)b->max_order);
}

/* Adds (by = 1) or takes (by = -1) the chunks of a free run. */
static void tally(struct buddy *b, uint32_t start, uint32_t len, int by)
{
	while (len != 0) {
		unsigned k = first_order(b, start, len);

		b->chunks[k] += (uint32_t)by;
		start += 1u << k;
		len -= 1u << k;
	}
}

static void set_largest(struct buddy *b)
{
	int k = (int)b->max_order;

	while (k >= 0 && b->chunks[k] == 0)
		k--;
	b->largest = (int8_t)k;
}

bool buddy_next_run(const struct buddy *b, uint32_t from, struct buddy_run *ret)
{
	size_t start = bitmap_find_next_zero(b->map, b->clusters, from), end;

	if (start >= b->clusters)
		return false;
	end = bitmap_find_next_set(b->map, b->clusters, start);
	*ret = (struct buddy_run){(uint32_t)start, (uint32_t)(end - start)};
	return true;
}

void buddy_init(struct buddy *b, uint8_t *map, uint32_t clusters, unsigned block_bits)
{
	struct buddy_run r;

	memset(b, 0, sizeof(*b));
	b->map = map;
	b->clusters = clusters;
	b->max_order = (uint8_t)(block_bits + 1);
	b->first_free = clusters;
	for (uint32_t at = 0; buddy_next_run(b, at, &r); at = r.start + r.len) {
		if (b->free == 0)
			b->first_free = r.start;
		b->free += r.len;
		b->fragments++;
		tally(b, r.start, r.len, 1);
	}
	set_largest(b);
}

/* First cluster of the free run that contains at. */
static uint32_t run_start(const struct buddy *b, uint32_t at)
{
	while (at > 0 && (at & 63) != 0 && !bitmap_test(b->map, at - 1))
		at--;
	while (at >= 64 && (at & 63) == 0) {
		uint64_t word;

		memcpy(&word, b->map + at / 8 - 8, 8);
		if (word != 0)
			break;
		at -= 64;
	}
	while (at > 0 && !bitmap_test(b->map, at - 1))
		at--;
	return at;
}

void buddy_mark_used(struct buddy *b, uint32_t start, uint32_t len)
{
	uint32_t end = start + len, left = run_start(b, start);
	uint32_t right = (uint32_t)bitmap_find_next_set(b->map, b->clusters, end);

	assert(len != 0 && end <= b->clusters);
	tally(b, left, right - left, -1);
	tally(b, left, start - left, 1);
	tally(b, end, right - end, 1);
	b->fragments += (uint32_t)(left < start) + (uint32_t)(end < right) - 1;
	bitmap_set_range(b->map, start, len);
	b->free -= len;
	if (b->first_free == start)
		b->first_free = end;
	set_largest(b);
}

void buddy_mark_free(struct buddy *b, uint32_t start, uint32_t len)
{
	uint32_t end = start + len;
	uint32_t left =
	    start > 0 && !bitmap_test(b->map, start - 1) ? run_start(b, start - 1) : start;
	uint32_t right =
	    end < b->clusters ? (uint32_t)bitmap_find_next_set(b->map, b->clusters, end) : end;

	assert(len != 0 && end <= b->clusters);
	tally(b, left, start - left, -1);
	tally(b, end, right - end, -1);
	tally(b, left, right - left, 1);
	b->fragments += 1 - (uint32_t)(left < start) - (uint32_t)(end < right);
	bitmap_clear_range(b->map, start, len);
	b->free += len;
	b->first_free = MIN(b->first_free, start);
	set_largest(b);
}

/* The chunk that contains block, which lies in the free run [start, start + len): largest aligned
 * power of two around block inside the run. */
static unsigned order_at(const struct buddy *b, uint32_t block, uint32_t start, uint32_t len)
{
	unsigned k = 0;

	while (k < b->max_order) {
		uint32_t size = 2u << k, low = block & ~(size - 1);

		if (low < start || low + size > start + len)
			break;
		k++;
	}
	return k;
}

struct buddy_run buddy_extent(const struct buddy *b, uint32_t block, uint32_t needed)
{
	struct buddy_run r = {block, 0};
	uint32_t start, end, at;

	if (block >= b->clusters || bitmap_test(b->map, block))
		return r;
	start = run_start(b, block);
	end = (uint32_t)bitmap_find_next_set(b->map, b->clusters, block);
	at = block;
	while (at < end) {
		unsigned k = order_at(b, at, start, end - start);

		at = (at & ~((1u << k) - 1)) + (1u << k);
		r.len = at - block;
		if (r.len >= needed)
			break;
	}
	return r;
}

struct buddy_run buddy_chunk(const struct buddy *b, unsigned order)
{
	struct buddy_run r, none = {0, 0};
	unsigned want = order;

	while (want <= b->max_order && b->chunks[want] == 0)
		want++;
	if (want > b->max_order)
		return none;
	for (uint32_t at = b->first_free; buddy_next_run(b, at, &r); at = r.start + r.len) {
		uint32_t pos = r.start, left = r.len;

		while (left >> want != 0) {
			unsigned k = first_order(b, pos, left);

			if (k == want)
				return (struct buddy_run){pos, 1u << k};
			pos += 1u << k;
			left -= 1u << k;
		}
	}
	return none;
}

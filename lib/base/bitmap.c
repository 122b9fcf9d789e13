/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Little-endian bitmaps, a 64-bit word at a time.  The last word of a map may be cut short by the
 * end of its bytes: it is loaded byte by byte, with zeros above.
 */
#include "base/bitmap.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

/* The bits [bit, bit + 64) of a map of nbits, bit being a multiple of 8; absent bytes are 0. */
static uint64_t load(const void *map, size_t nbits, size_t bit)
{
	size_t left = DIV_UP(nbits, 8) - bit / 8;
	le64 w = {{0}};

	if (left >= sizeof(w))
		memcpy(&w, (const uint8_t *)map + bit / 8, sizeof(w));
	else
		memcpy(&w, (const uint8_t *)map + bit / 8, left);
	return le64_get(w);
}

/* The n lowest bits, n being 0..64. */
static uint64_t low_bits(size_t n)
{
	return n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
}

static void fill_range(void *map, size_t from, size_t n, uint8_t value)
{
	uint8_t *p = (uint8_t *)map + from / 8;
	size_t skip = from % 8, head = MIN(n, 8 - skip);
	uint8_t mask = (uint8_t)(low_bits(head) << skip);

	if (n == 0)
		return;
	*p = (uint8_t)((*p & ~mask) | (value & mask));
	n -= head;
	memset(p + 1, value, n / 8);
	if (n % 8 != 0) {
		p += 1 + n / 8;
		mask = (uint8_t)low_bits(n % 8);
		*p = (uint8_t)((*p & ~mask) | (value & mask));
	}
}

void bitmap_set_range(void *map, size_t from, size_t n)
{
	fill_range(map, from, n, 0xff);
}

void bitmap_clear_range(void *map, size_t from, size_t n)
{
	fill_range(map, from, n, 0);
}

/* The word at bit of a map that has all of it. */
static inline uint64_t load_whole(const void *map, size_t bit)
{
	le64 w;

	memcpy(&w, (const uint8_t *)map + bit / 8, sizeof(w));
	return le64_get(w);
}

/* Moves on from bit while four whole words hold nothing but flip. */
static size_t skip_same(const void *map, size_t nbits, size_t bit, uint64_t flip)
{
	while (nbits - bit >= 256) {
		uint64_t a = load_whole(map, bit), b = load_whole(map, bit + 64);
		uint64_t c = load_whole(map, bit + 128), d = load_whole(map, bit + 192);

		if (((a ^ flip) | (b ^ flip) | (c ^ flip) | (d ^ flip)) != 0)
			break;
		bit += 256;
	}
	return bit;
}

/* The first bit from bit on that differs from the bits of flip; w is what differs in the word
 * there.
 */
static size_t find_on(const void *map, size_t nbits, size_t bit, uint64_t w, uint64_t flip)
{
	if (w == 0 && nbits - bit > 64)
		bit = skip_same(map, nbits, bit + 64, flip) - 64;
	while (w == 0) {
		bit += 64;
		if (bit >= nbits)
			return nbits;
		w = load(map, nbits, bit) ^ flip;
	}
	bit += (size_t)__builtin_ctzll(w);
	return MIN(bit, nbits);
}

/* The first bit at or after from that differs from the bits of flip: most often in the first word.
 */
static inline size_t find(const void *map, size_t nbits, size_t from, uint64_t flip)
{
	size_t bit = ROUND_DOWN(from, 8);
	uint64_t w;

	if (from >= nbits)
		return nbits;
	w = nbits - bit >= 64 ? load_whole(map, bit) : load(map, nbits, bit);
	w = (w ^ flip) & (UINT64_MAX << (from - bit));
	if (w != 0 && nbits - bit >= 64)
		return bit + (size_t)__builtin_ctzll(w);
	return find_on(map, nbits, bit, w, flip);
}

size_t bitmap_find_next_set(const void *map, size_t nbits, size_t from)
{
	return find(map, nbits, from, 0);
}

size_t bitmap_find_next_zero(const void *map, size_t nbits, size_t from)
{
	return find(map, nbits, from, UINT64_MAX);
}

size_t bitmap_count(const void *map, size_t from, size_t n)
{
	size_t end = from + n, total = 0;

	for (size_t bit = ROUND_DOWN(from, 8); bit < end; bit += 64) {
		uint64_t w = load(map, end, bit) & low_bits(end - bit);

		if (bit < from)
			w &= ~low_bits(from - bit);
		total += (size_t)__builtin_popcountll(w);
	}
	return total;
}

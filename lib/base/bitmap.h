/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bitmaps as they lie on an ext disk: bit n is bit n % 8 of byte n / 8.
 *
 * Maps are plain bytes of any alignment and any length; no function reads or writes past the byte
 * that holds the last bit it was told of.  Ranges and searches go 64 bits at a time.  The caller
 * keeps bit numbers inside its map: nothing here can check them.
 */
#ifndef BASE_BITMAP_H
#define BASE_BITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool bitmap_test(const void *map, size_t bit)
{
	return (((const uint8_t *)map)[bit / 8] >> (bit % 8) & 1) != 0;
}

static inline void bitmap_set(void *map, size_t bit)
{
	uint8_t *b = (uint8_t *)map + bit / 8;

	*b = (uint8_t)(*b | 1u << (bit % 8));
}

static inline void bitmap_clear(void *map, size_t bit)
{
	uint8_t *b = (uint8_t *)map + bit / 8;

	*b = (uint8_t)(*b & ~(1u << (bit % 8)));
}

/* Bits [from, from + n). */
void bitmap_set_range(void *map, size_t from, size_t n);
void bitmap_clear_range(void *map, size_t from, size_t n);

/* The first set (clear) bit at or after from in a map of nbits bits; nbits when there is none. */
size_t bitmap_find_next_set(const void *map, size_t nbits, size_t from);
size_t bitmap_find_next_zero(const void *map, size_t nbits, size_t from);

/* How many of the bits [from, from + n) are set. */
size_t bitmap_count(const void *map, size_t from, size_t n);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Bitmaps, against one bit at a time. */
#include "tap.h"

#include <stdlib.h>

#include "base/bitmap.h"

#define BITS 203

/* Exactly as many bytes as the map needs, so that a sanitizer sees a step past the end. */
static uint8_t *fresh(unsigned seed)
{
	uint8_t *map = malloc((BITS + 7) / 8);

	for (size_t i = 0; map != NULL && i < (BITS + 7) / 8; i++) {
		seed = seed * 1103515245 + 12345;
		map[i] = (uint8_t)((seed >> 16) & (seed >> 20));
	}
	return map;
}

TEST(bit_n_is_in_byte_n_over_8)
{
	uint8_t map[3] = {0};

	bitmap_set(map, 10);
	CHECK_INT(map[1], 4);
	CHECK(bitmap_test(map, 10));
	CHECK(!bitmap_test(map, 9));
	bitmap_clear(map, 10);
	CHECK_INT(map[1], 0);
}

TEST(ranges_change_their_bits_and_no_others)
{
	uint8_t *map = fresh(1), *want = fresh(1);

	for (size_t from = 0; from <= BITS; from++) {
		for (size_t n = 0; from + n <= BITS; n += 3) {
			bool on = (from + n) % 2 == 0;

			for (size_t i = from; i < from + n; i++)
				on ? bitmap_set(want, i) : bitmap_clear(want, i);
			if (on)
				bitmap_set_range(map, from, n);
			else
				bitmap_clear_range(map, from, n);
			CHECK(memcmp(map, want, (BITS + 7) / 8) == 0);
		}
	}
	free(map);
	free(want);
}

static size_t slow_find(const uint8_t *map, size_t nbits, size_t from, bool value)
{
	while (from < nbits && bitmap_test(map, from) != value)
		from++;
	return from < nbits ? from : nbits;
}

TEST(searches_pass_long_runs_and_stop_at_their_end)
{
	enum { LONG = 1003 };
	uint8_t *map = malloc((LONG + 7) / 8);

	memset(map, 0xff, (LONG + 7) / 8);
	for (size_t at = 0; at < LONG; at++) {
		bitmap_clear(map, at);
		for (size_t from = 0; from < 70 && from <= at; from += 23)
			CHECK_INT(bitmap_find_next_zero(map, LONG, from), at);
		CHECK_INT(bitmap_find_next_zero(map, at, 0), at);
		CHECK_INT(bitmap_find_next_zero(map, LONG, at + 1), LONG);
		bitmap_set(map, at);
	}
	free(map);
}

TEST(searches_agree_with_a_walk)
{
	for (unsigned seed = 0; seed < 20; seed++) {
		uint8_t *map = fresh(seed);

		if (seed % 3 == 0)
			bitmap_set_range(map, 20, 150);
		if (seed % 3 == 1)
			bitmap_clear_range(map, 7, 180);
		for (size_t n = BITS - 20; n <= BITS; n++) {
			for (size_t from = 0; from <= n; from++) {
				CHECK_INT(bitmap_find_next_set(map, n, from),
					  slow_find(map, n, from, true));
				CHECK_INT(bitmap_find_next_zero(map, n, from),
					  slow_find(map, n, from, false));
			}
		}
		free(map);
	}
}

TEST(counts_agree_with_a_walk)
{
	uint8_t *map = fresh(9);

	for (size_t from = 0; from <= BITS; from++) {
		size_t want = 0;

		for (size_t n = 0; from + n <= BITS; n++) {
			CHECK_INT(bitmap_count(map, from, n), want);
			want += from + n < BITS && bitmap_test(map, from + n);
		}
	}
	free(map);
}

int main(void)
{
	return tap_main();
}

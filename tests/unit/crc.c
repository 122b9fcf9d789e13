/* SPDX-License-Identifier: BSD-2-Clause */
/* Checksums, against published check values and bit-by-bit division. */
#include "tap.h"

#include <stdlib.h>

#include "base/crc.h"

#define LONG_LEN 100003

static uint8_t *noise(size_t n)
{
	uint8_t *p = malloc(n);
	uint32_t seed = 7;

	for (size_t i = 0; p != NULL && i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = (uint8_t)(seed >> 24);
	}
	return p;
}

/* Reflected division, one bit at a time. */
static uint32_t divide(uint32_t poly, uint32_t crc, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n * 8; i++) {
		uint32_t bit = (crc ^ (uint32_t)(p[i / 8] >> (i % 8))) & 1;

		crc = crc >> 1 ^ (bit ? poly : 0);
	}
	return crc;
}

static uint32_t divide_be(uint32_t crc, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n * 8; i++) {
		uint32_t bit = (crc >> 31 ^ (uint32_t)(p[i / 8] >> (7 - i % 8))) & 1;

		crc = crc << 1 ^ (bit ? 0x04c11db7 : 0);
	}
	return crc;
}

TEST(published_check_values_come_out)
{
	CHECK_INT(~crc32c(~0u, "123456789", 9) & 0xffffffff, 0xe3069283);
	CHECK_INT(~crc32(~0u, "123456789", 9) & 0xffffffff, 0xcbf43926);
	CHECK_INT(~crc32_be(~0u, "123456789", 9) & 0xffffffff, 0xfc891918);
	CHECK_INT(crc16(0xffff, "123456789", 9), 0x4b37);
	CHECK_INT(crc16(0, "123456789", 9), 0xbb3d);
}

TEST(every_crc32c_agrees_at_each_short_length)
{
	uint8_t *p = noise(600);

	for (size_t w = 0; w < crc32c_way_count; w++) {
		if (!crc32c_ways[w].usable()) {
			printf("# not on this processor: %s\n", crc32c_ways[w].name);
			continue;
		}
		for (size_t n = 0; n <= 600; n++) {
			size_t at = (600 - n) % 8; /* every alignment */

			if (at + n > 600)
				at = 0;
			CHECK_INT(crc32c_ways[w].run(~0u, p + at, n),
				  divide(0x82f63b78, ~0u, p + at, n));
		}
	}
	for (size_t n = 0; n <= 600; n++)
		CHECK_INT(crc32c(5, p, n), divide(0x82f63b78, 5, p, n));
	free(p);
}

TEST(every_crc32c_agrees_on_a_long_buffer)
{
	uint8_t *p = noise(LONG_LEN);
	uint32_t want = divide(0x82f63b78, 1, p, LONG_LEN);

	for (size_t w = 0; w < crc32c_way_count; w++) {
		if (crc32c_ways[w].usable())
			CHECK_INT(crc32c_ways[w].run(1, p, LONG_LEN), want);
	}
	CHECK_INT(crc32c(1, p, LONG_LEN), want);
	free(p);
}

TEST(the_other_sums_agree_with_division)
{
	uint8_t *p = noise(600);

	for (size_t n = 0; n <= 600; n += 7) {
		CHECK_INT(crc32(~0u, p, n), divide(0xedb88320, ~0u, p, n));
		CHECK_INT(crc32_be(3, p, n), divide_be(3, p, n));
		CHECK_INT(crc16(0xffff, p, n), divide(0xa001, 0xffff, p, n));
	}
	free(p);
}

TEST(a_sum_can_be_continued)
{
	uint8_t *p = noise(5000);
	uint32_t whole = crc32c(~0u, p, 5000);

	for (size_t cut = 0; cut <= 5000; cut += 331)
		CHECK_INT(crc32c(crc32c(~0u, p, cut), p + cut, 5000 - cut), whole);
	free(p);
}

int main(void)
{
	return tap_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Name hashes against what debugfs 1.47 prints (dx_hash -s 66656463-6261-3938-3736-353433323130).
 */
#include "tap.h"

#include <errno.h>

#include "base/check.h"
#include "fs/dir.h"

static const char *const names[] = {"a", "hello", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
				    "ab\303\244\377z", NULL};

static const uint32_t known[6][5][2] = {
    {{0xe74b53e2, 0}, {0x32252546, 0}, {0x4e0d46ea, 0}, {0xe1e52474, 0}, {0xddd30d0e, 0}},
    {{0x54ecc132, 0x2862a460},
     {0x6e3cb25c, 0x4fa84af6},
     {0x08608154, 0x3c1e99d9},
     {0xb3da5ea0, 0xafadbd02},
     {0xee3944b4, 0x3ff8f68c}},
    {{0x72717558, 0x0a1f6c2a},
     {0xee8415fa, 0xc6408360},
     {0x8dc5689c, 0x7907bebe},
     {0x35651f3c, 0x7e928acc},
     {0x004eeada, 0xbf002bd6}},
    {{0xe74b53e2, 0}, {0x32252546, 0}, {0x4e0d46ea, 0}, {0xd9311874, 0}, {0xddd30d0e, 0}},
    {{0x54ecc132, 0x2862a460},
     {0x6e3cb25c, 0x4fa84af6},
     {0x08608154, 0x3c1e99d9},
     {0xaad09668, 0x643bf733},
     {0xee3944b4, 0x3ff8f68c}},
    {{0x72717558, 0x0a1f6c2a},
     {0xee8415fa, 0xc6408360},
     {0x8dc5689c, 0x7907bebe},
     {0x2f61e74a, 0x81e5485b},
     {0x004eeada, 0xbf002bd6}}};

TEST(all_six_hashes_are_those_of_e2fsprogs)
{
	uint32_t seed[4], major, minor;
	char longest[256];

	memcpy(seed, "fedcba9876543210", 16);
	memset(longest, 'Q', 255);
	for (unsigned version = 0; version < 6; version++) {
		for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
			const char *name = names[i] != NULL ? names[i] : longest;
			uint32_t len = names[i] != NULL ? (uint32_t)strlen(name) : 255;

			CHECK_INT(dir_hash(seed, version, name, len, &major, &minor), 0);
			if (major != known[version][i][0] || minor != known[version][i][1])
				TAP_FAIL("version %u name %u: 0x%08x 0x%08x", version, i, major,
					 minor);
		}
	}
}

TEST(an_empty_seed_is_the_standard_one)
{
	uint32_t none[4] = {0}, standard[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
	uint32_t a, b, minor;

	CHECK_INT(dir_hash(none, 1, "hello", 5, &a, &minor), 0);
	CHECK_INT(dir_hash(standard, 1, "hello", 5, &b, &minor), 0);
	CHECK_INT(a, b);
}

TEST(unknown_hashes_are_refused)
{
	uint32_t seed[4] = {0}, major, minor;

	CHECK_INT(dir_hash(seed, 6, "a", 1, &major, &minor), -EOPNOTSUPP);
	CHECK_INT(dir_hash(seed, 255, "a", 1, &major, &minor), -EOPNOTSUPP);
}

int main(void)
{
	return tap_main();
}

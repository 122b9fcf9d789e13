/* SPDX-License-Identifier: BSD-2-Clause */
/* The hash table. */
#include "tap.h"

#include "base/check.h"
#include "base/crc.h"
#include "base/hash.h"

#define COUNT 5000

struct thing {
	struct hash_node node;
	bool seen;
};

static struct thing things[COUNT];

static void fill(struct hash *h)
{
	memset(things, 0, sizeof(things));
	for (uint64_t i = 0; i < COUNT; i++)
		hash_insert(h, &things[i].node, i << 20);
}

TEST(every_key_is_found_and_no_other)
{
	struct hash h = {0};

	CHECK(hash_find(&h, 0) == NULL);
	fill(&h);
	CHECK_INT(h.count, COUNT);
	for (uint64_t i = 0; i < COUNT; i++)
		CHECK(hash_find(&h, i << 20) == &things[i].node);
	CHECK(hash_find(&h, 1) == NULL);
	hash_free(&h);
}

TEST(removed_keys_are_gone)
{
	struct hash h = {0};

	fill(&h);
	for (uint64_t i = 0; i < COUNT; i += 2)
		hash_remove(&h, &things[i].node);
	CHECK_INT(h.count, COUNT / 2);
	for (uint64_t i = 0; i < COUNT; i++)
		CHECK((hash_find(&h, i << 20) != NULL) == (i % 2 == 1));
	hash_free(&h);
}

TEST(iteration_meets_each_node_once)
{
	for (unsigned n = 0; n < 70; n++) {
		struct hash h = {0};
		unsigned count = 0;

		memset(things, 0, sizeof(things));
		for (unsigned i = 0; i < n; i++)
			hash_insert(&h, &things[i].node, i);
		for (struct hash_node *p = hash_next(&h, NULL); p; p = hash_next(&h, p)) {
			struct thing *t = hash_entry(p, struct thing, node);

			CHECK(!t->seen);
			t->seen = true;
			count++;
		}
		CHECK_INT(count, n);
		hash_free(&h);
	}
}

TEST(popping_empties_the_table)
{
	struct hash h = {0};
	size_t at = 0, count = 0;

	fill(&h);
	while (hash_pop(&h, &at) != NULL)
		count++;
	CHECK_INT(count, COUNT);
	CHECK_INT(h.count, 0);
	hash_free(&h);
}

TEST(chains_stay_short_for_strided_keys)
{
	struct hash h = {0};
	size_t longest = 0;

	fill(&h);
	for (size_t i = 0; i < (size_t)1 << h.bits; i++) {
		size_t len = 0;

		for (struct hash_node *n = h.slot[i]; n != NULL; n = n->next)
			len++;
		longest = MAX(longest, len);
	}
	CHECK(longest <= 10);
	hash_free(&h);
}

/* All have the same CRC-32C. */
static const char *const alike[] = {"@@@@@@@@@@@@@@@@@@@@@@@@", "CCGALCJ@@@@@@@@@@@@@@@@@",
				    "MCFGGMHG@@@@@@@@@@@@@@@@", "NCBAJBAM@@@@@@@@@@@@@@@@"};

TEST(bytes_that_a_checksum_does_not_tell_apart_have_keys_of_their_own)
{
	for (unsigned i = 0; i < ARRAY_SIZE(alike); i++) {
		CHECK_INT(crc32c(0, alike[i], 24), crc32c(0, alike[0], 24));
		for (unsigned k = 0; k < i; k++)
			CHECK(hash_seeded(1, alike[i], 24) != hash_seeded(1, alike[k], 24));
	}
}

TEST(keys_follow_every_byte_the_length_and_the_seed)
{
	unsigned char bytes[40] = {0};
	uint64_t key;

	for (size_t n = 0; n < sizeof(bytes); n++) {
		key = hash_seeded(7, bytes, n);
		CHECK(key == hash_seeded(7, bytes, n));
		CHECK(key != hash_seeded(8, bytes, n));
		CHECK(key != hash_seeded(7, bytes, n + 1));
		for (size_t i = 0; i < n; i++) {
			bytes[i] = 1;
			CHECK(key != hash_seeded(7, bytes, n));
			bytes[i] = 0;
		}
	}
}

int main(void)
{
	return tap_main();
}

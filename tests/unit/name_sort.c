/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of a folder in order. */
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "tree/name_sort.h"

static uint32_t random_state = 7;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)random_state * n >> 32);
}

#define MOST 3000u

static struct sorted entries[MOST], spare[MOST];
static char names[MOST * 16];

/* n names of up to 12 bytes, made of few different ones behind a prefix that all share. */
static void fill(size_t n, const char *prefix, unsigned letters)
{
	size_t at = 0, len = strlen(prefix);

	for (size_t i = 0; i < n; i++) {
		size_t more = random_below(12 - (uint32_t)len) + 1;

		memcpy(names + at, prefix, len);
		for (size_t k = 0; k < more; k++)
			names[at + len + k] = (char)(1 + random_below(letters));
		entries[i] = (struct sorted){.key = name_key(names + at, len + more),
					     .name = at,
					     .name_len = (uint32_t)(len + more)};
		at += len + more;
	}
}

static bool in_order(const struct sorted *x, const struct sorted *y)
{
	int order = memcmp(names + x->name, names + y->name, MIN(x->name_len, y->name_len));

	return order < 0 || (order == 0 && x->name_len <= y->name_len);
}

static void check(size_t n, const char *prefix, unsigned letters)
{
	const struct sorted *v;
	uint64_t places = 0, want = 0;

	fill(n, prefix, letters);
	for (size_t i = 0; i < n; i++)
		want += entries[i].name * 31 + entries[i].name_len;
	v = name_sort(entries, spare, n, names);
	CHECK(v == entries || v == spare);
	for (size_t i = 0; i < n; i++) {
		places += v[i].name * 31 + v[i].name_len;
		if (i > 0)
			CHECK(in_order(&v[i - 1], &v[i]));
	}
	CHECK(places == want); /* the same entries */
}

TEST(names_are_sorted_byte_for_byte_however_alike_they_are)
{
	static const size_t sizes[] = {0, 1, 2, 47, 48, 49, 500, MOST};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		check(sizes[i], "", 254);
		check(sizes[i], "", 2);
		check(sizes[i], "file-", 9);
		check(sizes[i], "longprefix", 3);
	}
}

TEST(names_that_are_in_order_stay_where_they_are)
{
	fill(400, "", 200);
	if (name_sort(entries, spare, 400, names) == spare)
		memcpy(entries, spare, sizeof(entries));
	CHECK(name_sort(entries, spare, 400, names) == entries);
}

int main(void)
{
	return tap_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Arenas. */
#include <stdbool.h>

#include "tap.h"

#include "base/arena.h"

static bool is_zero(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != 0)
			return false;
	}
	return true;
}

TEST(what_is_taken_is_zero_aligned_and_nobody_elses)
{
	struct arena a = {0};
	unsigned char *last = NULL;
	size_t wrong = 0;

	for (unsigned i = 0; i < 100000; i++) {
		size_t n = 1 + i * 37 % 300;
		unsigned char *p = arena_take(&a, n);

		if (p == NULL || (uintptr_t)p % _Alignof(max_align_t) != 0 || !is_zero(p, n)) {
			wrong++;
			break;
		}
		memset(p, (int)(i % 255 + 1), n);
		if (last != NULL && *last != (i - 1) % 255 + 1)
			wrong++;
		last = p + n - 1;
	}
	CHECK_INT(wrong, 0);
	arena_end(&a);
}

TEST(more_than_a_piece_is_one_piece)
{
	struct arena a = {0};
	unsigned char *small = arena_take(&a, 1), *large = arena_take(&a, (size_t)32 << 20), *next;

	CHECK(small != NULL && large != NULL);
	if (large == NULL)
		return;
	memset(large, 0xff, (size_t)32 << 20);
	next = arena_take(&a, 100);
	CHECK(next != NULL && is_zero(next, 100));
	CHECK_INT(*small, 0);
	arena_end(&a);
}

TEST(what_no_memory_holds_is_null)
{
	struct arena a = {0};

	CHECK(arena_take(&a, SIZE_MAX) == NULL);
	CHECK(arena_take(&a, SIZE_MAX - 64) == NULL);
	CHECK(arena_take(&a, SIZE_MAX / 2) == NULL);
	CHECK(arena_take(&a, 8) != NULL);
	arena_end(&a);
	CHECK(a.pieces == NULL);
}

int main(void)
{
	return tap_main();
}

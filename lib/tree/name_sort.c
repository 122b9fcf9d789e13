/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names by their first eight bytes, which are sorted by distribution, from the last byte to the
 * first; bytes that all names share take no pass, and most folders have few others.  Names whose
 * eight bytes are equal are compared afterwards.
 */
#include "tree/name_sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define FEW 48u /* entries that are compared at once */

uint64_t name_key(const char *name, size_t len)
{
	uint8_t first[8] = {0};
	uint64_t key = 0;

	memcpy(first, name, MIN(len, sizeof(first)));
	for (unsigned i = 0; i < sizeof(first); i++)
		key = key << 8 | first[i];
	return key;
}

static int by_name(const void *a, const void *b, void *arg)
{
	const struct sorted *x = a, *y = b;
	const char *names = arg;
	int order;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	order = memcmp(names + x->name, names + y->name, MIN(x->name_len, y->name_len));
	if (order != 0)
		return order;
	return (x->name_len > y->name_len) - (x->name_len < y->name_len);
}

static void compare(struct sorted *v, size_t n, const char *names)
{
	if (n > 1)
		qsort_r(v, n, sizeof(*v), by_name, (void *)(uintptr_t)names);
}

/* From v to its places in to, by one byte of the keys. */
static void distribute(const struct sorted *v, struct sorted *to, size_t n, unsigned shift)
{
	size_t at[256] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[v[i].key >> shift & 255]++;
	for (unsigned b = 0; b < 256; b++) {
		size_t here = at[b];

		at[b] = sum;
		sum += here;
	}
	for (size_t i = 0; i < n; i++)
		to[at[v[i].key >> shift & 255]++] = v[i];
}

/* The bits in which keys differ; 0 as well when they are in order already. */
static uint64_t differences(const struct sorted *v, size_t n)
{
	uint64_t bits = 0;
	bool sorted = true;

	for (size_t i = 1; i < n; i++) {
		bits |= v[i].key ^ v[0].key;
		sorted = sorted && v[i - 1].key <= v[i].key;
	}
	return sorted ? 0 : bits;
}

static void settle_equals(struct sorted *v, size_t n, const char *names)
{
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && v[end].key == v[i].key;)
			end++;
		compare(v + i, end - i, names);
	}
}

struct sorted *name_sort(struct sorted *v, struct sorted *spare, size_t n, const char *names)
{
	uint64_t bits;

	if (n <= FEW) {
		compare(v, n, names);
		return v;
	}
	bits = differences(v, n);
	for (unsigned shift = 0; shift < 64; shift += 8) {
		struct sorted *from = v;

		if ((bits >> shift & 255) == 0)
			continue;
		distribute(from, spare, n, shift);
		v = spare;
		spare = from;
	}
	settle_equals(v, n, names);
	return v;
}

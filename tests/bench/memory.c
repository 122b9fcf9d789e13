/* SPDX-License-Identifier: BSD-2-Clause */
/* What two threads gain over one when both only copy: the most that writers can gain here. */
#include <pthread.h>

#include "base/copy.h"
#include "bench.h"

#define EACH_MIB 64u
#define PIECE    4096u
#define ROUNDS   5u

typedef void copy_fn(void *to, const void *from, size_t n);

struct copier {
	copy_fn *copy;
	uint8_t *to;
	uint64_t bytes; /* that it goes round in */
};

static uint8_t from[16 * PIECE];

static void copy_cached(void *to, const void *src, size_t n)
{
	memcpy(to, src, n);
}

static void *copy_all(void *arg)
{
	const struct copier *c = arg;

	for (uint64_t at = 0; at < (uint64_t)16 * EACH_MIB * MIB; at += PIECE)
		c->copy(c->to + at % c->bytes, from + at % sizeof(from), PIECE);
	copy_settle();
	return NULL;
}

static double ns_a_piece(struct copier *c, unsigned n)
{
	double start = seconds(CLOCK_MONOTONIC);
	pthread_t thread[2];

	for (unsigned i = 0; i < n; i++)
		must(-pthread_create(&thread[i], NULL, copy_all, &c[i]), "thread");
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	return (seconds(CLOCK_MONOTONIC) - start) * 1e9 / (n * 16.0 * EACH_MIB * MIB / PIECE);
}

static void compare(const char *name, copy_fn *copy, uint8_t *memory, uint64_t bytes)
{
	struct copier c[2] = {{copy, memory, bytes},
			      {copy, memory + (uint64_t)EACH_MIB * MIB, bytes}};
	double one[ROUNDS], two[ROUNDS], a, b;

	for (unsigned r = 0; r < ROUNDS; r++) {
		one[r] = ns_a_piece(c, 1);
		two[r] = ns_a_piece(c, 2);
	}
	a = median(one, ROUNDS);
	b = median(two, ROUNDS);
	printf("4 KiB %-30s one thread %6.1f ns, two %6.1f ns, %5.2f times\n", name, a, b, a / b);
}

int main(void)
{
	uint8_t *memory = aligned_alloc(2 * MIB, (size_t)2 * EACH_MIB * MIB);

	must(memory == NULL ? -1 : 0, "memory");
	memset(memory, 1, (size_t)2 * EACH_MIB * MIB);
	memset(from, 2, sizeof(from));
	compare("by memcpy over 2 MiB", copy_cached, memory, 2 * MIB);
	compare("by memcpy over 64 MiB", copy_cached, memory, (uint64_t)EACH_MIB * MIB);
	compare("past the cache over 64 MiB", copy_past_cache, memory, (uint64_t)EACH_MIB * MIB);
	free(memory);
	return 0;
}

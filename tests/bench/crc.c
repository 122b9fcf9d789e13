/* SPDX-License-Identifier: BSD-2-Clause */
/* Speed of every crc32c this processor can run, in GB per second of CPU time. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/check.h"
#include "base/crc.h"

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The best of five runs of about 20 ms. */
static double speed(uint32_t (*run)(uint32_t, const void *, size_t), const void *p, size_t n)
{
	size_t rounds = ((size_t)16 << 20) / n;
	volatile uint32_t sum = 0;
	double best = 0;

	for (int i = 0; i < 5; i++) {
		double start = cpu_seconds(), took;

		for (size_t r = 0; r < rounds; r++)
			sum = run(sum, p, n);
		took = cpu_seconds() - start;
		best = MAX(best, (double)(rounds * n) / took * 1e-9);
	}
	return best;
}

int main(void)
{
	static const size_t sizes[] = {32, 128, 256, 1024, 4096, 1 << 20};
	unsigned char *p = malloc((size_t)1 << 20);

	if (p == NULL)
		return 1;
	for (size_t i = 0; i < (size_t)1 << 20; i++)
		p[i] = (unsigned char)(i * 2654435761u >> 13);
	printf("%-26s", "GB/s");
	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
		printf(" %8zu", sizes[s]);
	for (size_t w = 0; w <= crc32c_way_count; w++) {
		bool chosen = w == crc32c_way_count;

		if (!chosen && !crc32c_ways[w].usable())
			continue;
		printf("\n%-26s", chosen ? "crc32c()" : crc32c_ways[w].name);
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
			printf(" %8.2f", speed(chosen ? crc32c : crc32c_ways[w].run, p, sizes[s]));
	}
	printf("\n");
	free(p);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a fuzz target on each file of a folder and tells it as TAP; a crash ends it short of its
 * plan, which the tally counts. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEED_MAX ((size_t)64 << 20)

static void run_one(const char *dir, const char *name)
{
	char path[4096];
	uint8_t *data = malloc(SEED_MAX);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (f != NULL && data != NULL) {
		size_t n = fread(data, 1, SEED_MAX, f);

		data = realloc(data, n > 0 ? n : 1); /* so that a sanitizer sees the end */
		if (data != NULL)
			LLVMFuzzerTestOneInput(data, n);
	}
	if (f != NULL)
		fclose(f);
	free(data);
}

static int is_seed(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : ".";
	struct dirent **seeds;
	int n = scandir(dir, &seeds, is_seed, alphasort);

	if (n <= 0) {
		printf("1..1\nok 1 - seeds # SKIP no seeds in %s\n", dir);
		return 0;
	}
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		printf("# %s\n", seeds[i]->d_name);
		fflush(stdout);
		run_one(dir, seeds[i]->d_name);
		printf("ok %d - %s\n", i + 1, seeds[i]->d_name);
		free(seeds[i]);
	}
	free(seeds);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Images for benchmarks: files under new names, sparse, removed when their run is over. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/ctx.h"
#include "extkit/create.h"
#include "trace/bench.h"

#define MEMORY_FOLDER "/dev/shm"

static const char *folder(bool in_memory)
{
	const char *tmp = getenv("TMPDIR");

	if (in_memory && access(MEMORY_FOLDER, W_OK) == 0)
		return MEMORY_FOLDER;
	return tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp";
}

/* A sparse image takes what is written to it: say so before half of it is. */
static int check_room(struct ek_ctx *ctx, const char *dir, uint64_t bytes)
{
	struct statvfs st;

	if (statvfs(dir, &st) < 0)
		return diag_errno(&ctx->diag, -errno, "bench: %s", dir);
	if ((uint64_t)st.f_bavail * st.f_frsize >= bytes)
		return 0;
	return diag_set(&ctx->diag, -ENOSPC,
			"bench: %s has %llu MiB, an image of %llu MiB is wanted (--scale, TMPDIR)",
			dir, (unsigned long long)((uint64_t)st.f_bavail * st.f_frsize >> 20),
			(unsigned long long)(bytes >> 20));
}

int bench_scratch_make(struct ek_ctx *ctx, const struct bench_cell *cell, struct bench_scratch *ret)
{
	struct ek_create_options opt = {.size = sizeof(opt),
					.bytes = cell->image_bytes,
					.block_size = 4096, /* of small images too */
					.features = cell->features,
					.seed = "bench",
					.now = {1700000000, 0}};
	const char *dir = folder(cell->in_memory);
	struct bench_scratch s = {.made = false};
	int fd, rc = check_room(ctx, dir, cell->image_bytes);

	if (rc < 0)
		return rc;
	if (snprintf(s.path, sizeof(s.path), "%s/extkit-bench-XXXXXX", dir) >= (int)sizeof(s.path))
		return diag_set(&ctx->diag, -ENAMETOOLONG, "bench: TMPDIR is too long");
	fd = mkostemp(s.path, O_CLOEXEC);
	if (fd < 0)
		return diag_errno(&ctx->diag, -errno, "bench: %s", s.path);
	close(fd);
	s.made = true;
	rc = ek_create(ctx, s.path, &opt);
	if (rc < 0) {
		bench_scratch_drop(&s);
		return rc;
	}
	*ret = s;
	return 0;
}

void bench_scratch_drop(struct bench_scratch *s)
{
	if (s->made)
		unlink(s->path);
	s->made = false;
}

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

#include "base/check.h"
#include "base/ctx.h"
#include "extkit/create.h"
#include "trace/bench.h"

#define MEMORY_FOLDER "/dev/shm"
#define ZEROS         65536u

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

static int write_zeros(int fd, off_t at, off_t end)
{
	static const uint8_t zeros[ZEROS];

	while (at < end) {
		ssize_t n = pwrite(fd, zeros, (size_t)MIN(end - at, (off_t)sizeof(zeros)), at);

		if (n < 0)
			return -errno;
		at += n;
	}
	return 0;
}

/* The next hole from *at on, up to *end; false behind the last. */
static bool next_hole(int fd, off_t *at, off_t *end)
{
	*at = lseek(fd, *at, SEEK_HOLE);
	*end = *at < 0 ? -1 : lseek(fd, *at, SEEK_DATA);
	if (*end < 0) /* no data behind it */
		*end = lseek(fd, 0, SEEK_END);
	return *at >= 0 && *at < *end;
}

/* A device has room for all of its blocks from the beginning: a sparse file would be given it while
 * the load runs, by the host's filesystem and memory, at a cost that is none of the load's. */
static int fill_holes(struct ek_ctx *ctx, const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rc = fd < 0 ? -errno : 0;

	for (off_t at = 0, end; rc == 0 && next_hole(fd, &at, &end); at = end)
		rc = write_zeros(fd, at, end);
	if (rc == 0 && fdatasync(fd) < 0)
		rc = -errno;
	if (fd >= 0) {
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
	}
	return rc < 0 ? diag_errno(&ctx->diag, rc, "bench: %s", path) : 0;
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
	if (rc == 0 && cell->warm)
		rc = fill_holes(ctx, s.path);
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

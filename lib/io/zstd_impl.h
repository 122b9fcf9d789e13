/* SPDX-License-Identifier: BSD-2-Clause */
/* A seekable zstd file, as zstd.c and zstd_table.c share it. */
#ifndef IO_ZSTD_IMPL_H
#define IO_ZSTD_IMPL_H

#include <pthread.h>
#include <stdbool.h>

#include "io/dev_impl.h"

struct ZSTD_DCtx_s;

#define ZSTD_SLOTS 128

/* Where a frame begins, in the file and in what it holds; the next one tells where it ends. */
struct zframe {
	uint64_t file, image;
};

/* A decompressed frame. */
struct zslot {
	uint8_t *bytes;
	size_t cap;
	size_t frame;
	uint64_t used; /* when, by the device's count of reads */
	bool full;
};

struct zstd {
	struct dev dev;
	struct dev *file;
	struct zframe *frames; /* count + 1 of them */
	size_t count;
	pthread_mutex_t lock; /* of what follows */
	struct ZSTD_DCtx_s *ctx;
	struct zslot slots[ZSTD_SLOTS];
	uint64_t held; /* sum of their cap */
	uint64_t clock;
	uint8_t *packed; /* the frame that is decompressed */
	size_t packed_cap;
};

/* Fills frames, count and the device's size. */
int zstd_read_table(struct zstd *z);

int zstd_tell(const struct dev *file, const char *why, uint64_t value);

#endif

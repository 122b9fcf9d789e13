/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compressed files without a way to read them at random: they are decompressed once, when they are
 * opened, into memory that holds what is not zero.
 */
#ifndef IO_COMPRESSED_H
#define IO_COMPRESSED_H

#include <stdint.h>

#include "io/container.h"

struct dev;

#define COMPRESSED_KEPT_MAX ((uint64_t)1 << 30)  /* bytes that are not zero, in pieces */
#define COMPRESSED_MAX      ((uint64_t)16 << 30) /* bytes of all */

/* A read-only device of what file, compressed as kind says, holds: of its first most bytes at
 * least, UINT64_MAX for all.  It owns file, which is closed on failure too.  -EFBIG past the
 * limits, -EUCLEAN when it does not decompress, -EOPNOTSUPP for gzip, xz and bzip2 without
 * libarchive. */
int compressed_open(struct dev *file, enum container kind, uint64_t most, struct dev **ret);

#endif

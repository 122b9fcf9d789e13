/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * zstd in the seekable form: frames that each stand alone, then a skippable frame with a table of
 * them.
 *
 *	table   0x184D2A5E 4, bytes that follow 4, one entry for each frame, footer
 *	entry   bytes of the frame 4, bytes of what it holds 4, checksum 4 if the footer says so
 *	footer  frames 4, flags 1 (0x80: with checksums; 0x7c: reserved, 0), 0x8F92EAB1 4
 *
 * Numbers are little endian.  Checksums of the table are not compared; frames carry their own.
 */
#ifndef IO_ZSTD_H
#define IO_ZSTD_H

#include <stdint.h>

struct dev;

#define ZSTD_TABLE_MAGIC  0x184D2A5Eu
#define ZSTD_FOOTER_MAGIC 0x8F92EAB1u
#define ZSTD_FOOTER       9u
#define ZSTD_FRAME_MAX    ((uint32_t)128 << 20) /* of what one frame may hold, to be read here */
#define ZSTD_CACHE        ((uint64_t)128 << 20) /* bytes of decompressed frames that are kept */

/* 1 when file ends with a footer, 0 when not, or a negative errno. */
int zstd_has_table(struct dev *file);

/* A read-only device of what file holds; it owns file, which is closed on failure too.  The table
 * must fit its frames exactly: -EUCLEAN.  Costs 16 bytes for each frame, and the cache.  A frame
 * that does not decompress to what the table says is -EUCLEAN when it is read. */
int zstd_open(struct dev *file, struct dev **ret);

#endif

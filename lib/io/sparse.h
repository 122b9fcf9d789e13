/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Android sparse images, version 1: a header of 28 bytes, then chunks that follow each other in the
 * file and in the image.
 *
 *	header  magic 4, major 2, minor 2, header bytes 2, chunk header bytes 2, block size 4,
 *	        blocks of the image 4, chunks 4, checksum 4
 *	chunk   kind 2, 0 2, blocks 4, bytes in the file with this header 4, then data
 *
 * Numbers are little endian.  Data are the blocks themselves, four bytes that repeat, nothing, or a
 * checksum of what came before, which is not compared.
 */
#ifndef IO_SPARSE_H
#define IO_SPARSE_H

#include <stdint.h>

struct dev;

#define SPARSE_MAGIC        0xED26FF3Au
#define SPARSE_HEADER       28u
#define SPARSE_CHUNK_HEADER 12u

enum sparse_kind {
	SPARSE_RAW = 0xCAC1,
	SPARSE_FILL = 0xCAC2,
	SPARSE_SKIP = 0xCAC3,
	SPARSE_CRC = 0xCAC4
};

/* A read-only device of what file holds; it owns file, which is closed on failure too.  All chunks
 * are looked at once: -EUCLEAN when one of them leads outside of the file or of the image.  Costs
 * 24 bytes of memory for each chunk. */
int sparse_open(struct dev *file, struct dev **ret);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checksums of ext4 and jbd2.
 *
 * All take the sum so far and return the next one, with neither an inversion before nor after: what
 * ext4 and jbd2 store is exactly that.  ~0 is the usual first seed; a sum can be continued, so
 * f(f(s, a), b) is f(s, ab).  n may be 0.
 */
#ifndef BASE_CRC_H
#define BASE_CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Castagnoli, reflected: metadata_csum and jbd2 v2/v3.  20 GB/s on long buffers where the processor
 * has the instruction, 1.6 GB/s elsewhere. */
uint32_t crc32c(uint32_t seed, const void *p, size_t n);

/* IEEE 802.3, reflected (the one of zip; not inverted here). */
uint32_t crc32(uint32_t seed, const void *p, size_t n);

/* IEEE 802.3, highest bit first: jbd2 v1 commit blocks. */
uint32_t crc32_be(uint32_t seed, const void *p, size_t n);

/* Polynomial 0xA001, reflected: group descriptors of uninit_bg without metadata_csum. */
uint16_t crc16(uint16_t seed, const void *p, size_t n);

/* The ways to compute crc32c, slowest first, for tests and benchmarks.  usable says whether this
 * processor can run the row; crc32c takes the last usable one. */
struct crc32c_way {
	const char *name;
	bool (*usable)(void);
	uint32_t (*run)(uint32_t seed, const void *p, size_t n);
};

extern const struct crc32c_way crc32c_ways[];
extern const size_t crc32c_way_count;

#endif

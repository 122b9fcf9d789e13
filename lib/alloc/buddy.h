/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One group as the allocator sees it: a bitmap of what may not be taken (used on disk,
 * preallocated, or freed by a transaction that has not committed), and how its free space is
 * composed.
 *
 * A buddy chunk is an aligned power of two of free clusters that is not part of a larger one.
 * Chunks follow from the bitmap alone, so they are derived from it when asked for: the numbers per
 * order are kept, arrays of bits per order are not.
 */
#ifndef ALLOC_BUDDY_H
#define ALLOC_BUDDY_H

#include <stdbool.h>
#include <stdint.h>

#define BUDDY_ORDERS 18u /* 64 KiB blocks: 524,288 clusters a group */

struct buddy {
	uint8_t *map;      /* NULL until loaded */
	uint32_t clusters; /* of a full group; what a short last group lacks is set */
	uint32_t free, fragments;
	uint32_t first_free; /* no free cluster lies before it */
	uint8_t max_order;   /* block size bits + 1 */
	int8_t largest;      /* order of the largest chunk, -1 when nothing is free */
	uint32_t chunks[BUDDY_ORDERS];
};

/* A run inside the group. */
struct buddy_run {
	uint32_t start, len;
};

/* Takes map over and counts what is free in it. */
void buddy_init(struct buddy *b, uint8_t *map, uint32_t clusters, unsigned block_bits);

/* [start, start + len) must be free, or used, entirely. */
void buddy_mark_used(struct buddy *b, uint32_t start, uint32_t len);
void buddy_mark_free(struct buddy *b, uint32_t start, uint32_t len);

/* Free space at block, made of whole chunks from there on until needed clusters are together:
 * length 0 when block is used. */
struct buddy_run buddy_extent(const struct buddy *b, uint32_t block, uint32_t needed);

/* The first chunk whose order is the smallest one of at least order that exists; length 0 if none.
 */
struct buddy_run buddy_chunk(const struct buddy *b, unsigned order);

/* First free cluster at or after from, and the end of its run; false when there is none. */
bool buddy_next_run(const struct buddy *b, uint32_t from, struct buddy_run *ret);

#endif

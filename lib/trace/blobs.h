/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recorded bytes by their SHA-256, the newest BLOBS_WINDOW bytes of them.
 *
 * A writer puts each blob into the file in front of its first use and again when the window has
 * forgotten it; a reader runs the same window over the same sequence, so that both always agree on
 * what is known, with constant memory and without seeking.
 */
#ifndef TRACE_BLOBS_H
#define TRACE_BLOBS_H

#include <stddef.h>
#include <stdint.h>

#define BLOBS_WINDOW ((size_t)16 << 20)

/* Readers remember twice as much, because the binary form brings the blobs of a whole frame in
 * front of the ops that use them. */
enum blobs_side { BLOBS_WRITER = 1, BLOBS_READER = 2 };

/* The longest blob; longer data is kept as a checksum only. */
#define BLOBS_MAX ((size_t)4 << 20)

struct blobs;

/* NULL without memory.  The window itself is allocated with the first blob. */
struct blobs *blobs_new(enum blobs_side side);
void blobs_free(struct blobs *b);

/* The bytes of a known blob, or NULL; valid until the next blobs_room(). */
const uint8_t *blobs_find(const struct blobs *b, const uint8_t hash[32], uint32_t *ret_n);

/* Forgets old blobs until n bytes (at most BLOBS_MAX) fit and returns where to put them, or NULL
 * without memory.  blobs_add() then makes them known. */
uint8_t *blobs_room(struct blobs *b, size_t n);
void blobs_add(struct blobs *b, const uint8_t hash[32], size_t n);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Many small things that live until the same moment: they are taken one behind the other and go
 * together.  All zeros is an empty arena. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_piece;

struct arena {
	struct arena_piece *pieces;
	size_t used; /* bytes of the first piece */
};

/* size zeroed bytes, aligned for anything; NULL without memory. */
void *arena_take(struct arena *a, size_t size);

/* Frees everything that was taken. */
void arena_end(struct arena *a);

#endif

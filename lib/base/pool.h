/* SPDX-License-Identifier: BSD-2-Clause */
/* Items of one size, taken and given back without asking the host each time.  All zeros is an empty
 * pool of no size: set size first.  Items of a cache line and more share none with each other, for
 * threads that work on one each. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>

struct slab;

struct pool {
	size_t size; /* of an item, bytes */
	void *free;  /* linked through the first word */
	struct slab *slabs;
};

/* A zeroed item, NULL without memory. */
void *pool_take(struct pool *p);
void pool_give(struct pool *p, void *item);

/* Frees all items, given back or not. */
void pool_end(struct pool *p);

#endif

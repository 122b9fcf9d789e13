/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of folios: naturally aligned pieces of 4 KiB << order, up to 2 MiB, from chunks that are
 * mapped once, asked for as huge pages, faulted in when they are taken and never given back while
 * the pool lives: first-touch faults, not bookkeeping, would bound the cache otherwise.
 *
 * Free pieces are kept by order and joined with their buddies.
 */
#ifndef PAGECACHE_FPOOL_H
#define PAGECACHE_FPOOL_H

#include <stddef.h>
#include <stdint.h>

#define POOL_ORDERS 10u /* 4 KiB .. 2 MiB */
#define PAGE_BITS   12u
#define PAGE_BYTES  4096u
#define CHUNK_PAGES 512u
#define CHUNK_BYTES ((size_t)2 << 20)

struct diag;
struct fpool;

/* limit: bytes that may be in use at once. */
int fpool_open(size_t limit, struct diag *d, struct fpool **ret);
void fpool_close(struct fpool *p);

/* A piece of that order, its contents undefined; NULL when the limit is reached. */
uint8_t *fpool_take(struct fpool *p, unsigned order);
void fpool_give(struct fpool *p, uint8_t *piece, unsigned order);

/* Pages taken now. */
size_t fpool_used(const struct fpool *p);
size_t fpool_limit(const struct fpool *p);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of folios: naturally aligned pieces of 4 KiB << order, up to 2 MiB, from chunks that are
 * mapped once, asked for as huge pages, faulted in when the pool grows and never given back while
 * it lives: first-touch faults, not bookkeeping, would bound the cache otherwise.
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

/* limit: bytes that will be in use at once.  The pool may have some more, because free memory can
 * be in pieces. */
int fpool_open(size_t limit, struct diag *d, struct fpool **ret);
void fpool_close(struct fpool *p);

/* A piece of that order, its contents undefined; NULL when none is free. */
uint8_t *fpool_take(struct fpool *p, unsigned order);
void fpool_give(struct fpool *p, uint8_t *piece, unsigned order);

/* One more chunk of free memory; -ENOMEM at the limit. */
int fpool_grow(struct fpool *p);

/* Pages that have memory, free ones too. */
size_t fpool_pages(const struct fpool *p);

#endif

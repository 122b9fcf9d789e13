/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A buddy allocator over 2 MiB chunks.  All chunks lie in one reserved range of addresses, so that
 * a piece's chunk and place follow from its address; which pieces are free, and of which order, is
 * kept in bits beside the range, never inside the free memory itself.
 */
#include "pagecache/fpool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"

#define NONE UINT32_MAX

/* Free pieces of one order: a stack of page numbers, and where in it each one is. */
struct stack {
	uint32_t *item;
	size_t count, cap;
};

struct fpool {
	uint8_t *base;
	size_t chunks, chunk_limit; /* mapped so far, at most */
	struct stack free[POOL_ORDERS];
	uint32_t
	    *where; /* per page: index in its order's stack, NONE when not the head of a piece */
	uint8_t *order; /* per page: order of the free piece that starts there */
};

int fpool_open(size_t limit, struct diag *d, struct fpool **ret)
{
	struct fpool *p = mem_zero(sizeof(*p));
	size_t bytes = ROUND_UP(limit + limit / 8, CHUNK_BYTES) + CHUNK_BYTES, pages;
	void *range;

	if (p == NULL)
		return diag_set(d, -ENOMEM, "out of memory for the page cache");
	p->chunk_limit = bytes / CHUNK_BYTES;
	pages = p->chunk_limit * CHUNK_PAGES;
	range = mmap(NULL, bytes + CHUNK_BYTES, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	p->where = mem_array(pages, sizeof(*p->where), SIZE_MAX, d);
	p->order = mem_array(pages, 1, SIZE_MAX, d);
	if (range == MAP_FAILED || p->where == NULL || p->order == NULL) {
		if (range != MAP_FAILED)
			munmap(range, bytes + CHUNK_BYTES);
		free(p->where);
		free(p->order);
		free(p);
		return diag_set(d, -ENOMEM, "out of memory for a page cache of %zu bytes", bytes);
	}
	p->base = (uint8_t *)ROUND_UP((uintptr_t)range, CHUNK_BYTES);
	/* The ends that alignment leaves over stay reserved: they cost addresses, no memory. */
	*ret = p;
	return 0;
}

void fpool_close(struct fpool *p)
{
	if (p == NULL)
		return;
	munmap(p->base, p->chunk_limit * CHUNK_BYTES);
	for (unsigned i = 0; i < POOL_ORDERS; i++)
		free(p->free[i].item);
	free(p->where);
	free(p->order);
	free(p);
}

static int push(struct fpool *p, uint32_t page, unsigned order)
{
	struct stack *s = &p->free[order];

	if (mem_grow((void **)&s->item, &s->cap, s->count + 1, sizeof(*s->item)) < 0)
		return -ENOMEM;
	p->where[page] = (uint32_t)s->count;
	p->order[page] = (uint8_t)(order + 1);
	s->item[s->count++] = page;
	return 0;
}

static void unlink_piece(struct fpool *p, uint32_t page, unsigned order)
{
	struct stack *s = &p->free[order];
	uint32_t at = p->where[page], last = s->item[--s->count];

	s->item[at] = last;
	p->where[last] = at;
	p->order[page] = 0;
}

int fpool_grow(struct fpool *p)
{
	uint8_t *at = p->base + p->chunks * CHUNK_BYTES;

	if (p->chunks == p->chunk_limit)
		return -ENOMEM;
	if (mprotect(at, CHUNK_BYTES, PROT_READ | PROT_WRITE) < 0)
		return -ENOMEM;
	madvise(at, CHUNK_BYTES, MADV_HUGEPAGE);
	/* Older kernels have no populate: the first touch faults then. */
	madvise(at, CHUNK_BYTES, MADV_POPULATE_WRITE);
	return push(p, (uint32_t)(p->chunks++ * CHUNK_PAGES), POOL_ORDERS - 1);
}

uint8_t *fpool_take(struct fpool *p, unsigned order)
{
	unsigned k = order;
	uint32_t page;

	while (k < POOL_ORDERS && p->free[k].count == 0)
		k++;
	if (k == POOL_ORDERS)
		return NULL;
	page = p->free[k].item[p->free[k].count - 1];
	unlink_piece(p, page, k);
	while (k > order) { /* keep the lower half: sequential takes come out in order */
		k--;
		if (push(p, page + (1u << k), k) < 0)
			return NULL;
	}
	return p->base + (size_t)page * PAGE_BYTES;
}

void fpool_give(struct fpool *p, uint8_t *piece, unsigned order)
{
	uint32_t page = (uint32_t)((size_t)(piece - p->base) / PAGE_BYTES);

	while (order < POOL_ORDERS - 1) {
		uint32_t buddy = page ^ (1u << order);

		if (p->order[buddy] != order + 1)
			break;
		unlink_piece(p, buddy, order);
		page &= ~(1u << order);
		order++;
	}
	push(p, page, order);
}

size_t fpool_pages(const struct fpool *p)
{
	return p->chunks * CHUNK_PAGES;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dirty buffers and their way home, alone, by owner or all; and which pages of the device they make
 * dirty in the eyes of Linux, whose page cache of the device counts them.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/mem.h"
#include "io/dev.h"
#include "ondisk/buf_impl.h"
#include "ondisk/geom.h"

#define FLUSH_VECTOR 256u
#define PAGE_BYTES   4096u

void buf_dirty(struct buf *b)
{
	struct buf_cache *c = b->cache;

	b->flags |= BUF_DIRTY | BUF_SEAL;
	if (!list_empty(&b->dirty))
		return;
	list_append(&c->dirty[b->owner.ino % DIRTY_LISTS], &b->dirty);
	c->dirty_count++;
}

void buf_undirty(struct buf *b)
{
	if (list_empty(&b->dirty))
		return;
	list_remove(&b->dirty);
	b->cache->dirty_count--;
}

void buf_taken(struct buf *b)
{
	b->flags &= ~(unsigned)BUF_DIRTY;
	buf_undirty(b);
}

void buf_clean(struct buf *b)
{
	buf_taken(b);
	if (b->refs == 0 && (b->flags & BUF_PINNED) == 0)
		list_push(&b->cache->lru, &b->lru);
}

bool buf_any_dirty(const struct buf_cache *c)
{
	return c->dirty_count != 0;
}

static int by_block(const void *x, const void *y)
{
	const struct buf *a = *(struct buf *const *)x, *b = *(struct buf *const *)y;

	return a->pblk.v < b->pblk.v ? -1 : a->pblk.v > b->pblk.v;
}

void buf_sort(struct buf **bufs, size_t n)
{
	if (n > 1)
		qsort(bufs, n, sizeof(struct buf *), by_block);
}

static int write_run(struct buf_cache *c, struct buf **bufs, unsigned n)
{
	struct iovec iov[FLUSH_VECTOR];
	int rc;

	for (unsigned i = 0; i < n; i++)
		iov[i] = (struct iovec){bufs[i]->data, bufs[i]->size};
	rc = dev_writev(c->dev, bufs[0]->pblk.v << c->geom->block_bits, iov, n);
	for (unsigned i = 0; i < n && rc == 0; i++)
		buf_clean(bufs[i]);
	return rc;
}

static int write_sorted(struct buf_cache *c, struct buf **bufs, size_t n)
{
	for (size_t i = 0; i < n;) {
		unsigned run = 1;
		int rc;

		while (i + run < n && run < FLUSH_VECTOR &&
		       bufs[i + run]->pblk.v == bufs[i]->pblk.v + run)
			run++;
		rc = write_run(c, bufs + i, run);
		if (rc < 0)
			return rc;
		i += run;
	}
	return 0;
}

/* Adds the dirty buffers of one list, of ino or all. */
static size_t collect(const struct list *dirty, uint32_t ino, struct buf **bufs)
{
	size_t n = 0;

	list_for_each (p, dirty) {
		struct buf *b = list_entry(p, struct buf, dirty);

		if (ino == BUF_OF_ALL || b->owner.ino == ino)
			bufs[n++] = b;
	}
	return n;
}

int buf_collect(struct buf_cache *c, uint32_t ino, struct buf ***ret, size_t *ret_n)
{
	unsigned first = ino == BUF_OF_ALL ? 0 : ino % DIRTY_LISTS;
	unsigned last = ino == BUF_OF_ALL ? DIRTY_LISTS - 1 : first;
	struct buf **bufs = NULL;
	size_t n = 0, cap = 0;
	int rc = 0;

	if (mem_grow((void **)&bufs, &cap, MAX(c->dirty_count, (size_t)1), sizeof(*bufs)) < 0)
		return diag_set(c->diag, -ENOMEM, "out of memory to sort %zu dirty buffers",
				c->dirty_count);
	for (unsigned i = first; i <= last; i++)
		n += collect(&c->dirty[i], ino, bufs + n);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = buf_seal(bufs[i]);
	if (rc < 0) {
		free(bufs);
		return rc;
	}
	buf_sort(bufs, n);
	*ret = bufs;
	*ret_n = n;
	return 0;
}

int buf_flush(struct buf_cache *c)
{
	struct buf **bufs;
	size_t n;
	int rc;

	if (c->dirty_count == 0)
		return 0;
	rc = buf_collect(c, BUF_OF_ALL, &bufs, &n);
	if (rc < 0)
		return rc;
	rc = write_sorted(c, bufs, n);
	free(bufs);
	return rc;
}

/* ---- pages of the device ---- */

/* Another block of b's page is dirty there. */
static bool page_is_dirty(const struct buf *b)
{
	const struct buf_cache *c = b->cache;
	uint64_t per = PAGE_BYTES >> c->geom->block_bits,
		 first = ROUND_DOWN(b->pblk.v, MAX(per, 1));

	for (uint64_t at = first; at < first + per; at++) {
		const struct buf *other = buf_find(b->cache, (ek_pblk){at});

		if (other != NULL && other->page_round == c->page_round)
			return true;
	}
	return false;
}

bool buf_dirties_page(struct buf *b)
{
	bool first = b->page_round != b->cache->page_round && !page_is_dirty(b);

	b->page_round = b->cache->page_round;
	return first;
}

void buf_pages_clean(struct buf_cache *c)
{
	c->page_round++;
}

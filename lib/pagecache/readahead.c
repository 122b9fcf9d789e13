/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Read-ahead, with the windows and the folios of Linux 6.18.
 *
 * A miss that looks sequential starts a window, in folios of one page; a mark lies where the part
 * begins that nobody asked for yet.  Whoever comes to the mark starts the next window: larger, and
 * in folios of four times the size.  A miss at random reads what was asked for, a fault the pages
 * around it.
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "base/check.h"
#include "fs/inline.h"
#include "fs/map.h"
#include "io/bio.h"
#include "io/dev.h"
#include "pagecache/hooks.h"
#include "pagecache/pagecache.h"

#define FAULT_MISSES 100u /* more of them than hits, and a fault reads nothing around it */

/* ---- filling ---- */

/* With a batch, later. */
static int read_vectors(struct pagecache *pc, struct read_batch *b, uint64_t at,
			const struct iovec *iov, unsigned n)
{
	int rc = -ENOSPC;

	if (n == 0)
		return 0;
	if (b != NULL)
		rc = reads_add(b, at, iov, n);
	if (rc < 0)
		rc = dev_readv(pc->img->dev, at, iov, n);
	if (rc == 0)
		for (unsigned i = 0; i < n; i++)
			count(pc->counters, COUNTER_DISK_RD_SECT, iov[i].iov_len >> 9);
	return rc;
}

/* A run of blocks into the folios that hold it, those that are still there. */
static int fill_run(struct mapping *m, struct read_batch *b, const struct map *run)
{
	struct pagecache *pc = m->pc;
	unsigned bits = pc_block_bits(pc), n = 0;
	uint64_t pos = (uint64_t)run->lblk.v << bits, end = pos + ((uint64_t)run->len << bits);
	uint64_t disk = run->pblk.v << bits, from = disk;
	struct iovec iov[READ_VECTORS];
	int rc = 0;

	count(pc->counters, COUNTER_DISK_RD_IOS, run->state == MAP_MAPPED);
	while (rc == 0 && pos < end) {
		struct folio *f = mapping_find(m, (uint32_t)(pos >> PAGE_BITS));
		bool gone = f == NULL || f->data == NULL;
		uint64_t len =
		    MIN(end, gone ? (pos | (PAGE_BYTES - 1)) + 1 : folio_pos(f) + folio_bytes(f)) -
		    pos;

		if (!gone && run->state != MAP_MAPPED)
			memset(f->data + (pos - folio_pos(f)), 0, len);
		if (run->state == MAP_MAPPED && (gone || n == READ_VECTORS)) {
			rc = read_vectors(pc, b, from, iov, n);
			from = disk;
			n = 0;
		}
		if (!gone && run->state == MAP_MAPPED)
			iov[n++] = (struct iovec){f->data + (pos - folio_pos(f)), len};
		pos += len;
		disk += len;
		if (gone)
			from = disk;
	}
	return rc < 0 ? rc : read_vectors(pc, b, from, iov, n);
}

static void now_up_to_date(struct mapping *m, uint32_t page, uint32_t end)
{
	while (page < end) {
		struct folio *f = mapping_find(m, page);

		page = f != NULL ? f->index + folio_pages(f) : page + 1;
		if (f == NULL || f->data == NULL)
			continue;
		folio_set(f, BLOCK_UPTODATE, 0, f->blocks);
		f->flags |= FOLIO_UPTODATE;
	}
}

/* Reads the new folios of pages [page, page + n), which later may mean while the caller goes on.
 * Where their blocks lie is not kept: Linux asks again when one is written. */
static int fill(struct task *t, struct mapping *m, uint32_t page, uint32_t n, bool later)
{
	unsigned bits = pc_block_bits(m->pc);
	uint64_t at = ((uint64_t)page << PAGE_BITS) >> bits;
	uint64_t end = ((uint64_t)(page + n) << PAGE_BITS) >> bits;
	struct read_batch *b;
	int rc = 0;

	if (n == 0 || inode_is_inline(m->inode)) /* whoever reads such a folio finds the bytes */
		return 0;
	b = later ? reads_begin(m->pc, n) : NULL;
	/* Data of these places may still be on its way out. */
	if (m->pc->writes_in_flight != 0)
		rc = bioq_drain(m->pc->img->bioq);
	while (rc == 0 && at < end) {
		struct map run = {.lblk = {(uint32_t)at}, .len = (uint32_t)(end - at)};

		rc = map_lookup(t, m->inode, &run);
		if (rc == 0)
			rc = fill_run(m, b, &run);
		at += run.len;
	}
	if (b != NULL)
		reads_send(b, m, page, n, rc);
	else if (rc == 0)
		now_up_to_date(m, page, page + n);
	return rc;
}

/* ---- folios ---- */

static uint32_t last_page(const struct mapping *m)
{
	return (uint32_t)((m->inode->size - 1) >> PAGE_BITS);
}

static struct folio *add_folio(struct mapping *m, uint32_t page, unsigned order, int *rc)
{
	struct folio *f = folio_make(m, page, order, rc);

	if (f != NULL)
		count(m->pc->counters, COUNTER_READAHEAD_FOLIOS, 1);
	return f;
}

/* n pages from page on that are not cached, in the smallest folios; the mark goes where the last
 * ahead of them begin. */
static int read_singles(struct task *t, struct mapping *m, uint32_t page, uint32_t n,
			uint32_t ahead)
{
	uint32_t step = 1u << m->pc->min_order, first, at, end;
	uint64_t mark = UINT64_MAX;
	int rc = 0, filled;

	if (page > last_page(m))
		return 0;
	end = page + MIN(n, last_page(m) - page + 1);
	if (ahead <= end - page)
		mark = ROUND_UP(end - ahead, step);
	first = at = page & ~(step - 1);
	while (rc == 0 && at < end) {
		struct folio *f = mapping_find(m, at);

		if (f != NULL) {
			rc = fill(t, m, first, at - first, false);
			at = first = f->index + folio_pages(f);
			continue;
		}
		f = add_folio(m, at, m->pc->min_order, &rc);
		if (f == NULL)
			break;
		if (at == mark)
			f->flags |= FOLIO_READAHEAD;
		at += step;
	}
	filled = fill(t, m, first, at - first, false);
	return rc < 0 ? rc : filled;
}

/* The window of ra, in folios of its order; from the first page on that is cached already, in
 * single ones. */
static int read_window(struct task *t, struct mapping *m, struct readahead *ra)
{
	uint32_t step = 1u << m->pc->min_order, at = ra->start & ~(step - 1), first = at, limit;
	uint32_t mark = ra->start + ra->size - ra->async_size;
	bool met = false;
	int rc = 0, filled;

	if (m->inode->size == 0 || ra->size == 0)
		return 0;
	limit = MIN(last_page(m), ra->start + ra->size - 1);
	ra->order = (uint8_t)MIN(MIN(ra->order, m->pc->max_order), ilog2(ra->size));
	ra->order = (uint8_t)MAX(ra->order, m->pc->min_order);
	while (!met && at <= limit) {
		unsigned order = ra->order;
		struct folio *f;

		if ((at & ((1u << order) - 1)) != 0)
			order = (unsigned)__builtin_ctz(at);
		while (order > m->pc->min_order && at + (1u << order) - 1 > limit)
			order--;
		met = mapping_find(m, at) != NULL || mapping_free_order(m, at, order) < order;
		f = met ? NULL : add_folio(m, at, order, &rc);
		if (f == NULL)
			break;
		if (at == (mark & ~((1u << order) - 1)))
			f->flags |= FOLIO_READAHEAD;
		at += folio_pages(f);
	}
	filled = fill(t, m, first, at - first, true);
	if (rc == 0)
		rc = filled;
	if (rc == 0 && met && ra->size > at - first)
		rc = read_singles(t, m, at, ra->size - (at - first), ra->async_size);
	return rc;
}

/* ---- windows ---- */

static uint32_t first_size(uint32_t want, uint32_t most)
{
	uint32_t size = want > 1 ? 1u << (32 - __builtin_clz(want - 1)) : 1;

	return size <= most / 32 ? size * 4 : size <= most / 4 ? size * 2 : most;
}

static uint32_t next_size(uint32_t size, uint32_t most)
{
	return size < most / 16 ? size * 4 : size <= most / 2 ? size * 2 : most;
}

/* Cached pages before page, without a gap, most at most. */
static uint32_t cached_before(struct mapping *m, uint32_t page, uint32_t most)
{
	uint32_t n = 0;

	while (n < most && n < page && mapping_find(m, page - 1 - n) != NULL)
		n++;
	return n;
}

/* The largest window of a reader that asks for so many pages. */
static uint32_t largest(const struct mapping *m, const struct readahead *ra, uint32_t want)
{
	uint32_t most = m->pc->ra_pages << (ra->advice == READAHEAD_SEQUENTIAL);

	return want > most ? MIN(want, MAX(most, m->pc->ra_request)) : most;
}

int readahead_miss(struct task *t, struct mapping *m, struct readahead *ra, uint32_t page,
		   uint32_t want)
{
	uint32_t most = largest(m, ra, want), before;
	uint64_t prev = ra->prev_pos >> PAGE_BITS;

	if (ra->advice == READAHEAD_RANDOM)
		return read_singles(t, m, page, MIN(want, most), 0);
	if (page == 0 || want > most || (ra->prev_pos != 0 && page >= prev && page - prev <= 1)) {
		ra->size = first_size(want, most);
		ra->async_size = ra->size > want ? ra->size - want : ra->size / 2;
	} else {
		before = cached_before(m, page, most);
		if (before <= want)
			return read_singles(t, m, page, want, 0);
		if (before == page)
			before *= 2;
		ra->size = MIN(before + want, most);
		ra->async_size = 1;
	}
	ra->start = page;
	ra->order = 0;
	return read_window(t, m, ra);
}

/* The first page that is not cached, of [page, page + most]. */
static uint32_t next_gap(struct mapping *m, uint32_t page, uint32_t most)
{
	uint32_t end = page + most;

	while (page < end) {
		const struct folio *f = mapping_find(m, page);

		if (f == NULL)
			break;
		page = f->index + folio_pages(f);
	}
	return page;
}

int readahead_mark(struct task *t, struct mapping *m, struct readahead *ra, struct folio *f,
		   uint32_t want)
{
	uint32_t most = largest(m, ra, want), expected, gap, end, whole;

	if ((f->flags & FOLIO_READAHEAD) == 0 ||
	    (f->writes != 0 && (f->flags & FOLIO_READING) == 0))
		return 0;
	f->flags &= (uint8_t)~FOLIO_READAHEAD;
	expected = (ra->start + ra->size - ra->async_size) & ~(folio_pages(f) - 1);
	if (f->index == expected) {
		ra->start += ra->size;
		ra->size = MAX(ra->size, next_size(ra->size, most));
	} else {
		gap = next_gap(m, f->index + 1, most);
		if (gap - f->index > most)
			return 0;
		ra->start = gap;
		ra->size = next_size(gap - f->index + want, most);
	}
	ra->order = (uint8_t)(ra->order + 2);
	end = ra->start + ra->size;
	whole = end & ~((1u << MIN(ra->order, (unsigned)__builtin_ctz(most))) - 1);
	if (whole > ra->start)
		ra->size = whole - ra->start;
	ra->async_size = ra->size;
	return read_window(t, m, ra);
}

int readahead_fault(struct task *t, struct mapping *m, struct readahead *ra, uint32_t page)
{
	struct folio *f = mapping_find(m, page);
	uint32_t most = largest(m, ra, 0);

	if (f != NULL) {
		ra->misses -= ra->misses != 0;
		return readahead_mark(t, m, ra, f, most);
	}
	if (ra->misses < 10 * FAULT_MISSES)
		ra->misses++;
	if (ra->misses > FAULT_MISSES)
		return 0;
	ra->start = page > most / 2 ? page - most / 2 : 0;
	ra->size = most;
	ra->async_size = most / 4;
	ra->order = 0;
	return read_window(t, m, ra);
}

int pc_will_need(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len)
{
	const struct readahead usual = {0};
	struct mapping *m = mapping_of(inode);
	uint64_t end, pages;

	if (m == NULL)
		return -ENOMEM;
	if (pos >= inode->size)
		return 0;
	end = len != 0 && len < inode->size - pos ? pos + len : inode->size;
	pages = ((end - 1) >> PAGE_BITS) - (pos >> PAGE_BITS) + 1;
	pages = MIN(pages, (uint64_t)largest(m, &usual, (uint32_t)pages));
	return read_singles(t, m, (uint32_t)(pos >> PAGE_BITS), (uint32_t)pages, 0);
}

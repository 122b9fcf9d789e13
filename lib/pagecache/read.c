/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads: folios are filled run by run of the mapping - holes, unwritten and delayed blocks as
 * zeros, written ones from the device in one vector - and sequential readers get a window that
 * doubles.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "fs/map.h"
#include "io/bio.h"
#include "io/dev.h"
#include "pagecache/hooks.h"
#include "pagecache/pagecache.h"

#define RA_INITIAL 16u  /* pages */
#define RA_MAX     128u /* pages: 512 KiB */
#define RA_ORDER   4u   /* largest folio that read-ahead makes */

static int read_blocks(struct folio *f, uint32_t from, const struct map *m)
{
	struct pagecache *pc = f->map->pc;
	unsigned bits = pc_block_bits(pc);
	uint8_t *to = f->data + ((size_t)from << bits);
	size_t n = (size_t)m->len << bits;

	if (m->state != MAP_MAPPED) {
		memset(to, 0, n);
		return 0;
	}
	/* Data of this place may still be on its way out. */
	if (pc->writes_in_flight != 0) {
		int rc = bioq_drain(pc->img->bioq);

		if (rc < 0)
			return rc;
	}
	count(pc->counters, COUNTER_DISK_RD_IOS, 1);
	count(pc->counters, COUNTER_DISK_RD_SECT, n >> 9);
	return dev_read(pc->img->dev, m->pblk.v << bits, to, n);
}

static void note_state(struct folio *f, uint32_t from, const struct map *m)
{
	folio_set(f, BLOCK_UPTODATE, from, m->len);
	if (m->state == MAP_HOLE)
		return;
	folio_set(f, BLOCK_MAPPED, from, m->len);
	if (m->state == MAP_IS_UNWRITTEN)
		folio_set(f, BLOCK_UNWRITTEN, from, m->len);
	if (m->state == MAP_IS_DELAYED)
		folio_set(f, BLOCK_DELAY, from, m->len);
}

int folio_read(struct task *t, struct folio *f, uint32_t from, uint32_t n)
{
	struct ek_inode *inode = f->map->inode;
	uint32_t base = folio_lblk(f, pc_block_bits(f->map->pc)), end = from + n, at = from;

	while (at < end && (f->flags & FOLIO_UPTODATE) == 0) {
		struct map m = {.lblk = {base + at}};
		int rc;

		if (folio_test(f, BLOCK_UPTODATE, at)) {
			at += folio_run(f, BLOCK_UPTODATE, at);
			continue;
		}
		m.len = MIN(folio_run(f, BLOCK_UPTODATE, at), end - at);
		rc = map_lookup(t, inode, &m);
		if (rc == 0)
			rc = read_blocks(f, at, &m);
		if (rc < 0)
			return rc;
		note_state(f, at, &m);
		at += m.len;
	}
	if (folio_all(f, BLOCK_UPTODATE, 0, f->blocks))
		f->flags |= FOLIO_UPTODATE;
	return 0;
}

int folio_reread(struct task *t, struct folio *f)
{
	uint32_t base = folio_lblk(f, pc_block_bits(f->map->pc)), at = 0;

	while (at < f->blocks) {
		struct map m = {.lblk = {base + at}, .len = folio_run(f, BLOCK_UPTODATE, at)};
		int rc = 0;

		if (folio_test(f, BLOCK_UPTODATE, at)) {
			rc = map_lookup(t, f->map->inode, &m);
			if (rc == 0)
				rc = read_blocks(f, at, &m);
		}
		if (rc < 0)
			return rc;
		at += m.len;
	}
	return 0;
}

/* Pages [page, page + n) come into the cache, in folios as large as alignment allows. */
static int read_ahead(struct task *t, struct mapping *m, uint32_t page, uint32_t n)
{
	uint32_t last = (uint32_t)((m->inode->size + PAGE_BYTES - 1) >> PAGE_BITS);

	n = MIN(n, last > page ? last - page : 0);
	while (n != 0) {
		struct folio *f = mapping_find(m, page);
		int rc = 0;

		if (f == NULL) {
			unsigned order = mapping_free_order(m, page, MIN(RA_ORDER, ilog2(n)));

			order = MAX(order, m->pc->min_order);
			f = folio_make(m, page & ~((1u << m->pc->min_order) - 1), order, &rc);
			if (f == NULL)
				return rc;
			count(m->pc->counters, COUNTER_READAHEAD_FOLIOS, 1);
			rc = folio_read(t, f, 0, f->blocks);
			if (rc < 0)
				return rc;
		}
		n -= MIN(n, f->index + folio_pages(f) - page);
		page = f->index + folio_pages(f);
	}
	return 0;
}

/* A miss at page: how much comes in with it. */
static uint32_t window(struct mapping *m, uint32_t page, uint32_t want)
{
	bool sequential = page == m->ra_prev + 1 || page == 0;

	if (!sequential)
		return want;
	m->ra_size = m->ra_size == 0 ? RA_INITIAL : MIN(m->ra_size * 2, RA_MAX);
	return MAX(m->ra_size, want);
}

int64_t pc_read(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len, void *buf)
{
	struct mapping *m = mapping_of(inode);
	uint64_t end, done = 0;
	uint8_t *to = buf;
	int rc;

	if (m == NULL)
		return -ENOMEM;
	if (pos >= inode->size || len == 0)
		return 0;
	end = pos + MIN(len, inode->size - pos);
	rc = inode_touch_access(t, inode);
	while (rc == 0 && pos < end) {
		uint32_t page = (uint32_t)(pos >> PAGE_BITS);
		struct folio *f = mapping_find(m, page);
		uint64_t n;

		if (f == NULL) {
			uint32_t want = (uint32_t)(((end - 1) >> PAGE_BITS) - page + 1);

			rc = read_ahead(t, m, page, window(m, page, MIN(want, RA_MAX)));
			f = rc < 0 ? NULL : mapping_find(m, page);
			/* In a small cache the end of the window may have pushed its beginning
			 * out. */
			if (f == NULL && rc == 0)
				rc = read_ahead(t, m, page, 1);
			f = rc < 0 ? NULL : mapping_find(m, page);
			if (f == NULL)
				break;
		}
		rc = folio_back(t, f, true);
		if (rc == 0 && (f->flags & FOLIO_UPTODATE) == 0)
			rc = folio_read(t, f, 0, f->blocks);
		f->flags |= FOLIO_ACTIVE;
		n = MIN(end, folio_pos(f) + folio_bytes(f)) - pos;
		if (to != NULL && rc == 0)
			memcpy(to + done, f->data + (pos - folio_pos(f)), n);
		pos += n;
		done += n;
		m->ra_prev = (uint32_t)((pos - 1) >> PAGE_BITS);
	}
	return rc < 0 && done == 0 ? rc : (int64_t)done;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What changes more than bytes: truncate and zero.  Both have the file for themselves: writers wait
 * for its turn, folios in the way are locked and taken out one by one when no store needs them, and
 * the store changes when nothing of the file is on its way to it.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "pagecache/region.h"

/* The first folio at or behind page and before end, with a reference, or NULL. */
static struct rfolio *next_folio(struct rfile *file, uint64_t page, uint64_t end)
{
	end = MIN(end, file->chunks * CHUNK_PAGES);
	for (; page < end; page++) {
		struct rchunk **table = file->top[page / CHUNK_PAGES / CHUNK_PAGES];
		struct rfolio *o;

		if (table == NULL || table[page / CHUNK_PAGES % CHUNK_PAGES] == NULL) {
			page |= CHUNK_PAGES - 1;
			continue;
		}
		o = rfolio_find(file, page);
		if (o != NULL)
			return o;
	}
	return NULL;
}

/* Bytes of a folio from at on are zeros, and clean. */
static void cut(struct rfolio *o, uint32_t at)
{
	struct ek_region *r = o->file->r;
	uint32_t from, to;

	pthread_mutex_unlock(&r->lock);
	memset(o->buf->data + at, 0, (size_t)rfolio_bytes(o) - at);
	pthread_mutex_lock(&r->lock);
	track_trim(o, at);
	if (o->dirty && !r->track->next(o, 0, &from, &to))
		rfolio_clear_dirty(o);
}

/* Folios that lie in [from, to) as a whole go, what is dirty in them too; the one in which `from`
 * lies keeps what is before. */
static void take_out(struct rfile *file, uint64_t from, uint64_t to)
{
	uint64_t page = from / PAGE_BYTES, end = DIV_UP(to, PAGE_BYTES);
	struct rfolio *o;

	while ((o = next_folio(file, page, end)) != NULL) {
		page = rfolio_end_page(o);
		rfolio_lock(o);
		flight_wait_folio(o, REGION_NOBODY);
		if (!o->gone && rfolio_start(o) >= from)
			rfolio_remove(o);
		else if (!o->gone)
			cut(o, (uint32_t)(from - rfolio_start(o)));
		rfolio_unlock(o);
		rfolio_put(o);
	}
}

static int resize(struct rfile *file, uint64_t size)
{
	struct ek_region *r = file->r;
	int rc;

	flight_drain(r, file);
	pthread_mutex_unlock(&r->lock);
	rc = r->store->ops->resize(file->data, size, file->stored);
	pthread_mutex_lock(&r->lock);
	if (rc == 0)
		file->stored = MIN(file->stored, size);
	return rc;
}

/* The size comes down first, so that no pass sends what lies behind it, and goes up again when the
 * store refuses: what is cached there goes only when the store has agreed.  (A pass for another
 * file that comes by in between takes what is dirty there for stored.) */
static int truncate(struct rfile *file, uint64_t size)
{
	uint64_t before = file->size;
	int rc = 0;

	file->size = MIN(before, size);
	if (size != before || size < file->stored)
		rc = resize(file, size);
	file->size = rc < 0 ? before : size;
	if (rc == 0 && size < before)
		take_out(file, size, REGION_MAX);
	return rc;
}

static int told(struct rfile *file, int rc, const char *what)
{
	return rc < 0 ? diag_errno(file->r->d, rc, "cannot %s: %s", what,
				   file->name != NULL ? file->name : "a file without a name")
		      : rc;
}

static void begin(struct rfile *file)
{
	pthread_rwlock_wrlock(&file->turn);
	pthread_mutex_lock(&file->r->lock);
}

static int end(struct rfile *file, int rc, const char *what)
{
	rc = told(file, rc, what);
	pthread_mutex_unlock(&file->r->lock);
	pthread_rwlock_unlock(&file->turn);
	return rc;
}

int ek_region_truncate(struct ek_region_file *f, unsigned writer, uint64_t size)
{
	struct rfile *file = f->file;
	int rc;

	begin(file);
	rc = region_enter(file->r, writer);
	if (rc == 0)
		rc = region_check_end(file->r, 0, size);
	if (rc == 0)
		rc = truncate(file, size);
	return end(file, rc, "truncate");
}

/* Whole folios of [from, to): those that the cache may have none of afterwards. */
static void whole_folios(const struct ek_region *r, uint64_t *from, uint64_t *to)
{
	uint64_t unit = r->k.folio != 0 ? r->k.folio : CHUNK_BYTES;

	*from = ROUND_UP(*from, unit);
	*to = MAX(ROUND_DOWN(*to, unit), *from);
}

static int zero_store(struct rfile *file, unsigned writer, uint64_t from, uint64_t to)
{
	struct ek_region *r = file->r;
	int rc;

	pthread_mutex_unlock(&r->lock);
	rc = r->store->ops->zero(file->data, from, to - from);
	pthread_mutex_lock(&r->lock);
	return rc == -EOPNOTSUPP ? region_write_zeros(file, writer, from, to) : rc;
}

static int zero(struct rfile *file, unsigned writer, uint64_t from, uint64_t to)
{
	struct ek_region *r = file->r;
	uint64_t first = from, last = to, most;
	int rc = 0;

	whole_folios(r, &first, &last);
	if (first >= last)
		return region_write_zeros(file, writer, from, to);
	rc = region_write_zeros(file, writer, from, first);
	if (rc == 0)
		rc = region_write_zeros(file, writer, last, to);
	if (rc < 0)
		return rc;
	take_out(file, first, last);
	flight_drain(r, file);
	most = MIN(last, file->stored);
	if (first < most)
		rc = zero_store(file, writer, first, most);
	if (rc < 0 || to <= file->size)
		return rc;
	rc = resize(file, to);
	if (rc == 0)
		file->size = to;
	return rc;
}

int ek_region_zero(struct ek_region_file *f, unsigned writer, uint64_t off, uint64_t len)
{
	struct rfile *file = f->file;
	int rc;

	begin(file);
	rc = region_enter(file->r, writer);
	if (rc == 0)
		rc = region_check_end(file->r, off, len);
	if (rc == 0)
		rc = zero(file, writer, off, off + len);
	return end(file, rc, "zero");
}

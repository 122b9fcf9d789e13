/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes into and out of a file's folios.
 *
 * A write locks one folio at a time: first whatever "stable" asks for when the folio is in
 * writeback, then, if the tracking cannot take the range beside what is dirty already, the folio is
 * flushed; then what has to be valid is read from the store; then the range is marked, and only
 * then, with the region's lock given up, the bytes are copied.  No pass takes a locked folio, so
 * the mark may come first.
 */
#include <errno.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "pagecache/region.h"

#define BLOCK_MAX 4096u

/* ---- filling ---- */

/* Bytes [from, to) of a locked folio as the store has them; without the lock. */
static int load(struct rfolio *o, uint8_t *to, uint32_t from, uint32_t len)
{
	struct rfile *file = o->file;
	struct ek_region *r = file->r;
	uint64_t off = rfolio_start(o) + from;
	int rc;

	if (off >= file->stored) {
		memset(to, 0, len);
		return 0;
	}
	rcount(r, RC_FILLS, 1);
	rcount(r, RC_BYTES_FILLED, len);
	pthread_mutex_unlock(&r->lock);
	rc = r->store->ops->read(file->data, off, to, len);
	pthread_mutex_lock(&r->lock);
	return rc;
}

/* A block of which some bytes are newer than the store's. */
static int fill_around(struct rfolio *o, const struct redge *e)
{
	uint32_t size = o->file->r->k.block, start = e->block * size;
	uint32_t from = e->valid_from, to = e->valid_to;
	uint8_t whole[BLOCK_MAX];
	int rc = load(o, whole, start, size);

	if (rc < 0)
		return rc;
	memcpy(o->buf->data + start, whole, from);
	memcpy(o->buf->data + start + to, whole + to, size - to);
	track_set_valid(o, start, start + size);
	return 0;
}

/* Blocks [first, end) become valid, in the longest pieces. */
static int fill(struct rfolio *o, size_t first, size_t end)
{
	uint32_t size = o->file->r->k.block;
	int rc = 0;

	while (rc == 0 && (first = bitmap_find_next_zero(o->valid, end, first)) < end) {
		size_t last = bitmap_find_next_set(o->valid, end, first);
		const struct redge *e = NULL;
		size_t i = first;

		while (o->edge_count != 0 && i < last && (e = redge_find(o, (uint32_t)i)) == NULL)
			i++;
		last = e != NULL ? i : last;
		if (e != NULL && i == first) {
			rc = fill_around(o, e);
			first++;
			continue;
		}
		rc = load(o, o->buf->data + first * size, (uint32_t)(first * size),
			  (uint32_t)((last - first) * size));
		if (rc == 0)
			track_set_valid(o, (uint32_t)(first * size), (uint32_t)(last * size));
		first = last;
	}
	return rc;
}

static int fill_folio(struct rfolio *o, uint32_t from, uint32_t to)
{
	uint32_t size = o->file->r->k.block;
	size_t n = rfolio_bytes(o) / size, first = DIV_UP(from, size), end = to / size;
	int rc;

	if (first >= end)
		return fill(o, 0, n);
	rc = fill(o, 0, first);
	return rc < 0 ? rc : fill(o, end, n);
}

static int fill_blocks(struct rfolio *o, uint32_t from, uint32_t to)
{
	uint32_t size = o->file->r->k.block;
	int rc = from % size != 0 ? fill(o, from / size, from / size + 1) : 0;

	return rc < 0 || to % size == 0 ? rc : fill(o, to / size, to / size + 1);
}

/* Fills the block if [from, to) of it would leave a gap in what is valid. */
static int close_gap(struct rfolio *o, uint32_t block, uint32_t from, uint32_t to)
{
	const struct redge *e = redge_find(o, block);
	uint32_t start = block * o->file->r->k.block;

	if (e == NULL || (from <= start + e->valid_to && to >= start + e->valid_from))
		return 0;
	return fill(o, block, block + 1);
}

static int fill_gaps(struct rfolio *o, uint32_t from, uint32_t to)
{
	uint32_t size = o->file->r->k.block, first = from / size, last = (to - 1) / size;
	int rc = close_gap(o, first, from, to);

	return rc < 0 || last == first ? rc : close_gap(o, last, from, to);
}

static int (*const fills[])(struct rfolio *o, uint32_t from, uint32_t to) = {
    [FILL_FOLIO] = fill_folio,
    [FILL_BLOCKS] = fill_blocks,
    [FILL_NOTHING] = fill_gaps,
};

/* ---- one folio ---- */

/* The locked folio that holds byte off; it has a reference. */
static int enter(struct rfile *file, uint64_t off, uint64_t len, struct rfolio **ret)
{
	for (;;) {
		int rc = rfolio_get(file, off, len, ret);

		if (rc < 0)
			return rc;
		rfolio_lock(*ret);
		if (!(*ret)->gone)
			return 0;
		rfolio_unlock(*ret);
		rfolio_put(*ret);
	}
}

static void leave(struct rfolio *o)
{
	rfolio_unlock(o);
	rfolio_put(o);
}

/* Until bytes [from, to) of the locked folio may become dirty. */
static int settle(struct rfolio *o, unsigned writer, uint32_t from, uint32_t to)
{
	struct ek_region *r = o->file->r;
	int rc = r->stable->enter(o, writer);

	while (rc == 0 && r->track->conflicts(o, from, to)) {
		rcount(r, RC_CONFLICTS, 1);
		rfolio_unlock(o);
		rc = region_pass(o->file, o->page, rfolio_end_page(o), true);
		rfolio_lock(o);
		if (rc == 0)
			rc = o->gone ? -ESTALE : r->stable->enter(o, writer);
	}
	return rc;
}

/* buf NULL: zeros. */
static void copy_in(struct rfolio *o, uint32_t at, const uint8_t *buf, uint32_t len)
{
	struct ek_region *r = o->file->r;

	pthread_mutex_unlock(&r->lock);
	if (buf != NULL)
		memcpy(o->buf->data + at, buf, len);
	else
		memset(o->buf->data + at, 0, len);
	pthread_mutex_lock(&r->lock);
}

static int write_folio(struct rfile *file, unsigned writer, uint64_t off, const uint8_t *buf,
		       uint64_t len, uint64_t *ret_did)
{
	struct ek_region *r = file->r;
	struct rfolio *o;
	uint32_t from, to;
	int rc = enter(file, off, len, &o);

	if (rc < 0)
		return rc;
	from = (uint32_t)(off - rfolio_start(o));
	to = (uint32_t)MIN(rfolio_bytes(o), from + len);
	rc = settle(o, writer, from, to);
	if (rc == 0)
		rc = fills[r->track->fill](o, from, to);
	if (rc == 0)
		rc = r->track->mark(o, from, to);
	if (rc == 0) {
		track_set_valid(o, from, to);
		rfolio_set_dirty(o);
		copy_in(o, from, buf, to - from);
		file->size = MAX(file->size, off + (to - from));
		*ret_did = to - from;
	}
	leave(o);
	return rc;
}

static int read_folio(struct rfile *file, uint64_t off, uint8_t *buf, uint64_t len,
		      uint64_t *ret_did)
{
	struct ek_region *r = file->r;
	uint32_t block = r->k.block, from, to;
	struct rfolio *o;
	int rc = enter(file, off, len, &o);

	if (rc < 0)
		return rc;
	from = (uint32_t)(off - rfolio_start(o));
	to = (uint32_t)MIN(rfolio_bytes(o), from + len);
	rc = fill(o, from / block, DIV_UP(to, block));
	if (rc == 0) {
		pthread_mutex_unlock(&r->lock);
		memcpy(buf, o->buf->data + from, to - from);
		pthread_mutex_lock(&r->lock);
		*ret_did = to - from;
	}
	leave(o);
	return rc;
}

/* ---- calls ---- */

static int write_all(struct rfile *file, unsigned writer, uint64_t off, const uint8_t *buf,
		     uint64_t len)
{
	uint64_t did = 0;
	int rc = 0;

	for (uint64_t done = 0; done < len && rc == 0; done += did) {
		rc = region_balance(file);
		if (rc < 0)
			break;
		do {
			rc = write_folio(file, writer, off + done, buf != NULL ? buf + done : NULL,
					 len - done, &did);
		} while (rc == -ESTALE);
	}
	return rc;
}

int region_write_zeros(struct rfile *file, unsigned writer, uint64_t from, uint64_t to)
{
	return from < to ? write_all(file, writer, from, NULL, to - from) : 0;
}

static int told(struct rfile *file, int rc, const char *what, uint64_t off, uint64_t len)
{
	const char *name = file->name != NULL ? file->name : "a file without a name";

	if (rc < 0)
		diag_errno(file->r->d, rc, "cannot %s: %s offset %llu length %llu", what, name,
			   (unsigned long long)off, (unsigned long long)len);
	return rc;
}

int ek_region_write(struct ek_region_file *f, unsigned writer, uint64_t off, const void *buf,
		    size_t len)
{
	struct rfile *file = f->file;
	struct ek_region *r = file->r;
	int rc;

	pthread_rwlock_rdlock(&file->turn);
	pthread_mutex_lock(&r->lock);
	rc = region_enter(r, writer);
	if (rc == 0)
		rc = region_check_end(r, off, len);
	if (rc == 0)
		rc = write_all(file, writer, off, buf, len);
	if (rc == 0) {
		rcount(r, RC_WRITES, 1);
		rcount(r, RC_BYTES_WRITTEN, len);
		r->writers[writer].bytes += len;
	}
	rc = told(file, rc, "write", off, len);
	pthread_mutex_unlock(&r->lock);
	pthread_rwlock_unlock(&file->turn);
	return rc;
}

int ek_region_read(struct ek_region_file *f, unsigned writer, uint64_t off, void *buf, size_t len)
{
	struct rfile *file = f->file;
	struct ek_region *r = file->r;
	uint64_t done = 0, did = 0, n;
	int rc;

	pthread_rwlock_rdlock(&file->turn);
	pthread_mutex_lock(&r->lock);
	rc = region_enter(r, writer);
	n = off < file->size ? MIN((uint64_t)len, file->size - off) : 0;
	for (; done < n && rc == 0; done += did) {
		rc = region_balance(file);
		if (rc == 0)
			rc = read_folio(file, off + done, (uint8_t *)buf + done, n - done, &did);
	}
	rc = told(file, rc, "read", off, len);
	pthread_mutex_unlock(&r->lock);
	pthread_rwlock_unlock(&file->turn);
	if (rc == 0)
		memset((uint8_t *)buf + n, 0, len - n);
	return rc;
}

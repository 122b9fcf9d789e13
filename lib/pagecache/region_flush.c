/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Passes over a file, and the calls that are made of them.
 *
 * A pass that waits first tags what is dirty now, walks the tags, and then waits for every store
 * that was begun before its walk ended, other passes' too: what becomes dirty meanwhile has no tag,
 * so it ends.  A pass that does not wait walks what is dirty as long as its budget lasts.
 */
#include <errno.h>

#include "base/check.h"
#include "pagecache/region_walk.h"

/* Returns where the walk stopped. */
static uint64_t walk(struct rfile *file, uint64_t page, uint64_t end, bool sync)
{
	struct ek_region *r = file->r;
	struct flush f;

	flight_collect(r);
	f = (struct flush){.r = r,
			   .file = file,
			   .page = page,
			   .end = MIN(end, file->chunks * CHUNK_PAGES),
			   .sync = sync,
			   .mark = sync ? MARK_TOWRITE : MARK_DIRTY,
			   .pass = ++r->pass,
			   .left = sync ? UINT64_MAX : r->k.nr_to_write};

	if (sync)
		rmark_tag(file, f.page, f.end);
	r->walk->run(&f);
	run_send(&f);
	rcount(r, RC_PASSES, 1);
	return f.page;
}

int region_pass(struct rfile *file, uint64_t page, uint64_t end, bool sync)
{
	uint64_t failures = file->failures;

	walk(file, page, end, sync);
	if (!sync)
		return 0;
	flight_drain(file->r, file);
	return file->failures != failures ? file->failure : 0;
}

/* ---- room ---- */

/* From where the last one stopped, then from the beginning. */
static void flush_cyclic(struct rfile *file)
{
	uint64_t from = file->cyclic, end = file->chunks * CHUNK_PAGES;

	file->cyclic = walk(file, from, end, false);
	if (file->cyclic < end)
		return;
	file->cyclic = from != 0 ? walk(file, 0, from, false) : 0;
}

static void drop_all(struct ek_region *r)
{
	for (struct rfile *file = r->files; file != NULL; file = file->next)
		rfolio_drop_clean(file, 0, UINT64_MAX);
}

/* Everything is stored and clean folios go; a file that cannot be stored keeps its folios. */
static int make_room(struct ek_region *r)
{
	int rc = 0;

	drop_all(r);
	if (r->pages * PAGE_BYTES <= r->k.memory / 2)
		return 0;
	for (struct rfile *file = NULL; (file = rfile_next(r, file)) != NULL;) {
		int one = region_pass(file, 0, UINT64_MAX, true);

		rc = rc == 0 ? one : rc;
	}
	drop_all(r);
	return r->pages * PAGE_BYTES <= r->k.memory ? 0 : rc;
}

int region_balance(struct rfile *file)
{
	struct ek_region *r = file->r;

	if (r->dirty_pages * PAGE_BYTES > r->k.dirty)
		flush_cyclic(file);
	return r->pages * PAGE_BYTES > r->k.memory ? make_room(r) : 0;
}

/* ---- calls ---- */

static int told(struct rfile *file, int rc, const char *what)
{
	return rc < 0 ? diag_errno(file->r->d, rc, "cannot %s: %s", what,
				   file->name != NULL ? file->name : "a file without a name")
		      : rc;
}

static void pages_of(uint64_t off, uint64_t len, uint64_t *page, uint64_t *end)
{
	uint64_t to = len == 0 || len > REGION_MAX - off ? REGION_MAX : off + len;

	*page = off / PAGE_BYTES;
	*end = DIV_UP(to, PAGE_BYTES);
}

static int flush_range(struct rfile *file, uint64_t off, uint64_t len, bool sync, bool drop)
{
	uint64_t page, end;
	int rc;

	if (off >= REGION_MAX)
		return 0;
	pages_of(off, len, &page, &end);
	rc = region_pass(file, page, end, sync);
	if (drop)
		rfolio_drop_clean(file, page, end);
	return rc;
}

int ek_region_flush(struct ek_region_file *f, unsigned writer, uint64_t off, uint64_t len,
		    unsigned mode)
{
	struct ek_region *r = f->file->r;
	int rc;

	pthread_mutex_lock(&r->lock);
	rc = region_enter(r, writer);
	if (rc == 0)
		rc = flush_range(f->file, off, len, mode == EK_REGION_SYNC, false);
	rc = told(f->file, rc, "store");
	pthread_mutex_unlock(&r->lock);
	return rc;
}

int ek_region_drop(struct ek_region_file *f, unsigned writer, uint64_t off, uint64_t len)
{
	struct ek_region *r = f->file->r;
	int rc;

	pthread_mutex_lock(&r->lock);
	rc = region_enter(r, writer);
	if (rc == 0)
		rc = flush_range(f->file, off, len, false, true);
	rc = told(f->file, rc, "store");
	pthread_mutex_unlock(&r->lock);
	return rc;
}

/* Stores and makes durable; the lock is held. */
static int sync_file(struct rfile *file)
{
	struct ek_region *r = file->r;
	int rc = region_pass(file, 0, UINT64_MAX, true), flushed;

	rcount(r, RC_FLUSHES, 1);
	pthread_mutex_unlock(&r->lock);
	flushed = r->store->ops->flush(file->data);
	pthread_mutex_lock(&r->lock);
	return rc < 0 ? rc : flushed;
}

int ek_region_fsync(struct ek_region_file *f, unsigned writer)
{
	struct rfile *file = f->file;
	struct ek_region *r = file->r;
	int rc;

	pthread_mutex_lock(&r->lock);
	rc = region_enter(r, writer);
	if (rc == 0)
		rc = sync_file(file);
	if (rc == 0 && f->told != file->hard_failures)
		rc = file->hard_failure;
	f->told = file->hard_failures;
	rc = told(file, rc, "store");
	pthread_mutex_unlock(&r->lock);
	return rc;
}

/* What was forgotten has no handle to flush it by; the lock is held. */
static int sync_forgotten(struct ek_region *r)
{
	int rc;

	if (!r->forgot)
		return 0;
	r->forgot = false;
	pthread_mutex_unlock(&r->lock);
	rc = r->store->ops->flush_all(r->store);
	pthread_mutex_lock(&r->lock);
	r->forgot |= rc < 0;
	return rc < 0 ? diag_errno(r->d, rc, "cannot flush the store") : 0;
}

/* Handles that could be told may be closed, and files forgotten; the lock is held. */
static int tell_lost(struct ek_region *r)
{
	int rc = r->lost;

	r->lost = 0;
	return rc < 0 ? diag_errno(r->d, rc, "cannot store all that was written") : 0;
}

int ek_region_sync(struct ek_region *r, unsigned writer)
{
	int rc, one;

	pthread_mutex_lock(&r->lock);
	rc = region_enter(r, writer);
	for (struct rfile *file = NULL; (file = rfile_next(r, file)) != NULL;) {
		one = told(file, sync_file(file), "store");
		rc = rc == 0 ? one : rc;
	}
	one = sync_forgotten(r);
	rc = rc == 0 ? one : rc;
	if (rc == 0)
		rc = tell_lost(r);
	pthread_mutex_unlock(&r->lock);
	return rc;
}

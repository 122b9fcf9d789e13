/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Batches of reads in flight.  There are two, so that a window can be asked for while the one
 * before it is waited for; their memory is kept for the next ones.
 *
 * While a folio is read it counts a bio in flight, like one that is written: it is neither
 * reclaimed nor split, and its memory stays when it is dropped.  Everybody who looks at the bytes
 * of a folio comes by folio_back(), which waits.
 */
#include "pagecache/reads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "io/dev.h"
#include "pagecache/pagecache.h"

#define BATCH_FOLIOS   2560u /* twice the usual window, in pages */
#define BATCH_REQUESTS 64u

struct read_batch {
	struct pagecache *pc;
	bool begun;
	int error;
	uint64_t number; /* batches are waited for in this order */
	uint32_t folios, requests, vectors, pending;
	struct folio *folio[BATCH_FOLIOS];
	struct dev_req request[BATCH_REQUESTS];
	struct iovec vector[BATCH_FOLIOS];
};

/* ---- completion ---- */

static void end_folio(struct folio *f, int error)
{
	f->flags &= (uint8_t)~FOLIO_READING;
	if ((f->flags & FOLIO_DROPPED) == 0 && error == 0) {
		folio_set(f, BLOCK_UPTODATE, 0, f->blocks);
		f->flags |= FOLIO_UPTODATE;
	}
	folio_end_write(f);
}

static void request_done(struct dev_req *req)
{
	struct read_batch *b = req->ctx;

	if (b->error == 0)
		b->error = req->result;
	if (--b->pending != 0)
		return;
	for (uint32_t i = 0; i < b->folios; i++)
		end_folio(b->folio[i], b->error);
	b->begun = false;
}

/* ---- waiting ---- */

static void wait_for_batch(struct read_batch *b)
{
	while (b != NULL && b->pending != 0 && dev_reap(b->pc->img->dev, 1) >= 0)
		continue;
}

/* The two by age; either may be NULL. */
static struct read_batch *older(const struct pagecache *pc)
{
	struct read_batch *a = pc->reads[0], *b = pc->reads[1];

	return a == NULL || (b != NULL && b->number < a->number) ? b : a;
}

int reads_wait_for(struct pagecache *pc, const struct folio *f)
{
	int rc = 0;

	while ((f->flags & FOLIO_READING) != 0 && rc >= 0)
		rc = dev_reap(pc->img->dev, 1);
	return MIN(rc, 0);
}

void reads_wait(struct pagecache *pc)
{
	for (unsigned i = 0; i < ARRAY_SIZE(pc->reads); i++)
		wait_for_batch(pc->reads[i]);
}

void reads_close(struct pagecache *pc)
{
	reads_wait(pc);
	for (unsigned i = 0; i < ARRAY_SIZE(pc->reads); i++) {
		if (pc->reads[i] != NULL && pc->reads[i]->pending == 0) /* else the device has it */
			free(pc->reads[i]);
		pc->reads[i] = NULL;
	}
}

/* ---- sending ---- */

static struct read_batch **free_slot(struct pagecache *pc)
{
	for (unsigned i = 0; i < ARRAY_SIZE(pc->reads); i++) {
		if (pc->reads[i] == NULL || !pc->reads[i]->begun)
			return &pc->reads[i];
	}
	return NULL;
}

struct read_batch *reads_begin(struct pagecache *pc, uint32_t pages)
{
	struct read_batch **slot, *b;

	if (pc->threaded || pages > BATCH_FOLIOS)
		return NULL;
	slot = free_slot(pc);
	if (slot == NULL) {
		wait_for_batch(older(pc));
		slot = free_slot(pc);
	}
	if (slot == NULL)
		return NULL;
	if (*slot == NULL)
		*slot = calloc(1, sizeof(**slot));
	b = *slot;
	if (b == NULL)
		return NULL;
	b->pc = pc;
	b->number = ++pc->read_batches;
	b->begun = true;
	b->error = 0;
	b->folios = b->requests = b->vectors = b->pending = 0;
	return b;
}

int reads_add(struct read_batch *b, uint64_t at, const struct iovec *iov, unsigned n)
{
	struct iovec *copy = b->vector + b->vectors;

	if (b->requests == BATCH_REQUESTS || n > BATCH_FOLIOS - b->vectors)
		return -ENOSPC;
	memcpy(copy, iov, n * sizeof(*iov));
	b->vectors += n;
	b->request[b->requests++] =
	    (struct dev_req){.off = at, .iov = copy, .iovcnt = n, .done = request_done, .ctx = b};
	return 0;
}

static void take_folios(struct read_batch *b, struct mapping *m, uint32_t page, uint32_t n)
{
	for (uint32_t end = page + n; page < end;) {
		struct folio *f = mapping_find(m, page);

		page = f != NULL ? f->index + folio_pages(f) : page + 1;
		if (f == NULL || f->data == NULL)
			continue;
		f->flags |= FOLIO_READING;
		folio_begin_write(f);
		b->folio[b->folios++] = f;
	}
}

void reads_send(struct read_batch *b, struct mapping *m, uint32_t page, uint32_t n, int error)
{
	struct dev_req *request[BATCH_REQUESTS];
	int rc;

	take_folios(b, m, page, n);
	for (uint32_t i = 0; i < b->requests; i++)
		request[i] = &b->request[i];
	b->pending = b->requests + 1; /* one is ours, until all are on their way */
	rc = dev_submit(b->pc->img->dev, request, b->requests);
	if (rc < 0) { /* none was taken */
		b->error = rc;
		b->pending = 1;
	}
	request_done(&(struct dev_req){.ctx = b, .result = error});
}

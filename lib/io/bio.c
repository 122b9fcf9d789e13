/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue between bios and a device: counts bios, sorts them, merges them into requests.
 *
 * Bios wait in one array, their vectors in another, until the outermost unplug (or until they are
 * many, or make a few large requests: the device works while more come).  When two of them write
 * one place, all go out in the order in which they came. Flushes pass by the array after everything
 * before them was sent.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/bio_impl.h"

/* What waits at most: bios, and the bytes of a few large requests, so that the device may begin. */
#define BATCH       4096u
#define BATCH_BYTES ((uint64_t)4 << 20)
#define FIRST_BYTES ((uint64_t)1 << 20) /* enough when the device has nothing to do */
#define MERGE_BYTES ((uint64_t)1280 << 10)
#define MERGE_VECS  256u
#define FEW         8u /* requests that a step of writeback makes, and some to spare */

int bioq_open(struct dev *dev, struct counters *c, struct diag *d, struct bioq **ret)
{
	struct bioq *q = mem_zero(sizeof(*q));

	if (q == NULL)
		return diag_set(d, -ENOMEM, "out of memory for the bio queue");
	q->dev = dev;
	q->counters = c != NULL ? c : &q->own;
	q->diag = d;
	for (unsigned i = 0; i < BIO_DEPTH; i++)
		q->requests[i].q = q;
	*ret = q;
	return 0;
}

void bioq_close(struct bioq *q)
{
	if (q == NULL)
		return;
	q->plugs = 0;
	bioq_drain(q);
	for (unsigned i = 0; i < BIO_DEPTH; i++) {
		free(q->requests[i].iov);
		free(q->requests[i].ends);
	}
	free(q->bios);
	free(q->vecs);
	free(q->ends);
	free(q);
}

void bioq_tap(struct bioq *q, const struct tap *tap)
{
	q->tap = tap;
}

/* ---- counting ---- */

/* The letters that block tracepoints print. */
static const char *letters(unsigned flags)
{
	static const char *const words[] = {"W",   "WM",   "WS",   "WSM",  "FW",  "FWM",
					    "FWS", "FWSM", "WF",   "WFM",  "WFS", "WFSM",
					    "FWF", "FWFM", "FWFS", "FWFSM"};

	return words[flags % ARRAY_SIZE(words)];
}

static void count_bio(struct bioq *q, unsigned flags, uint64_t len)
{
	static const struct {
		unsigned flags;
		enum counter bios, sectors;
	} rows[] = {
	    {0, COUNTER_BIO_W, COUNTER_BIO_W_SECT},
	    {BIO_SYNC, COUNTER_BIO_WS, COUNTER_BIO_WS_SECT},
	    {BIO_META, COUNTER_BIO_WM, COUNTER_BIO_WM_SECT},
	    {BIO_META | BIO_SYNC, COUNTER_BIO_WSM, COUNTER_BIO_WSM_SECT},
	    {BIO_META | BIO_SYNC | BIO_PREFLUSH | BIO_FUA, COUNTER_BIO_FWFSM,
	     COUNTER_BIO_FWFSM_SECT},
	};

	count(q->counters, COUNTER_BIO_QUEUE, 1);
	if (len == 0 && (flags & BIO_PREFLUSH) != 0)
		count(q->counters, COUNTER_BIO_FWS, 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].flags == flags) {
			count(q->counters, rows[i].bios, 1);
			count(q->counters, rows[i].sectors, len / BIO_SECTOR);
		}
	}
}

/* ---- sorting and merging ---- */

static int by_place(const void *x, const void *y)
{
	const struct bio *a = x, *b = y;

	if (a->off != b->off)
		return a->off < b->off ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int by_order(const void *x, const void *y)
{
	const struct bio *a = x, *b = y;

	return a->order < b->order ? -1 : a->order > b->order;
}

static bool sorted(const struct bio *b, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (b[i].off < b[i - 1].off)
			return false;
	}
	return true;
}

static bool overlap(const struct bio *b, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (b[i].off < b[i - 1].off + b[i - 1].len)
			return true;
	}
	return false;
}

static void send_merged(struct bioq *q, const struct bio *b, size_t count)
{
	for (size_t i = 0, n; i < count; i += n) {
		uint64_t len = b[i].len;
		size_t vecs = b[i].vecs;

		for (n = 1; i + n < count && b[i + n].off == b[i].off + len; n++) {
			if (len + b[i + n].len > MERGE_BYTES || vecs + b[i + n].vecs > MERGE_VECS)
				break;
			len += b[i + n].len;
			vecs += b[i + n].vecs;
		}
		bio_send(q, b + i, n, len, vecs);
	}
}

static void send_in_order(struct bioq *q, struct bio *b, size_t count)
{
	qsort(b, count, sizeof(*b), by_order);
	for (size_t i = 0; i < count; i++)
		bio_send(q, b + i, 1, b[i].len, b[i].vecs);
}

/* Sends everything that waits. */
static void dispatch(struct bioq *q)
{
	size_t n = q->count;

	if (n == 0)
		return;
	if (!sorted(q->bios, n))
		qsort(q->bios, n, sizeof(*q->bios), by_place);
	if (overlap(q->bios, n))
		send_in_order(q, q->bios, n);
	else
		send_merged(q, q->bios, n);
	bio_submit(q);
	q->count = 0;
	q->vec_count = 0;
	q->bytes = 0;
}

/* ---- what callers see ---- */

void bioq_plug(struct bioq *q)
{
	q->rounds += q->plugs++ == 0;
}

int bioq_unplug(struct bioq *q)
{
	if (--q->plugs == 0) {
		plug_pull(&q->plug);
		dispatch(q);
		bio_call_back(q, false);
	}
	return 0;
}

void bioq_sleep(struct bioq *q)
{
	plug_pull(&q->plug);
}

uint64_t bioq_round(const struct bioq *q)
{
	return q->plugs != 0 ? q->rounds : 0;
}

uint64_t bioq_requests(const struct bioq *q)
{
	return q->plug.made;
}

static uint64_t length(const struct iovec *iov, unsigned n)
{
	uint64_t len = 0;

	for (unsigned i = 0; i < n; i++)
		len += iov[i].iov_len;
	return len;
}

static int flush_dev(struct bioq *q)
{
	int rc = dev_flush(q->dev);

	count(q->counters, COUNTER_DISK_FLUSH_IOS, 1);
	return rc;
}

/* A write with a flush before or after it is not merged and not kept waiting. */
static int write_through(struct bioq *q, uint64_t off, const struct iovec *iov, unsigned n,
			 uint64_t len, unsigned flags)
{
	int rc = 0;

	dispatch(q);
	bio_wait(q);
	if ((flags & BIO_PREFLUSH) != 0)
		rc = flush_dev(q);
	if (rc == 0 && len != 0)
		rc = dev_writev(q->dev, off, iov, n);
	if (rc == 0 && (flags & BIO_FUA) != 0)
		rc = flush_dev(q);
	return rc < 0 ? rc : 0;
}

static int wait_in_line(struct bioq *q, uint64_t off, const struct iovec *iov, unsigned n,
			uint64_t len, bio_done *done, void *ctx)
{
	if (mem_grow((void **)&q->bios, &q->cap, q->count + 1, sizeof(*q->bios)) < 0 ||
	    mem_grow((void **)&q->vecs, &q->vec_cap, q->vec_count + n, sizeof(*q->vecs)) < 0)
		return diag_set(q->diag, -ENOMEM, "out of memory for a bio of %u pieces", n);
	memcpy(q->vecs + q->vec_count, iov, n * sizeof(*iov));
	q->bios[q->count] = (struct bio){.off = off,
					 .len = len,
					 .vec = q->vec_count,
					 .vecs = n,
					 .order = (unsigned)q->count,
					 .done = done,
					 .ctx = ctx};
	q->count++;
	q->vec_count += n;
	q->bytes += len;
	if (q->plugs == 0 || q->count >= BATCH ||
	    q->bytes >= (q->busy == 0 ? FIRST_BYTES : BATCH_BYTES))
		dispatch(q);
	return 0;
}

int bioq_write(struct bioq *q, uint64_t off, const struct iovec *iov, unsigned n, unsigned flags,
	       bio_done *done, void *ctx)
{
	uint64_t len = length(iov, n);
	int rc = bio_expect_end(q, done);

	if (rc < 0)
		return rc;
	count_bio(q, flags, len);
	if (q->tap != NULL)
		tap_send(q->tap, STAGE_BIO, letters(flags), 0, off, len, 0);
	plug_bio(&q->plug, q->counters, off, iov, n,
		 q->plugs != 0 && (flags & (BIO_PREFLUSH | BIO_FUA)) == 0);
	if ((flags & (BIO_PREFLUSH | BIO_FUA)) != 0) {
		rc = write_through(q, off, iov, n, len, flags);
		bio_note_end(q, done, ctx, rc);
	} else {
		rc = wait_in_line(q, off, iov, n, len, done, ctx);
		if (rc < 0) {
			q->expected -= done != NULL;
			return rc;
		}
	}
	bio_call_back(q, false);
	return 0;
}

void bioq_wait(struct bioq *q)
{
	do {
		dispatch(q);
		bio_wait(q);
		bio_call_back(q, true);
	} while (q->count > 0 || q->busy > 0);
}

int bioq_drain(struct bioq *q)
{
	int rc;

	bioq_wait(q);
	rc = q->error;
	q->error = 0;
	return rc;
}

bool bioq_is_full(struct bioq *q)
{
	bio_call_back(q, false);
	return q->busy > BIO_DEPTH - FEW;
}

int bioq_flush(struct bioq *q)
{
	int rc = bioq_write(q, 0, NULL, 0, BIO_PREFLUSH | BIO_SYNC, NULL, NULL);

	return rc < 0 ? rc : bioq_drain(q);
}

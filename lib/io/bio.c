/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue between bios and a device: counts bios, sorts and merges them into requests, keeps up
 * to DEPTH requests in flight, calls back.
 *
 * Bios wait in one array, their vectors in another, until the outermost unplug (or until the arrays
 * are long).  Two writes of one place never race: a batch with such a pair goes out in the order in
 * which it came, one request at a time, and a request waits for those in flight that it touches.
 * Flushes pass by the array after everything before them was sent.
 */
#include "io/bio.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/counters.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/dev.h"

#define DEPTH       32u
#define BATCH       4096u /* bios that wait at most */
#define MERGE_BYTES ((uint64_t)1280 << 10)
#define MERGE_VECS  256u
#define SECTOR      512u

struct bio {
	uint64_t off, len;
	size_t vec; /* index of the first vector */
	unsigned vecs;
	unsigned order; /* of queueing, within the batch */
	bio_done *done;
	void *ctx;
};

struct end {
	bio_done *done;
	void *ctx;
	int result;
};

struct request {
	struct dev_req dev;
	struct bioq *q;
	bool busy;
	struct iovec *iov;
	size_t iov_cap;
	struct end *ends;
	size_t end_count, end_cap;
};

struct bioq {
	struct dev *dev;
	struct counters *counters, own;
	struct diag *diag;
	unsigned plugs;
	int error; /* the first since the last drain */
	struct bio *bios;
	size_t count, cap;
	struct iovec *vecs;
	size_t vec_count, vec_cap;
	struct request requests[DEPTH];
	unsigned busy;
	struct end *ends; /* [end_first, end_count) have happened, callbacks to come */
	size_t end_first, end_count, end_cap;
	size_t expected; /* callbacks not called yet: so many fit into ends */
	bool calling;
};

int bioq_open(struct dev *dev, struct counters *c, struct diag *d, struct bioq **ret)
{
	struct bioq *q = mem_zero(sizeof(*q));

	if (q == NULL)
		return diag_set(d, -ENOMEM, "out of memory for the bio queue");
	q->dev = dev;
	q->counters = c != NULL ? c : &q->own;
	q->diag = d;
	for (unsigned i = 0; i < DEPTH; i++)
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
	for (unsigned i = 0; i < DEPTH; i++) {
		free(q->requests[i].iov);
		free(q->requests[i].ends);
	}
	free(q->bios);
	free(q->vecs);
	free(q->ends);
	free(q);
}

/* ---- counting ---- */

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
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].flags == flags) {
			count(q->counters, rows[i].bios, 1);
			count(q->counters, rows[i].sectors, len / SECTOR);
		}
	}
}

static void count_request(struct bioq *q, uint64_t len, size_t bios)
{
	count(q->counters, COUNTER_RQ_ISSUE, 1);
	count(q->counters, COUNTER_DISK_WR_IOS, 1);
	count(q->counters, COUNTER_DISK_WR_SECT, len / SECTOR);
	count(q->counters, COUNTER_DISK_WR_MERGES, bios - 1);
}

/* ---- completion ---- */

/* Room for one callback more, before anything can no longer be refused. */
static int expect_end(struct bioq *q, bio_done *done)
{
	if (done == NULL)
		return 0;
	if (mem_grow((void **)&q->ends, &q->end_cap, q->expected + 1, sizeof(*q->ends)) < 0)
		return diag_set(q->diag, -ENOMEM, "out of memory for the end of a bio");
	q->expected++;
	return 0;
}

static void note_end(struct bioq *q, bio_done *done, void *ctx, int result)
{
	if (result < 0 && q->error == 0)
		q->error = result;
	if (done == NULL)
		return;
	if (q->end_count == q->end_cap) {
		q->end_count -= q->end_first;
		memmove(q->ends, q->ends + q->end_first, q->end_count * sizeof(*q->ends));
		q->end_first = 0;
	}
	q->ends[q->end_count++] = (struct end){done, ctx, result};
}

/* Callbacks may queue and drain; those they cause are called by whoever is calling already. */
static void call_back(struct bioq *q, bool nested)
{
	bool outer = q->calling;

	if (outer && !nested)
		return;
	q->calling = true;
	while (q->end_first < q->end_count) {
		struct end e = q->ends[q->end_first++];

		q->expected--;
		e.done(e.ctx, e.result);
	}
	q->calling = outer;
}

static void request_done(struct dev_req *dr)
{
	struct request *rq = container_of(dr, struct request, dev);
	struct bioq *q = rq->q;

	rq->busy = false;
	q->busy--;
	if (dr->result < 0 && q->error == 0)
		q->error = dr->result;
	for (size_t i = 0; i < rq->end_count; i++)
		note_end(q, rq->ends[i].done, rq->ends[i].ctx, dr->result);
}

static void wait_one(struct bioq *q)
{
	dev_reap(q->dev, 1);
}

static void wait_all(struct bioq *q)
{
	while (q->busy > 0)
		wait_one(q);
}

/* ---- sending ---- */

static bool touches(const struct bioq *q, uint64_t off, uint64_t len)
{
	for (unsigned i = 0; i < DEPTH; i++) {
		const struct request *rq = &q->requests[i];

		if (rq->busy && off < rq->dev.off + rq->dev.len && rq->dev.off < off + len)
			return true;
	}
	return false;
}

static struct request *free_request(struct bioq *q)
{
	while (q->busy == DEPTH)
		wait_one(q);
	for (unsigned i = 0;; i++) {
		if (!q->requests[i].busy)
			return &q->requests[i];
	}
}

/* Fails n bios that were never sent. */
static void refuse(struct bioq *q, const struct bio *b, size_t n, int error)
{
	for (size_t i = 0; i < n; i++)
		note_end(q, b[i].done, b[i].ctx, error);
}

static int fill(struct bioq *q, struct request *rq, const struct bio *b, size_t n, size_t vecs)
{
	size_t v = 0;

	if (mem_grow((void **)&rq->iov, &rq->iov_cap, vecs, sizeof(*rq->iov)) < 0 ||
	    mem_grow((void **)&rq->ends, &rq->end_cap, n, sizeof(*rq->ends)) < 0)
		return diag_set(q->diag, -ENOMEM, "out of memory for a write request");
	rq->end_count = 0;
	for (size_t i = 0; i < n; i++) {
		memcpy(rq->iov + v, q->vecs + b[i].vec, b[i].vecs * sizeof(*rq->iov));
		v += b[i].vecs;
		if (b[i].done != NULL)
			rq->ends[rq->end_count++] = (struct end){b[i].done, b[i].ctx, 0};
	}
	return 0;
}

/* Sends n bios that follow one another as one request. */
static void send(struct bioq *q, const struct bio *b, size_t n, uint64_t len, size_t vecs)
{
	struct dev_req *one;
	struct request *rq;
	int rc;

	if (touches(q, b->off, len))
		wait_all(q);
	rq = free_request(q);
	rc = fill(q, rq, b, n, vecs);
	if (rc < 0) {
		refuse(q, b, n, rc);
		return;
	}
	rq->dev = (struct dev_req){.off = b->off,
				   .iov = rq->iov,
				   .iovcnt = (unsigned)vecs,
				   .write = true,
				   .len = len,
				   .done = request_done};
	rq->busy = true;
	q->busy++;
	count_request(q, len, n);
	one = &rq->dev;
	rc = dev_submit(q->dev, &one, 1);
	if (rc < 0) {
		rq->dev.result = rc;
		request_done(&rq->dev);
	}
}

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
		send(q, b + i, n, len, vecs);
	}
}

static void send_in_order(struct bioq *q, struct bio *b, size_t count)
{
	qsort(b, count, sizeof(*b), by_order);
	for (size_t i = 0; i < count; i++)
		send(q, b + i, 1, b[i].len, b[i].vecs);
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
	q->count = 0;
	q->vec_count = 0;
}

/* ---- what callers see ---- */

void bioq_plug(struct bioq *q)
{
	q->plugs++;
}

int bioq_unplug(struct bioq *q)
{
	if (--q->plugs == 0) {
		dispatch(q);
		call_back(q, false);
	}
	return 0;
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
	wait_all(q);
	if ((flags & BIO_PREFLUSH) != 0)
		rc = flush_dev(q);
	if (rc == 0 && len != 0) {
		count_request(q, len, 1);
		rc = dev_writev(q->dev, off, iov, n);
	}
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
	if (q->plugs == 0 || q->count >= BATCH)
		dispatch(q);
	return 0;
}

int bioq_write(struct bioq *q, uint64_t off, const struct iovec *iov, unsigned n, unsigned flags,
	       bio_done *done, void *ctx)
{
	uint64_t len = length(iov, n);
	int rc = expect_end(q, done);

	if (rc < 0)
		return rc;
	count_bio(q, flags, len);
	if ((flags & (BIO_PREFLUSH | BIO_FUA)) != 0) {
		rc = write_through(q, off, iov, n, len, flags);
		note_end(q, done, ctx, rc);
	} else {
		rc = wait_in_line(q, off, iov, n, len, done, ctx);
		if (rc < 0) {
			q->expected -= done != NULL;
			return rc;
		}
	}
	call_back(q, false);
	return 0;
}

int bioq_drain(struct bioq *q)
{
	int rc;

	do {
		dispatch(q);
		wait_all(q);
		call_back(q, true);
	} while (q->count > 0 || q->busy > 0);
	rc = q->error;
	q->error = 0;
	return rc;
}

int bioq_flush(struct bioq *q)
{
	int rc = bioq_drain(q), flushed;

	count(q->counters, COUNTER_BIO_QUEUE, 1);
	count(q->counters, COUNTER_BIO_FWS, 1);
	flushed = flush_dev(q);
	return rc != 0 ? rc : flushed;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests: bios on their way through the device, up to BIO_DEPTH at a time, and the callbacks of
 * those that are done.
 *
 * A request waits for those in flight that it touches, so that two writes of one place never race.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/bio_impl.h"

/* ---- completion ---- */

int bio_expect_end(struct bioq *q, bio_done *done)
{
	if (done == NULL)
		return 0;
	if (mem_grow((void **)&q->ends, &q->end_cap, q->expected + 1, sizeof(*q->ends)) < 0)
		return diag_set(q->diag, -ENOMEM, "out of memory for the end of a bio");
	q->expected++;
	return 0;
}

void bio_note_end(struct bioq *q, bio_done *done, void *ctx, int result)
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

/* Asks first what the device has finished meanwhile. */
void bio_call_back(struct bioq *q, bool nested)
{
	bool outer = q->calling;

	if (q->busy > 0)
		dev_reap(q->dev, 0);
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
		bio_note_end(q, rq->ends[i].done, rq->ends[i].ctx, dr->result);
}

/* A device refuses all of a batch for one request that is out of range. */
static void submit_alone(struct bioq *q, struct dev_req **reqs, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		int rc = dev_submit(q->dev, &reqs[i], 1);

		if (rc < 0) {
			reqs[i]->result = rc;
			request_done(reqs[i]);
		}
	}
}

void bio_submit(struct bioq *q)
{
	unsigned n = q->batched;

	if (n == 0)
		return;
	q->batched = 0;
	if (dev_submit(q->dev, q->batch, n) < 0)
		submit_alone(q, q->batch, n);
}

static void wait_one(struct bioq *q)
{
	bio_submit(q);
	if (q->busy > 0)
		dev_reap(q->dev, 1);
}

void bio_wait(struct bioq *q)
{
	while (q->busy > 0)
		wait_one(q);
}

/* ---- sending ---- */

static bool touches(const struct bioq *q, uint64_t off, uint64_t len)
{
	for (unsigned i = 0; i < BIO_DEPTH; i++) {
		const struct request *rq = &q->requests[i];

		if (rq->busy && off < rq->dev.off + rq->dev.len && rq->dev.off < off + len)
			return true;
	}
	return false;
}

static struct request *free_request(struct bioq *q)
{
	while (q->busy == BIO_DEPTH)
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
		bio_note_end(q, b[i].done, b[i].ctx, error);
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

void bio_send(struct bioq *q, const struct bio *b, size_t n, uint64_t len, size_t vecs)
{
	struct request *rq;
	int rc;

	if (touches(q, b->off, len))
		bio_wait(q);
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
	q->batch[q->batched++] = &rq->dev;
}

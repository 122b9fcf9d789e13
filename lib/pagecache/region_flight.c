/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stores on their way.
 *
 * A store is begun by a pass, sent when it is full, answered by its store, and then done: its
 * folios leave writeback, and what failed becomes dirty again or is given up.  With threads it is
 * done as soon as it is answered, and one thread more does nothing but wait for answers: a store
 * that is larger than what the way to a server holds would stand still otherwise.  Without, stores
 * are done in the order in which they were sent, and only when somebody waits for one, too many are
 * on their way, or the next pass begins: the order of things then depends on the calls alone and
 * not on the store's speed.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "pagecache/region.h"

#define PIECES    16u /* room of a store that was never long */
#define COPY_ROOM ((size_t)64 << 10)

/* ---- all there are ---- */

static int new_op(struct ek_region *r)
{
	struct rop *op = mem_zero(sizeof(*op));
	bool copies = r->k.stable == STABLE_COPY;

	if (op == NULL)
		return -ENOMEM;
	op->r = r;
	op->next_all = r->ops;
	op->next_free = r->free_ops;
	r->ops = op;
	r->free_ops = op;
	op->bounce = copies ? malloc(COPY_ROOM) : NULL;
	op->bounce_cap = copies ? COPY_ROOM : 0;
	if (mem_grow((void **)&op->segs, &op->seg_cap, PIECES, sizeof(*op->segs)) < 0 ||
	    mem_grow((void **)&op->iov, &op->iov_cap, PIECES, sizeof(*op->iov)) < 0)
		return -ENOMEM;
	return copies && op->bounce == NULL ? -ENOMEM : 0;
}

/* ---- done ---- */

/* Failures after which the same store may succeed. */
static bool passing(int result)
{
	static const int codes[] = {-EAGAIN, -EINTR,     -ENOMEM,  -ENOSPC,
				    -EDQUOT, -ETIMEDOUT, -ENOTCONN};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (codes[i] == result)
			return true;
	}
	return false;
}

static void forget_dirty(struct rfile *file, int result)
{
	file->hard_failures++;
	file->hard_failure = result;
	file->r->lost = result;
}

static void fail_op(struct rop *op)
{
	struct rfile *file = op->file;
	bool again = passing(op->result);

	rcount(op->r, RC_STORES_FAILED, 1);
	file->failures++;
	file->failure = op->result;
	for (size_t i = 0; again && i < op->seg_count; i++) {
		struct rseg *s = &op->segs[i];

		if (op->r->track->mark(s->o, s->from, s->to) == 0)
			rfolio_set_dirty(s->o);
		else
			again = false;
	}
	if (!again)
		forget_dirty(file, op->result);
}

static void unlink_live(struct ek_region *r, struct rop *op)
{
	struct rop **at = &r->live;

	while (*at != op)
		at = &(*at)->next_live;
	*at = op->next_live;
	if (r->live_end == &op->next_live)
		r->live_end = at;
}

static void finish(struct rop *op)
{
	struct ek_region *r = op->r;

	if (op->result < 0)
		fail_op(op);
	for (size_t i = 0; i < op->seg_count; i++) {
		struct rseg *s = &op->segs[i];

		s->o->pending--;
		if (s->buf != NULL)
			rbuf_put(r, s->buf);
		rfolio_put(s->o);
	}
	unlink_live(r, op);
	r->inflight--;
	op->next_free = r->free_ops;
	r->free_ops = op;
}

void op_done(struct rop *op, int result)
{
	struct ek_region *r = op->r;

	pthread_mutex_lock(&r->lock);
	op->result = result;
	op->answered = true;
	r->unanswered--;
	r->store_ns += host_ns(CLOCK_MONOTONIC) - op->sent_ns;
	if (r->threads) {
		finish(op);
		pthread_cond_broadcast(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
}

/* ---- waiting ---- */

static void reap(struct ek_region *r, unsigned min)
{
	pthread_mutex_unlock(&r->lock);
	r->store->ops->reap(r->store, min);
	pthread_mutex_lock(&r->lock);
}

static void finish_oldest(struct ek_region *r)
{
	struct rop *op = r->flying;

	assert(op != NULL);
	while (!op->answered)
		reap(r, 1);
	r->flying = op->next_fly;
	if (r->flying == NULL)
		r->fly_end = &r->flying;
	finish(op);
}

void flight_wait(struct ek_region *r)
{
	if (r->threads)
		pthread_cond_wait(&r->changed, &r->lock);
	else
		finish_oldest(r);
}

void flight_collect(struct ek_region *r)
{
	while (!r->threads && r->flying != NULL)
		finish_oldest(r);
}

static bool any_before(const struct ek_region *r, const struct rfile *file, uint64_t seq)
{
	for (const struct rop *op = r->live; op != NULL && op->seq <= seq; op = op->next_live) {
		if (file == NULL || op->file == file)
			return true;
	}
	return false;
}

bool flight_has(const struct ek_region *r, const struct rfile *file)
{
	return any_before(r, file, r->seq);
}

void flight_drain(struct ek_region *r, const struct rfile *file)
{
	uint64_t seq = r->seq;

	while (any_before(r, file, seq))
		flight_wait(r);
}

void flight_wait_folio(struct rfolio *o, unsigned writer)
{
	struct ek_region *r = o->file->r;
	uint64_t began;

	if (o->pending == 0)
		return;
	began = host_ns(CLOCK_MONOTONIC);
	while (o->pending != 0)
		flight_wait(r);
	if (writer == REGION_NOBODY)
		return;
	began = host_ns(CLOCK_MONOTONIC) - began;
	rcount(r, RC_WAITS, 1);
	r->wait_ns += began;
	r->writers[writer].waits++;
	r->writers[writer].wait_ns += began;
}

/* ---- begin and send ---- */

struct rop *op_begin(struct ek_region *r, struct rfile *file, uint64_t off)
{
	struct rop *op;

	while (r->free_ops == NULL)
		flight_wait(r);
	op = r->free_ops;
	r->free_ops = op->next_free;
	op->file = file;
	op->data = file->data;
	op->off = off;
	op->len = 0;
	op->iovcnt = 0;
	op->seg_count = 0;
	op->answered = false;
	op->seq = ++r->seq;
	op->next_live = NULL;
	*r->live_end = op;
	r->live_end = &op->next_live;
	return op;
}

bool op_room(struct rop *op)
{
	size_t need = op->seg_count + 1;

	return need <= op->r->k.segs &&
	       mem_grow((void **)&op->segs, &op->seg_cap, need, sizeof(*op->segs)) == 0 &&
	       mem_grow((void **)&op->iov, &op->iov_cap, need, sizeof(*op->iov)) == 0;
}

static void count_store(struct ek_region *r, const struct rop *op)
{
	unsigned size_class = op->len <= 512 ? 0 : ilog2(op->len - 1) - 8;

	rcount(r, RC_STORES, 1);
	rcount(r, RC_BYTES_STORED, op->len);
	r->sizes[MIN(size_class, SIZE_CLASSES - 1)]++;
}

static void put_on_its_way(struct ek_region *r, struct rop *op)
{
	r->inflight++;
	op->sent_ns = host_ns(CLOCK_MONOTONIC);
	op->file->stored = MAX(op->file->stored, op->off + op->len);
	count_store(r, op);
	if (!r->threads) {
		op->next_fly = NULL;
		*r->fly_end = op;
		r->fly_end = &op->next_fly;
	}
}

static bool alive(const struct ek_region *r, uint64_t seq)
{
	const struct rop *op = r->live;

	while (op != NULL && op->seq < seq)
		op = op->next_live;
	return op != NULL && op->seq == seq;
}

static bool all_zero(const struct rop *op)
{
	for (unsigned i = 0; i < op->iovcnt; i++) {
		if (!mem_is_zero(op->iov[i].iov_base, op->iov[i].iov_len))
			return false;
	}
	return true;
}

/* Without the lock.  Zeroing makes no file longer, so only what the store has is zeroed. */
static void submit(struct rop *op, uint64_t stored)
{
	struct ek_region *r = op->r;
	int rc = -EOPNOTSUPP;

	if (r->k.zeros == ZEROS_ZEROED && op->off + op->len <= stored && all_zero(op))
		rc = r->store->ops->zero(op->data, op->off, op->len);
	if (rc == -EOPNOTSUPP) {
		r->store->ops->submit(op);
		return;
	}
	pthread_mutex_lock(&r->lock);
	rcount(r, RC_STORES_ZEROED, 1);
	pthread_mutex_unlock(&r->lock);
	op_done(op, rc);
}

void op_send(struct rop *op)
{
	struct ek_region *r = op->r;
	uint64_t seq = op->seq, stored;

	while (r->inflight >= r->k.inflight)
		flight_wait(r);
	stored = op->file->stored;
	put_on_its_way(r, op);
	pthread_mutex_unlock(&r->lock);
	submit(op, stored);
	pthread_mutex_lock(&r->lock);
	if (r->unanswered++ == 0 && r->threads)
		pthread_cond_broadcast(&r->changed);
	while (r->k.stores == STORES_SYNC && alive(r, seq))
		flight_wait(r);
}

/* ---- open and close ---- */

static void *run_reaper(void *arg)
{
	struct ek_region *r = arg;

	pthread_mutex_lock(&r->lock);
	while (!r->closing) {
		if (r->unanswered > 0)
			reap(r, 1);
		else
			pthread_cond_wait(&r->changed, &r->lock);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* One for each that may be on its way, and one that each writer may be filling. */
int flight_open(struct ek_region *r)
{
	unsigned n = r->k.inflight + (r->threads ? EK_REGION_WRITERS : 1);
	int rc = 0;

	r->live_end = &r->live;
	r->fly_end = &r->flying;
	for (unsigned i = 0; i < n && rc == 0; i++)
		rc = new_op(r);
	if (rc == 0 && r->threads)
		rc = -pthread_create(&r->reaper, NULL, run_reaper, r);
	r->has_reaper = rc == 0 && r->threads;
	return rc;
}

void flight_close(struct ek_region *r)
{
	pthread_mutex_lock(&r->lock);
	r->closing = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	if (r->has_reaper)
		pthread_join(r->reaper, NULL);
	while (r->ops != NULL) {
		struct rop *op = r->ops;

		r->ops = op->next_all;
		free(op->segs);
		free(op->iov);
		free(op->bounce);
		free(op);
	}
}

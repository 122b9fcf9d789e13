/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A worker: takes batches from its queue and runs them.  Overwrites of dirty bytes and reads of
 * cached ones run beside those of other workers; for anything else the image is taken, and kept for
 * some of the operations that follow, since taking it means to stop everybody.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "trace/crew_impl.h"

#define SPELL 64u /* operations in a row that the image, or a file, is kept for */

static void note_failure(struct crew *c, const struct op *o, int rc)
{
	if (mem_grow((void **)&c->failures, &c->cap, c->nfailures + 1, sizeof(*c->failures)) < 0) {
		c->error = -ENOMEM;
	} else {
		c->failures[c->nfailures++] = (struct failure){*o, rc, c->diag};
		diag_clear(&c->diag);
	}
	atomic_store(&c->trouble, 1);
}

static void restore_op(const struct queued *q, struct op *o)
{
	op_clear(o);
	o->time = q->time;
	o->off = q->off;
	o->len = q->len;
	o->handle = q->handle;
	o->flags = q->flags;
	o->code = q->code;
	o->sub = q->sub;
	o->data_kind = q->data_kind;
	o->data.kind = q->data_kind;
	o->data.bytes = q->bytes;
	o->data.n = q->nbytes;
	o->plain = q->bytes == NULL;
}

/* A sync writes back and commits: others go on overwriting meanwhile. */
static bool needs_all(const struct queued *q)
{
	return q->code != OP_FSYNC && q->code != OP_FDATASYNC;
}

static void run_slowly(struct crew *c, const struct queued *q)
{
	struct op o;
	int rc;

	if (atomic_load_explicit(&c->error, memory_order_relaxed) != 0)
		return;
	restore_op(q, &o);
	image_set_clock(c->image, q->time);
	rc = c->inner->ops->op(c->inner, &o);
	if (rc < 0)
		note_failure(c, &o, rc);
}

static void let_go(struct worker *w)
{
	if (w->over != NULL)
		pc_overwrites_end(w->over);
	w->over = NULL;
}

/* One file after another, each for a while: letting go means to wait for what was stored. */
static bool hold(struct worker *w, struct ek_inode *inode)
{
	if (w->over == inode && w->overwrites++ < SPELL)
		return true;
	let_go(w);
	if (!pc_overwrites_begin(inode))
		return false;
	w->over = inode;
	w->overwrites = 1;
	return true;
}

static bool write_quickly(struct worker *w, const struct queued *q, struct ek_time now)
{
	struct op o;
	struct pc_source src;

	if ((q->flags & (OPF_DIRECT | OPF_SYNC | OPF_DSYNC)) != 0 || q->file->sync != 0)
		return false;
	o.data_kind = q->data_kind;
	o.data.bytes = q->bytes;
	o.data.n = q->nbytes;
	o.len = q->len;
	src = image_source(w->crew->image, &o);
	return pc_overwrite(q->file->inode, q->off, q->len, &src, now, &w->counters);
}

static bool run_quickly(struct worker *w, const struct queued *q)
{
	struct ek_time now;

	if ((q->code != OP_WRITE && q->code != OP_READ) || q->file->direct ||
	    !hold(w, q->file->inode))
		return false;
	now = image_time_at(w->crew->image, q->time);
	if (q->code == OP_WRITE)
		return write_quickly(w, q, now);
	return (q->flags & OPF_DIRECT) == 0 &&
	       pc_reread(q->file->inode, q->off, q->len, now, &q->file->reads);
}

static void close_gate(struct worker *w, bool *held)
{
	let_go(w);
	if (*held)
		pthread_mutex_unlock(&w->gate);
	*held = false;
}

static void open_gate(struct worker *w, bool *held)
{
	if (*held && atomic_load_explicit(&w->crew->wanted, memory_order_relaxed) != 0)
		close_gate(w, held);
	if (!*held)
		pthread_mutex_lock(&w->gate);
	*held = true;
}

/* As many of the operations from q on as one taking of the image is good for. */
static uint32_t run_spell(struct crew *c, const struct queued *q, uint32_t n)
{
	bool alone = needs_all(q);
	uint32_t i = 0;

	crew_enter(c, alone);
	do
		run_slowly(c, &q[i++]);
	while (i < MIN(n, SPELL) && needs_all(&q[i]) == alone && alone);
	crew_leave(c, alone);
	return i;
}

static void run_batch(struct worker *w, const struct batch *b)
{
	bool held = false;
	uint32_t i = 0;

	while (i < b->n) {
		open_gate(w, &held);
		__builtin_prefetch(&b->op[MIN(i + AHEAD, BATCH_OPS - 1)]);
		if (run_quickly(w, &b->op[i])) {
			i++;
			continue;
		}
		close_gate(w, &held);
		i += run_spell(w->crew, &b->op[i], b->n - i);
	}
	close_gate(w, &held);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	pthread_mutex_lock(&w->queue);
	for (;;) {
		struct batch *b;

		while (w->done == w->pushed && !w->stop)
			pthread_cond_wait(&w->more, &w->queue);
		if (w->done == w->pushed)
			break;
		b = w->batch[w->done % BATCHES];
		pthread_mutex_unlock(&w->queue);
		run_batch(w, b);
		pthread_mutex_lock(&w->queue);
		b->n = 0;
		b->nbytes = 0;
		if (++w->done == w->awaited)
			pthread_cond_signal(&w->less);
	}
	pthread_mutex_unlock(&w->queue);
	return NULL;
}

/* ---- for the one who hands out ---- */

static struct batch *make_batch(struct worker *w)
{
	struct batch **at = &w->batch[w->pushed % BATCHES];

	if (*at == NULL)
		*at = mem_zero(sizeof(**at));
	return *at;
}

struct batch *worker_room(struct worker *w, uint32_t nbytes)
{
	struct batch *b = make_batch(w);

	if (b != NULL && b->n != 0 && (b->n == BATCH_OPS || nbytes > BATCH_BYTES - b->nbytes)) {
		worker_push(w);
		b = make_batch(w);
	}
	if (b == NULL || nbytes == 0 || b->bytes != NULL)
		return b;
	b->bytes = malloc(BATCH_BYTES);
	return b->bytes != NULL ? b : NULL;
}

/* Under queue; there is one who hands out, so one who waits. */
static void wait_done(struct worker *w, uint64_t done)
{
	w->awaited = done;
	while (w->done < done)
		pthread_cond_wait(&w->less, &w->queue);
	w->awaited = UINT64_MAX;
}

/* Waits for the place after it in the ring, too, and then for half of the ring. */
void worker_push(struct worker *w)
{
	struct batch *b = w->batch[w->pushed % BATCHES];

	if (b == NULL || b->n == 0)
		return;
	pthread_mutex_lock(&w->queue);
	w->pushed++;
	pthread_cond_signal(&w->more);
	if (w->pushed - w->done >= BATCHES)
		wait_done(w, w->pushed - BATCHES / 2);
	pthread_mutex_unlock(&w->queue);
}

void worker_wait(struct worker *w, uint64_t until)
{
	if (until == w->pushed)
		worker_push(w);
	pthread_mutex_lock(&w->queue);
	wait_done(w, until < w->pushed ? until + 1 : w->pushed);
	pthread_mutex_unlock(&w->queue);
}

int worker_start(struct crew *c, struct worker *w)
{
	int rc;

	w->crew = c;
	w->awaited = UINT64_MAX;
	pthread_mutex_init(&w->gate, NULL);
	pthread_mutex_init(&w->queue, NULL);
	pthread_cond_init(&w->more, NULL);
	pthread_cond_init(&w->less, NULL);
	rc = pthread_create(&w->thread, NULL, work, w);
	w->started = rc == 0;
	return -rc;
}

void worker_stop(struct worker *w)
{
	if (!w->started)
		return;
	worker_wait(w, w->pushed);
	pthread_mutex_lock(&w->queue);
	w->stop = true;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->queue);
	pthread_join(w->thread, NULL);
	w->started = false;
}

void worker_free(struct worker *w)
{
	for (unsigned i = 0; i < BATCHES; i++) {
		if (w->batch[i] == NULL)
			continue;
		free(w->batch[i]->bytes);
		free(w->batch[i]);
	}
}

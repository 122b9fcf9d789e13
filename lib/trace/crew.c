/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handing out: which operation goes to which worker, and which waits for whom.
 *
 *	on the contents of one open file	to the worker of the file
 *	open, without truncation		here, at once: it changes no contents
 *	close					here, after what waits for the file
 *	everything else				here, after all that waits
 */
#include "trace/crew.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/copy.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/dev.h"
#include "trace/crew_impl.h"

static struct crew *of(struct target *t)
{
	return container_of(t, struct crew, target);
}

/* ---- the image ---- */

void crew_enter(struct crew *c, bool alone)
{
	/* Who waits for the image has the turn: else whoever gives it back, and wants it again at
	 * once, would have it before the other is awake. */
	pthread_mutex_lock(&c->turn);
	pthread_mutex_lock(&c->lock);
	pthread_mutex_unlock(&c->turn);
	if (!alone)
		return;
	atomic_store(&c->wanted, 1);
	for (uint32_t i = 0; i < c->nworkers; i++)
		pthread_mutex_lock(&c->worker[i].gate);
	atomic_store(&c->wanted, 0);
}

void crew_leave(struct crew *c, bool alone)
{
	copy_settle();
	for (uint32_t i = c->nworkers; alone && i-- > 0;)
		pthread_mutex_unlock(&c->worker[i].gate);
	pthread_mutex_unlock(&c->lock);
}

/* ---- lanes ---- */

/* One more worker, or NULL: there are as many as may be, or the host gives none.  Others go over
 * the workers under the image's lock. */
static struct worker *hire(struct crew *c, uint32_t thread)
{
	struct worker *w = &c->worker[c->nworkers];

	if (c->nworkers == c->most || worker_start(c, w) < 0)
		return NULL;
	w->of = thread;
	pthread_mutex_lock(&c->lock);
	c->nworkers++;
	pthread_mutex_unlock(&c->lock);
	return w;
}

/* That of the thread, or one that it shares; NULL when there is none at all. */
static struct worker *worker_of(struct crew *c, uint32_t thread)
{
	struct worker *w;

	for (uint32_t i = 0; i < c->nworkers; i++) {
		if (c->worker[i].of == thread)
			return &c->worker[i];
	}
	w = hire(c, thread);
	return w != NULL || c->nworkers == 0 ? w : &c->worker[thread % c->nworkers];
}

static struct worker *pick(struct crew *c, const struct op *o)
{
	if (c->by_thread)
		return worker_of(c, o->thread);
	return worker_of(c, c->next++ % c->most);
}

static bool is_waiting(const struct lane *l)
{
	struct worker *w = l->worker;
	bool yes;

	pthread_mutex_lock(&w->queue);
	yes = w->done <= l->last;
	pthread_mutex_unlock(&w->queue);
	return yes;
}

/* The lane of the file.  A thread takes a file over when nothing waits for it. */
static struct lane *lane_of(struct crew *c, const struct open_file *f, const struct op *o)
{
	struct hash_node *n = hash_find(&c->lanes, f->inode->ino.v);
	struct worker *w = n == NULL || c->by_thread ? pick(c, o) : NULL;
	struct lane *l;

	if (n != NULL) {
		l = hash_entry(n, struct lane, node);
		if (w != NULL && l->worker != w && !is_waiting(l))
			l->worker = w;
		return l;
	}
	l = w != NULL ? mem_zero(sizeof(*l)) : NULL;
	if (l == NULL)
		return NULL;
	l->worker = w;
	hash_insert(&c->lanes, &l->node, f->inode->ino.v);
	return l;
}

static void wait_for_lane(struct lane *l)
{
	worker_wait(l->worker, l->last);
}

static void wait_for_all(struct crew *c)
{
	for (uint32_t i = 0; i < c->nworkers; i++)
		worker_push(&c->worker[i]);
	for (uint32_t i = 0; i < c->nworkers; i++)
		worker_wait(&c->worker[i], UINT64_MAX);
}

/* ---- operations ---- */

enum way { WAY_LANE, WAY_NOW, WAY_AFTER_LANE, WAY_AFTER_ALL };

static enum way way_of(const struct op *o)
{
	switch ((enum op_code)o->code) {
	case OP_WRITE:
	case OP_READ:
	case OP_MWRITE:
	case OP_FTRUNCATE:
	case OP_FALLOC:
	case OP_FSYNC:
	case OP_FDATASYNC:
	case OP_SYNCRANGE:
	case OP_MSYNC:
		return WAY_LANE;
	case OP_OPEN:
		return (o->flags & OPF_TRUNC) != 0 ? WAY_AFTER_ALL : WAY_NOW;
	case OP_CLOSE:
		return WAY_AFTER_LANE;
	case OP_MMAP:
	case OP_MUNMAP:
	case OP_FORK:
	case OP_EXIT:
	case OP_GAP:
		return WAY_NOW;
	default:
		return WAY_AFTER_ALL;
	}
}

static void pass_on(struct crew *c, const struct diag *d)
{
	*c->target.d = *d;
	diag_clear(&c->diag);
}

static int run_here(struct crew *c, const struct op *o)
{
	int rc;

	crew_enter(c, true);
	rc = c->inner->ops->tick(c->inner, c->now);
	if (rc == 0)
		rc = c->inner->ops->op(c->inner, o);
	if (rc < 0)
		pass_on(c, &c->diag);
	crew_leave(c, true);
	return rc;
}

static int hand_over(struct crew *c, struct open_file *f, struct lane *l, const struct op *o)
{
	uint32_t nbytes = o->plain || o->data.bytes == NULL ? 0 : o->data.n;
	struct batch *b;
	struct queued *q;

	if (l == NULL)
		return diag_set(c->target.d, -ENOMEM, "no memory or no thread for a file");
	if (nbytes > BATCH_BYTES) { /* too much to be copied */
		wait_for_lane(l);
		return run_here(c, o);
	}
	b = worker_room(l->worker, nbytes);
	if (b == NULL)
		return diag_set(c->target.d, -ENOMEM, "out of memory for operations that wait");
	q = &b->op[b->n++];
	/* The worker's processor has the lines of the last round: they take a while. */
	if (b->n + AHEAD <= BATCH_OPS)
		__asm__ volatile("prefetchw %0" : : "m"(b->op[b->n - 1 + AHEAD]));
	*q = (struct queued){.time = c->now,
			     .off = o->off,
			     .len = o->len,
			     .file = f,
			     .handle = o->handle,
			     .flags = o->flags,
			     .code = o->code,
			     .sub = o->sub,
			     .data_kind = o->data_kind};
	if (nbytes != 0) {
		q->bytes = memcpy(b->bytes + b->nbytes, o->data.bytes, nbytes);
		q->nbytes = nbytes;
		b->nbytes += nbytes;
	}
	l->last = l->worker->pushed;
	if (c->prompt)
		worker_push(l->worker);
	return 0;
}

/* What workers met with is told in their stead. */
static int tell_failures(struct crew *c)
{
	int rc = 0;

	if (atomic_load_explicit(&c->trouble, memory_order_relaxed) == 0)
		return 0;
	pthread_mutex_lock(&c->lock);
	atomic_store(&c->trouble, 0);
	rc = c->error;
	for (size_t i = 0; i < c->nfailures && rc == 0; i++) {
		pass_on(c, &c->failures[i].diag);
		rc = c->failed(c->failed_ctx, &c->failures[i].op, c->failures[i].rc);
	}
	c->nfailures = 0;
	c->error = rc;
	pthread_mutex_unlock(&c->lock);
	return rc;
}

/* Which worker has a file may change when each thread has its own. */
static void note_known(struct crew *c, struct open_file *f, struct lane *l, uint32_t handle)
{
	if (!c->by_thread && l != NULL)
		c->known[handle % KNOWN] = (struct known){f, l, handle};
}

static int crew_op(struct target *t, const struct op *o)
{
	struct crew *c = of(t);
	const struct known *k = &c->known[o->handle % KNOWN];
	enum way way = way_of(o);
	struct hash_node *n = NULL;
	struct open_file *f;
	struct lane *l;
	int rc = tell_failures(c);

	if (rc < 0)
		return rc;
	if (way == WAY_LANE && k->file != NULL && k->handle == o->handle)
		return hand_over(c, k->file, k->lane, o);
	if (way != WAY_LANE)
		memset(c->known, 0, sizeof(c->known));
	if (way == WAY_LANE || way == WAY_AFTER_LANE)
		n = hash_find(&c->image->files, o->handle);
	if (n == NULL || way == WAY_AFTER_ALL) {
		if (way == WAY_AFTER_ALL)
			wait_for_all(c);
		return run_here(c, o);
	}
	f = hash_entry(n, struct open_file, node);
	l = lane_of(c, f, o);
	if (way == WAY_LANE) {
		note_known(c, f, l, o->handle);
		return hand_over(c, f, l, o);
	}
	if (l == NULL)
		return diag_set(t->d, -ENOMEM, "no memory or no thread for a file");
	wait_for_lane(l);
	return run_here(c, o);
}

/* ---- life ---- */

/* Where the image and its device tell of failures. */
static void tell(struct crew *c, struct diag *d)
{
	c->inner->d = d;
	c->image->dev->diag = d;
}

static int crew_begin(struct target *t)
{
	struct crew *c = of(t);
	int rc = c->inner->ops->begin(c->inner);

	if (rc < 0)
		return rc;
	tell(c, &c->diag);
	c->image->pc->threaded = true;
	c->running = true;
	rc = flusher_start(c);
	return rc == 0 ? 0 : diag_set(t->d, rc, "cannot start a thread");
}

/* Time passes for those who wait for it: workers set it as they go. */
static int crew_tick(struct target *t, uint64_t ns)
{
	of(t)->now = ns;
	return 0;
}

static void stop(struct crew *c)
{
	if (!c->running)
		return;
	for (uint32_t i = 0; i < c->nworkers; i++)
		worker_stop(&c->worker[i]);
	flusher_stop(c);
	c->running = false;
	c->image->pc->threaded = false;
	tell(c, c->target.d);
	for (uint32_t i = 0; i < c->nworkers; i++)
		counters_add(&c->image->img->counters, &c->worker[i].counters);
}

static int crew_finish(struct target *t)
{
	struct crew *c = of(t);
	int rc;

	stop(c);
	rc = tell_failures(c);
	return rc < 0 ? rc : c->inner->ops->finish(c->inner);
}

static int crew_bare(struct target *t)
{
	return of(t)->inner->ops->bare(of(t)->inner);
}

static int crew_node(struct target *t, const struct op_node *n)
{
	return of(t)->inner->ops->node(of(t)->inner, n);
}

/* While there are workers: of what is over.  A mark waits for all before it. */
static const struct counters *crew_counters(struct target *t)
{
	struct crew *c = of(t);
	const struct counters *inner;

	if (!c->running)
		return c->inner->ops->counters(c->inner);
	crew_enter(c, true);
	inner = c->inner->ops->counters(c->inner);
	c->sum = *inner;
	for (uint32_t i = 0; i < c->nworkers; i++)
		counters_add(&c->sum, &c->worker[i].counters);
	crew_leave(c, true);
	return &c->sum;
}

static const struct target_extents *crew_extents(struct target *t)
{
	return of(t)->inner->ops->extents(of(t)->inner);
}

static void crew_close(struct target *t)
{
	struct crew *c = of(t);
	struct hash_node *n;
	size_t at = 0;

	stop(c);
	c->inner->ops->close(c->inner);
	while ((n = hash_pop(&c->lanes, &at)) != NULL)
		free(hash_entry(n, struct lane, node));
	hash_free(&c->lanes);
	for (uint32_t i = 0; i < c->nworkers; i++)
		worker_free(&c->worker[i]);
	free(c->worker);
	free(c->failures);
	free(c);
}

static const struct target_ops crew_ops = {
    .bare = crew_bare,
    .node = crew_node,
    .begin = crew_begin,
    .tick = crew_tick,
    .op = crew_op,
    .finish = crew_finish,
    .counters = crew_counters,
    .extents = crew_extents,
    .close = crew_close,
};

int crew_open(struct target *image, uint32_t workers, bool prompt, crew_failed_fn *failed,
	      void *ctx, struct diag *d, struct target **ret)
{
	struct crew *c;

	if (workers != CREW_BY_THREAD && workers > CREW_MAX)
		return diag_set(d, -EINVAL, "threads: %u, at most %u", workers, CREW_MAX);
	c = mem_zero(sizeof(*c));
	if (c == NULL)
		return diag_set(d, -ENOMEM, "out of memory for threads");
	c->by_thread = workers == CREW_BY_THREAD;
	c->most = c->by_thread ? CREW_MAX : workers;
	c->worker = mem_array(c->most, sizeof(*c->worker), SIZE_MAX, d);
	if (c->worker == NULL) {
		free(c);
		return -ENOMEM;
	}
	c->target = (struct target){&crew_ops, d};
	c->inner = image;
	c->image = container_of(image, struct image_target, target);
	c->prompt = prompt;
	c->failed = failed;
	c->failed_ctx = ctx;
	pthread_mutex_init(&c->turn, NULL);
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->nap, NULL);
	pthread_cond_init(&c->wake, NULL);
	*ret = &c->target;
	return 0;
}

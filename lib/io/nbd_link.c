/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands over one connection.
 *
 * 1. A thread that wants an answer becomes the poller if there is none, and sleeps on the socket
 *    outside of every lock; the others sleep until it has moved something.
 * 2. libnbd tells of each answer in a callback, which frees the part and counts down its job.
 * 3. A job without a request wakes the thread that waits for it; one with a request queues up for
 *    nbd_reap, because its done may send more and must not run under libnbd's lock.
 * 4. If nothing was answered for too long, the socket is shut down under libnbd, which then fails
 *    all that is in flight: buffers are the callers' again, whatever the server does later.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "io/nbd_impl.h"

#define STEP_MS 500 /* the longest sleep between two looks at the clock */

/* ---- the socket ---- */

static void notify(struct nbd *n, short events)
{
	bool gone = (events & (POLLHUP | POLLERR)) != 0;
	unsigned dir = n->lib.aio_get_direction(n->h);

	if ((dir & NBD_READ) != 0 && ((events & POLLIN) != 0 || gone))
		n->lib.aio_notify_read(n->h);
	else if ((dir & NBD_WRITE) != 0 && ((events & POLLOUT) != 0 || gone))
		n->lib.aio_notify_write(n->h);
}

void nbd_poll_once(struct nbd *n, int ms)
{
	unsigned dir = n->lib.aio_get_direction(n->h);
	struct pollfd fds[2] = {{.fd = n->lib.aio_get_fd(n->h)}, {n->wake, POLLIN, 0}};
	uint64_t told;

	fds[0].events =
	    (short)(((dir & NBD_READ) != 0 ? POLLIN : 0) | ((dir & NBD_WRITE) != 0 ? POLLOUT : 0));
	if (poll(fds, 2, ms) <= 0)
		return;
	if (fds[1].revents != 0 && read(n->wake, &told, sizeof(told)) < 0)
		told = 0; /* another took it: the next turn looks again anyhow */
	if (fds[0].revents != 0)
		notify(n, fds[0].revents);
}

/* The server had its time: libnbd learns that the connection has ended. */
static void give_up(struct nbd *n)
{
	int fd = n->lib.aio_get_fd(n->h);

	if (fd >= 0)
		shutdown(fd, SHUT_RDWR);
}

void nbd_turn(struct nbd *n, int ms)
{
	bool late;

	if (n->polling) {
		if (ms != 0)
			pthread_cond_wait(&n->moved, &n->lock);
		return;
	}
	n->polling = true;
	pthread_mutex_unlock(&n->lock);
	nbd_poll_once(n, MIN(ms, STEP_MS));
	pthread_mutex_lock(&n->lock);
	late = n->flying != 0 && n->dead == 0 && host_ms() - n->heard_ms > (uint64_t)n->timeout_ms;
	if (late) {
		n->dead = -ETIMEDOUT;
		pthread_mutex_unlock(&n->lock);
		give_up(n);
		pthread_mutex_lock(&n->lock);
	}
	n->polling = false;
	pthread_cond_broadcast(&n->moved);
}

static void wake_poller(struct nbd *n)
{
	const uint64_t one = 1;
	bool asleep;

	pthread_mutex_lock(&n->lock);
	asleep = n->polling;
	pthread_mutex_unlock(&n->lock);
	if (asleep && write(n->wake, &one, sizeof(one)) < 0)
		return; /* it is full of calls to wake up already */
}

/* ---- jobs ---- */

/* With the lock held. */
static void count_down(struct nbd *n, struct nbd_job *job)
{
	if (--job->parts != 0)
		return;
	if (job->req != NULL) {
		job->next = NULL;
		*n->finished_end = job;
		n->finished_end = &job->next;
	}
	pthread_cond_broadcast(&n->moved);
}

void nbd_job_cut(struct nbd *n, struct nbd_job *job)
{
	pthread_mutex_lock(&n->lock);
	count_down(n, job);
	pthread_mutex_unlock(&n->lock);
}

int nbd_job_wait(struct nbd *n, struct nbd_job *job)
{
	pthread_mutex_lock(&n->lock);
	while (job->parts != 0)
		nbd_turn(n, STEP_MS);
	pthread_mutex_unlock(&n->lock);
	return job->error;
}

struct nbd_job *nbd_job_take(struct nbd *n, struct dev_req *req)
{
	struct nbd_job *job;

	pthread_mutex_lock(&n->lock);
	while (n->free_jobs == NULL) {
		pthread_mutex_unlock(&n->lock);
		nbd_reap(n, 1);
		pthread_mutex_lock(&n->lock);
	}
	job = n->free_jobs;
	n->free_jobs = job->next;
	n->jobs_flying++;
	*job = (struct nbd_job){.parts = 1, .req = req};
	pthread_mutex_unlock(&n->lock);
	return job;
}

static struct nbd_job *next_finished(struct nbd *n)
{
	struct nbd_job *job = n->finished;

	if (job == NULL)
		return NULL;
	n->finished = job->next;
	if (n->finished == NULL)
		n->finished_end = &n->finished;
	return job;
}

/* Frees the job, then calls done, which may take it again.  The lock is held at both ends. */
static void hand_back(struct nbd *n, struct nbd_job *job)
{
	struct dev_req *req = job->req;
	struct dev *dev = &n->dev;
	int r = job->error;

	job->next = n->free_jobs;
	n->free_jobs = job;
	n->jobs_flying--;
	pthread_mutex_unlock(&n->lock);
	if (r < 0)
		dev_tell(dev, r, req->write ? "write" : "read", req->off + req->shift, req->len);
	else
		dev_count(req->write ? &dev->stats.write_bytes : &dev->stats.read_bytes, req->len);
	req->result = r;
	req->done(req);
	pthread_mutex_lock(&n->lock);
}

int nbd_reap(struct nbd *n, unsigned min)
{
	struct nbd_job *job;
	unsigned total = 0;

	pthread_mutex_lock(&n->lock);
	nbd_turn(n, 0);
	for (;;) {
		while ((job = next_finished(n)) != NULL) {
			hand_back(n, job);
			total++;
		}
		if (total >= min || n->jobs_flying == 0)
			break;
		nbd_turn(n, STEP_MS);
	}
	pthread_mutex_unlock(&n->lock);
	return (int)total;
}

/* ---- parts ---- */

static void scatter(const struct nbd_part *p)
{
	size_t skip = p->skip, done = 0;

	for (unsigned i = 0; i < p->iovcnt && done < p->len; i++) {
		size_t at = MIN(skip, p->iov[i].iov_len);
		size_t len = MIN(p->iov[i].iov_len - at, p->len - done);

		memcpy((uint8_t *)p->iov[i].iov_base + at, p->buf + done, len);
		skip -= at;
		done += len;
	}
}

static void answer(struct nbd_part *p, int r)
{
	struct nbd *n = p->n;
	struct nbd_job *job = p->job;

	if (r == 0 && p->iov != NULL && p->verb == NBD_DO_READ)
		scatter(p);
	pthread_mutex_lock(&n->lock);
	if (r < 0 && n->dead != 0)
		r = n->dead;
	if (r < 0 && job->error == 0)
		job->error = r;
	p->job = NULL;
	n->flying--;
	n->heard_ms = host_ms();
	pthread_cond_broadcast(&n->moved);
	count_down(n, job);
	pthread_mutex_unlock(&n->lock);
}

static int answered(void *user, int *error)
{
	answer(user, *error > 0 ? -*error : 0);
	return 1;
}

static struct nbd_part *free_part(struct nbd *n)
{
	for (unsigned i = 0; n->flying < NBD_DEPTH && i < NBD_DEPTH; i++) {
		if (n->parts[i].job == NULL)
			return &n->parts[i];
	}
	return NULL;
}

struct nbd_part *nbd_part_take(struct nbd *n, struct nbd_job *job, enum nbd_verb verb)
{
	struct nbd_part *p;

	pthread_mutex_lock(&n->lock);
	while ((p = free_part(n)) == NULL)
		nbd_turn(n, STEP_MS);
	if (n->flying++ == 0)
		n->heard_ms = host_ms();
	job->parts++;
	p->n = n;
	p->job = job;
	p->verb = verb;
	p->order = n->order++;
	p->iov = NULL;
	pthread_mutex_unlock(&n->lock);
	return p;
}

void nbd_part_send(struct nbd_part *p, void *data, uint64_t off, uint64_t len)
{
	struct nbd *n = p->n;
	struct nbd_callback cb = {answered, p, NULL};
	int64_t r = -1;

	switch (p->verb) {
	case NBD_DO_READ:
		r = n->lib.aio_pread(n->h, data, (size_t)len, off, cb, 0);
		break;
	case NBD_DO_WRITE:
		r = n->lib.aio_pwrite(n->h, data, (size_t)len, off, cb, 0);
		break;
	case NBD_DO_FLUSH:
		r = n->lib.aio_flush(n->h, cb, 0);
		break;
	case NBD_DO_TRIM:
		r = n->lib.aio_trim(n->h, len, off, cb, 0);
		break;
	case NBD_DO_ZERO:
		r = n->lib.aio_zero(n->h, len, off, cb, 0);
		break;
	}
	if (r >= 0) {
		wake_poller(n);
		return;
	}
	r = n->lib.get_errno();
	if (n->lib.aio_is_dead(n->h) > 0 || n->lib.aio_is_closed(n->h) > 0)
		r = ENOTCONN;
	answer(p, r > 0 ? -(int)r : -EIO);
}

/* Whether a write older than order is in flight; with the lock held. */
static bool writing(const struct nbd *n, uint64_t order)
{
	for (unsigned i = 0; i < NBD_DEPTH; i++) {
		const struct nbd_part *p = &n->parts[i];

		if (p->job != NULL && p->order < order && p->verb != NBD_DO_READ)
			return true;
	}
	return false;
}

void nbd_drain_writes(struct nbd *n)
{
	uint64_t order;

	pthread_mutex_lock(&n->lock);
	order = n->order;
	while (writing(n, order))
		nbd_turn(n, STEP_MS);
	pthread_mutex_unlock(&n->lock);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One ring, one registered file, two locks: submitting and completing touch different halves of the
 * ring and do not wait for one another.
 *
 * A request counts as in flight from the moment the kernel has taken it.  If the kernel refuses for
 * good, the entries it did not take cannot be withdrawn from the ring, so the ring is never entered
 * with something to submit again, and all later requests are refused.
 */
#include "io/uring.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

#ifdef HAVE_LIBURING

#include <liburing.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#define BATCH        16
#define WORKER_LEAST ((uint64_t)64 << 10) /* bytes that take longer than to wake somebody */

struct uring {
	struct io_uring ring;
	struct dev *dev;
	uring_finish *finish;
	pthread_mutex_t submit_lock;
	pthread_mutex_t complete_lock;
	struct dev_req *pending[URING_DEPTH]; /* prepared, the kernel has not seen them */
	unsigned pending_count;
	int flying; /* may dip below 0 between the kernel's answer and our counting */
	/* Requests ever queued.  Whoever completes a request reads what its submitter wrote; the
	 * kernel orders the two, and this counter says so in terms of the language. */
	unsigned queued;
	bool broken;
	bool in_memory; /* a read is a copy, which the submitter would make before it goes on */
};

int uring_open(int fd, struct dev *dev, uring_finish *finish, struct uring **ret)
{
	struct uring *u = mem_zero(sizeof(*u));
	struct statfs fs;
	int r;

	if (u == NULL)
		return -ENOMEM;
	r = io_uring_queue_init(URING_DEPTH, &u->ring, 0);
	if (r < 0) {
		free(u);
		return r;
	}
	r = io_uring_register_files(&u->ring, &fd, 1);
	if (r < 0) {
		io_uring_queue_exit(&u->ring);
		free(u);
		return r;
	}
	u->in_memory = fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
	u->dev = dev;
	u->finish = finish;
	pthread_mutex_init(&u->submit_lock, NULL);
	pthread_mutex_init(&u->complete_lock, NULL);
	*ret = u;
	return 0;
}

void uring_close(struct uring *u)
{
	if (u == NULL)
		return;
	/* A ring dies in the background; the file, its locks and its claim on a block device must
	 * not wait for that. */
	io_uring_unregister_files(&u->ring);
	io_uring_queue_exit(&u->ring);
	pthread_mutex_destroy(&u->submit_lock);
	pthread_mutex_destroy(&u->complete_lock);
	free(u);
}

static int flying(struct uring *u)
{
	return __atomic_load_n(&u->flying, __ATOMIC_ACQUIRE);
}

static void forget_pending(struct uring *u, unsigned n)
{
	u->pending_count -= n;
	for (unsigned i = 0; i < u->pending_count; i++)
		u->pending[i] = u->pending[i + n];
}

/* One try to hand over what is pending, under the submit lock; -EAGAIN: reap something and come
 * again. */
static int hand_over(struct uring *u)
{
	int r = io_uring_submit(&u->ring);

	if (r > 0) {
		forget_pending(u, MIN((unsigned)r, u->pending_count));
		__atomic_fetch_add(&u->flying, r, __ATOMIC_ACQ_REL);
		return 0;
	}
	if (r == -EINTR)
		return 0;
	if ((r == -EAGAIN || r == -EBUSY) && flying(u) > 0)
		return -EAGAIN;
	u->broken = true;
	return -EIO;
}

void uring_kick(struct uring *u)
{
	struct dev_req *left[URING_DEPTH];
	unsigned count = 0;

	pthread_mutex_lock(&u->submit_lock);
	while (u->pending_count != 0 && !u->broken) {
		if (hand_over(u) == -EAGAIN) {
			pthread_mutex_unlock(&u->submit_lock);
			uring_reap(u, 1);
			pthread_mutex_lock(&u->submit_lock);
		}
	}
	for (; u->pending_count != 0; count++) {
		left[count] = u->pending[0];
		forget_pending(u, 1);
	}
	pthread_mutex_unlock(&u->submit_lock);
	for (unsigned i = 0; i < count; i++)
		dev_serve(u->dev, left[i]);
}

static void prepare(const struct uring *u, struct io_uring_sqe *sqe, struct dev_req *req)
{
	bool by_worker = u->in_memory && !req->write && req->len >= WORKER_LEAST;
	uint64_t off = req->off + req->shift;
	void *buf = req->iov[0].iov_base;
	unsigned len = (unsigned)req->len;

	if (req->iovcnt == 1 && req->write)
		io_uring_prep_write(sqe, 0, buf, len, off);
	else if (req->iovcnt == 1)
		io_uring_prep_read(sqe, 0, buf, len, off);
	else if (req->write)
		io_uring_prep_writev(sqe, 0, req->iov, req->iovcnt, off);
	else
		io_uring_prep_readv(sqe, 0, req->iov, req->iovcnt, off);
	io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE | (by_worker ? IOSQE_ASYNC : 0u));
	io_uring_sqe_set_data(sqe, req);
}

static bool full(struct uring *u)
{
	return flying(u) + (int)u->pending_count >= URING_DEPTH;
}

int uring_queue(struct uring *u, struct dev_req *req)
{
	struct io_uring_sqe *sqe = NULL;

	if (req->len > INT_MAX || req->iovcnt > IOV_MAX)
		return -EINVAL;
	pthread_mutex_lock(&u->submit_lock);
	while (!u->broken && full(u)) {
		pthread_mutex_unlock(&u->submit_lock);
		uring_kick(u);
		uring_reap(u, 1);
		pthread_mutex_lock(&u->submit_lock);
	}
	if (!u->broken)
		sqe = io_uring_get_sqe(&u->ring);
	if (sqe != NULL) {
		prepare(u, sqe, req);
		u->pending[u->pending_count++] = req;
		__atomic_fetch_add(&u->queued, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&u->submit_lock);
	return sqe != NULL ? 0 : -EBUSY;
}

/* Takes up to BATCH answers; with wait, at least one, unless nothing is in flight. */
static int take(struct uring *u, bool wait, struct dev_req **reqs, int *res)
{
	struct io_uring_cqe *cqes[BATCH], *one;
	unsigned n;
	int r = 0;

	pthread_mutex_lock(&u->complete_lock);
	n = io_uring_peek_batch_cqe(&u->ring, cqes, BATCH);
	while (n == 0 && wait && flying(u) > 0 && (r == 0 || r == -EINTR)) {
		r = io_uring_wait_cqe(&u->ring, &one);
		n = io_uring_peek_batch_cqe(&u->ring, cqes, BATCH);
	}
	__atomic_load_n(&u->queued, __ATOMIC_ACQUIRE);
	for (unsigned i = 0; i < n; i++) {
		reqs[i] = io_uring_cqe_get_data(cqes[i]);
		res[i] = cqes[i]->res;
	}
	io_uring_cq_advance(&u->ring, n);
	__atomic_fetch_sub(&u->flying, (int)n, __ATOMIC_ACQ_REL);
	pthread_mutex_unlock(&u->complete_lock);
	return n == 0 && r < 0 ? r : (int)n;
}

int uring_reap(struct uring *u, unsigned min)
{
	struct dev_req *reqs[BATCH];
	int res[BATCH], total = 0, n;

	do {
		n = take(u, total < (int)min, reqs, res);
		for (int i = 0; i < n; i++)
			u->finish(u->dev, reqs[i], res[i]);
		if (n > 0)
			total += n;
	} while (n == BATCH || (n > 0 && total < (int)min));
	return n < 0 ? n : total;
}

#else

int uring_open(int fd, struct dev *dev, uring_finish *finish, struct uring **ret)
{
	return -EOPNOTSUPP;
}

void uring_close(struct uring *ring)
{
}

int uring_queue(struct uring *ring, struct dev_req *req)
{
	return -EOPNOTSUPP;
}

void uring_kick(struct uring *ring)
{
}

int uring_reap(struct uring *ring, unsigned min)
{
	return 0;
}

#endif

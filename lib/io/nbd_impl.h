/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a network block device: nbd_link.c moves commands over the connection, nbd.c makes
 * them of transfers, nbd_open.c connects.
 *
 * A transfer is a job of one or more parts, each one command.  Locks: libnbd's own of the handle,
 * then lock.  libnbd calls back with its own held, so lock is never held while libnbd is called.
 */
#ifndef IO_NBD_IMPL_H
#define IO_NBD_IMPL_H

#include <pthread.h>

#include "io/dev_impl.h"
#include "io/nbd.h"
#include "io/nbd_lib.h"

/* A transfer in flight.  Those of synchronous calls live on their stack. */
struct nbd_job {
	unsigned parts; /* not yet answered, and one more while it is being cut into parts */
	int error;      /* of the first part that failed */
	struct dev_req *req;
	struct nbd_job *next; /* among the free or the finished ones */
};

enum nbd_verb { NBD_DO_READ, NBD_DO_WRITE, NBD_DO_FLUSH, NBD_DO_TRIM, NBD_DO_ZERO };

/* One command. */
struct nbd_part {
	struct nbd *n;
	struct nbd_job *job; /* NULL: free */
	enum nbd_verb verb;
	uint64_t order; /* of issue */
	/* Small vectors travel in one command through a buffer, which stays for the next. */
	uint8_t *buf;
	size_t buf_cap;
	const struct iovec *iov; /* where an answer in buf goes; NULL: it went to its place */
	unsigned iovcnt;
	size_t skip, len;
};

struct nbd {
	struct dev dev;
	struct nbd_lib lib;
	void *h;
	struct nbd_limits limits;
	unsigned timeout_ms;
	bool can_flush, can_trim, can_zero;
	int wake;                  /* an eventfd: what the poller waits for may have changed */
	pthread_mutex_t edge_lock; /* of reading, changing and writing one smallest block */
	pthread_mutex_t lock;      /* of all that follows */
	pthread_cond_t moved;      /* a part was answered, or the poller stopped */
	bool polling;              /* one thread waits for the server, others for moved */
	int dead;                  /* why every command fails, or 0 */
	uint64_t order;
	uint64_t heard_ms; /* when the server last answered, or had nothing to answer */
	unsigned flying;   /* parts */
	unsigned jobs_flying;
	struct nbd_part parts[NBD_DEPTH];
	struct nbd_job jobs[NBD_DEPTH];
	struct nbd_job *free_jobs, *finished, **finished_end;
};

extern const struct dev_ops nbd_ops;

/* One wait of at most ms for the server, or for the thread that waits already.  lock is held at
 * both ends. */
void nbd_turn(struct nbd *n, int ms);

/* Waits for the socket once and lets libnbd do what is due.  lock is not held. */
void nbd_poll_once(struct nbd *n, int ms);

/* A free part for job, which counts it; waits for one.  Never fails. */
struct nbd_part *nbd_part_take(struct nbd *n, struct nbd_job *job, enum nbd_verb verb);

/* Sends a part that was taken; what cannot be sent is answered at once with the error. */
void nbd_part_send(struct nbd_part *p, void *data, uint64_t off, uint64_t len);

/* Ends the hold of the one who cuts the job into parts. */
void nbd_job_cut(struct nbd *n, struct nbd_job *job);

/* Until all parts of a job without a request are answered. */
int nbd_job_wait(struct nbd *n, struct nbd_job *job);

/* A job for req, which nbd_reap hands back; waits for others to finish. */
struct nbd_job *nbd_job_take(struct nbd *n, struct dev_req *req);

int nbd_reap(struct nbd *n, unsigned min);

/* Until every write that was sent before is answered. */
void nbd_drain_writes(struct nbd *n);

#endif

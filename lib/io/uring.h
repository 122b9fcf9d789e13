/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests in flight on one descriptor, through io_uring.
 *
 * uring_open fails where the kernel or the build has no io_uring; its user then serves requests one
 * by one.  The other functions may be called from several threads.  No lock is held while a request
 * is handed back, so done may queue another.
 */
#ifndef IO_URING_H
#define IO_URING_H

#include "io/dev_impl.h"

#define URING_DEPTH \
	64 /* requests in flight; 4 KiB writes still gain from 32 to 64, no size beyond */

struct uring;

/* Called for each completed request with the kernel's answer: bytes moved or a negative errno. */
typedef void uring_finish(struct dev *dev, struct dev_req *req, int res);

/* fd must stay open as long as the ring.  Negative: no ring to be had, no message left. */
int uring_open(int fd, struct dev *dev, uring_finish *finish, struct uring **ret);

/* ring may be NULL.  Nothing may be in flight. */
void uring_close(struct uring *ring);

/* Adds req; the kernel sees it at the next uring_kick, or when the ring is full, in which case
 * older requests are completed here.  Negative: the ring does not take it and the caller has to
 * serve it. */
int uring_queue(struct uring *ring, struct dev_req *req);

/* Hands everything queued to the kernel.  What the kernel will not take is served here. */
void uring_kick(struct uring *ring);

/* As dev_reap. */
int uring_reap(struct uring *ring, unsigned min);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Block I/O: writes on their way to a device, with the letters that a block trace prints.
 *
 * A bio is one contiguous run of bytes at one place, submitted by one caller.  The queue counts it,
 * merges neighbours into requests while it is plugged, keeps up to its depth in flight on the
 * device's asynchronous path, and calls done when the bytes are there.  A bio with PREFLUSH waits
 * for everything before it and flushes first; one with FUA is durable when done is called.
 */
#ifndef IO_BIO_H
#define IO_BIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct counters;
struct dev;
struct diag;
struct bioq;
struct tap;

enum bio_flag {
	BIO_META = 1 << 0,     /* M */
	BIO_SYNC = 1 << 1,     /* S */
	BIO_PREFLUSH = 1 << 2, /* F before W */
	BIO_FUA = 1 << 3       /* F after W */
};

/* Called once for each bio, from bioq_write, bioq_unplug or bioq_drain; may queue, plug and drain.
 */
typedef void bio_done(void *ctx, int result);

/* c and d may be NULL. */
int bioq_open(struct dev *dev, struct counters *c, struct diag *d, struct bioq **ret);

/* Tells tap of every bio.  The tap stays the caller's. */
void bioq_tap(struct bioq *q, const struct tap *tap);

/* Drains and frees; dev stays open. */
void bioq_close(struct bioq *q);

/* Between plug and unplug bios wait (some thousands at most), so that neighbours merge and requests
 * leave sorted by offset.  Plugs nest.  Unplug returns 0: errors come with bioq_drain. */
void bioq_plug(struct bioq *q);
int bioq_unplug(struct bioq *q);

/* The submitter has to sleep: Linux sends what waits then, and counts requests accordingly.  Ours
 * go on waiting. */
void bioq_sleep(struct bioq *q);
/* The plug that is held, by a number of its own; without one 0. */
uint64_t bioq_round(const struct bioq *q);
/* How many requests Linux would have made so far: two bios with the same number went into one. */
uint64_t bioq_requests(const struct bioq *q);

/* Queues one bio of n vectors at byte off.  The memory must stay until done is called (without
 * done: until bioq_drain); the vectors themselves are copied.  Later writes of the same place win.
 * Negative only without memory for the bio itself: then it was not queued, and done is not called.
 * done may be NULL.  An error of the device reaches done and the next bioq_drain. */
int bioq_write(struct bioq *q, uint64_t off, const struct iovec *iov, unsigned n, unsigned flags,
	       bio_done *done, void *ctx);

/* Waits for everything queued; returns the first error since the last drain. */
int bioq_drain(struct bioq *q);

/* The same, but leaves the error to the next drain: for those who learn of theirs from done. */
void bioq_wait(struct bioq *q);

/* True when a few large writes more would have to wait for the device; takes in what has ended. */
bool bioq_is_full(struct bioq *q);

/* Drains, then flushes the device: an empty bio with PREFLUSH, which bioq_write takes as well. */
int bioq_flush(struct bioq *q);

#endif

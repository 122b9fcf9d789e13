/* SPDX-License-Identifier: BSD-2-Clause */
/* A file or block device of the host, as file.c, direct.c and file_open.c share it. */
#ifndef IO_FILE_H
#define IO_FILE_H

#include <pthread.h>

#include "io/dev_impl.h"

struct uring;

struct file {
	struct dev dev;
	int fd;
	bool direct;        /* O_DIRECT is on, and dev.align is what it wants */
	struct uring *ring; /* only with direct, and only where the kernel gives one */
	uint8_t *bounce;    /* only with direct: DIRECT_BOUNCE bytes for unaligned callers */
	pthread_mutex_t bounce_lock;
};

#define DIRECT_BOUNCE ((size_t)256 << 10)

extern const struct dev_ops file_ops;

/* Moves all bytes of iov, whose first skip are already done, between memory and the file: loops
 * over short transfers and EINTR.  Wants alignment when direct. */
int file_move(struct file *f, bool write, uint64_t off, const struct iovec *iov, unsigned n,
	      size_t skip);

/* Turns O_DIRECT on, and with it a ring, if the file, its size and the kernel allow it; otherwise,
 * or without memory, the file stays as it is. */
void file_direct(struct file *f);

/* The first half of that, without the ring. */
void direct_start(struct file *f);

/* Turns it off again. */
void direct_stop(struct file *f);

/* Whether the transfer can go without a copy. */
bool direct_fits(const struct file *f, uint64_t off, const struct iovec *iov, unsigned n);

/* An unaligned transfer through the bounce buffer. */
int direct_bounce(struct file *f, bool write, uint64_t off, uint8_t *buf, size_t len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transfers whose pages the host lets go as soon as they are read or written (RWF_DONTCACHE, Linux
 * 6.14).  A file of 8 GiB takes as many seconds as one of 64 MiB per byte this way; through the
 * cache each byte costs twice as much once memory is full, and everybody else's pages are gone.
 */
#ifndef IO_PAST_CACHE_H
#define IO_PAST_CACHE_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

/* preadv or pwritev.  *past asks for it, and becomes false where kernel or file cannot: the
 * transfer is then an ordinary one. */
ssize_t past_cache_move(int fd, bool write, const struct iovec *iov, unsigned n, off_t off,
			bool *past);

#endif

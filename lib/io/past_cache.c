/* SPDX-License-Identifier: BSD-2-Clause */
/* Transfers that leave nothing in the host's cache, where it knows how. */
#include "io/past_cache.h"

#include <errno.h>

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80 /* of the kernel's interface: C libraries came later */
#endif

ssize_t past_cache_move(int fd, bool write, const struct iovec *iov, unsigned n, off_t off,
			bool *past)
{
	if (*past) {
		ssize_t r = write ? pwritev2(fd, iov, (int)n, off, RWF_DONTCACHE)
				  : preadv2(fd, iov, (int)n, off, RWF_DONTCACHE);

		if (r >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL))
			return r;
		*past = false;
	}
	return write ? pwritev(fd, iov, (int)n, off) : preadv(fd, iov, (int)n, off);
}

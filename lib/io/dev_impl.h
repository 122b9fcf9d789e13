/* SPDX-License-Identifier: BSD-2-Clause */
/* What those need who implement a device; users of devices include dev.h only. */
#ifndef IO_DEV_IMPL_H
#define IO_DEV_IMPL_H

#include "io/dev.h"

/* A zeroed device of bytes bytes, whose first member is struct dev, with a copy of name and with
 * sector 512, align 1.  NULL without memory (told to d).  dev_close frees it after ops->close. */
void *dev_new(size_t bytes, const struct dev_ops *ops, const char *name, struct diag *d);

/* Makes dev look like base: size, sector, alignment, writability, diagnostics. */
void dev_like(struct dev *dev, const struct dev *base);

/* Frees a device whose opening failed half way; does not call ops->close. */
void dev_drop(struct dev *dev);

/* Tells the failure code of the call named what; returns code. */
int dev_tell(struct dev *dev, int code, const char *what, uint64_t off, uint64_t len);

/* Zeroes by writing, 1 MiB in each call. */
int dev_write_zeros(struct dev *dev, uint64_t off, uint64_t len);

static inline void dev_count(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* Performs one request now and calls its done. */
void dev_serve(struct dev *dev, struct dev_req *req);

/* Copies to out (room for max) the part of iov that remains after its first skip bytes; returns how
 * many elements that makes, at most max. */
unsigned iov_rest(const struct iovec *iov, unsigned n, size_t skip, struct iovec *out,
		  unsigned max);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The front of every device: checks ranges and rights, counts, tells failures, and makes up for the
 * operations a device does not have.
 */
#include "io/dev.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/copy.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/dev_impl.h"

#define ZEROS    65536 /* bytes of the constant that zeroing by writing repeats */
#define ZERO_IOV 16

void *dev_new(size_t bytes, const struct dev_ops *ops, const char *name, struct diag *d)
{
	struct dev *dev = mem_zero(bytes);

	if (dev != NULL)
		dev->name = strdup(name);
	if (dev == NULL || dev->name == NULL) {
		free(dev);
		diag_set(d, -ENOMEM, "cannot open %s: out of memory", name);
		return NULL;
	}
	dev->ops = ops;
	dev->sector = 512;
	dev->align = 1;
	dev->diag = d;
	return dev;
}

void dev_like(struct dev *dev, const struct dev *base)
{
	dev->size = base->size;
	dev->sector = base->sector;
	dev->align = base->align;
	dev->writable = base->writable;
	dev->is_block = base->is_block;
	dev->diag = base->diag;
}

void dev_drop(struct dev *dev)
{
	free(dev->name);
	free(dev);
}

void dev_close(struct dev *dev)
{
	if (dev == NULL)
		return;
	if (dev->ops->close != NULL)
		dev->ops->close(dev);
	dev_drop(dev);
}

int dev_tell(struct dev *dev, int code, const char *what, uint64_t off, uint64_t len)
{
	dev_count(&dev->stats.failures, 1);
	return diag_errno(dev->diag, code, "cannot %s: %s offset %" PRIu64 " length %" PRIu64, what,
			  dev->name, off, len);
}

static int check_range(struct dev *dev, const char *what, uint64_t off, uint64_t len)
{
	if (off <= dev->size && len <= dev->size - off)
		return 0;
	return diag_set(dev->diag, -EINVAL,
			"cannot %s: %s offset %" PRIu64 " length %" PRIu64
			": outside the device, which has %" PRIu64 " bytes",
			what, dev->name, off, len, dev->size);
}

static int check_change(struct dev *dev, const char *what, uint64_t off, uint64_t len)
{
	if (!dev->writable)
		return diag_set(dev->diag, -EROFS,
				"cannot %s: %s offset %" PRIu64 " length %" PRIu64
				": opened for reading only",
				what, dev->name, off, len);
	return check_range(dev, what, off, len);
}

/* The sum of the lengths; one that overflows becomes a length that fits in no device. */
static uint64_t iov_total(const struct iovec *iov, unsigned n)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < n; i++) {
		if (ck_add(total, (uint64_t)iov[i].iov_len, &total))
			return UINT64_MAX;
	}
	return total;
}

unsigned iov_rest(const struct iovec *iov, unsigned n, size_t skip, struct iovec *out, unsigned max)
{
	unsigned made = 0;

	for (unsigned i = 0; i < n && made < max; i++) {
		if (skip >= iov[i].iov_len) {
			skip -= iov[i].iov_len;
			continue;
		}
		out[made].iov_base = (char *)iov[i].iov_base + skip;
		out[made++].iov_len = iov[i].iov_len - skip;
		skip = 0;
	}
	return made;
}

int dev_read(struct dev *dev, uint64_t off, void *buf, size_t len)
{
	int r = check_range(dev, "read", off, len);

	if (r < 0 || len == 0)
		return r;
	dev_count(&dev->stats.reads, 1);
	r = dev->ops->read(dev, off, buf, len);
	if (r < 0)
		return dev_tell(dev, r, "read", off, len);
	dev_count(&dev->stats.read_bytes, len);
	return 0;
}

int dev_write(struct dev *dev, uint64_t off, const void *buf, size_t len)
{
	int r = check_change(dev, "write", off, len);

	if (r < 0 || len == 0)
		return r;
	dev_count(&dev->stats.writes, 1);
	r = dev->ops->write(dev, off, buf, len);
	if (r < 0)
		return dev_tell(dev, r, "write", off, len);
	dev_count(&dev->stats.write_bytes, len);
	return 0;
}

int dev_readv(struct dev *dev, uint64_t off, const struct iovec *iov, unsigned n)
{
	uint64_t len = iov_total(iov, n);
	int r = check_range(dev, "read", off, len);

	if (r < 0 || len == 0)
		return r;
	if (dev->ops->readv == NULL) {
		for (unsigned i = 0; i < n && r == 0; off += iov[i].iov_len, i++)
			r = dev_read(dev, off, iov[i].iov_base, iov[i].iov_len);
		return r;
	}
	dev_count(&dev->stats.reads, 1);
	r = dev->ops->readv(dev, off, iov, n);
	if (r < 0)
		return dev_tell(dev, r, "read", off, len);
	dev_count(&dev->stats.read_bytes, len);
	return 0;
}

int dev_writev(struct dev *dev, uint64_t off, const struct iovec *iov, unsigned n)
{
	uint64_t len = iov_total(iov, n);
	int r = check_change(dev, "write", off, len);

	if (r < 0 || len == 0)
		return r;
	if (dev->ops->writev == NULL) {
		for (unsigned i = 0; i < n && r == 0; off += iov[i].iov_len, i++)
			r = dev_write(dev, off, iov[i].iov_base, iov[i].iov_len);
		return r;
	}
	dev_count(&dev->stats.writes, 1);
	r = dev->ops->writev(dev, off, iov, n);
	if (r < 0)
		return dev_tell(dev, r, "write", off, len);
	dev_count(&dev->stats.write_bytes, len);
	return 0;
}

int dev_flush(struct dev *dev)
{
	int r = __atomic_load_n(&dev->flush_error, __ATOMIC_RELAXED);

	if (!dev->writable)
		return 0;
	dev_count(&dev->stats.flushes, 1);
	if (r == 0 && dev->ops->flush != NULL)
		r = dev->ops->flush(dev);
	if (r == 0)
		return 0;
	__atomic_store_n(&dev->flush_error, r, __ATOMIC_RELAXED);
	dev_count(&dev->stats.failures, 1);
	return diag_errno(dev->diag, r, "cannot flush: %s", dev->name);
}

int dev_discard(struct dev *dev, uint64_t off, uint64_t len)
{
	int r = check_change(dev, "discard", off, len);

	if (r < 0 || len == 0)
		return r;
	if (dev->ops->discard == NULL)
		return -EOPNOTSUPP;
	r = dev->ops->discard(dev, off, len);
	return r == 0 || r == -EOPNOTSUPP ? r : dev_tell(dev, r, "discard", off, len);
}

int dev_write_zeros(struct dev *dev, uint64_t off, uint64_t len)
{
	static const uint8_t zeros[ZEROS] __attribute__((aligned(4096)));
	struct iovec iov[ZERO_IOV];
	int r = 0;

	while (len != 0 && r == 0) {
		uint64_t done = 0;
		unsigned n = 0;

		for (; n < ZERO_IOV && done < len; n++) {
			iov[n].iov_base = (void *)(uintptr_t)zeros;
			iov[n].iov_len = (size_t)MIN(len - done, (uint64_t)ZEROS);
			done += iov[n].iov_len;
		}
		r = dev_writev(dev, off, iov, n);
		off += done;
		len -= done;
	}
	return r;
}

int dev_zero(struct dev *dev, uint64_t off, uint64_t len)
{
	int r = check_change(dev, "zero", off, len);

	if (r < 0 || len == 0)
		return r;
	r = dev->ops->zero != NULL ? dev->ops->zero(dev, off, len) : -EOPNOTSUPP;
	if (r == -EOPNOTSUPP)
		return dev_write_zeros(dev, off, len);
	return r < 0 ? dev_tell(dev, r, "zero", off, len) : 0;
}

int dev_resize(struct dev *dev, uint64_t size)
{
	int r = check_change(dev, "resize", 0, 0);

	if (r < 0)
		return r;
	r = dev->ops->resize != NULL ? dev->ops->resize(dev, size) : -EOPNOTSUPP;
	if (r < 0)
		return diag_errno(dev->diag, r,
				  "cannot resize: %s from %" PRIu64 " to %" PRIu64 " bytes",
				  dev->name, dev->size, size);
	dev->size = size;
	return 0;
}

void dev_serve(struct dev *dev, struct dev_req *req)
{
	uint64_t off = req->off + req->shift;

	if (req->write)
		req->result = dev_writev(dev, off, req->iov, req->iovcnt);
	else
		req->result = dev_readv(dev, off, req->iov, req->iovcnt);
	req->done(req);
}

int dev_submit(struct dev *dev, struct dev_req **reqs, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct dev_req *req = reqs[i];
		int r;

		req->len = iov_total(req->iov, req->iovcnt);
		if (req->write)
			r = check_change(dev, "write", req->off, req->len);
		else
			r = check_range(dev, "read", req->off, req->len);
		if (r < 0)
			return r;
		req->shift = 0;
	}
	copy_settle(); /* whoever serves the requests may run elsewhere */
	if (dev->ops->submit != NULL)
		return dev->ops->submit(dev, reqs, n);
	for (unsigned i = 0; i < n; i++)
		dev_serve(dev, reqs[i]);
	return 0;
}

int dev_reap(struct dev *dev, unsigned min)
{
	return dev->ops->reap != NULL ? dev->ops->reap(dev, min) : 0;
}

int dev_host(struct dev *dev, int *ret_fd, uint64_t *ret_off)
{
	return dev->ops->host != NULL ? dev->ops->host(dev, ret_fd, ret_off) : -EOPNOTSUPP;
}

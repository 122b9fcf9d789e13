/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A slice shows a part of another device as a device: every offset is moved by the slice's start,
 * and the front has already kept it inside the slice's size.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/diag.h"
#include "io/dev_impl.h"

struct slice {
	struct dev dev;
	struct dev *base;
	uint64_t start;
};

static int slice_read(struct dev *dev, uint64_t off, void *buf, size_t len)
{
	struct slice *s = (struct slice *)dev;

	return dev_read(s->base, s->start + off, buf, len);
}

static int slice_write(struct dev *dev, uint64_t off, const void *buf, size_t len)
{
	struct slice *s = (struct slice *)dev;

	return dev_write(s->base, s->start + off, buf, len);
}

static int slice_readv(struct dev *dev, uint64_t off, const struct iovec *iov, unsigned n)
{
	struct slice *s = (struct slice *)dev;

	return dev_readv(s->base, s->start + off, iov, n);
}

static int slice_writev(struct dev *dev, uint64_t off, const struct iovec *iov, unsigned n)
{
	struct slice *s = (struct slice *)dev;

	return dev_writev(s->base, s->start + off, iov, n);
}

static int slice_flush(struct dev *dev)
{
	return dev_flush(((struct slice *)dev)->base);
}

static int slice_discard(struct dev *dev, uint64_t off, uint64_t len)
{
	struct slice *s = (struct slice *)dev;

	return dev_discard(s->base, s->start + off, len);
}

static int slice_zero(struct dev *dev, uint64_t off, uint64_t len)
{
	struct slice *s = (struct slice *)dev;

	return dev_zero(s->base, s->start + off, len);
}

static int slice_submit(struct dev *dev, struct dev_req **reqs, unsigned n)
{
	struct slice *s = (struct slice *)dev;

	for (unsigned i = 0; i < n; i++)
		reqs[i]->shift += s->start;
	if (s->base->ops->submit != NULL)
		return s->base->ops->submit(s->base, reqs, n);
	for (unsigned i = 0; i < n; i++)
		dev_serve(s->base, reqs[i]);
	return 0;
}

static int slice_reap(struct dev *dev, unsigned min)
{
	return dev_reap(((struct slice *)dev)->base, min);
}

static int slice_host(struct dev *dev, int *fd, uint64_t *off)
{
	struct slice *s = (struct slice *)dev;
	int r = dev_host(s->base, fd, off);

	if (r == 0)
		*off += s->start;
	return r;
}

static const struct dev_ops slice_ops = {
    .name = "slice",
    .read = slice_read,
    .write = slice_write,
    .readv = slice_readv,
    .writev = slice_writev,
    .flush = slice_flush,
    .discard = slice_discard,
    .zero = slice_zero,
    .submit = slice_submit,
    .reap = slice_reap,
    .host = slice_host,
};

int dev_open_slice(struct dev *base, uint64_t off, uint64_t len, struct dev **ret)
{
	char name[512];
	struct slice *s;

	if (off > base->size || len > base->size - off)
		return diag_set(base->diag, -EINVAL,
				"cannot use a part of %s: offset %" PRIu64 " length %" PRIu64
				": outside the device, which has %" PRIu64 " bytes",
				base->name, off, len, base->size);
	snprintf(name, sizeof(name), "%s@@%" PRIu64, base->name, off);
	s = dev_new(sizeof(*s), &slice_ops, name, base->diag);
	if (s == NULL)
		return -ENOMEM;
	dev_like(&s->dev, base);
	s->dev.size = len;
	s->base = base;
	s->start = off;
	if (off % base->align != 0)
		s->dev.align = 1; /* keeping to it would save nothing */
	*ret = &s->dev;
	return 0;
}

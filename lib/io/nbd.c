/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transfers as commands of a network block device.
 *
 * Each transfer is cut where the server's largest command ends.  A long piece of memory travels by
 * itself, small neighbours together in one command through a buffer.  What does not keep to the
 * server's smallest block is read, changed and written in whole ones, one such call at a time.
 */
#include "io/nbd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "io/nbd_impl.h"

#define GATHER_MAX ((size_t)1 << 20) /* bytes of one command made of small vectors */
#define LONG_PIECE ((size_t)64 << 10)
#define EDGE_MAX   ((size_t)64 << 10)  /* of a window around an unaligned transfer */
#define CLEAR_MAX  ((uint64_t)1 << 27) /* zeroed or trimmed in one command: no transfer */

static bool fits(const struct nbd *n, uint64_t off, const struct iovec *iov, unsigned cnt)
{
	uint64_t bits = off;

	for (unsigned i = 0; i < cnt; i++)
		bits |= iov[i].iov_len;
	return bits % n->limits.min == 0;
}

/* ---- cutting ---- */

static void send_long(struct nbd *n, struct nbd_job *job, enum nbd_verb verb, uint64_t off,
		      uint8_t *p, size_t len)
{
	while (len != 0) {
		size_t piece = MIN(len, (size_t)n->limits.max);

		nbd_part_send(nbd_part_take(n, job, verb), p, off, piece);
		p += piece;
		off += piece;
		len -= piece;
	}
}

/* How many vectors from iov on travel together, and their bytes. */
static unsigned together(const struct nbd *n, const struct iovec *iov, unsigned cnt, size_t *bytes)
{
	size_t most = MIN(GATHER_MAX, (size_t)n->limits.max);
	unsigned i = 0;

	*bytes = 0;
	while (i < cnt && iov[i].iov_len < LONG_PIECE && iov[i].iov_len <= most - *bytes)
		*bytes += iov[i++].iov_len;
	return i;
}

static bool make_room(struct nbd_part *p, size_t len)
{
	uint8_t *buf;

	if (len <= p->buf_cap)
		return true;
	buf = malloc(len);
	if (buf == NULL)
		return false;
	free(p->buf);
	p->buf = buf;
	p->buf_cap = len;
	return true;
}

/* One command for cnt small vectors; without memory for a buffer, one for each. */
static void send_short(struct nbd *n, struct nbd_job *job, enum nbd_verb verb, uint64_t off,
		       const struct iovec *iov, unsigned cnt, size_t bytes)
{
	struct nbd_part *p = nbd_part_take(n, job, verb);
	size_t at = 0;

	if (cnt == 1 || !make_room(p, bytes)) {
		nbd_part_send(p, iov->iov_base, off, iov->iov_len);
		for (unsigned i = 1; i < cnt; i++) {
			off += iov[i - 1].iov_len;
			send_long(n, job, verb, off, iov[i].iov_base, iov[i].iov_len);
		}
		return;
	}
	p->iov = iov;
	p->iovcnt = cnt;
	p->skip = 0;
	p->len = bytes;
	for (unsigned i = 0; i < cnt && verb == NBD_DO_WRITE; at += iov[i++].iov_len)
		memcpy(p->buf + at, iov[i].iov_base, iov[i].iov_len);
	nbd_part_send(p, p->buf, off, bytes);
}

/* Everything keeps to the smallest block.  The caller holds the job. */
static void spread(struct nbd *n, struct nbd_job *job, enum nbd_verb verb, uint64_t off,
		   const struct iovec *iov, unsigned cnt)
{
	for (unsigned i = 0, k; i < cnt; i += k) {
		size_t bytes;

		k = together(n, iov + i, cnt - i, &bytes);
		if (bytes != 0) {
			send_short(n, job, verb, off, iov + i, k, bytes);
		} else if (k == 0) {
			k = 1;
			bytes = iov[i].iov_len;
			send_long(n, job, verb, off, iov[i].iov_base, bytes);
		}
		off += bytes;
	}
}

static int move(struct nbd *n, enum nbd_verb verb, uint64_t off, const struct iovec *iov,
		unsigned cnt)
{
	struct nbd_job job = {.parts = 1};

	spread(n, &job, verb, off, iov, cnt);
	nbd_job_cut(n, &job);
	return nbd_job_wait(n, &job);
}

/* ---- transfers that do not keep to the smallest block ---- */

static int move_window(struct nbd *n, bool write, uint64_t off, uint8_t *buf, size_t len,
		       uint8_t *window)
{
	uint64_t start = ROUND_DOWN(off, (uint64_t)n->limits.min);
	struct iovec span = {window,
			     (size_t)(ROUND_UP(off + len, (uint64_t)n->limits.min) - start)};
	int r = move(n, NBD_DO_READ, start, &span, 1);

	if (r < 0)
		return r;
	if (!write) {
		memcpy(buf, window + (off - start), len);
		return 0;
	}
	memcpy(window + (off - start), buf, len);
	return move(n, NBD_DO_WRITE, start, &span, 1);
}

static int move_edges(struct nbd *n, bool write, uint64_t off, uint8_t *buf, size_t len)
{
	size_t most = MAX(EDGE_MAX, (size_t)n->limits.min);
	uint8_t *window = malloc(most);
	int r = window != NULL ? 0 : -ENOMEM;

	pthread_mutex_lock(&n->edge_lock);
	while (len != 0 && r == 0) {
		size_t piece = MIN(len, most - (size_t)(off % n->limits.min));

		r = move_window(n, write, off, buf, piece, window);
		off += piece;
		buf += piece;
		len -= piece;
	}
	pthread_mutex_unlock(&n->edge_lock);
	free(window);
	return r;
}

static int transfer(struct nbd *n, bool write, uint64_t off, const struct iovec *iov, unsigned cnt)
{
	int r = 0;

	if (fits(n, off, iov, cnt))
		return move(n, write ? NBD_DO_WRITE : NBD_DO_READ, off, iov, cnt);
	for (unsigned i = 0; i < cnt && r == 0; off += iov[i++].iov_len)
		r = move_edges(n, write, off, iov[i].iov_base, iov[i].iov_len);
	return r;
}

/* ---- the device ---- */

static int nbd_dev_readv(struct dev *dev, uint64_t off, const struct iovec *iov, unsigned cnt)
{
	return transfer((struct nbd *)dev, false, off, iov, cnt);
}

static int nbd_dev_writev(struct dev *dev, uint64_t off, const struct iovec *iov, unsigned cnt)
{
	return transfer((struct nbd *)dev, true, off, iov, cnt);
}

static int nbd_dev_read(struct dev *dev, uint64_t off, void *buf, size_t len)
{
	struct iovec iov = {buf, len};

	return transfer((struct nbd *)dev, false, off, &iov, 1);
}

static int nbd_dev_write(struct dev *dev, uint64_t off, const void *buf, size_t len)
{
	struct iovec iov = {(void *)(uintptr_t)buf, len};

	return transfer((struct nbd *)dev, true, off, &iov, 1);
}

/* The protocol makes durable what was answered before the flush was sent, so older writes are
 * waited for.  All travel over one connection: whether the server keeps several consistent does not
 * matter.  A server that cannot flush has nothing to offer. */
static int nbd_dev_flush(struct dev *dev)
{
	struct nbd *n = (struct nbd *)dev;
	struct nbd_job job = {.parts = 1};

	nbd_drain_writes(n);
	if (n->can_flush)
		nbd_part_send(nbd_part_take(n, &job, NBD_DO_FLUSH), NULL, 0, 0);
	nbd_job_cut(n, &job);
	return nbd_job_wait(n, &job);
}

/* Whole blocks of [off, off + len) without a transfer; they begin at *ret_from. */
static int clear(struct nbd *n, enum nbd_verb verb, uint64_t off, uint64_t len, uint64_t *ret_from,
		 uint64_t *ret_to)
{
	struct nbd_job job = {.parts = 1};
	uint64_t from = ROUND_UP(off, (uint64_t)n->limits.min);
	uint64_t to = ROUND_DOWN(off + len, (uint64_t)n->limits.min);

	*ret_from = from;
	*ret_to = to;
	for (uint64_t piece; from < to; from += piece) {
		piece = MIN(to - from, CLEAR_MAX);
		nbd_part_send(nbd_part_take(n, &job, verb), NULL, from, piece);
	}
	nbd_job_cut(n, &job);
	return nbd_job_wait(n, &job);
}

static int nbd_dev_discard(struct dev *dev, uint64_t off, uint64_t len)
{
	struct nbd *n = (struct nbd *)dev;
	uint64_t from, to;
	int r = n->can_trim ? clear(n, NBD_DO_TRIM, off, len, &from, &to) : -EOPNOTSUPP;

	return r == -EINVAL ? -EOPNOTSUPP : r;
}

static int nbd_dev_zero(struct dev *dev, uint64_t off, uint64_t len)
{
	struct nbd *n = (struct nbd *)dev;
	uint64_t from, to;
	int r = n->can_zero ? clear(n, NBD_DO_ZERO, off, len, &from, &to) : -EOPNOTSUPP;

	if (r == -EINVAL || (r == 0 && from >= to))
		r = -EOPNOTSUPP;
	if (r == 0)
		r = dev_write_zeros(dev, off, from - off);
	return r < 0 ? r : dev_write_zeros(dev, to, off + len - to);
}

static int nbd_dev_submit(struct dev *dev, struct dev_req **reqs, unsigned cnt)
{
	struct nbd *n = (struct nbd *)dev;

	for (unsigned i = 0; i < cnt; i++) {
		struct dev_req *req = reqs[i];
		uint64_t off = req->off + req->shift;
		struct nbd_job *job;

		if (req->len == 0 || !fits(n, off, req->iov, req->iovcnt)) {
			dev_serve(dev, req);
			continue;
		}
		job = nbd_job_take(n, req);
		dev_count(req->write ? &dev->stats.writes : &dev->stats.reads, 1);
		spread(n, job, req->write ? NBD_DO_WRITE : NBD_DO_READ, off, req->iov, req->iovcnt);
		nbd_job_cut(n, job);
	}
	return 0;
}

static int nbd_dev_reap(struct dev *dev, unsigned min)
{
	return nbd_reap((struct nbd *)dev, min);
}

static void nbd_dev_close(struct dev *dev)
{
	struct nbd *n = (struct nbd *)dev;

	if (n->h != NULL) {
		if (n->lib.aio_is_ready(n->h) > 0)
			n->lib.aio_disconnect(n->h,
					      0); /* a server that hears of it need not wait */
		n->lib.close(n->h);
	}
	nbd_lib_unload(&n->lib);
	if (n->wake >= 0)
		close(n->wake);
	for (unsigned i = 0; i < NBD_DEPTH; i++)
		free(n->parts[i].buf);
	pthread_cond_destroy(&n->moved);
	pthread_mutex_destroy(&n->lock);
	pthread_mutex_destroy(&n->edge_lock);
}

const struct dev_ops nbd_ops = {
    .name = "nbd",
    .read = nbd_dev_read,
    .write = nbd_dev_write,
    .readv = nbd_dev_readv,
    .writev = nbd_dev_writev,
    .flush = nbd_dev_flush,
    .discard = nbd_dev_discard,
    .zero = nbd_dev_zero,
    .submit = nbd_dev_submit,
    .reap = nbd_dev_reap,
    .close = nbd_dev_close,
};

bool nbd_limits(const struct dev *dev, struct nbd_limits *ret)
{
	if (dev->ops != &nbd_ops)
		return false;
	*ret = ((const struct nbd *)dev)->limits;
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a URI or a socket to a connected device: load libnbd, say what the URI may ask for, connect
 * with the clock running, ask the export for its size and limits.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/diag.h"
#include "io/nbd_impl.h"

#define MAX_GUESS                                                                      \
	((uint32_t)32 << 20) /* what every server has to take, and what we ask at most \
			      */
#define PREFERRED_GUESS 4096u

bool nbd_is_uri(const char *path)
{
	static const char *const schemes[] = {"nbd://", "nbds://", "nbd+unix://", "nbds+unix://"};

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		if (strncmp(path, schemes[i], strlen(schemes[i])) == 0)
			return true;
	}
	return false;
}

/* libnbd's last story, without the name of its function in front.  It is the host's. */
static int tell(struct nbd *n, int code, const char *what)
{
	const char *why = n->lib.get_error(), *colon = why != NULL ? strstr(why, ": ") : NULL;
	struct diag *d = n->dev.diag;
	bool first = d != NULL && d->code == 0;

	if (colon != NULL && strncmp(why, "nbd_", 4) == 0)
		why = colon + 2;
	diag_set(d, code, "nbd: cannot %s %s: %s", what, n->dev.name,
		 why != NULL ? why : strerror(-code));
	if (first)
		d->host = true;
	return code;
}

/* What a URI can have wrong is no damage of an image. */
static int last_error(struct nbd *n)
{
	int err = n->lib.get_errno();

	return err <= 0 ? -EIO : err == EINVAL ? -EADDRNOTAVAIL : -err;
}

static struct nbd *new_nbd(const char *name, unsigned timeout_ms, struct diag *d)
{
	struct nbd *n = dev_new(sizeof(*n), &nbd_ops, name, d);

	if (n == NULL)
		return NULL;
	n->timeout_ms = timeout_ms != 0 ? timeout_ms : NBD_TIMEOUT_MS;
	n->finished_end = &n->finished;
	for (unsigned i = 0; i < NBD_DEPTH; i++) {
		n->jobs[i].next = n->free_jobs;
		n->free_jobs = &n->jobs[i];
	}
	pthread_mutex_init(&n->edge_lock, NULL);
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->moved, NULL);
	n->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return n;
}

static int prepare(struct nbd *n)
{
	int r = n->wake < 0 ? diag_errno(n->dev.diag, -errno, "nbd: no event descriptor")
			    : nbd_lib_load(n->dev.diag, &n->lib);

	if (r < 0)
		return r;
	n->h = n->lib.create();
	if (n->h == NULL ||
	    n->lib.set_uri_allow_transports(n->h, NBD_OVER_TCP | NBD_OVER_UNIX) < 0 ||
	    n->lib.set_uri_allow_local_file(n->h, false) < 0)
		return tell(n, last_error(n), "prepare for");
	return 0;
}

/* Until the server has said all of its part of the handshake. */
static int wait_ready(struct nbd *n)
{
	uint64_t end = host_ms() + n->timeout_ms, now;

	while (n->lib.aio_is_connecting(n->h) > 0) {
		now = host_ms();
		if (now >= end)
			return diag_errno(n->dev.diag, -ETIMEDOUT, "nbd: cannot connect to %s",
					  n->dev.name);
		nbd_poll_once(n, (int)MIN(end - now, (uint64_t)500));
	}
	return n->lib.aio_is_ready(n->h) > 0 ? 0 : tell(n, last_error(n), "connect to");
}

static uint32_t limit(struct nbd *n, int which, uint32_t otherwise)
{
	int64_t v = n->lib.get_block_size(n->h, which);

	return v > 0 && v <= UINT32_MAX ? (uint32_t)v : otherwise;
}

/* A server that says nothing about blocks takes single bytes, or is none that follows the protocol.
 */
static void ask_limits(struct nbd *n)
{
	uint32_t min = limit(n, NBD_SIZE_MIN, 1);

	if (!is_pow2(min) || min > 65536)
		min = 1;
	n->limits.min = min;
	n->limits.preferred = MAX(limit(n, NBD_SIZE_PREFERRED, PREFERRED_GUESS), min);
	n->limits.max = MIN(limit(n, NBD_SIZE_MAX, MAX_GUESS), MAX_GUESS);
	n->limits.max = MAX(ROUND_DOWN(n->limits.max, min), min);
}

static int measure(struct nbd *n, unsigned flags)
{
	int64_t size = n->lib.get_size(n->h);

	if (size < 0)
		return tell(n, -EOVERFLOW, "get the size of");
	if ((flags & DEV_WRITE) != 0 && n->lib.is_read_only(n->h) != 0)
		return diag_errno(n->dev.diag, -EROFS, "cannot open %s for writing", n->dev.name);
	ask_limits(n);
	n->can_flush = n->lib.can_flush(n->h) > 0;
	n->can_trim = n->lib.can_trim(n->h) > 0;
	n->can_zero = n->lib.can_zero(n->h) > 0;
	n->dev.writable = (flags & DEV_WRITE) != 0;
	n->dev.is_block = true;
	n->dev.align = n->limits.min;
	n->dev.sector = MAX(n->limits.min, 512u);
	n->dev.size = ROUND_DOWN((uint64_t)size, (uint64_t)n->limits.min);
	return 0;
}

static int finish(struct nbd *n, int started, unsigned flags, struct dev **ret)
{
	int r = started < 0 ? tell(n, last_error(n), "connect to") : wait_ready(n);

	if (r == 0)
		r = measure(n, flags);
	if (r < 0)
		dev_close(&n->dev);
	else
		*ret = &n->dev;
	return r;
}

int nbd_open_uri(const char *uri, unsigned flags, unsigned timeout_ms, struct diag *d,
		 struct dev **ret)
{
	struct nbd *n = new_nbd(uri, timeout_ms, d);
	int r = n == NULL ? -ENOMEM : prepare(n);

	if (r == 0)
		return finish(n, n->lib.aio_connect_uri(n->h, uri), flags, ret);
	if (n != NULL)
		dev_close(&n->dev);
	return r;
}

int nbd_open_socket(const char *path, const char *name, unsigned flags, unsigned timeout_ms,
		    struct diag *d, struct dev **ret)
{
	struct nbd *n = new_nbd(name, timeout_ms, d);
	int r = n == NULL ? -ENOMEM : prepare(n);

	if (r == 0)
		return finish(n, n->lib.aio_connect_unix(n->h, path), flags, ret);
	if (n != NULL)
		dev_close(&n->dev);
	return r;
}

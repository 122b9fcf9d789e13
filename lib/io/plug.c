/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linux 6.18, block/blk-mq.c and blk-merge.c: a bio is split at the limits of the queue; a part
 * joins the request that was added last when it touches it and the limits allow; a request that
 * would be the 33rd, or that follows one of 128 KiB or more, first sends all that wait.  Limits are
 * those of a loop device: 1,280 KiB and 128 segments of 64 KiB a request.
 */
#include "io/plug.h"

#include "base/check.h"
#include "base/counters.h"

#define MAX_BYTES     (1280u << 10)
#define MAX_SEGMENTS  128u
#define SEGMENT_BYTES (64u << 10)
#define MAX_REQUESTS  32u
#define ENOUGH_BYTES  (128u << 10)

struct part {
	uint64_t off, len;
	unsigned segments;
};

void plug_pull(struct plug *p)
{
	*p = (struct plug){.made = p->made};
}

static bool join(struct plug *p, const struct part *x)
{
	if (p->start == p->end || p->end - p->start + x->len > MAX_BYTES ||
	    p->segments + x->segments > MAX_SEGMENTS)
		return false;
	if (x->off == p->end)
		p->end += x->len;
	else if (x->off + x->len == p->start)
		p->start = x->off;
	else
		return false;
	p->segments += x->segments;
	return true;
}

static void add(struct plug *p, struct counters *c, const struct part *x, bool plugged)
{
	count(c, COUNTER_DISK_WR_SECT, x->len / 512);
	if (plugged && join(p, x)) {
		count(c, COUNTER_DISK_WR_MERGES, 1);
		return;
	}
	p->made++;
	count(c, COUNTER_RQ_ISSUE, 1);
	count(c, COUNTER_DISK_WR_IOS, 1);
	if (!plugged)
		return;
	if (p->requests == MAX_REQUESTS || p->end - p->start >= ENOUGH_BYTES)
		plug_pull(p);
	p->requests++;
	p->start = x->off;
	p->end = x->off + x->len;
	p->segments = x->segments;
}

void plug_bio(struct plug *p, struct counters *c, uint64_t off, const struct iovec *iov, unsigned n,
	      bool plugged)
{
	struct part x = {.off = off};

	for (unsigned i = 0; i < n; i++) {
		uint64_t left = iov[i].iov_len;

		while (left != 0) {
			uint64_t room = MIN((uint64_t)SEGMENT_BYTES, MAX_BYTES - x.len);
			uint64_t len = MIN(left, room);

			if (len == 0 || x.segments == MAX_SEGMENTS) {
				add(p, c, &x, plugged);
				x = (struct part){.off = x.off + x.len};
				continue;
			}
			x.len += len;
			x.segments++;
			left -= len;
		}
	}
	/* An empty bio that flushes is counted among the writes, too. */
	add(p, c, &x, plugged && x.len != 0);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What keeps data still while they are stored.
 *
 *	wait  the store takes the folio's memory, and writers wait until it is done
 *	copy  the store takes a copy; writers go on
 *	cow   the store takes the folio's memory, and the first writer gives the folio another
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "pagecache/region.h"

/* ---- memory of the folio ---- */

static uint64_t room_for_piece(struct rop *op, uint64_t len)
{
	return op_room(op) ? len : 0;
}

static void lend(struct rop *op, struct rfolio *o, uint32_t from, uint32_t len)
{
	op->segs[op->seg_count++] = (struct rseg){o, o->buf, from, from + len};
	op->iov[op->iovcnt++] = (struct iovec){o->buf->data + from, len};
	o->buf->refs++;
}

/* ---- wait ---- */

static int wait_enter(struct rfolio *o, unsigned writer)
{
	flight_wait_folio(o, writer);
	return 0;
}

/* ---- copy ---- */

static int copy_enter(struct rfolio *o, unsigned writer)
{
	(void)o, (void)writer;
	return 0;
}

/* The copy's memory doubles with the store.  Without memory the store ends earlier. */
static uint64_t room_for_copy(struct rop *op, uint64_t len)
{
	size_t need = (size_t)MIN(op->len + len, op->r->k.max_store), cap = op->bounce_cap;
	uint8_t *p;

	if (!op_room(op))
		return 0;
	while (cap < need)
		cap *= 2;
	if (cap != op->bounce_cap && (p = realloc(op->bounce, cap)) != NULL) {
		op->bounce = p;
		op->bounce_cap = cap;
	}
	return MIN(len, op->bounce_cap - op->len);
}

static void copy(struct rop *op, struct rfolio *o, uint32_t from, uint32_t len)
{
	struct ek_region *r = op->r;

	op->segs[op->seg_count++] = (struct rseg){o, NULL, from, from + len};
	rcount(r, RC_COPIED, len);
	pthread_mutex_unlock(&r->lock);
	memcpy(op->bounce + op->len, o->buf->data + from, len);
	pthread_mutex_lock(&r->lock);
	op->iov[0] = (struct iovec){op->bounce, op->len + len};
	op->iovcnt = 1;
}

/* ---- cow ---- */

static int cow_enter(struct rfolio *o, unsigned writer)
{
	struct ek_region *r = o->file->r;
	struct rbuf *old = o->buf, *b;
	int rc;

	(void)writer;
	if (o->pending == 0 || old->refs == 1)
		return 0;
	rc = rbuf_new(r, o->order, &b);
	if (rc < 0)
		return rc;
	rcount(r, RC_COWS, 1);
	pthread_mutex_unlock(&r->lock);
	memcpy(b->data, old->data, (size_t)rfolio_bytes(o));
	pthread_mutex_lock(&r->lock);
	o->buf = b;
	rbuf_put(r, old);
	return 0;
}

const struct stable_ops region_stables[] = {
    [STABLE_WAIT] = {wait_enter, room_for_piece, lend},
    [STABLE_COPY] = {copy_enter, room_for_copy, copy},
    [STABLE_COW] = {cow_enter, room_for_piece, lend},
};

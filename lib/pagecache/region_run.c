/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dirty runs become stores.  A pass fills one store at a time: a run that begins where the store
 * ends makes it longer, any other sends it and begins the next.  A store ends at the file's end, at
 * the largest size (moved down to a multiple of the alignment) and when its pieces are used up; the
 * rest of the run begins the next one, so a folio may be part of several.
 */
#include "base/check.h"
#include "pagecache/region_walk.h"

void run_send(struct flush *f)
{
	struct rop *op = f->op;

	f->op = NULL;
	if (op != NULL)
		op_send(op);
}

static uint64_t op_end(const struct rop *op)
{
	return op->off + op->len;
}

/* How many of len bytes at its end the store takes; 0: it is full. */
static uint64_t how_many(struct rop *op, uint64_t len)
{
	const struct rknobs *k = &op->r->k;
	uint64_t n = op->r->stable->room(op, len), cut;

	n = MIN(n, k->max_store - op->len);
	if (n == len)
		return n;
	cut = ROUND_DOWN(op_end(op) + n, k->align);
	if (cut > op_end(op))
		return cut - op_end(op);
	return op->len != 0 ? 0 : n;
}

static void add(struct flush *f, struct rfolio *o, uint32_t from, uint32_t to)
{
	while (from < to) {
		uint64_t at = rfolio_start(o) + from, n;

		if (f->op != NULL && op_end(f->op) != at)
			run_send(f);
		if (f->op == NULL)
			f->op = op_begin(f->r, f->file, at);
		n = how_many(f->op, to - from);
		if (n == 0) {
			run_send(f);
			continue;
		}
		o->refs++;
		o->pending++;
		f->r->stable->sample(f->op, o, from, (uint32_t)n);
		f->op->len += n;
		from += (uint32_t)n;
	}
}

/* Where a run that begins at from may begin as well, so that it goes on where the store ends: the
 * bytes between are the folio's own, valid, and few, or the store has nothing there. */
static uint32_t bridge(const struct flush *f, const struct rfolio *o, uint32_t from)
{
	uint64_t start = rfolio_start(o), end = f->op != NULL ? op_end(f->op) : 0;
	uint32_t gap;

	if (f->op == NULL || end < start || end >= start + from)
		return from;
	gap = (uint32_t)(end - start);
	if ((from - gap > f->r->k.bridge && !track_is_new(o, gap)) ||
	    !track_all_valid(o, gap, from))
		return from;
	return gap;
}

/* A folio's bytes before the end of the file. */
static uint32_t inside(const struct rfolio *o, uint32_t to)
{
	uint64_t size = o->file->size, start = rfolio_start(o);

	return size <= start ? 0 : (uint32_t)MIN((uint64_t)to, size - start);
}

void run_take(struct flush *f, struct rfolio *o)
{
	const struct track_ops *t = f->r->track;
	uint32_t at = 0, from, to, begin;

	f->took = true;
	f->left -= MIN(f->left, (uint64_t)1 << o->order);
	o->pass = f->pass;
	while (t->next(o, at, &from, &to)) {
		t->clear(o, from, to);
		at = to;
		to = inside(o, to);
		if (from >= to)
			continue;
		begin = bridge(f, o, from);
		rcount(f->r, RC_BYTES_BRIDGED, from - begin);
		add(f, o, begin, to);
	}
	/* a piece that failed meanwhile has made the folio dirty again */
	if (!t->next(o, 0, &from, &to))
		rfolio_clear_dirty(o);
}

bool run_joins(const struct flush *f, const struct rfolio *o)
{
	uint32_t from, to, begin;

	if (f->op == NULL || !f->r->track->next(o, 0, &from, &to))
		return false;
	to = inside(o, to);
	begin = from < to ? bridge(f, o, from) : from;
	return from < to && rfolio_start(o) + begin == op_end(f->op) &&
	       f->op->len + (to - begin) <= f->r->k.max_store && op_room(f->op);
}

bool run_reaches_end(const struct flush *f, const struct rfolio *o)
{
	return f->op != NULL && op_end(f->op) == rfolio_start(o) + rfolio_bytes(o);
}

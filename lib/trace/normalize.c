/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers by first use, and less of the recorded bytes: filters that look at one item at a time. */
#include <errno.h>
#include <stdlib.h>

#include "base/crc.h"
#include "base/diag.h"
#include "base/mem.h"
#include "trace/filter.h"
#include "trace/interner.h"
#include "trace/reorder.h"

struct normalize {
	struct op_source base;
	struct op_source *in;
	unsigned flags;
	struct interner *handles, *windows, *threads;
	struct reorder *order; /* NORMALIZE_SORT: a window of items */
	const struct op *kept; /* came in untimed while sorted items had to go out first */
	bool have_start, drained;
	uint64_t start;
	struct op op;
	int err;
};

/* The new number of an old one; 0 stays 0. */
static int renumber(struct interner *in, uint32_t *v)
{
	bool fresh;

	if (*v == 0)
		return 0;
	if (interner_reserve(in, 1, 0) < 0)
		return -ENOMEM;
	*v = intern_number(in, *v, &fresh);
	return 0;
}

static int renumber_thread(struct normalize *n, uint64_t *v)
{
	uint32_t t = (uint32_t)*v + 1; /* thread 0 is a thread */

	if (*v >= OP_NO_THREAD)
		return 0;
	if (renumber(n->threads, &t) < 0)
		return -ENOMEM;
	*v = t;
	return 0;
}

static int change(struct normalize *n, const struct op *from, const struct op **ret)
{
	struct op *o = &n->op;
	uint64_t thread = from->thread;

	*o = *from;
	*ret = o;
	if (o->code == OP_NODE || o->code == OP_EXPECT || o->code == OP_COMMENT)
		return 0;
	if (!n->have_start)
		n->start = o->time;
	n->have_start = true;
	o->time = n->flags & NORMALIZE_NO_TIMES ? 0 : o->time > n->start ? o->time - n->start : 0;
	if (n->flags & NORMALIZE_NO_TIMES)
		o->dur = OP_NONE64;
	if (renumber_thread(n, &thread) < 0 || renumber(n->handles, &o->handle) < 0)
		return -ENOMEM;
	o->thread = (uint32_t)thread;
	if (o->plain)
		return 0;
	if (renumber(n->handles, &o->handle2) < 0 || renumber(n->windows, &o->window) < 0)
		return -ENOMEM;
	if (o->code == OP_FORK || o->code == OP_EXIT)
		return renumber_thread(n, &o->arg);
	return 0;
}

static bool unwanted(const struct normalize *n, const struct op *o)
{
	return ((n->flags & NORMALIZE_NO_READS) && (o->code == OP_READ || o->code == OP_STAT)) ||
	       ((n->flags & NORMALIZE_NO_OBSERVED) && o->code == OP_OBSERVED);
}

static bool is_timed(const struct op *o)
{
	return o->code != OP_NODE && o->code != OP_EXPECT && o->code != OP_COMMENT;
}

/* The next item in order of start: reads ahead as far as the window allows. */
static int next_sorted(struct normalize *n, const struct op **ret)
{
	for (;;) {
		/* Nothing leaves before the window is full, or all is read. */
		const struct op *o = reorder_take(n->order, n->drained ? UINT64_MAX : 0);
		int err;

		if (o || n->kept) {
			*ret = o ? o : n->kept;
			if (!o) {
				n->kept = NULL;
				n->drained = false;
			}
			return 1;
		}
		if (n->drained)
			return 0;
		err = op_next(n->in, &o);
		if (err < 0)
			return err;
		if (err == 0) {
			n->drained = true;
		} else if (is_timed(o)) {
			if (reorder_put(n->order, o) < 0)
				return -ENOMEM;
		} else {
			n->kept = o;
			n->drained = true;
		}
	}
}

static int normalize_next(struct op_source *base, const struct op **ret)
{
	struct normalize *n = (struct normalize *)base;
	const struct op *o;
	int err = n->err;

	while (err == 0) {
		err = n->order ? next_sorted(n, &o) : op_next(n->in, &o);
		if (err <= 0)
			break;
		err = 0;
		if (unwanted(n, o))
			continue;
		err = change(n, o, ret);
		if (err == 0)
			return 1;
	}
	if (err == -ENOMEM)
		diag_set(n->base.d, err, "normalize: no memory");
	n->err = err;
	return err;
}

static bool normalize_whole(const struct op_source *base)
{
	return op_whole(((const struct normalize *)base)->in);
}

static void normalize_close(struct op_source *base)
{
	struct normalize *n = (struct normalize *)base;

	op_source_close(n->in);
	interner_free(n->handles);
	interner_free(n->windows);
	interner_free(n->threads);
	reorder_free(n->order);
	free(n);
}

static const struct op_source_ops normalize_ops = {
    .next = normalize_next,
    .whole = normalize_whole,
    .close = normalize_close,
};

int normalize_filter(struct op_source *in, unsigned flags, struct op_source **ret)
{
	struct normalize *n = mem_zero(sizeof(*n));

	if (!n) {
		diag_set(in->d, -ENOMEM, "normalize: no memory");
		op_source_close(in);
		return -ENOMEM;
	}
	n->base.ops = &normalize_ops;
	n->base.header = in->header;
	n->base.d = in->d;
	n->in = in;
	n->flags = flags;
	n->handles = interner_new();
	n->windows = interner_new();
	n->threads = interner_new();
	if (flags & NORMALIZE_SORT)
		n->order = reorder_new();
	if (!n->handles || !n->windows || !n->threads || ((flags & NORMALIZE_SORT) && !n->order)) {
		diag_set(in->d, -ENOMEM, "normalize: no memory");
		normalize_close(&n->base);
		return -ENOMEM;
	}
	*ret = &n->base;
	return 0;
}

struct less_data {
	struct op_source base;
	struct op_source *in;
	unsigned flags;
	struct op op;
};

static int less_next(struct op_source *base, const struct op **ret)
{
	struct less_data *l = (struct less_data *)base;
	struct op_data *d = &l->op.data;
	const struct op *o;
	int err = op_next(l->in, &o);

	if (err <= 0)
		return err;
	*ret = o;
	if (o->data_kind == DATA_NONE)
		return 1;
	l->op = *o;
	*ret = &l->op;
	if (l->flags & DATA_SCRUB) {
		if (d->kind == DATA_CRC || d->kind == DATA_BLOB || d->kind == DATA_INLINE)
			*d = (struct op_data){.kind = DATA_NONE};
	} else if ((d->kind == DATA_BLOB || d->kind == DATA_INLINE) && d->bytes) {
		*d = (struct op_data){.kind = DATA_CRC,
				      .crc = crc32c(UINT32_MAX, d->bytes, d->n) ^ UINT32_MAX};
	}
	l->op.data_kind = d->kind;
	return 1;
}

static bool less_whole(const struct op_source *base)
{
	return op_whole(((const struct less_data *)base)->in);
}

static void less_close(struct op_source *base)
{
	struct less_data *l = (struct less_data *)base;

	op_source_close(l->in);
	free(l);
}

static const struct op_source_ops less_ops = {
    .next = less_next,
    .whole = less_whole,
    .close = less_close,
};

int data_filter(struct op_source *in, unsigned flags, struct op_source **ret)
{
	struct less_data *l = mem_zero(sizeof(*l));

	if (!l) {
		diag_set(in->d, -ENOMEM, "data: no memory");
		op_source_close(in);
		return -ENOMEM;
	}
	l->base.ops = &less_ops;
	l->base.header = in->header;
	l->base.d = in->d;
	l->in = in;
	l->flags = flags;
	*ret = &l->base;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Items out of columns.  The columns may say anything: a number that runs past its column reads as
 * 0 and marks the block as bad, and every reference is checked against its table.
 */
#include "trace/wtb_take.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

static struct op_str take_string(struct wtb_decoder *w, enum wtb_column c)
{
	uint64_t id = take(w, c);

	if (id < w->nstrings)
		return w->strings[id];
	bad(w, "a text that is not in the table");
	return w->strings[0];
}

/* What a reader of text would have refused too: relative, climbing or empty. */
static struct op_str take_path(struct wtb_decoder *w)
{
	struct op_str s = take_string(w, COL_ARGS);

	if (s.n == 0 || s.p[0] != '/')
		bad(w, "a path that does not start with /");
	for (uint32_t i = 0; i + 2 < s.n; i++)
		if (s.p[i] == '/' && s.p[i + 1] == '.' && s.p[i + 2] == '.' &&
		    (s.p[i + 3] == '/' || i + 3 == s.n))
			bad(w, "a path that climbs with ..");
	return s;
}

static struct op_time take_time(struct wtb_decoder *w)
{
	struct op_time t;

	t.sec = (int64_t)unfold(take(w, COL_ARGS));
	t.nsec = take32(w, COL_ARGS);
	if (t.nsec > 999999999 && t.nsec != OP_TIME_NOW && t.nsec != OP_TIME_OMIT &&
	    t.nsec != OP_TIME_UNKNOWN)
		bad(w, "a time with too many nanoseconds");
	return t;
}

static uint32_t take_handle(struct wtb_decoder *w, enum wtb_column c, uint64_t *ret_id)
{
	uint64_t id = take(w, c);

	if (id > w->nhandles) {
		bad(w, "a handle that is not in the table");
		id = 0;
	}
	*ret_id = id;
	return w->handles[id];
}

static void take_arg(struct wtb_decoder *w, char kind)
{
	struct op *o = &w->op;
	uint64_t id;

	switch (kind) {
	case 'H':
		o->handle2 = take_handle(w, COL_ARGS, &id);
		break;
	case 'w':
		o->window = take32(w, COL_ARGS);
		break;
	case 'O':
		o->off2 = take(w, COL_ARGS);
		break;
	case 'a':
		o->arg = take(w, COL_ARGS);
		break;
	case 'x':
		if (w->col[COL_ARGS].p < w->col[COL_ARGS].end && *w->col[COL_ARGS].p == 0)
			w->col[COL_ARGS].p++;
		else
			o->path = take_path(w);
		break;
	case 'p':
		o->path = take_path(w);
		break;
	case 't':
		o->path = take_string(w, COL_ARGS);
		break;
	case 'q':
		o->path2 = take_path(w);
		break;
	case 'n':
		o->name = take_string(w, COL_ARGS);
		break;
	case 'm':
		o->mode = take32(w, COL_ARGS);
		break;
	case 'u':
		o->uid = take32(w, COL_ARGS);
		o->gid = take32(w, COL_ARGS);
		break;
	case 'D':
		o->dev = take(w, COL_ARGS);
		break;
	case 'T':
		o->atime = take_time(w);
		o->mtime = take_time(w);
		break;
	case 'F':
	case 'V':
		o->sub = (uint8_t)take(w, COL_ARGS);
		if (o->sub >= (kind == 'F' ? (unsigned)FALLOC_COUNT : (unsigned)ADVICE_COUNT))
			bad(w, "an unknown mode or advice");
		break;
	default:
		break;
	}
}

static void take_data(struct wtb_decoder *w)
{
	struct op_data *d = &w->op.data;
	struct op_str hash;
	uint64_t v;

	d->kind = (uint8_t)take(w, COL_DATA);
	w->op.data_kind = d->kind;
	switch (d->kind) {
	case DATA_ZERO:
		break;
	case DATA_CRC:
		d->crc = take32(w, COL_DATA);
		break;
	case DATA_BLOB:
		hash = take_string(w, COL_DATA);
		if (hash.n != 32) {
			bad(w, "a hash that is not 32 bytes");
			break;
		}
		memcpy(d->hash, hash.p, 32);
		d->hashed = 1;
		d->bytes = blobs_find(w->blobs, d->hash, &d->n);
		break;
	case DATA_MIXED:
		v = take(w, COL_DATA);
		if (v > 100)
			bad(w, "a percentage over 100");
		d->percent = (uint8_t)v;
		d->seed = take(w, COL_DATA);
		break;
	case DATA_PATTERN:
		d->seed = take(w, COL_DATA);
		break;
	case DATA_INLINE:
		d->n = take32(w, COL_DATA);
		d->bytes = w->col[COL_DATA].p;
		if (d->n > OP_INLINE_MAX ||
		    d->n > (size_t)(w->col[COL_DATA].end - w->col[COL_DATA].p)) {
			bad(w, "inline data runs past its column");
			d->n = 0;
		}
		w->col[COL_DATA].p += d->n;
		break;
	default:
		bad(w, "an unknown kind of data");
	}
}

static void take_keys(struct wtb_decoder *w)
{
	uint64_t mask = take(w, COL_ARGS);
	struct op *o = &w->op;

	if (mask & KEY_SEGS)
		o->segs = take_string(w, COL_ARGS);
	if (mask & KEY_WANT)
		o->want = take(w, COL_ARGS);
	if (mask & KEY_SUB)
		o->sub = (uint8_t)take(w, COL_ARGS);
	if (mask & KEY_ARG)
		o->arg = take(w, COL_ARGS);
	if (mask & KEY_DATA)
		take_data(w);
	if (mask & KEY_ID)
		o->id = take_string(w, COL_ARGS);
	if (mask & KEY_AFTER)
		o->after = take_string(w, COL_ARGS);
	if (mask & KEY_EXTRA)
		o->extra = take_string(w, COL_ARGS);
	if (mask & KEY_MODE)
		o->mode = take32(w, COL_ARGS);
	if (mask & KEY_NAME)
		o->name = take_string(w, COL_ARGS);
	if (mask >= KEY_NAME * 2)
		bad(w, "an unknown key");
}

static int take_extents(struct wtb_decoder *w)
{
	uint64_t n = take(w, COL_ARGS);
	void *p = w->extents;

	/* Each takes at least three bytes. */
	if (n > (size_t)(w->col[COL_ARGS].end - w->col[COL_ARGS].p) / 3)
		return bad(w, "more extents than bytes");
	if (mem_grow(&p, &w->extents_cap, (size_t)n + 1, sizeof(*w->extents)) < 0)
		return -ENOMEM;
	w->extents = p;
	for (uint64_t i = 0; i < n; i++) {
		w->extents[i].lblk = take32(w, COL_ARGS);
		w->extents[i].pblk = take(w, COL_ARGS);
		w->extents[i].len = take32(w, COL_ARGS);
	}
	w->node.extents = w->extents;
	w->node.nextents = (uint32_t)n;
	return 0;
}

static int take_node(struct wtb_decoder *w)
{
	struct op_node *n = &w->node;

	memset(n, 0, sizeof(*n));
	n->type = (char)take(w, COL_ARGS);
	n->mode = take32(w, COL_ARGS);
	n->uid = take32(w, COL_ARGS);
	n->gid = take32(w, COL_ARGS);
	n->size = take(w, COL_ARGS);
	n->dev = take(w, COL_ARGS);
	n->ino = take(w, COL_ARGS);
	n->path = take_path(w);
	n->target = take_string(w, COL_ARGS);
	n->sha256 = take_string(w, COL_ARGS);
	n->atime = take_time(w);
	n->mtime = take_time(w);
	n->extra = take_string(w, COL_ARGS);
	w->op.node = n;
	if (n->type == 0 || !strchr("fdlcbps", n->type) || n->mode > 07777)
		return bad(w, "an unknown file type");
	return take_extents(w);
}

static void take_place(struct wtb_decoder *w, unsigned shape)
{
	struct op *o = &w->op;
	uint64_t id = 0, len;

	if (shape & SHAPE_HANDLE)
		o->handle = take_handle(w, COL_HANDLE, &id);
	if (shape & SHAPE_OFF)
		o->off = w->last[id].end + unfold(take(w, COL_OFF));
	if (shape & SHAPE_LEN) {
		len = take(w, COL_LEN);
		o->len = len ? len - 1 : w->last[id].len;
		w->last[id].len = o->len;
	}
	if ((o->off | o->len) > INT64_MAX)
		bad(w, "an offset or length beyond 2^63");
	if (shape & SHAPE_OFF)
		w->last[id].end = o->off + o->len;
}

static void take_when(struct wtb_decoder *w)
{
	uint64_t thread = take(w, COL_THREAD);

	if (thread > w->nthreads) {
		bad(w, "a thread that is not in the table");
		thread = 0;
	}
	w->op.thread = w->threads[thread];
	w->time += unfold(take(w, COL_TIME));
	w->op.time = w->time;
	w->op.dur = take(w, COL_DUR) - 1;
}

static void reset_op(struct op *o)
{
	if (!o->plain) {
		op_clear(o);
		return;
	}
	o->off = o->len = 0;
	o->handle = o->flags = 0;
	o->sub = 0;
}

int wtb_decode(struct wtb_decoder *w)
{
	struct op *o = &w->op;
	unsigned byte, shape;

	if (w->left == 0)
		return 0;
	w->left--;
	reset_op(o);
	byte = w->col[COL_CODE].p < w->col[COL_CODE].end ? *w->col[COL_CODE].p++ : 0;
	o->code = byte & WTB_CODE_MASK;
	if (o->code == OP_NONE || o->code >= OP_COUNT)
		return bad(w, "an unknown op");
	shape = w->shape[o->code];
	if (shape & SHAPE_TIME)
		take_when(w);
	take_place(w, shape);
	if (byte & WTB_CODE_FLAGS)
		o->flags = take32(w, COL_ARGS);
	if (byte & WTB_CODE_COLD) {
		o->plain = 0;
		for (const char *f = op_forms[o->code].args; f && *f; f++)
			take_arg(w, *f);
		take_keys(w);
		if (o->code == OP_NODE && take_node(w) == -ENOMEM)
			return -ENOMEM;
	}
	return w->why ? -EINVAL : 1;
}

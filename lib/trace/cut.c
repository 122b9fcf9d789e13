/* SPDX-License-Identifier: BSD-2-Clause */
/* A part of a trace that stands on its own: what is open where it begins is opened there. */
#include <errno.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/mem.h"
#include "trace/filter.h"
#include "trace/handles.h"

struct cut {
	struct op_source base;
	struct op_source *in;
	struct cut_range range;
	struct handles handles;
	uint64_t number; /* of the next timed item */
	bool begun, skipped, past, ended;
	uint64_t begin_time;
	uint32_t *open; /* handles to be opened at the beginning, in order of number */
	size_t nopen, at;
	uint32_t *windows;
	size_t nwindows;
	const struct op *held; /* the first item of the part, behind the opens */
	struct op op;
	char path[8192];
	int err;
};

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* All keys of a table, sorted, so that the same input gives the same output. */
static int list_keys(const struct hash *h, uint32_t **ret, size_t *ret_n)
{
	struct hash_node *n = NULL;
	size_t k = 0;

	*ret = malloc((h->count + 1) * sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	while ((n = hash_next(h, n)))
		(*ret)[k++] = (uint32_t)n->key;
	qsort(*ret, k, sizeof(**ret), by_number);
	*ret_n = k;
	return 0;
}

static int begin(struct cut *c, const struct op *first)
{
	c->begun = true;
	c->held = first;
	c->begin_time = first->time;
	if (!c->skipped)
		return 0;
	if (list_keys(&c->handles.open, &c->open, &c->nopen) < 0 ||
	    list_keys(&c->handles.windows, &c->windows, &c->nwindows) < 0)
		return diag_set(c->base.d, -ENOMEM, "cut: no memory");
	return 0;
}

static const struct op *shift(struct cut *c, const struct op *o)
{
	if (!c->range.rebase)
		return o;
	c->op = *o;
	c->op.time = o->time > c->begin_time ? o->time - c->begin_time : 0;
	return &c->op;
}

/* The open of a handle that was opened in front of the part. */
static const struct op *reopen(struct cut *c, uint32_t handle)
{
	const struct open_handle *h = handles_find(&c->handles, handle);
	bool named = h->name && h->name->linked;
	const struct name *n = named ? h->name : h->name ? h->name->parent : h->dir;
	struct op *o = &c->op;

	op_clear(o);
	o->code = OP_OPEN;
	o->plain = 0;
	o->time = c->range.rebase ? 0 : c->begin_time;
	o->thread = h->thread;
	o->handle = h->handle;
	o->flags = h->flags;
	if (!named) {
		o->flags |= OPF_TMPFILE | OPF_WRITE | OPF_MODE;
		o->flags &= ~(uint32_t)OPF_DIRECTORY;
		o->mode = h->mode ? h->mode : 0600;
	}
	o->path.p = c->path;
	o->path.n = (uint32_t)name_path(n, c->handles.names.root, c->path, sizeof(c->path));
	return o;
}

static const struct op *remap(struct cut *c, uint32_t window)
{
	const struct open_window *w =
	    hash_entry(hash_find(&c->handles.windows, window), struct open_window, node);
	struct op *o = &c->op;

	op_clear(o);
	o->code = OP_MMAP;
	o->plain = 0;
	o->time = c->range.rebase ? 0 : c->begin_time;
	o->thread = w->thread;
	o->window = w->window;
	o->handle = w->handle;
	o->flags = w->flags;
	o->off = w->off;
	o->len = w->len;
	return o;
}

/* What stands in front of the first item: 1 while there is some. */
static int give_opens(struct cut *c, const struct op **ret)
{
	if (c->at < c->nopen) {
		*ret = reopen(c, c->open[c->at++]);
		return 1;
	}
	if (c->at < c->nopen + c->nwindows) {
		*ret = remap(c, c->windows[c->at++ - c->nopen]);
		return 1;
	}
	return 0;
}

/* Follows a timed item that may be part of the cut: 1 it is, 0 it is not, or an error. */
static int judge(struct cut *c, const struct op *o)
{
	uint64_t number = c->number++;
	const struct cut_range *r = &c->range;

	if (o->time >= r->to || number >= r->last) {
		c->past = true;
		return 0;
	}
	if (o->time < r->from || number < r->first) {
		c->skipped = true;
		/* After the beginning nobody needs to know what is open. */
		if (!c->begun && handles_follow(&c->handles, o) < 0)
			return diag_set(c->base.d, -ENOMEM, "cut: no memory");
		return 0;
	}
	return c->begun ? 1 : begin(c, o) < 0 ? -ENOMEM : 1;
}

static int cut_next(struct op_source *base, const struct op **ret)
{
	struct cut *c = (struct cut *)base;
	const struct op *o;
	int err = c->err;

	while (err == 0) {
		if (c->held) {
			if (give_opens(c, ret))
				return 1;
			*ret = shift(c, c->held);
			c->held = NULL;
			return 1;
		}
		err = op_next(c->in, &o);
		if (err <= 0)
			break;
		err = 0;
		if (o->code == OP_NODE || o->code == OP_EXPECT || o->code == OP_COMMENT) {
			/* True only for the whole beginning, or to the whole end. */
			if (o->code == OP_NODE ? c->range.from == 0 && c->range.first == 0
					       : o->code == OP_COMMENT || !c->past) {
				*ret = o;
				return 1;
			}
			continue;
		}
		err = judge(c, o);
		if (err == 1) {
			err = 0;
			if (!c->held) {
				*ret = shift(c, o);
				return 1;
			}
		}
	}
	c->err = err;
	c->ended = err == 0;
	return err;
}

static bool cut_whole(const struct op_source *base)
{
	const struct cut *c = (const struct cut *)base;

	return c->past || op_whole(c->in);
}

static void cut_close(struct op_source *base)
{
	struct cut *c = (struct cut *)base;

	handles_free(&c->handles);
	op_source_close(c->in);
	free(c->open);
	free(c->windows);
	free(c);
}

static const struct op_source_ops cut_ops = {
    .next = cut_next,
    .whole = cut_whole,
    .close = cut_close,
};

int cut_filter(struct op_source *in, const struct cut_range *range, struct op_source **ret)
{
	struct cut *c = mem_zero(sizeof(*c));

	if (!c || handles_init(&c->handles) < 0) {
		free(c);
		diag_set(in->d, -ENOMEM, "cut: no memory");
		op_source_close(in);
		return -ENOMEM;
	}
	c->base.ops = &cut_ops;
	c->base.header = in->header;
	c->base.d = in->d;
	c->in = in;
	c->range = *range;
	*ret = &c->base;
	return 0;
}

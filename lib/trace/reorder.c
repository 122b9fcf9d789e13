/* SPDX-License-Identifier: BSD-2-Clause */
/* A binary heap of (time, thread, number) over recycled copies of ops. */
#include "trace/reorder.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

#define TEXT_KEPT ((size_t)16 << 10)

struct copy {
	struct op op;
	char *text; /* what the views of op point to */
	size_t text_cap;
};

struct place {
	uint64_t time, number;
	struct copy *copy;
	uint32_t thread;
};

struct reorder {
	struct place *heap;
	size_t heap_cap, n;
	struct copy **idle;
	size_t idle_cap, nidle;
	struct copy *out; /* handed out last */
	uint64_t number, late, last;
};

struct reorder *reorder_new(void)
{
	return mem_zero(sizeof(struct reorder));
}

static void free_copy(struct copy *c)
{
	if (c)
		free(c->text);
	free(c);
}

void reorder_free(struct reorder *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		free_copy(r->heap[i].copy);
	for (size_t i = 0; i < r->nidle; i++)
		free_copy(r->idle[i]);
	free_copy(r->out);
	free(r->heap);
	free(r->idle);
	free(r);
}

static size_t text_size(const struct op *o)
{
	size_t n = (size_t)o->path.n + o->path2.n + o->name.n + o->segs.n + o->id.n + o->after.n +
		   o->extra.n + 7;

	return n + (o->data.bytes ? o->data.n : 0);
}

static char *move_text(char *to, struct op_str *s)
{
	if (s->n)
		memcpy(to, s->p, s->n);
	to[s->n] = 0;
	s->p = to;
	return to + s->n + 1;
}

/* Deep copy.  Importers make no nodes here: the manifest comes first and in order. */
static int fill(struct copy *c, const struct op *o)
{
	struct op_str *views[] = {&c->op.path, &c->op.path2, &c->op.name, &c->op.segs,
				  &c->op.id,   &c->op.after, &c->op.extra};
	void *text = c->text;
	char *to;

	if (o->plain && c->op.plain) {
		memcpy(&c->op, o, offsetof(struct op, want));
		return 0;
	}
	if (mem_grow(&text, &c->text_cap, text_size(o), 1) < 0)
		return -ENOMEM;
	c->text = to = text;
	c->op = *o;
	for (unsigned i = 0; i < ARRAY_SIZE(views); i++)
		to = move_text(to, views[i]);
	if (o->data.bytes) {
		memcpy(to, o->data.bytes, o->data.n);
		c->op.data.bytes = (const uint8_t *)to;
	}
	return 0;
}

static bool goes_first(const struct place *a, const struct place *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	/* No thread (all ones) goes before any. */
	if (a->thread != b->thread)
		return a->thread + 1 < b->thread + 1;
	return a->number < b->number;
}

static void sift_up(struct reorder *r, size_t i)
{
	while (i) {
		size_t up = (i - 1) / 2;
		struct place p = r->heap[i];

		if (!goes_first(&p, &r->heap[up]))
			return;
		r->heap[i] = r->heap[up];
		r->heap[up] = p;
		i = up;
	}
}

static void sift_down(struct reorder *r)
{
	size_t i = 0;

	for (;;) {
		size_t down = 2 * i + 1;
		struct place p = r->heap[i];

		if (down >= r->n)
			return;
		if (down + 1 < r->n && goes_first(&r->heap[down + 1], &r->heap[down]))
			down++;
		if (!goes_first(&r->heap[down], &p))
			return;
		r->heap[i] = r->heap[down];
		r->heap[down] = p;
		i = down;
	}
}

static struct copy *idle_copy(struct reorder *r)
{
	struct copy *c;

	if (r->nidle)
		return r->idle[--r->nidle];
	c = mem_zero(sizeof(*c));
	if (c)
		op_clear(&c->op);
	return c;
}

int reorder_put(struct reorder *r, const struct op *o)
{
	void *heap = r->heap, *idle = r->idle;
	struct copy *c;

	if (mem_grow(&heap, &r->heap_cap, r->n + 1, sizeof(*r->heap)) < 0)
		return -ENOMEM;
	r->heap = heap;
	/* Room for every copy to become idle. */
	if (mem_grow(&idle, &r->idle_cap, r->n + r->nidle + 2, sizeof(struct copy *)) < 0)
		return -ENOMEM;
	r->idle = idle;
	c = idle_copy(r);
	if (!c || fill(c, o) < 0) {
		free_copy(c);
		return -ENOMEM;
	}
	r->heap[r->n] = (struct place){o->time, r->number++, c, o->thread};
	sift_up(r, r->n++);
	return 0;
}

const struct op *reorder_take(struct reorder *r, uint64_t before)
{
	if (r->out) {
		/* A recycled copy must not keep the room of the largest write ever. */
		if (r->out->text_cap > TEXT_KEPT) {
			free(r->out->text);
			r->out->text = NULL;
			r->out->text_cap = 0;
		}
		r->idle[r->nidle++] = r->out;
	}
	r->out = NULL;
	if (r->n == 0 || (r->heap[0].time >= before && r->n <= REORDER_MAX))
		return NULL;
	r->out = r->heap[0].copy;
	r->heap[0] = r->heap[--r->n];
	sift_down(r);
	r->late += r->out->op.time < r->last;
	r->last = MAX(r->last, r->out->op.time);
	return &r->out->op;
}

uint64_t reorder_late(const struct reorder *r)
{
	return r->late;
}

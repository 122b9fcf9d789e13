/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of generators, and the source that takes the steps of their processes in turns. */
#include "trace/generate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/hash.h"
#include "base/mem.h"
#include "trace/generate_keys.h"

#define CALL_NS      2000u
#define BYTES_A_NS   4u
#define STEPS_MAX    ((uint64_t)1 << 40)
#define DURATION_MAX ((uint64_t)INT64_MAX)

const struct generator *const generators[] = {
    &generator_appenders, &generator_dd,     &generator_folio,
    &generator_fstime,    &generator_region, NULL,
};

struct generated {
	struct op_source base;
	struct gen g;
	struct op op;
	uint64_t at, first, total; /* items handed out; where "measure" stands; all of them */
	uint64_t proc, step;       /* whose turn it is, and which of its steps */
	uint64_t end;              /* of enum end */
	uint64_t warm, setup;      /* steps that warm; those and the generator's that prepare */
	uint64_t row;              /* items to come that are the next steps of the only process */
};

enum end { END_NONE, END_SYNC, END_CLOSE };

void gen_open(struct gen *g, struct op *o, uint32_t handle, const char *stem, uint64_t number,
	      unsigned flags)
{
	int n = snprintf(g->path, sizeof(g->path), "/%s%u", stem, (unsigned)number);

	o->code = OP_OPEN;
	o->plain = 0;
	o->handle = handle;
	o->path = (struct op_str){g->path, (uint32_t)n};
	o->flags = flags | OPF_READ | OPF_WRITE;
	if ((flags & OPF_CREAT) != 0) {
		o->flags |= OPF_MODE;
		o->mode = 0644;
	}
}

void gen_fill(struct op *o, uint32_t handle, uint64_t k, uint64_t size)
{
	gen_io(o, OP_WRITE, handle, k * GEN_FILL, MIN(GEN_FILL, size - k * GEN_FILL));
}

/* Four rounds over the two halves of the next even power of two mix the number and are their own
 * way back, so no two i meet; those that fall behind n go through once more. */
uint64_t gen_shuffled(uint64_t i, uint64_t n, uint64_t seed)
{
	unsigned half = 1;
	uint64_t mask;

	while (half < 31 && ((uint64_t)1 << 2 * half) < n)
		half++;
	mask = ((uint64_t)1 << half) - 1;
	do {
		uint64_t left = i >> half, right = i & mask;

		for (uint64_t round = 0; round < 4; round++) {
			uint64_t f = hash_mix(right + (round << 48) + seed * 0x9e3779b97f4a7c15u);
			uint64_t old = right;

			right = (left ^ (f >> 20)) & mask;
			left = old;
		}
		i = left << half | right;
	} while (i >= n);
	return i;
}

/* What comes behind the steps: MARK "end", then what was asked for. */
static void make_tail(struct generated *s, uint64_t i)
{
	struct op *o = &s->op;

	o->thread = 1;
	o->time = (s->setup + s->g.plan.steps) * s->g.ns;
	if (i == 0) {
		o->code = OP_MARK;
		o->plain = 0;
		o->name = (struct op_str){GENERATE_END, sizeof(GENERATE_END) - 1};
	} else if (s->end == END_SYNC) {
		o->code = OP_SYNCFS;
	} else {
		o->code = OP_CLOSE;
		o->thread = (uint32_t)((i - 1) / s->g.plan.files) + 1;
		o->handle = gen_handle((i - 1) / s->g.plan.files, (i - 1) % s->g.plan.files);
	}
}

static void make_measure(struct generated *s)
{
	struct op *o = &s->op;

	o->code = OP_MARK;
	o->plain = 0;
	o->thread = 1;
	o->time = s->setup * s->g.ns;
	o->name = (struct op_str){GENERATE_MEASURE, sizeof(GENERATE_MEASURE) - 1};
}

/* Behind the open: the file is filled, then cut to nothing. */
static void make_step(struct generated *s)
{
	uint32_t handle = gen_handle(s->proc, 0);

	if (s->step == 0 || s->step > s->warm)
		s->g.is->step(&s->g, s->proc, s->step == 0 ? 0 : s->step - s->warm, &s->op);
	else if (s->step < s->warm)
		gen_fill(&s->op, handle, s->step - 1, s->g.plan.size);
	else
		gen_io(&s->op, OP_FTRUNCATE, handle, 0, 0);
}

/* How many items from next on are steps of the only process, with no mark between them. */
static uint64_t row_from(const struct generated *s, uint64_t next)
{
	if (s->g.plan.procs != 1 || s->step <= s->warm)
		return 0;
	return next <= s->first ? s->first - next : s->setup + s->g.plan.steps - s->step;
}

/* Most ops are plain, and then the last one has nothing to be cleared.  Out of line: the common
 * item needs no registers saved. */
static __attribute__((noinline)) void make_op(struct generated *s)
{
	const struct gen_plan *p = &s->g.plan;
	struct op *o = &s->op;

	if (!o->plain)
		op_clear(o);
	if (s->at == s->first) {
		make_measure(s);
	} else if (s->step == s->setup + p->steps) {
		make_tail(s, s->at - 1 - s->step * p->procs);
	} else {
		o->thread = (uint32_t)s->proc + 1;
		o->time = s->step * s->g.ns;
		if (s->proc != 0)
			o->time += s->proc * s->g.ns / p->procs;
		s->g.same = 0;
		make_step(s);
		s->proc = s->proc + 1 < p->procs ? s->proc + 1 : 0;
		s->step += s->proc == 0;
		s->row = row_from(s, s->at + 1);
	}
	s->at++;
}

/* The common item. */
static void make_next(struct generated *s)
{
	uint64_t k = s->step++;

	s->row--;
	s->at++;
	s->op.time += s->g.ns;
	if (s->g.same != 0) {
		s->g.same--;
		s->op.off += s->op.len;
	} else {
		s->g.is->step(&s->g, 0, k - s->warm, &s->op);
	}
}

static int generated_next(struct op_source *base, const struct op **ret)
{
	struct generated *s = (struct generated *)base;

	*ret = &s->op;
	if (s->row != 0 && s->op.plain) {
		make_next(s);
		return 1;
	}
	if (s->at == s->total)
		return 0;
	make_op(s);
	return 1;
}

static bool generated_whole(const struct op_source *base)
{
	const struct generated *s = (const struct generated *)base;

	return s->at == s->total;
}

static void generated_close(struct op_source *base)
{
	free(base);
}

static void generated_where(const struct op_source *base, char *text, size_t size)
{
	const struct generated *s = (const struct generated *)base;

	snprintf(text, size, "%s%s: op %llu", GENERATE_SCHEME, s->g.is->name,
		 (unsigned long long)s->at);
}

static const struct op_source_ops generated_ops = {
    .next = generated_next,
    .whole = generated_whole,
    .close = generated_close,
    .where = generated_where,
};

/* The value of a key, 0 when the generator has none of that name. */
static void key_named(const struct gen *g, const char *name, uint64_t *ret)
{
	*ret = 0;
	for (unsigned i = 0; g->is->keys[i].name != NULL; i++) {
		if (strcmp(g->is->keys[i].name, name) == 0) {
			*ret = g->v[i];
			return;
		}
	}
}

/* All numbers that come of the keys' values fit. */
static int check_plan(struct generated *s, struct diag *d)
{
	struct gen *g = &s->g;
	uint64_t ns, steps, warm;

	key_named(g, "ns", &ns);
	key_named(g, "end", &s->end);
	key_named(g, "warm", &warm);
	g->ns = ns != 0 ? ns : CALL_NS + g->plan.bytes / BYTES_A_NS;
	s->warm = warm != 0 ? gen_fills(g->plan.size) + 1 : 0;
	s->setup = g->plan.setup + s->warm;
	if (g->plan.steps > STEPS_MAX || s->setup > STEPS_MAX)
		return diag_set(d, -EINVAL, "generate: %s: more than 2^40 calls", g->is->name);
	steps = g->plan.steps + s->setup;
	if (steps > DURATION_MAX / g->ns || steps > DURATION_MAX / g->plan.procs)
		return diag_set(d, -EINVAL, "generate: %s: %llu calls take too long", g->is->name,
				(unsigned long long)steps);
	s->first = s->setup * g->plan.procs;
	s->total = steps * g->plan.procs + 2;
	s->total += s->end == END_SYNC    ? 1
		    : s->end == END_CLOSE ? g->plan.procs * g->plan.files
					  : 0;
	return 0;
}

int generate_open(const char *spec, struct diag *d, struct op_source **ret)
{
	struct generated *s = mem_zero(sizeof(*s));
	int rc;

	if (s == NULL)
		return diag_set(d, -ENOMEM, "generate: no memory");
	rc = generate_values(spec, &s->g, d);
	if (rc == 0)
		rc = s->g.is->plan(&s->g, d);
	if (rc == 0)
		rc = check_plan(s, d);
	if (rc < 0) {
		free(s);
		return rc;
	}
	op_clear(&s->op);
	s->base.ops = &generated_ops;
	s->base.d = d;
	s->base.header.text = "wtrace 1\nunit ns\nsource generator\nclock virtual start=0";
	s->base.header.len = strlen(s->base.header.text);
	s->base.header.version = 1;
	*ret = &s->base;
	return 0;
}

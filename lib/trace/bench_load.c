/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One load on one target: the ops of a generator, timed and counted between its marks, then until
 * all of it is durable.  Files are made with O_EXCL, so nothing that was there is written to, and
 * what was made is remembered to be removed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "trace/bench.h"
#include "trace/crew.h"
#include "trace/generate.h"
#include "trace/target.h"

#define BENCH_HZ      250u
#define PROGRESS_STEP 4096u

struct load {
	struct ek_ctx *ctx;
	struct target *target;
	struct op_source *source;
	struct bench_flusher *flusher; /* of a folder; NULL: none */
	char (*made)[32];
	uint32_t nmade;
	uint64_t ops;
	uint64_t wall, cpu; /* at "measure" */
	struct counters base;
	bool measuring;
	struct bench_result r;
	uint64_t read_bytes, written_bytes;
};

static void counters_now(struct load *l, struct counters *ret)
{
	const struct counters *c = l->target->ops->counters(l->target);

	l->r.counted = c != NULL;
	if (c != NULL)
		*ret = *c;
	else
		memset(ret, 0, sizeof(*ret));
}

/* What was added to counters since the base. */
static void counters_since(struct load *l, struct counters *ret)
{
	const uint64_t *b = (const uint64_t *)&l->base;
	uint64_t *v = (uint64_t *)ret;

	counters_now(l, ret);
	for (size_t i = 0; i < sizeof(*ret) / sizeof(*v); i++)
		v[i] -= b[i];
}

static void on_mark(struct load *l, const struct op *o)
{
	if (strcmp(o->name.p, GENERATE_MEASURE) == 0) {
		counters_now(l, &l->base);
		l->measuring = true;
		l->cpu = host_ns(CLOCK_PROCESS_CPUTIME_ID);
		l->wall = host_ns(CLOCK_MONOTONIC);
	} else if (strcmp(o->name.p, GENERATE_END) == 0) {
		l->r.wall_ns = host_ns(CLOCK_MONOTONIC) - l->wall;
		l->r.cpu_ns = host_ns(CLOCK_PROCESS_CPUTIME_ID) - l->cpu;
		l->measuring = false;
		counters_since(l, &l->r.calls_c);
	}
}

/* A file that is made must not be there: 1 when this open is the first of its path. */
static int note_open(struct load *l, const struct op *o)
{
	if (o->code != OP_OPEN || (o->flags & OPF_CREAT) == 0)
		return 0;
	for (uint32_t i = 0; i < l->nmade; i++)
		if (strcmp(l->made[i], o->path.p) == 0)
			return 0;
	if (l->nmade == BENCH_FILES_MAX || o->path.n >= sizeof(l->made[0]))
		return diag_set(&l->ctx->diag, -EINVAL, "bench: more than %u files",
				BENCH_FILES_MAX);
	memcpy(l->made[l->nmade++], o->path.p, o->path.n + 1);
	return 1;
}

static void note_call(struct load *l, const struct op *o)
{
	if (!l->measuring)
		return;
	l->r.calls++;
	if (o->code == OP_READ) {
		l->read_bytes += o->len;
	} else {
		l->written_bytes += o->len;
		l->r.writes++;
		if (l->flusher != NULL)
			bench_flusher_wrote(l->flusher, l->written_bytes);
	}
}

static int tell(struct load *l, const struct op *o, int rc)
{
	if (l->ctx->diag.code != 0)
		return rc;
	if (o->code == OP_OPEN)
		return diag_set(&l->ctx->diag, rc, "bench: cannot make %s: %s", o->path.p,
				rc == -EEXIST ? "there is such a file" : strerror(-rc));
	return diag_set(&l->ctx->diag, rc, "bench: %s at %llu, %llu bytes: %s",
			op_word((enum op_code)o->code), (unsigned long long)o->off,
			(unsigned long long)o->len, strerror(-rc));
}

static inline int run_op(struct load *l, const struct op *o)
{
	int rc = l->target->ops->tick(l->target, o->time);

	if (rc == 0)
		rc = l->target->ops->op(l->target, o);
	return rc < 0 ? tell(l, o, rc) : 0;
}

static int tell_progress(struct load *l)
{
	struct ek_progress p = {"load", l->ops, 0, "ops"};

	return ctx_progress(l->ctx, &p);
}

/* Workers end what comes before a mark. */
static int one_mark(struct load *l, const struct op *o)
{
	int rc = l->target->ops->op(l->target, o);

	if (rc < 0)
		return tell(l, o, rc);
	on_mark(l, o);
	return 0;
}

/* Reads and writes: nearly all. */
static inline int one_call(struct load *l, const struct op *o)
{
	int rc;

	note_call(l, o);
	rc = run_op(l, o);
	return rc < 0 || ++l->ops % PROGRESS_STEP != 0 ? rc : tell_progress(l);
}

static int one_other(struct load *l, const struct op *o)
{
	struct op first;
	int rc, made;

	if (o->code == OP_MARK)
		return one_mark(l, o);
	made = note_open(l, o);
	if (made < 0)
		return made;
	if (made > 0) {
		first = *o;
		first.flags |= OPF_EXCL;
		o = &first;
	}
	rc = run_op(l, o);
	l->nmade -= rc < 0 && made > 0; /* not ours to remove */
	if (rc == 0 && made > 0 && l->flusher != NULL)
		rc = bench_flusher_file(l->flusher, l->made[l->nmade - 1], &l->ctx->diag);
	return rc;
}

static int remove_made(struct load *l)
{
	struct op o;
	int rc = 0;

	for (uint32_t i = 0; i < l->nmade; i++) {
		int one;

		op_clear(&o);
		o.code = OP_UNLINK;
		o.plain = 0;
		o.path = (struct op_str){l->made[i], (uint32_t)strlen(l->made[i])};
		one = l->target->ops->op(l->target, &o);
		rc = rc < 0 ? rc : one;
	}
	return rc;
}

static int wait_for_all(struct load *l)
{
	struct op mark;

	op_clear(&mark);
	mark.code = OP_MARK;
	return l->target->ops->op(l->target, &mark);
}

static int run_load(struct load *l, bool clean)
{
	const struct op *o;
	int rc = l->target->ops->begin(l->target), end;

	while (rc == 0 && (rc = op_next(l->source, &o)) == 1)
		rc = o->code == OP_READ || o->code == OP_WRITE ? one_call(l, o) : one_other(l, o);
	if (rc == 0)
		rc = wait_for_all(l);
	if (rc == 0) {
		l->r.whole_ns = host_ns(CLOCK_MONOTONIC) - l->wall;
		l->r.bytes = MAX(l->read_bytes, l->written_bytes);
		counters_since(l, &l->r.whole_c);
	}
	end = clean ? remove_made(l) : 0;
	rc = rc < 0 ? rc : end;
	if (rc < 0 && !clean)
		return rc;
	end = l->target->ops->finish(l->target);
	return rc < 0 ? rc : end;
}

static int tell_later(void *ctx, const struct op *o, int rc)
{
	return tell(ctx, o, rc);
}

static int open_target(struct load *l, const char *target, const struct ek_replay_options *opt,
		       bool flusher)
{
	struct diag *d = &l->ctx->diag;
	int rc;

	if (strncmp(target, "dir:", 4) == 0) {
		rc = target_open_folder(target + 4, opt, d, &l->target);
		return rc < 0 || !flusher
			   ? rc
			   : bench_flusher_start(target + 4, opt->background_bytes, d, &l->flusher);
	}
	rc = target_open_image(target, opt, (struct ek_time){1700000000, 0}, BENCH_HZ, d,
			       &l->target);
	if (rc < 0 || (opt->threads <= 1 && !flusher))
		return rc;
	return crew_open(l->target, MAX(opt->threads, 1u), false, tell_later, l, d, &l->target);
}

int bench_load(struct ek_ctx *ctx, const char *spec, const char *target,
	       const struct ek_replay_options *opt, bool flusher, bool clean,
	       struct bench_result *ret)
{
	struct load *l = mem_zero(sizeof(*l));
	int rc;

	if (l == NULL || (l->made = mem_zero(BENCH_FILES_MAX * sizeof(l->made[0]))) == NULL) {
		free(l);
		return diag_set(&ctx->diag, -ENOMEM, "bench: no memory");
	}
	l->ctx = ctx;
	rc = generate_open(spec, &ctx->diag, &l->source);
	if (rc == 0)
		rc = open_target(l, target, opt, flusher);
	if (rc == 0)
		rc = run_load(l, clean);
	if (rc == 0)
		*ret = l->r;
	bench_flusher_stop(l->flusher);
	if (l->target != NULL)
		l->target->ops->close(l->target);
	op_source_close(l->source);
	free(l->made);
	free(l);
	return rc;
}

int bench_loop(const char *spec, struct diag *d, double *ret)
{
	struct op_source *s;
	const struct op *o;
	uint64_t start, n = 0;
	int rc = generate_open(spec, d, &s);

	if (rc < 0)
		return rc;
	start = host_ns(CLOCK_MONOTONIC);
	while (n < 1000000 && op_next(s, &o) == 1)
		n++;
	*ret = (double)(host_ns(CLOCK_MONOTONIC) - start) / (double)MAX(n, 1u);
	op_source_close(s);
	return 0;
}

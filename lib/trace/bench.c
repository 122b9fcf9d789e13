/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a study: for each cell, run after run, every system once, each run beginning with another
 * system so that a machine that slows down slows all of them.  A system whose write path is not
 * there gets no run but the reason.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "fs/policy.h"
#include "trace/bench.h"

#define RUNS      3u
#define SCALE     10u
#define SCALE_MAX 1000u
#define PROCS_MAX 64u

static const struct bench_study *const studies[EK_BENCH_STUDIES] = {
    &bench_study1, &bench_study2, &bench_study3, &bench_study4, &bench_study5,
};

struct bench {
	struct ek_ctx *ctx;
	struct ek_bench_options opt;
	const struct bench_study *study;
	struct ek_bench_report *report;
	struct bench_system systems[BENCH_SYSTEMS + 1];
	char *why[BENCH_SYSTEMS + 1];
	bool chosen[BENCH_SYSTEMS + 1];
	size_t nsystems;
	bool folder_only; /* the kernel's write path is the only one */
	struct bench_series *series;
	uint64_t done, total; /* runs */
};

const char *ek_bench_title(unsigned study)
{
	return study >= 1 && study <= EK_BENCH_STUDIES && studies[study - 1] != NULL
		   ? studies[study - 1]->title
		   : NULL;
}

static bool is_folder(const char *target)
{
	return target != NULL && strncmp(target, "dir:", 4) == 0;
}

/* ---- options ---- */

static int check_options(struct bench *b)
{
	struct diag *d = &b->ctx->diag;
	struct ek_bench_options *o = &b->opt;

	if (o->kernel != NULL && b->study->run != NULL)
		return diag_set(d, -EINVAL, "bench: the kernel has no part in this study");
	if (o->kernel != NULL && !is_folder(o->kernel))
		return diag_set(d, -EINVAL, "bench: kernel %s: not dir: and a folder", o->kernel);
	if (is_folder(o->target) && b->study->run == NULL) {
		b->folder_only = true;
		o->kernel = o->target;
		o->target = NULL;
	}
	o->runs = o->runs != 0 ? o->runs : RUNS;
	o->scale = o->scale != 0 ? o->scale : SCALE;
	o->procs = o->procs != 0 ? o->procs : 1;
	if (o->runs > BENCH_RUNS)
		return diag_set(d, -EINVAL, "bench: %u runs: at most %u", o->runs, BENCH_RUNS);
	if (o->scale > SCALE_MAX)
		return diag_set(d, -EINVAL, "bench: scale %u: at most %u %%", o->scale, SCALE_MAX);
	if (o->procs > PROCS_MAX)
		return diag_set(d, -EINVAL, "bench: %u writers: at most %u", o->procs, PROCS_MAX);
	return 0;
}

static int read_options(struct bench *b, const struct ek_bench_options *opt)
{
	if (opt != NULL && (opt->size < sizeof(opt->size) || opt->size > 4096))
		return diag_set(&b->ctx->diag, -EINVAL, "bench options of %zu bytes", opt->size);
	if (opt != NULL)
		memcpy(&b->opt, opt, MIN(opt->size, sizeof(b->opt)));
	return check_options(b);
}

/* ---- systems ---- */

static size_t sets_of(const struct bench_system *s)
{
	size_t n = 0;

	while (n < BENCH_SETS && s->set[n] != NULL)
		n++;
	return n;
}

/* The policy layer's word on whether a system can run; NULL when it can, else owned. */
static int find_reason(const struct bench_system *s, char **ret)
{
	struct diag d = {.code = 0};
	struct policy p;
	int rc = policy_choose(s->policy, s->set, sets_of(s), &d, &p);

	if (rc == 0)
		return 0;
	*ret = strdup(d.text);
	return *ret != NULL ? 0 : -ENOMEM;
}

static bool is_named(const struct bench *b, const struct bench_system *s)
{
	return b->opt.system == NULL || strstr(s->name, b->opt.system) != NULL;
}

/* A word that fits none would leave the first alone, with nothing to compare. */
static int check_named(const struct bench *b)
{
	for (size_t i = 0; i < b->study->nsystems; i++)
		if (is_named(b, &b->study->systems[i]))
			return 0;
	if (b->opt.kernel != NULL && strstr("kernel", b->opt.system) != NULL)
		return 0;
	return diag_set(&b->ctx->diag, -EINVAL, "bench: no system's name holds '%s'",
			b->opt.system);
}

static int choose_systems(struct bench *b)
{
	int rc = check_named(b);

	for (size_t i = 0; i < b->study->nsystems && rc == 0; i++) {
		struct bench_system *s = &b->systems[b->nsystems];

		*s = b->study->systems[i];
		b->chosen[b->nsystems] = !b->folder_only && (i == 0 || is_named(b, s));
		if (b->chosen[b->nsystems])
			rc = find_reason(s, &b->why[b->nsystems]);
		b->nsystems++;
	}
	if (b->opt.kernel != NULL) {
		b->systems[b->nsystems] = (struct bench_system){.name = "kernel"};
		b->chosen[b->nsystems++] = true;
	}
	return rc;
}

/* ---- runs ---- */

static void set_replay(const struct bench *b, const struct bench_cell *cell, size_t i,
		       struct ek_replay_options *ret)
{
	const struct bench_system *s = &b->systems[i];

	*ret = (struct ek_replay_options){
	    .size = sizeof(*ret),
	    .flags = cell->warm ? EK_REPLAY_POPULATE : 0,
	    .memory = cell->memory,
	    .background_bytes = cell->background,
	    .dirty_bytes = cell->dirty,
	    .pace_extent_ns = cell->extent_ns,
	    .pace_page_ns = cell->page_ns,
	    .policy = s->policy,
	    .set = s->set,
	    .nset = sets_of(s),
	    .threads = b->opt.threads,
	};
}

static int run_once(struct bench *b, const struct bench_cell *cell, size_t i)
{
	bool kernel = i >= b->study->nsystems;
	struct bench_scratch scratch = {.made = false};
	const char *target = kernel ? b->opt.kernel : b->opt.target;
	struct ek_replay_options opt;
	struct bench_result r;
	int rc = 0;

	set_replay(b, cell, i, &opt);
	if (b->study->run != NULL) {
		rc = b->study->run(b->ctx, cell, &b->systems[i], target, &r);
	} else if (target == NULL) {
		rc = bench_scratch_make(b->ctx, cell, &scratch);
		target = scratch.path;
	}
	if (rc == 0 && b->study->run == NULL)
		rc = bench_load(b->ctx, cell->spec, target, &opt, cell->flusher, !scratch.made, &r);
	if (rc == 0)
		bench_series_add(&b->series[i], b->study, &r);
	bench_scratch_drop(&scratch);
	return rc;
}

/* What a system refuses on the way is a reason too. */
static int run_or_reason(struct bench *b, const struct bench_cell *cell, size_t i)
{
	struct bench_series *s = &b->series[i];
	struct ek_progress p = {"bench", b->done++, b->total, "runs"};
	int rc = ctx_progress(b->ctx, &p);

	if (rc < 0 || s->why != NULL)
		return rc;
	rc = run_once(b, cell, i);
	if (rc != -EOPNOTSUPP)
		return rc;
	s->why = strdup(b->ctx->diag.text);
	diag_clear(&b->ctx->diag);
	return s->why != NULL ? 0 : -ENOMEM;
}

static int begin_cell(struct bench *b, const struct bench_cell *cell)
{
	for (size_t i = 0; i < b->nsystems; i++) {
		b->series[i].runs = 0;
		b->series[i].why = NULL;
		if (b->chosen[i] && b->why[i] != NULL && (cell->skip & 1u << i) == 0) {
			b->series[i].why = strdup(b->why[i]);
			if (b->series[i].why == NULL)
				return -ENOMEM;
		}
	}
	return 0;
}

static int run_cell(struct bench *b, const struct bench_cell *cell)
{
	int rc = begin_cell(b, cell);

	for (uint32_t run = 0; run < b->opt.runs && rc == 0; run++) {
		for (size_t k = 0; k < b->nsystems && rc == 0; k++) {
			size_t i = (k + run) % b->nsystems;

			if (b->chosen[i] && (cell->skip & 1u << i) == 0)
				rc = run_or_reason(b, cell, i);
		}
	}
	if (rc == 0)
		rc = bench_report_cell(b->report, cell, b->series, b->systems, b->nsystems);
	for (size_t i = 0; i < b->nsystems; i++) {
		free(b->series[i].why);
		b->series[i].why = NULL;
	}
	return rc;
}

static bool next_cell(const struct bench *b, size_t *i, struct bench_cell *ret)
{
	do {
		memset(ret, 0, sizeof(*ret));
		if (!b->study->cell((*i)++, &b->opt, ret))
			return false;
	} while (b->opt.only != NULL && strstr(ret->name, b->opt.only) == NULL);
	return true;
}

static int count_runs(struct bench *b)
{
	struct bench_cell cell;
	uint64_t cells = 0, pairs = 0;

	for (size_t i = 0; next_cell(b, &i, &cell); cells++)
		for (size_t k = 0; k < b->nsystems; k++)
			pairs += b->chosen[k] && (cell.skip & 1u << k) == 0;
	b->total = pairs * b->opt.runs;
	return cells != 0 ? 0
			  : diag_set(&b->ctx->diag, -EINVAL, "bench: no cell's name holds '%s'",
				     b->opt.only);
}

static void note_load(double *ret)
{
	if (getloadavg(ret, 1) != 1)
		*ret = 0;
}

static int run_cells(struct bench *b)
{
	struct ek_bench_machine *m = bench_report_machine(b->report);
	struct bench_cell cell;
	int rc = count_runs(b);

	m->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	m->runs = b->opt.runs;
	m->scale = b->opt.scale;
	note_load(&m->load_before);
	for (size_t i = 0; rc == 0 && next_cell(b, &i, &cell);) {
		if (m->loop_ns <= 0 && b->study->run == NULL)
			rc = bench_loop(cell.spec, &b->ctx->diag, &m->loop_ns);
		if (rc == 0)
			rc = run_cell(b, &cell);
	}
	note_load(&m->load_after);
	return rc;
}

int ek_bench_run(struct ek_ctx *ctx, unsigned study, const struct ek_bench_options *opt,
		 struct ek_bench_report **ret)
{
	struct bench b = {.ctx = ctx};
	int rc;

	diag_clear(&ctx->diag);
	if (ek_bench_title(study) == NULL)
		return diag_set(&ctx->diag, -EINVAL, "bench: there is no study %u", study);
	b.study = studies[study - 1];
	rc = read_options(&b, opt);
	if (rc == 0)
		rc = choose_systems(&b);
	b.series = mem_array(BENCH_SYSTEMS + 1, sizeof(*b.series), MEM_CAP, NULL);
	b.report = bench_report_new(b.study);
	if (rc == 0)
		rc = b.series != NULL && b.report != NULL ? run_cells(&b) : -ENOMEM;
	for (size_t i = 0; i < b.nsystems; i++)
		free(b.why[i]);
	free(b.series);
	if (rc < 0) {
		ek_bench_free(b.report);
		return rc == -ENOMEM ? diag_set(&ctx->diag, rc, "bench: no memory") : rc;
	}
	*ret = b.report;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The public verbs: a source, perhaps a filter in front of it, a sink, and a report of what passed.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/ctx.h"
#include "trace/filter.h"
#include "trace/fio_write.h"
#include "trace/import.h"
#include "trace/job.h"
#include "trace/report.h"
#include "trace/wtr.h"

/* Items between two reports of progress. */
#define PROGRESS_STEP 65536u

struct job {
	struct ek_ctx *ctx;
	struct ek_trace_options opt;
	struct op_source *source;    /* behind all filters */
	struct op_source *first;     /* the one the filters stand in front of */
	enum ek_trace_format format; /* of the input */
	struct job_output out;
	struct tally *tally;
	struct ek_trace_report *report;
	struct notes notes; /* what reading passed over */
	uint64_t items;
	int read_error; /* of a repair: where reading ended */
};

/* Wraps the source in a filter. */
typedef int wrap_fn(struct op_source *in, const struct ek_trace_options *opt,
		    struct op_source **ret);

static int no_memory(struct job *j)
{
	return diag_set(&j->ctx->diag, -ENOMEM, "trace: no memory");
}

static int job_open(struct job *j, struct ek_ctx *ctx, const char *const *inputs, unsigned n,
		    const struct ek_trace_options *opt, bool repair)
{
	int err;

	memset(j, 0, sizeof(*j));
	diag_clear(&ctx->diag);
	j->ctx = ctx;
	err = job_options(opt, &ctx->diag, &j->opt);
	if (err == 0)
		err = job_source(inputs, n, &j->opt, repair, &ctx->diag, &j->source, &j->format);
	if (err < 0)
		return err;
	j->first = j->source;
	j->source->notes = &j->notes;
	j->tally = tally_new();
	j->report = report_new();
	return j->tally && j->report ? 0 : no_memory(j);
}

/* Puts a filter in front.  A filter closes what it was given when it fails. */
static int job_wrap(struct job *j, wrap_fn *wrap)
{
	struct op_source *in = j->source;
	int err;

	j->source = NULL;
	err = wrap(in, &j->opt, &j->source);
	if (err < 0)
		j->first = NULL;
	return err;
}

static int wrap_data(struct op_source *in, const struct ek_trace_options *opt,
		     struct op_source **ret)
{
	if (!(opt->flags & (EK_TRACE_SCRUB | EK_TRACE_CHECKSUMS))) {
		*ret = in;
		return 0;
	}
	return data_filter(in, opt->flags & EK_TRACE_SCRUB ? DATA_SCRUB : DATA_KEEP_CHECKSUM, ret);
}

static int wrap_cut(struct op_source *in, const struct ek_trace_options *opt,
		    struct op_source **ret)
{
	struct cut_range range = {opt->from_ns, opt->to_ns, opt->first, opt->last,
				  (opt->flags & EK_TRACE_REBASE) != 0};

	return cut_filter(in, &range, ret);
}

static int wrap_normalize(struct op_source *in, const struct ek_trace_options *opt,
			  struct op_source **ret)
{
	unsigned flags = (opt->flags & EK_TRACE_NO_TIMES ? NORMALIZE_NO_TIMES : 0) |
			 (opt->flags & EK_TRACE_NO_READS ? NORMALIZE_NO_READS : 0) |
			 (opt->flags & EK_TRACE_NO_OBSERVED ? NORMALIZE_NO_OBSERVED : 0) |
			 (opt->flags & EK_TRACE_SORT ? NORMALIZE_SORT : 0);

	return normalize_filter(in, flags, ret);
}

static int one_item(struct job *j, const struct op *o)
{
	int err = 0;

	if (++j->items % PROGRESS_STEP == 0) {
		struct ek_progress p = {"copy ops", j->items, 0, "ops"};

		err = ctx_progress(j->ctx, &p);
	}
	if (err == 0 && tally_count(j->tally, o) < 0)
		err = no_memory(j);
	if (err == 0 && j->out.sink)
		err = op_write(j->out.sink, o);
	return err;
}

/* Reads all, writes all when there is an output. */
static int job_run(struct job *j, bool repair)
{
	const struct op *o;
	int err = j->out.sink ? op_sink_header(j->out.sink, &j->source->header) : 0, got = 0;

	while (err == 0 && (got = op_next(j->source, &o)) > 0)
		err = one_item(j, o);
	if (err == 0 && got < 0) {
		j->read_error = got;
		err = repair && got != -ENOMEM ? 0 : got;
	}
	if (err == 0 && j->out.sink)
		err = op_finish(j->out.sink, got == 0 && op_whole(j->source));
	return err;
}

static bool is_import(const struct job *j)
{
	return j->format != EK_TRACE_WTR && j->format != EK_TRACE_WTB;
}

/* A log of which nothing made sense is another kind of file. */
static int check_import(struct job *j, const char *name)
{
	const struct import_counts *c = is_import(j) ? import_counts(j->first) : NULL;

	if (c == NULL || c->cut == 0 || c->calls + c->outside + c->ignored != 0)
		return 0;
	return diag_set(&j->ctx->diag, -EINVAL, "trace: %s: none of its %llu lines makes sense",
			name, (unsigned long long)c->lines);
}

/* What reading of text had to overlook. */
static int report_text(struct job *j)
{
	const struct wtr_counts *c = wtr_source_counts(j->first);
	int err = report_add(j->report, "trace", "lines", false, c->lines, 0, 0);

	if (err == 0 && (j->opt.flags & EK_TRACE_LENIENT))
		err = report_add(j->report, "trace", "unknown ops", false, c->unknown_ops, 0, 0);
	if (err == 0 && (j->opt.flags & EK_TRACE_LENIENT))
		err =
		    report_add(j->report, "trace", "unknown words", false, c->unknown_words, 0, 0);
	if (err == 0 && c->bad_lines != 0)
		err = report_add(j->report, "trace", "bad lines", false, c->bad_lines, 0, 0);
	return err;
}

static int write_report(struct job *j, bool full)
{
	bool whole = j->read_error == 0 && op_whole(j->source);
	int err = is_import(j) ? report_import(j->report, j->first) : 0;

	if (err == 0)
		err = report_tally(j->report, j->tally, whole, full);
	if (err == 0 && j->out.sink && j->out.format == EK_TRACE_FIO)
		err = report_add(j->report, "trace", "ops left out", false,
				 fio_sink_left_out(j->out.sink), 0, 0);
	if (err == 0 && j->format == EK_TRACE_WTR)
		err = report_text(j);
	if (err == 0)
		err = report_notes(j->report, &j->notes);
	return err < 0 ? no_memory(j) : 0;
}

/* Ends a job: names or removes the output, hands the report over, frees the rest. */
static int job_end(struct job *j, int err, struct ek_trace_report **ret)
{
	if (j->out.path) {
		int closed = job_close(&j->out, err == 0, &j->ctx->diag);

		err = err < 0 ? err : closed;
	}
	op_source_close(j->source);
	tally_free(j->tally);
	notes_free(&j->notes);
	if (err == 0 && ret)
		*ret = j->report;
	else
		ek_trace_report_free(j->report);
	return err;
}

/* From inputs to output through a filter (or NULL). */
static int copy_job(struct ek_ctx *ctx, const char *const *inputs, unsigned n, const char *output,
		    const struct ek_trace_options *opt, wrap_fn *wrap, struct ek_trace_report **ret)
{
	struct job j;
	int err = job_open(&j, ctx, inputs, n, opt, false);

	/* Importers drop bytes themselves. */
	if (err == 0 && !is_import(&j))
		err = job_wrap(&j, wrap_data);
	if (err == 0 && wrap)
		err = job_wrap(&j, wrap);
	if (err == 0)
		err = job_create(output, &j.opt, &ctx->diag, &j.out);
	if (err == 0)
		err = job_run(&j, false);
	if (err == 0)
		err = check_import(&j, inputs[0]);
	if (err == 0)
		err = write_report(&j, false);
	return job_end(&j, err, ret);
}

EK_EXPORT int ek_trace_import(struct ek_ctx *ctx, const char *const *logs, unsigned n,
			      const char *output, const struct ek_trace_options *opt,
			      struct ek_trace_report **ret)
{
	return copy_job(ctx, logs, n, output, opt, NULL, ret);
}

EK_EXPORT int ek_trace_convert(struct ek_ctx *ctx, const char *input, const char *output,
			       const struct ek_trace_options *opt, struct ek_trace_report **ret)
{
	return copy_job(ctx, &input, 1, output, opt, NULL, ret);
}

EK_EXPORT int ek_trace_cut(struct ek_ctx *ctx, const char *input, const char *output,
			   const struct ek_trace_options *opt, struct ek_trace_report **ret)
{
	return copy_job(ctx, &input, 1, output, opt, wrap_cut, ret);
}

EK_EXPORT int ek_trace_normalize(struct ek_ctx *ctx, const char *input, const char *output,
				 const struct ek_trace_options *opt, struct ek_trace_report **ret)
{
	return copy_job(ctx, &input, 1, output, opt, wrap_normalize, ret);
}

EK_EXPORT int ek_trace_stat(struct ek_ctx *ctx, const char *input,
			    const struct ek_trace_options *opt, struct ek_trace_report **ret)
{
	struct job j;
	int err = job_open(&j, ctx, &input, 1, opt, false);

	if (err == 0)
		err = job_run(&j, false);
	if (err == 0)
		err = write_report(&j, true);
	return job_end(&j, err, ret);
}

/* How far a repair came; a story of where reading ended becomes the name of a row. */
static int report_repair(struct job *j)
{
	int err = report_add(j->report, "repair", "kept", false, j->items, 0, 0);

	if (err == 0 && j->read_error)
		err = report_add(j->report, "repair", j->ctx->diag.text, true, 1, 0, 0);
	diag_clear(&j->ctx->diag);
	return err;
}

EK_EXPORT int ek_trace_repair(struct ek_ctx *ctx, const char *input, const char *output,
			      const struct ek_trace_options *opt, struct ek_trace_report **ret)
{
	struct job j;
	int err = job_open(&j, ctx, &input, 1, opt, true);

	if (err == 0)
		err = job_create(output, &j.opt, &ctx->diag, &j.out);
	if (err == 0)
		err = job_run(&j, true);
	if (err == 0)
		err = write_report(&j, false);
	if (err == 0 && report_repair(&j) < 0)
		err = no_memory(&j);
	return job_end(&j, err, ret);
}

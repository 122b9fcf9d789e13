/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extkit trace: import logs of other tools, export, count, cut, tidy and repair traces.  Each
 * sub-verb is one call of the library; they share one option struct, of which each offers a part.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "extkit/trace.h"
#include "fail.h"
#include "show.h"

struct trace_opts {
	const char *to; /* -o, "-" when absent */
	int input, output;
	struct opt_num level;
	bool lenient, no_reads, scrub, checksums;
	/* import */
	const char *root, *cwd, *initial, *extents, *device;
	bool guess_stores, observed, events_only, wait_relative;
	/* cut */
	struct opt_num from, until, first, last;
	bool rebase;
	/* normalize */
	bool no_times, no_observed, sort;
};

#define T struct trace_opts

#define ROW_TO                                 \
	OPT_FILE(T, to, 'o', "to", N_("FILE"), \
		 N_("write to FILE: .wtr is text, .wtb binary; else standard output"))
#define ROW_INPUT                                                          \
	OPT_CHOICE(T, input, 0, "input", "auto|wtr|wtb|fio|strace|events", \
		   N_("what the input is, when its content leaves doubt"))
#define ROW_OUTPUT OPT_CHOICE(T, output, 0, "output", "auto|wtr|wtb|fio", N_("the form to write"))
#define ROW_LEVEL \
	OPT_NUMBER(T, level, 0, "level", N_("N"), N_("zstd level of compressed output, usually 3"))
#define ROW_LENIENT  OPT_FLAG(T, lenient, 0, "lenient", N_("count what cannot be read and go on"))
#define ROW_NO_READS OPT_FLAG(T, no_reads, 0, "no-reads", N_("leave reads out"))
#define ROW_SCRUB    OPT_FLAG(T, scrub, 0, "scrub", N_("drop recorded bytes and their checksums"))
#define ROW_CHECKSUMS                          \
	OPT_FLAG(T, checksums, 0, "checksums", \
		 N_("keep checksums of recorded bytes, not the bytes"))

static const struct opt import_options[] = {
    ROW_TO,
    OPT_FILE(T, root, 'r', "root", N_("DIR"), N_("the traced folder, which becomes /")),
    OPT_FILE(T, cwd, 0, "cwd", N_("DIR"), N_("where the first process was")),
    OPT_FILE(T, initial, 'i', "initial", N_("FILE"),
	     N_("the files before the recording, a table or a trace")),
    OPT_FILE(T, extents, 0, "extents", N_("FILE"), N_("their extents, a table")),
    OPT_TEXT(T, device, 0, "device", N_("MAJOR:MINOR"), N_("kernel events of this device only")),
    ROW_INPUT,
    ROW_OUTPUT,
    ROW_LEVEL,
    ROW_NO_READS,
    ROW_SCRUB,
    ROW_CHECKSUMS,
    OPT_FLAG(T, guess_stores, 0, "guess-stores",
	     N_("strace: take an msync for stores to all of its range")),
    OPT_FLAG(T, observed, 0, "observed", N_("kernel events: keep them as observed lines too")),
    OPT_FLAG(T, events_only, 0, "events-only", N_("kernel events: observed lines, no operations")),
    OPT_FLAG(T, wait_relative, 0, "wait-relative",
	     N_("fio version 2: waits count from the line before")),
    OPT_END,
};

static const struct opt export_options[] = {
    ROW_TO,       ROW_OUTPUT, ROW_INPUT,     ROW_LEVEL, ROW_LENIENT,
    ROW_NO_READS, ROW_SCRUB,  ROW_CHECKSUMS, OPT_END,
};

static const struct opt stat_options[] = {ROW_INPUT, ROW_LENIENT, OPT_END};

static const struct opt cut_options[] = {
    ROW_TO,
    OPT_TIME(T, from, 0, "from", N_("TIME"), N_("begin this long after the start")),
    OPT_TIME(T, until, 0, "until", N_("TIME"), N_("end before this time")),
    OPT_NUMBER(T, first, 0, "first", N_("N"), N_("begin with item N, counted from 0")),
    OPT_NUMBER(T, last, 0, "last", N_("N"), N_("end before item N")),
    OPT_FLAG(T, rebase, 0, "rebase", N_("let time begin with 0")),
    ROW_OUTPUT,
    ROW_INPUT,
    ROW_LEVEL,
    ROW_LENIENT,
    OPT_END,
};

static const struct opt normalize_options[] = {
    ROW_TO,
    OPT_FLAG(T, no_times, 0, "no-times", N_("leave times and durations out")),
    OPT_FLAG(T, no_observed, 0, "no-observed", N_("leave observed lines out")),
    OPT_FLAG(T, sort, 0, "sort", N_("bring items in the order of their start")),
    ROW_OUTPUT,
    ROW_INPUT,
    ROW_LEVEL,
    ROW_LENIENT,
    OPT_END,
};

static const struct opt repair_options[] = {ROW_TO, ROW_OUTPUT, ROW_INPUT, ROW_LEVEL, OPT_END};

/* ---- from the command line to the library ---- */

static unsigned flags_of(const struct trace_opts *o)
{
	const struct {
		bool set;
		unsigned flag;
	} rows[] = {
	    {o->lenient, EK_TRACE_LENIENT},
	    {o->no_reads, EK_TRACE_NO_READS},
	    {o->scrub, EK_TRACE_SCRUB},
	    {o->checksums, EK_TRACE_CHECKSUMS},
	    {o->guess_stores, EK_TRACE_GUESS_STORES},
	    {o->observed, EK_TRACE_OBSERVED},
	    {o->events_only, EK_TRACE_EVENTS_ONLY},
	    {o->wait_relative, EK_TRACE_WAIT_RELATIVE},
	    {o->no_times, EK_TRACE_NO_TIMES},
	    {o->no_observed, EK_TRACE_NO_OBSERVED},
	    {o->sort, EK_TRACE_SORT},
	    {o->rebase, EK_TRACE_REBASE},
	};
	unsigned flags = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		flags |= rows[i].set ? rows[i].flag : 0;
	return flags;
}

/* "7:3" */
static int device_of(const char *text, struct ek_trace_options *opt)
{
	char major[16];
	size_t n = strcspn(text, ":");
	uint64_t maj, min;

	if (n >= sizeof(major) || text[n] != ':')
		return -1;
	memcpy(major, text, n);
	major[n] = '\0';
	if (opt_number(major, &maj) != 0 || opt_number(text + n + 1, &min) != 0 ||
	    maj > UINT32_MAX || min > UINT32_MAX)
		return -1;
	opt->dev_major = (uint32_t)maj;
	opt->dev_minor = (uint32_t)min;
	return 0;
}

/* Fills opt; an exit code that is not 0 ends the verb. */
static int options_of(struct run *run, struct ek_trace_options *opt)
{
	const struct trace_opts *o = run->opts;

	*opt = (struct ek_trace_options){
	    .size = sizeof(*opt),
	    .input = (unsigned)o->input,
	    .output = (unsigned)o->output,
	    .flags = flags_of(o),
	    .root = o->root,
	    .cwd = o->cwd,
	    .initial = o->initial,
	    .extents = o->extents,
	    .from_ns = o->from.v,
	    .to_ns = o->until.v,
	    .first = o->first.v,
	    .last = o->last.v,
	};
	if (o->level.set && (o->level.v < 1 || o->level.v > 22))
		return fail_usage(run, _("--level: zstd has levels 1 to 22"));
	opt->level = (int)o->level.v;
	if (o->device != NULL && device_of(o->device, opt) != 0)
		return fail_usage(run, _("--device: '%s' is not MAJOR:MINOR"), o->device);
	return EXIT_DONE;
}

/* Where the trace goes.  The report must not get between its lines. */
static int target_of(struct run *run, const char **ret)
{
	const struct trace_opts *o = run->opts;

	*ret = o->to != NULL ? o->to : "-";
	if (strcmp(*ret, "-") != 0)
		return EXIT_DONE;
	if (run->json)
		return fail_usage(run, _("--json needs standard output for itself: use --to=FILE"));
	out_divert(run->out, stderr);
	return EXIT_DONE;
}

/* ---- reports ---- */

static const struct out_col report_cols[] = {
    {"group", N_("Group"), false}, {"name", N_("Name"), false}, {"count", N_("Count"), true},
    {"bytes", N_("Bytes"), true},  {"ns", N_("Time"), true},
};

static void report_row(struct out *out, const struct ek_trace_row *row)
{
	char size[SHOW_MAX], span[SHOW_MAX];

	snprintf(size, sizeof(size), "%" PRIu64, row->bytes);
	out_str(out, NULL, NULL, row->group);
	out_str(out, NULL, NULL, row->name);
	out_u64(out, NULL, NULL, row->count);
	out_u64_as(out, NULL, NULL, row->bytes, row->bytes != 0 ? size : "");
	out_u64_as(out, NULL, NULL, row->ns, row->ns != 0 ? show_span(span, row->ns) : "");
}

/* Shows and frees the report.  When it is not what was asked for, rows of nothing are left out, and
 * with --quiet all of it. */
static void report(struct run *run, struct ek_trace_report *rep, bool asked)
{
	const struct ek_trace_row *row;

	if (asked || run->json || !run->quiet) {
		out_table(run->out, "report", report_cols,
			  sizeof(report_cols) / sizeof(report_cols[0]));
		for (size_t i = 0; (row = ek_trace_report_row(rep, i)) != NULL; i++)
			if (asked || run->json || row->count != 0)
				report_row(run->out, row);
		out_table_end(run->out);
	}
	ek_trace_report_free(rep);
}

/* ---- sub-verbs ---- */

static int run_import(struct run *run)
{
	struct ek_trace_options opt;
	struct ek_trace_report *rep;
	const char *to;
	int code, err;

	if ((code = options_of(run, &opt)) != EXIT_DONE ||
	    (code = target_of(run, &to)) != EXIT_DONE)
		return code;
	err = ek_trace_import(run->ctx, (const char *const *)run->argv, (unsigned)run->argc, to,
			      &opt, &rep);
	if (err < 0)
		return fail_call(run, err);
	report(run, rep, false);
	return EXIT_DONE;
}

typedef int rewrite_fn(struct ek_ctx *ctx, const char *input, const char *output,
		       const struct ek_trace_options *opt, struct ek_trace_report **ret);

/* One trace in, another out. */
static int rewrite(struct run *run, rewrite_fn *fn)
{
	struct ek_trace_options opt;
	struct ek_trace_report *rep;
	const char *to;
	int code, err;

	if ((code = options_of(run, &opt)) != EXIT_DONE ||
	    (code = target_of(run, &to)) != EXIT_DONE)
		return code;
	err = fn(run->ctx, run->argv[0], to, &opt, &rep);
	if (err < 0)
		return fail_call(run, err);
	report(run, rep, false);
	return EXIT_DONE;
}

static int run_export(struct run *run)
{
	return rewrite(run, ek_trace_convert);
}

static int run_cut(struct run *run)
{
	return rewrite(run, ek_trace_cut);
}

static int run_normalize(struct run *run)
{
	return rewrite(run, ek_trace_normalize);
}

static int run_repair(struct run *run)
{
	return rewrite(run, ek_trace_repair);
}

static int run_stat(struct run *run)
{
	struct ek_trace_options opt;
	struct ek_trace_report *rep;
	int code = options_of(run, &opt), err;

	if (code != EXIT_DONE)
		return code;
	err = ek_trace_stat(run->ctx, run->argv[0], &opt, &rep);
	if (err < 0)
		return fail_call(run, err);
	report(run, rep, true);
	return EXIT_DONE;
}

/* ---- records ---- */

COMMAND(trace) = {
    .name = "trace",
    .brief = N_("import, look at and change recorded operations"),
    .args = N_("VERB..."),
    .about = N_(
	"A trace says what programs did to a file system: which operation, when, by which "
	"thread. It is a text file (.wtr) or a binary one (.wtb) and both say the same. "
	"Make one from the logs of strace or fio or from kernel events, then replay it on an "
	"image with 'extkit replay'."),
    .max_args = -1,
};

static const struct example import_examples[] = {
    {"extkit trace import --root /t strace.txt -o app.wtr",
     N_("takes what strace -f -ttt -T -yy -v saw below /t")},
    {"extkit trace import --initial before.tsv --root /t log.* -o app.wtb",
     N_("joins the files of strace -ff; sizes of old files come from the table")},
    {"extkit trace import --input=events trace.txt -o app.wtr",
     N_("makes operations from ext4 events as tracefs, trace-cmd or perf print them")},
    {NULL, NULL},
};

COMMAND(trace_import) = {
    .name = "trace import",
    .brief = N_("make a trace from a log of strace, fio or the kernel"),
    .args = N_("LOG..."),
    .about = N_(
	"What happened outside of the root is left out and counted. Calls that are not "
	"known are counted and listed, never a reason to stop. Bytes that were read are never "
	"kept; bytes that were written are, unless --scrub or --checksums is given."),
    .options = import_options,
    .examples = import_examples,
    .min_args = 1,
    .max_args = -1,
    .opts_size = sizeof(struct trace_opts),
    .run = run_import,
};

static const struct example export_examples[] = {
    {"extkit trace export app.wtb", N_("prints a binary trace as text")},
    {"extkit trace export app.wtr --output=fio -o app.iolog",
     N_("gives reads, writes and syncs to fio")},
    {NULL, NULL},
};

COMMAND(trace_export) = {
    .name = "trace export",
    .brief = N_("write a trace in another form"),
    .args = N_("TRACE"),
    .about = N_("Text and binary traces say the same, so nothing is lost between them. fio knows "
		"only a part of the operations; the report counts what it does not."),
    .options = export_options,
    .examples = export_examples,
    .min_args = 1,
    .max_args = 1,
    .opts_size = sizeof(struct trace_opts),
    .run = run_export,
};

static const struct example stat_examples[] = {
    {"extkit trace stat app.wtr", N_("counts operations, bytes and threads")},
    {"extkit trace stat --json app.wtb", N_("the same for a program")},
    {NULL, NULL},
};

COMMAND(trace_stat) = {
    .name = "trace stat",
    .brief = N_("count what is in a trace"),
    .args = N_("TRACE"),
    .about = N_("Counts operations, bytes, threads, handles and the time they span, and tells "
		"whether the recorder lost anything."),
    .options = stat_options,
    .examples = stat_examples,
    .min_args = 1,
    .max_args = 1,
    .opts_size = sizeof(struct trace_opts),
    .run = run_stat,
};

static const struct example cut_examples[] = {
    {"extkit trace cut --from 30s --until 60s --rebase app.wtr -o minute.wtr",
     N_("takes half a minute and starts its clock at 0")},
    {NULL, NULL},
};

COMMAND(trace_cut) = {
    .name = "trace cut",
    .brief = N_("take a part of a trace"),
    .args = N_("TRACE"),
    .about = N_("Files that are open where the part begins are opened there, so that the part can "
		"be replayed alone."),
    .options = cut_options,
    .examples = cut_examples,
    .min_args = 1,
    .max_args = 1,
    .opts_size = sizeof(struct trace_opts),
    .run = run_cut,
};

static const struct example normalize_examples[] = {
    {"extkit trace normalize --no-times app.wtr -o a.wtr",
     N_("makes two runs of one program comparable with diff")},
    {NULL, NULL},
};

COMMAND(trace_normalize) = {
    .name = "trace normalize",
    .brief = N_("number files and threads by first use"),
    .args = N_("TRACE"),
    .about = N_("Numbers of handles, mappings and threads depend on who ran before; after this "
		"they depend on the trace alone."),
    .options = normalize_options,
    .examples = normalize_examples,
    .min_args = 1,
    .max_args = 1,
    .opts_size = sizeof(struct trace_opts),
    .run = run_normalize,
};

static const struct example repair_examples[] = {
    {"extkit trace repair torn.wtb -o whole.wtb", N_("saves what a crashed recorder left")},
    {NULL, NULL},
};

COMMAND(trace_repair) = {
    .name = "trace repair",
    .brief = N_("save what can be read of a damaged trace"),
    .args = N_("TRACE"),
    .about = N_("Damaged parts become gaps, which every later report counts. The result is not "
		"marked as whole unless the input was."),
    .options = repair_options,
    .examples = repair_examples,
    .min_args = 1,
    .max_args = 1,
    .opts_size = sizeof(struct trace_opts),
    .run = run_repair,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit bench: the reference studies, run again, ours beside what was published. */
#include "extkit/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "fail.h"

#define FIXED 11u
#define COLS  24u

struct bench_opts {
	const char *on, *kernel, *only, *system, *store;
	struct opt_num runs, scale, procs;
	int form;
};

enum form { FORM_TEXT, FORM_CSV, FORM_MARKDOWN };

#define T struct bench_opts

static const struct opt bench_options[] = {
    OPT_FILE(T, on, 0, "on", N_("IMG|DEVICE|dir:DIR"),
	     N_("where the load runs; its files are made and removed there")),
    OPT_FILE(T, kernel, 0, "kernel", N_("dir:DIR"),
	     N_("the same calls on a mounted folder too, as one more system")),
    OPT_NUMBER(T, runs, 'n', "runs", N_("N"), N_("of each system on each load, usually 3")),
    OPT_NUMBER(T, scale, 0, "scale", N_("PERCENT"), N_("of the full load, usually 10")),
    OPT_NUMBER(T, procs, 0, "procs", N_("N"), N_("writers, where a study leaves it open")),
    OPT_TEXT(T, only, 0, "only", N_("TEXT"), N_("loads whose name holds this")),
    OPT_TEXT(T, system, 0, "system", N_("TEXT"),
	     N_("systems whose name holds this, beside the first")),
    OPT_CHOICE(T, form, 0, "form", "text|csv|markdown", N_("of the result")),
    OPT_END,
};

/* ---- rows ---- */

static const char *verdict_word(enum ek_bench_verdict v)
{
	static const char *const words[] = {
	    [EK_BENCH_SILENT] = "",
	    [EK_BENCH_AGREES] = N_("agrees"),
	    [EK_BENCH_DIFFERS] = N_("differs"),
	    [EK_BENCH_NOISE] = N_("noise"),
	};

	return words[v];
}

static const struct out_col fixed_cols[FIXED] = {
    {"cell", N_("Load"), false},
    {"system", N_("System"), false},
    {"unit", N_("Unit"), false},
    {"value", N_("Median"), true},
    {"low", N_("Low"), true},
    {"high", N_("High"), true},
    {"ratio", N_("Ratio"), true},
    {"published_ratio", N_("Published"), true},
    {"verdict", N_("Verdict"), false},
    {"wall_ns", N_("ns/call"), true},
    {"cpu_ns", N_("CPU ns/call"), true},
};

/* Facts are columns behind the fixed ones, named by the first row that has any. */
static size_t columns(const struct ek_bench_report *rep, struct out_col cols[COLS])
{
	const struct ek_bench_row *row;
	size_t n = FIXED;

	memcpy(cols, fixed_cols, sizeof(fixed_cols));
	for (size_t i = 0; n == FIXED && (row = ek_bench_row(rep, i)) != NULL; i++)
		for (size_t k = 0; k < row->nfacts && n < COLS; k++)
			cols[n++] = (struct out_col){row->facts[k].name, row->facts[k].name, true};
	return n;
}

static int digits_of(double v)
{
	return v >= 100 ? 0 : v >= 1 ? 2 : 4;
}

static void number(struct out *out, double v, bool known)
{
	if (known)
		out_double(out, NULL, NULL, v, digits_of(v));
	else
		out_none(out, NULL, NULL);
}

static void show_row(struct out *out, const struct ek_bench_row *row, size_t ncols)
{
	bool ran = row->why == NULL;

	out_str(out, NULL, NULL, row->cell);
	out_str(out, NULL, NULL, row->system);
	out_str(out, NULL, NULL, row->unit);
	number(out, row->median, ran);
	number(out, row->low, ran);
	number(out, row->high, ran);
	number(out, row->ratio, ran && row->ratio > 0);
	number(out, row->published_ratio[0], row->published_ratio[0] > 0);
	if (ran)
		out_word(out, NULL, NULL, verdict_word(row->verdict[0]));
	else
		out_str(out, NULL, NULL, row->why);
	number(out, row->wall_ns, ran);
	number(out, row->cpu_ns, ran);
	for (size_t k = 0; k + FIXED < ncols; k++)
		number(out, k < row->nfacts ? row->facts[k].value : 0, k < row->nfacts);
}

static const struct out_col pair_cols[] = {
    {"source", N_("Published"), false},
    {"agree", N_("Pairs in the same order"), true},
    {"differ", N_("Other"), true},
    {"noise", N_("Noise"), true},
};

static void show_pairs(struct out *out, const struct ek_bench_report *rep)
{
	struct ek_bench_pairs p;

	out_table(out, "pairs", pair_cols, sizeof(pair_cols) / sizeof(pair_cols[0]));
	for (size_t i = 0; (p = ek_bench_pairs(rep, i)).source != NULL; i++) {
		out_str(out, NULL, NULL, p.source);
		out_u64(out, NULL, NULL, p.agree);
		out_u64(out, NULL, NULL, p.differ);
		out_u64(out, NULL, NULL, p.noise);
	}
	out_table_end(out);
}

static void show_machine(struct out *out, const struct ek_bench_report *rep)
{
	struct ek_bench_machine m = ek_bench_machine(rep);

	out_section(out, "machine", _("Machine"));
	out_u64(out, "cpus", _("CPUs"), m.cpus);
	out_u64(out, "runs", _("Runs"), m.runs);
	out_u64(out, "scale", _("Percent of the full load"), m.scale);
	out_double(out, "load_before", _("Load average before"), m.load_before, 2);
	out_double(out, "load_after", _("Load average after"), m.load_after, 2);
	out_double(out, "loop_ns", _("ns a call for making it"), m.loop_ns, 1);
	out_section_end(out);
}

static void show_text(struct run *run, const struct ek_bench_report *rep)
{
	const struct ek_bench_row *row;
	struct out_col cols[COLS];
	size_t n = columns(rep, cols);

	out_table(run->out, "rows", cols, n);
	for (size_t i = 0; (row = ek_bench_row(rep, i)) != NULL; i++)
		show_row(run->out, row, n);
	out_table_end(run->out);
	show_pairs(run->out, rep);
	show_machine(run->out, rep);
}

/* ---- other forms ---- */

static void raw(struct run *run, const char *text)
{
	out_raw(run->out, text, strlen(text));
}

static void raw_number(struct run *run, double v, const char *behind)
{
	char text[64];

	snprintf(text, sizeof(text), "%.*f%s", digits_of(v), v, behind);
	raw(run, text);
}

static void csv_row(struct run *run, const struct ek_bench_row *row, size_t ncols)
{
	const double v[] = {
	    row->median,  row->low,   row->high, row->ratio, row->published_ratio[0],
	    row->wall_ns, row->cpu_ns};

	raw(run, "\"");
	raw(run, row->cell);
	raw(run, "\",\"");
	raw(run, row->system);
	raw(run, "\",");
	raw(run, row->unit);
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		raw(run, ",");
		if (row->why == NULL && v[i] > 0)
			raw_number(run, v[i], "");
	}
	for (size_t k = 0; k + FIXED < ncols; k++) {
		raw(run, ",");
		if (k < row->nfacts)
			raw_number(run, row->facts[k].value, "");
	}
	raw(run, "\n");
}

static void show_csv(struct run *run, const struct ek_bench_report *rep)
{
	const struct ek_bench_row *row;
	struct out_col cols[COLS];
	size_t n = columns(rep, cols);

	raw(run, "cell,system,unit,value,low,high,ratio,published_ratio,wall_ns,cpu_ns");
	for (size_t k = FIXED; k < n; k++) {
		raw(run, ",");
		raw(run, cols[k].key);
	}
	raw(run, "\n");
	for (size_t i = 0; (row = ek_bench_row(rep, i)) != NULL; i++)
		csv_row(run, row, n);
}

/* "1234 (x1.80, published x1.92)" */
static void markdown_value(struct run *run, const struct ek_bench_row *row)
{
	if (row->why != NULL) {
		raw(run, " not available |");
		return;
	}
	raw(run, " ");
	raw_number(run, row->median, "");
	if (row->ratio > 0) {
		raw(run, " (x");
		raw_number(run, row->ratio, "");
		if (row->published_ratio[0] > 0) {
			raw(run, ", published x");
			raw_number(run, row->published_ratio[0], "");
		}
		raw(run, ")");
	}
	raw(run, " |");
}

/* A line for each load, a column for each system. */
static void markdown_values(struct run *run, const struct ek_bench_report *rep)
{
	const struct ek_bench_row *row, *last = NULL;

	for (size_t i = 0; (row = ek_bench_row(rep, i)) != NULL; i++) {
		bool first = i == 0 || strcmp(row->unit, last->unit) != 0;

		if (first && i == 0) {
			const struct ek_bench_row *r;

			raw(run, "| load, unit |");
			for (size_t k = 0; (r = ek_bench_row(rep, k)) != NULL &&
					   strcmp(r->cell, row->cell) == 0 && r->unit == row->unit;
			     k++) {
				raw(run, " ");
				raw(run, r->system);
				raw(run, " |");
			}
			raw(run, "\n|---|");
			for (size_t k = 0; (r = ek_bench_row(rep, k)) != NULL &&
					   strcmp(r->cell, row->cell) == 0 && r->unit == row->unit;
			     k++)
				raw(run, "---|");
		}
		if (first || strcmp(row->cell, last->cell) != 0) {
			raw(run, "\n| ");
			raw(run, row->cell);
			raw(run, ", ");
			raw(run, row->unit);
			raw(run, " |");
		}
		markdown_value(run, row);
		last = row;
	}
	raw(run, "\n");
}

static void markdown_facts(struct run *run, const struct ek_bench_report *rep)
{
	const struct ek_bench_row *row;
	struct out_col cols[COLS];
	size_t n = columns(rep, cols);

	raw(run, "\n| load | system | ns/call | CPU ns/call |");
	for (size_t k = FIXED; k < n; k++) {
		raw(run, " ");
		raw(run, cols[k].key);
		raw(run, " |");
	}
	raw(run, "\n|---|---|---|---|");
	for (size_t k = FIXED; k < n; k++)
		raw(run, "---|");
	raw(run, "\n");
	for (size_t i = 0; (row = ek_bench_row(rep, i)) != NULL; i++) {
		if (row->nfacts == 0)
			continue;
		raw(run, "| ");
		raw(run, row->cell);
		raw(run, " | ");
		raw(run, row->system);
		raw(run, " | ");
		raw_number(run, row->wall_ns, " | ");
		raw_number(run, row->cpu_ns, " |");
		for (size_t k = 0; k < row->nfacts; k++) {
			raw(run, " ");
			raw_number(run, row->facts[k].value, " |");
		}
		raw(run, "\n");
	}
}

static void markdown_summary(struct run *run, const struct ek_bench_report *rep)
{
	struct ek_bench_machine m = ek_bench_machine(rep);
	struct ek_bench_pairs p;
	char text[256];

	for (size_t i = 0; (p = ek_bench_pairs(rep, i)).source != NULL; i++) {
		snprintf(text, sizeof(text),
			 "\nPairs of systems against \"%s\": %llu in the same order, %llu in "
			 "another, %llu within noise.\n",
			 p.source, (unsigned long long)p.agree, (unsigned long long)p.differ,
			 (unsigned long long)p.noise);
		raw(run, text);
	}
	snprintf(text, sizeof(text),
		 "\nMedians of %u runs at %u %% of the full load, %u CPUs, load average %.1f to "
		 "%.1f; making a call takes %.0f ns of it.\n",
		 m.runs, m.scale, m.cpus, m.load_before, m.load_after, m.loop_ns);
	raw(run, text);
}

static void show(struct run *run, const struct ek_bench_report *rep)
{
	const struct bench_opts *o = run->opts;

	if (run->json || o->form == FORM_TEXT) {
		show_text(run, rep);
	} else if (o->form == FORM_CSV) {
		show_csv(run, rep);
	} else {
		markdown_values(run, rep);
		markdown_facts(run, rep);
		markdown_summary(run, rep);
	}
}

/* ---- run ---- */

static const struct out_col study_cols[] = {
    {"study", N_("Study"), true},
    {"title", N_("What it is about"), false},
};

static int list(struct run *run)
{
	out_table(run->out, "studies", study_cols, 2);
	for (unsigned i = 1; i <= EK_BENCH_STUDIES; i++) {
		if (ek_bench_title(i) == NULL)
			continue;
		out_u64(run->out, NULL, NULL, i);
		out_word(run->out, NULL, NULL, ek_bench_title(i));
	}
	out_table_end(run->out);
	return EXIT_DONE;
}

static uint32_t small(struct opt_num n)
{
	return n.v > UINT32_MAX ? UINT32_MAX : (uint32_t)n.v;
}

static int run_bench(struct run *run)
{
	const struct bench_opts *o = run->opts;
	struct ek_bench_options opt = {.size = sizeof(opt),
				       .target = o->on,
				       .kernel = o->kernel,
				       .only = o->only,
				       .system = o->system,
				       .runs = small(o->runs),
				       .scale = small(o->scale),
				       .procs = small(o->procs)};
	struct ek_bench_report *rep;
	uint64_t study;
	int err;

	if (run->argc == 0)
		return list(run);
	if (opt_number(run->argv[0], &study) != 0 || study > EK_BENCH_STUDIES)
		return fail_usage(run, _("'%s' is no study, they are 1 to 5"), run->argv[0]);
	err = ek_bench_run(run->ctx, (unsigned)study, &opt, &rep);
	if (err < 0)
		return fail_call(run, err);
	show(run, rep);
	ek_bench_free(rep);
	return EXIT_DONE;
}

static const struct example bench_examples[] = {
    {"extkit bench", N_("lists the studies")},
    {"extkit bench 1 --only 'write 256'", N_("one load of study 1, before and after each patch")},
    {"extkit bench 3 --scale 100 --runs 5 --form markdown",
     N_("all of study 3 with files of 1 GiB, for a document")},
    {"extkit bench 4 --kernel dir:/mnt/test", N_("study 4, and the running kernel on /mnt/test")},
    {"extkit bench 2 --on /dev/loop7", N_("on a device that holds a filesystem of yours")},
    {NULL, NULL},
};

COMMAND(bench) = {
    .name = "bench",
    .brief = N_("run a reference study again"),
    .args = N_("[STUDY]"),
    .about = N_("The loads of a published result run through every write path that it compares; "
		"throughput and counters stand beside the published ratios to the first system, "
		"with whether ours goes the same way. A difference that is smaller than the spread "
		"of the runs is called noise.\n\n"
		"Without --on each run has a new image in TMPDIR, or in memory for loads named "
		"ramdisk, cache or hole. With --on nothing that was there is written to: a file in "
		"the way ends the run."),
    .options = bench_options,
    .examples = bench_examples,
    .max_args = 1,
    .opts_size = sizeof(struct bench_opts),
    .run = run_bench,
};

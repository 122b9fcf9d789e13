/* SPDX-License-Identifier: BSD-2-Clause */
/* A benchmark's report as tables of text and JSON: columns of ours, of each published source, and
 * of what was counted. */
#include "bench_show.h"

#include <string.h>

const char *bench_verdict(enum ek_bench_verdict v)
{
	static const char *const words[] = {
	    [EK_BENCH_SILENT] = "",
	    [EK_BENCH_AGREES] = N_("agrees"),
	    [EK_BENCH_DIFFERS] = N_("differs"),
	    [EK_BENCH_NOISE] = N_("noise"),
	};

	return words[v];
}

static const struct out_col own_cols[] = {
    {"cell", N_("Load"), false},   {"system", N_("System"), false}, {"unit", N_("Unit"), false},
    {"value", N_("Median"), true}, {"low", N_("Low"), true},        {"high", N_("High"), true},
    {"ratio", N_("Ratio"), true},
};

/* For each source of published numbers. */
static const struct out_col published_cols[EK_BENCH_SOURCES][3] = {
    {{"published", N_("Published"), true},
     {"published_ratio", N_("its ratio"), true},
     {"verdict", N_("Verdict"), false}},
    {{"published_2", N_("Published, 2"), true},
     {"published_ratio_2", N_("its ratio"), true},
     {"verdict_2", N_("Verdict"), false}},
};

static const struct out_col time_cols[] = {
    {"wall_ns", N_("ns/call"), true},
    {"cpu_ns", N_("CPU ns/call"), true},
    {"cpu_ratio", N_("CPU ratio"), true},
    {"why", N_("Not available"), false},
};

static void add_cols(struct bench_shape *s, const struct out_col *cols, size_t n)
{
	for (size_t i = 0; i < n && s->n < BENCH_COLS; i++)
		s->cols[s->n++] = cols[i];
}

/* Facts are the last columns, named by the first row that has any. */
void bench_shape(const struct ek_bench_report *rep, struct bench_shape *ret)
{
	const struct ek_bench_row *row;

	memset(ret, 0, sizeof(*ret));
	ret->sources = 1;
	for (size_t i = 0; (row = ek_bench_row(rep, i)) != NULL; i++)
		if (row->published[1] > 0)
			ret->sources = EK_BENCH_SOURCES;
	add_cols(ret, own_cols, sizeof(own_cols) / sizeof(own_cols[0]));
	for (size_t k = 0; k < ret->sources; k++)
		add_cols(ret, published_cols[k], 3);
	add_cols(ret, time_cols, sizeof(time_cols) / sizeof(time_cols[0]));
	ret->facts = ret->n;
	for (size_t i = 0; ret->n == ret->facts && (row = ek_bench_row(rep, i)) != NULL; i++) {
		for (size_t k = 0; k < row->nfacts; k++) {
			const char *name = row->facts[k].name;

			add_cols(ret, &(struct out_col){name, name, true}, 1);
		}
	}
}

int bench_digits(double v)
{
	return v >= 100 ? 0 : v >= 1 ? 2 : 4;
}

static void number(struct out *out, double v, bool known)
{
	if (known)
		out_double(out, NULL, NULL, v, bench_digits(v));
	else
		out_none(out, NULL, NULL);
}

static void show_row(struct out *out, const struct ek_bench_row *row,
		     const struct bench_shape *shape)
{
	bool ran = row->why == NULL;

	out_str(out, NULL, NULL, row->cell);
	out_str(out, NULL, NULL, row->system);
	out_str(out, NULL, NULL, row->unit);
	number(out, row->median, ran);
	number(out, row->low, ran);
	number(out, row->high, ran);
	number(out, row->ratio, ran && row->ratio > 0);
	for (size_t k = 0; k < shape->sources; k++) {
		number(out, row->published[k], row->published[k] > 0);
		number(out, row->published_ratio[k], row->published_ratio[k] > 0);
		out_word(out, NULL, NULL, bench_verdict(row->verdict[k]));
	}
	number(out, row->wall_ns, ran);
	number(out, row->cpu_ns, ran);
	number(out, row->cpu_ratio, ran && row->cpu_ratio > 0);
	out_str(out, NULL, NULL, ran ? "" : row->why);
	for (size_t k = 0; k + shape->facts < shape->n; k++)
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

void bench_show(struct run *run, const struct ek_bench_report *rep)
{
	const struct ek_bench_row *row;
	struct bench_shape shape;

	bench_shape(rep, &shape);
	out_table(run->out, "rows", shape.cols, shape.n);
	for (size_t i = 0; (row = ek_bench_row(rep, i)) != NULL; i++)
		show_row(run->out, row, &shape);
	out_table_end(run->out);
	show_pairs(run->out, rep);
	show_machine(run->out, rep);
}

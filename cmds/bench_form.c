/* SPDX-License-Identifier: BSD-2-Clause */
/* A benchmark's report for other programs: lines of commas, and tables for a document. */
#include "bench_show.h"

#include <stdio.h>
#include <string.h>

static void raw(struct run *run, const char *text)
{
	out_raw(run->out, text, strlen(text));
}

static void raw_number(struct run *run, double v, const char *behind)
{
	char text[64];

	snprintf(text, sizeof(text), "%.*f%s", bench_digits(v), v, behind);
	raw(run, text);
}

/* A quote inside is written twice. */
static void csv_text(struct run *run, const char *text)
{
	raw(run, "\"");
	for (const char *q; (q = strchr(text, '"')) != NULL; text = q + 1) {
		out_raw(run->out, text, (size_t)(q - text));
		raw(run, "\"\"");
	}
	raw(run, text);
	raw(run, "\"");
}

static void csv_number(struct run *run, double v, bool known)
{
	raw(run, ",");
	if (known)
		raw_number(run, v, "");
}

static void csv_row(struct run *run, const struct ek_bench_row *row,
		    const struct bench_shape *shape)
{
	bool ran = row->why == NULL;

	csv_text(run, row->cell);
	raw(run, ",");
	csv_text(run, row->system);
	raw(run, ",");
	raw(run, row->unit);
	csv_number(run, row->median, ran);
	csv_number(run, row->low, ran);
	csv_number(run, row->high, ran);
	csv_number(run, row->ratio, ran && row->ratio > 0);
	for (size_t k = 0; k < shape->sources; k++) {
		csv_number(run, row->published[k], row->published[k] > 0);
		csv_number(run, row->published_ratio[k], row->published_ratio[k] > 0);
		raw(run, ",");
		raw(run, bench_verdict(row->verdict[k]));
	}
	csv_number(run, row->wall_ns, ran);
	csv_number(run, row->cpu_ns, ran);
	csv_number(run, row->cpu_ratio, ran && row->cpu_ratio > 0);
	raw(run, ",");
	if (!ran)
		csv_text(run, row->why);
	for (size_t k = 0; k + shape->facts < shape->n; k++)
		csv_number(run, k < row->nfacts ? row->facts[k].value : 0, k < row->nfacts);
	raw(run, "\n");
}

void bench_show_csv(struct run *run, const struct ek_bench_report *rep)
{
	const struct ek_bench_row *row;
	struct bench_shape shape;

	bench_shape(rep, &shape);
	for (size_t k = 0; k < shape.n; k++) {
		raw(run, k != 0 ? "," : "");
		raw(run, shape.cols[k].key);
	}
	raw(run, "\n");
	for (size_t i = 0; (row = ek_bench_row(rep, i)) != NULL; i++)
		csv_row(run, row, &shape);
}

static void markdown_ratio(struct run *run, const char *word, double ratio)
{
	if (ratio <= 0)
		return;
	raw(run, word);
	raw_number(run, ratio, "");
}

/* "1234 x1.80 (x1.92, x1.73)": ours, and in brackets the published ratios. */
static void markdown_value(struct run *run, const struct ek_bench_row *row)
{
	raw(run, " ");
	if (row->why == NULL)
		raw_number(run, row->median, "");
	else
		raw(run, "not available");
	if (row->why == NULL)
		markdown_ratio(run, " x", row->ratio);
	if (row->published_ratio[0] > 0) {
		markdown_ratio(run, " (x", row->published_ratio[0]);
		markdown_ratio(run, ", x", row->published_ratio[1]);
		raw(run, ")");
	}
	raw(run, " |");
}

static bool same_line(const struct ek_bench_row *a, const struct ek_bench_row *b)
{
	return a != NULL && b != NULL && strcmp(a->cell, b->cell) == 0 &&
	       strcmp(a->unit, b->unit) == 0;
}

static void markdown_heads(struct run *run, const struct ek_bench_report *rep)
{
	const struct ek_bench_row *first = ek_bench_row(rep, 0);

	raw(run, "| load, unit |");
	for (size_t i = 0; same_line(first, ek_bench_row(rep, i)); i++) {
		raw(run, " ");
		raw(run, ek_bench_row(rep, i)->system);
		raw(run, " |");
	}
	raw(run, "\n|---|");
	for (size_t i = 0; same_line(first, ek_bench_row(rep, i)); i++)
		raw(run, "---|");
}

/* The cells of the line that begins with row at, in the order of the first line's systems; one that
 * has no part in this load stays empty.  The number of rows that were shown. */
static size_t markdown_line(struct run *run, const struct ek_bench_report *rep, size_t at)
{
	const struct ek_bench_row *first = ek_bench_row(rep, at), *top = ek_bench_row(rep, 0), *row;
	size_t n = 0;

	raw(run, "\n| ");
	raw(run, first->cell);
	raw(run, ", ");
	raw(run, first->unit);
	raw(run, " |");
	for (size_t i = 0; same_line(top, ek_bench_row(rep, i)); i++) {
		row = ek_bench_row(rep, at + n);
		if (same_line(first, row) &&
		    strcmp(row->system, ek_bench_row(rep, i)->system) == 0) {
			markdown_value(run, row);
			n++;
		} else {
			raw(run, " |");
		}
	}
	return n;
}

/* A line for each load and unit, a column for each system. */
static void markdown_values(struct run *run, const struct ek_bench_report *rep)
{
	size_t i = 0;

	markdown_heads(run, rep);
	while (ek_bench_row(rep, i) != NULL)
		i += markdown_line(run, rep, i);
	raw(run, "\n");
}

static void markdown_facts(struct run *run, const struct ek_bench_report *rep)
{
	const struct ek_bench_row *row;
	struct bench_shape shape;

	bench_shape(rep, &shape);
	raw(run, "\n| load | system | ns/call | CPU ns/call | CPU ratio |");
	for (size_t k = shape.facts; k < shape.n; k++) {
		raw(run, " ");
		raw(run, shape.cols[k].key);
		raw(run, " |");
	}
	raw(run, "\n|---|---|---|---|---|");
	for (size_t k = shape.facts; k < shape.n; k++)
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
		raw_number(run, row->cpu_ns, " | ");
		raw_number(run, row->cpu_ratio, " |");
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

void bench_show_markdown(struct run *run, const struct ek_bench_report *rep)
{
	markdown_values(run, rep);
	markdown_facts(run, rep);
	markdown_summary(run, rep);
}

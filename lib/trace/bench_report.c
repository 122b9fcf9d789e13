/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of a benchmark: medians of runs, ratios to the base, and whether they go the way that the
 * published ones went. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "trace/bench.h"

#define PUBLISHED_SAME 0.01 /* a published difference that says nothing */

struct ek_bench_report {
	const struct bench_study *study;
	struct ek_bench_row *rows;
	size_t n, cap;
	struct ek_bench_pairs pairs[EK_BENCH_SOURCES * BENCH_MEASURES];
	struct ek_bench_machine machine;
};

struct ek_bench_report *bench_report_new(const struct bench_study *study)
{
	struct ek_bench_report *rep = mem_zero(sizeof(*rep));

	if (rep != NULL)
		rep->study = study;
	return rep;
}

void ek_bench_free(struct ek_bench_report *rep)
{
	if (rep == NULL)
		return;
	for (size_t i = 0; i < rep->n; i++) {
		free((void *)(uintptr_t)rep->rows[i].cell);
		free((void *)(uintptr_t)rep->rows[i].why);
		free((void *)(uintptr_t)rep->rows[i].facts);
	}
	free(rep->rows);
	free(rep);
}

const struct ek_bench_row *ek_bench_row(const struct ek_bench_report *rep, size_t i)
{
	return i < rep->n ? &rep->rows[i] : NULL;
}

const char *ek_bench_source(const struct ek_bench_report *rep, size_t measure, size_t source)
{
	return measure < BENCH_MEASURES && source < EK_BENCH_SOURCES
		   ? rep->study->measures[measure].sources[source]
		   : NULL;
}

struct ek_bench_machine ek_bench_machine(const struct ek_bench_report *rep)
{
	return rep->machine;
}

struct ek_bench_machine *bench_report_machine(struct ek_bench_report *rep)
{
	return &rep->machine;
}

/* Those of a source that some cell had pairs of, one after the other. */
struct ek_bench_pairs ek_bench_pairs(const struct ek_bench_report *rep, size_t i)
{
	for (size_t k = 0; k < ARRAY_SIZE(rep->pairs); k++) {
		const struct ek_bench_pairs *p = &rep->pairs[k];

		if (p->agree + p->differ + p->noise != 0 && i-- == 0)
			return *p;
	}
	return (struct ek_bench_pairs){.source = NULL};
}

int bench_report_row(struct ek_bench_report *rep, const struct ek_bench_row *row)
{
	struct ek_bench_row r = *row;

	r.cell = strdup(row->cell);
	r.why = row->why != NULL ? strdup(row->why) : NULL;
	r.facts = row->nfacts != 0 ? malloc(row->nfacts * sizeof(*row->facts)) : NULL;
	if (r.cell == NULL || (row->why != NULL && r.why == NULL) ||
	    (row->nfacts != 0 && r.facts == NULL) ||
	    mem_grow((void **)&rep->rows, &rep->cap, rep->n + 1, sizeof(*rep->rows)) < 0) {
		free((void *)(uintptr_t)r.cell);
		free((void *)(uintptr_t)r.why);
		free((void *)(uintptr_t)r.facts);
		return -ENOMEM;
	}
	if (row->nfacts != 0)
		memcpy((void *)(uintptr_t)r.facts, row->facts, row->nfacts * sizeof(*row->facts));
	rep->rows[rep->n++] = r;
	return 0;
}

/* ---- numbers ---- */

static double over(double up, double below)
{
	return below > 0 ? up / below : 0;
}

static double value_of(enum bench_kind kind, const struct bench_result *r)
{
	double calls_s = (double)r->wall_ns / 1e9, whole_s = (double)r->whole_ns / 1e9;
	double bytes = (double)r->bytes;

	switch (kind) {
	case BENCH_RATE_KB:
		return over(bytes / 1024, calls_s);
	case BENCH_RATE_MB:
		return over(bytes / 1048576, calls_s);
	case BENCH_RATE_WHOLE:
		return over(bytes / 1048576, whole_s);
	case BENCH_SECONDS:
		return whole_s;
	case BENCH_EXTENT:
		return over((double)r->calls_c.v[COUNTER_WP_EXTENT_BLOCKS],
			    (double)r->calls_c.v[COUNTER_DA_WRITE_PAGES_EXTENT]);
	default:
		return over((double)r->whole_c.v[COUNTER_MARK_INODE_DIRTY], bytes / 4096);
	}
}

void bench_series_add(struct bench_series *s, const struct bench_study *study,
		      const struct bench_result *r)
{
	if (s->runs == BENCH_RUNS)
		return;
	for (size_t m = 0; m < study->nmeasures; m++)
		s->values[m][s->runs] = value_of(study->measures[m].kind, r);
	s->wall_ns[s->runs] = over((double)r->wall_ns, (double)r->calls);
	s->cpu_ns[s->runs] = over((double)r->cpu_ns, (double)r->calls);
	s->runs++;
	s->last = *r;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct spread {
	double low, median, high;
	double from, to; /* the middle half, or all when there are few */
};

/* Two runs say little about their spread: 5 % to each side is assumed of them. */
static struct spread spread_of(const double *v, unsigned n)
{
	double sorted[BENCH_RUNS], margin = n < 3 ? 0.05 : 0;

	if (n == 0)
		return (struct spread){.low = 0};
	memcpy(sorted, v, n * sizeof(*v));
	qsort(sorted, n, sizeof(*sorted), by_value);
	return (struct spread){
	    .low = sorted[0],
	    .median = (sorted[n / 2] + sorted[(n - 1) / 2]) / 2,
	    .high = sorted[n - 1],
	    .from = sorted[n / 4] * (1 - margin),
	    .to = sorted[n - 1 - n / 4] * (1 + margin),
	};
}

/* How b is to a here, against what was published of them. */
static enum ek_bench_verdict judge(struct spread a, struct spread b, double pub_a, double pub_b)
{
	if (pub_a <= 0 || pub_b <= 0 || a.median <= 0 || b.median <= 0)
		return EK_BENCH_SILENT;
	if (fabs(pub_b / pub_a - 1) < PUBLISHED_SAME || (a.from <= b.to && b.from <= a.to))
		return EK_BENCH_NOISE;
	return (b.median > a.median) == (pub_b > pub_a) ? EK_BENCH_AGREES : EK_BENCH_DIFFERS;
}

/* ---- rows ---- */

static double fact_of(const struct bench_fact *f, const struct bench_result *r)
{
	const struct counters *c = f->whole ? &r->whole_c : &r->calls_c;
	double up = (double)c->v[f->up];

	switch (f->below) {
	case BELOW_CALLS:
		return over(up, (double)(r->writes != 0 ? r->writes : r->calls));
	case BELOW_PAGES:
		return over(up, (double)r->bytes / 4096);
	case BELOW_COUNTER:
		return over(up, (double)c->v[f->other]);
	default:
		return up;
	}
}

static size_t facts_of(const struct bench_study *study, const struct bench_result *r,
		       struct ek_bench_fact ret[BENCH_FACTS])
{
	size_t n = 0;

	for (; n < BENCH_FACTS && study->facts[n].name != NULL; n++)
		ret[n] = (struct ek_bench_fact){study->facts[n].name,
						study->run != NULL ? r->facts[n]
								   : fact_of(&study->facts[n], r)};
	return n;
}

static int one_row(struct ek_bench_report *rep, const struct bench_cell *cell,
		   const struct bench_series *series, const struct bench_system *systems, size_t i,
		   size_t m)
{
	const struct bench_series *s = &series[i];
	struct spread v = spread_of(s->values[m], s->runs);
	struct spread base = spread_of(series[0].values[m], series[0].runs);
	struct ek_bench_fact facts[BENCH_FACTS];
	struct ek_bench_row row = {
	    .cell = cell->name,
	    .system = systems[i].name,
	    .unit = rep->study->measures[m].unit,
	    .why = s->why,
	    .median = v.median,
	    .low = v.low,
	    .high = v.high,
	    .ratio = over(v.median, base.median),
	    .wall_ns = spread_of(s->wall_ns, s->runs).median,
	    .cpu_ns = spread_of(s->cpu_ns, s->runs).median,
	    .facts = facts,
	};

	row.cpu_ratio = over(spread_of(series[0].cpu_ns, series[0].runs).median, row.cpu_ns);
	for (size_t k = 0; k < EK_BENCH_SOURCES; k++) {
		const double *published = cell->published[m][k];

		row.published[k] = published[i];
		row.published_ratio[k] = over(published[i], published[0]);
		if (i != 0)
			row.verdict[k] = judge(base, v, published[0], published[i]);
	}
	if (m == 0 && s->runs != 0 && s->last.counted)
		row.nfacts = facts_of(rep->study, &s->last, facts);
	return bench_report_row(rep, &row);
}

/* Every two systems that were published, not only those with the base. */
static void count_pairs(struct ek_bench_report *rep, const struct bench_cell *cell,
			const struct bench_series *series, size_t m, size_t k)
{
	struct ek_bench_pairs *p = &rep->pairs[m * EK_BENCH_SOURCES + k];
	const double *pub = cell->published[m][k];

	p->source = rep->study->measures[m].sources[k];
	for (size_t i = 0; i < rep->study->nsystems; i++) {
		struct spread a = spread_of(series[i].values[m], series[i].runs);

		for (size_t j = i + 1; j < rep->study->nsystems; j++) {
			struct spread b = spread_of(series[j].values[m], series[j].runs);
			enum ek_bench_verdict v = judge(a, b, pub[i], pub[j]);

			p->agree += v == EK_BENCH_AGREES;
			p->differ += v == EK_BENCH_DIFFERS;
			p->noise += v == EK_BENCH_NOISE;
		}
	}
}

/* A folder behind the study's systems counts nothing, so it has no measure of counters. */
static bool has_row(const struct bench_study *study, const struct bench_series *s, size_t i,
		    size_t m)
{
	enum bench_kind kind = study->measures[m].kind;

	if (i >= study->nsystems && (kind == BENCH_MARKS || kind == BENCH_EXTENT))
		return false;
	return s->runs != 0 || s->why != NULL;
}

int bench_report_cell(struct ek_bench_report *rep, const struct bench_cell *cell,
		      const struct bench_series *series, const struct bench_system *systems,
		      size_t nsystems)
{
	int rc = 0;

	for (size_t m = 0; m < rep->study->nmeasures; m++) {
		for (size_t i = 0; i < nsystems && rc == 0; i++)
			if (has_row(rep->study, &series[i], i, m))
				rc = one_row(rep, cell, series, systems, i, m);
		for (size_t k = 0; k < EK_BENCH_SOURCES; k++)
			count_pairs(rep, cell, series, m, k);
	}
	return rc;
}

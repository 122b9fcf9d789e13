/* SPDX-License-Identifier: BSD-2-Clause */
/* The forms in which a benchmark's report is shown. */
#ifndef CMDS_BENCH_SHOW_H
#define CMDS_BENCH_SHOW_H

#include "cmd.h"
#include "extkit/bench.h"

#define BENCH_COLS 28u

/* What the columns of a report are. */
struct bench_shape {
	struct out_col cols[BENCH_COLS];
	size_t n, sources, facts; /* facts: where those columns begin */
};

void bench_shape(const struct ek_bench_report *rep, struct bench_shape *ret);

/* "agrees", or "" when nothing is said. */
const char *bench_verdict(enum ek_bench_verdict v);

/* Digits behind the point that a number of this size is worth. */
int bench_digits(double v);

/* Tables of text or JSON; lines of commas; tables for a document. */
void bench_show(struct run *run, const struct ek_bench_report *rep);
void bench_show_csv(struct run *run, const struct ek_bench_report *rep);
void bench_show_markdown(struct run *run, const struct ek_bench_report *rep);

#endif

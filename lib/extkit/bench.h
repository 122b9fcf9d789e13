/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reference studies, run again: the workload of a published result goes through every write
 * path that the result compares, and ours stands beside what was published.
 *
 *	struct ek_bench_options opt = {.size = sizeof(opt), .runs = 3};
 *	struct ek_bench_report *rep;
 *	const struct ek_bench_row *row;
 *
 *	if (ek_bench_run(ctx, 1, &opt, &rep) == 0) {
 *		for (size_t i = 0; (row = ek_bench_row(rep, i)) != NULL; i++)
 *			printf("%s %s %.0f %s\n", row->cell, row->system, row->median, row->unit);
 *		ek_bench_free(rep);
 *	}
 *
 * A study has cells (a load, such as "write 256/500") and systems (a write path, such as "before").
 * The first system is the base of the study's ratios.  Absolute numbers depend on the machine;
 * what a study claims is in ratios and in what was counted.
 */
#ifndef EXTKIT_BENCH_H
#define EXTKIT_BENCH_H

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_ctx;

#define EK_BENCH_STUDIES 5u
#define EK_BENCH_SOURCES 2u

/* Zero is a good value for every member but size. */
struct ek_bench_options {
	size_t size; /* sizeof(struct ek_bench_options) */
	/* Where the loads run: an image or block device that holds a filesystem, or "dir:" and a
	 * folder.  Their files are made and removed there; one that is in the way ends the run.
	 * NULL: an image of our own in TMPDIR (rows "ramdisk": in memory), made for each run.
	 * Study 5: a store as extkit/region.h names them; NULL: a folder in TMPDIR. */
	const char *target;
	const char *kernel; /* "dir:" and a mounted folder: one more system, the running kernel */
	const char *only;   /* cells whose name holds this; NULL: all */
	const char *system; /* the base and systems whose name holds this; NULL: all */
	uint32_t runs;      /* of each cell and system; 0: 3 */
	uint32_t scale;     /* percent of the full load; 0: 10 */
	uint32_t procs;     /* writers, where the study has no number of its own; 0: 1 */
	uint32_t threads;   /* of a replay (extkit/replay.h), on images; 0: 1 */
};

enum ek_bench_verdict {
	EK_BENCH_SILENT = 0, /* nothing was published, or nothing measured */
	EK_BENCH_AGREES,     /* faster where it was faster, slower where it was slower */
	EK_BENCH_DIFFERS,
	EK_BENCH_NOISE /* the middle halves of the runs overlap, or 1 % and less was published */
};

/* Something counted, per call, per page or as a whole as its name says. */
struct ek_bench_fact {
	const char *name;
	double value;
};

/* One system on one cell by one measure.  Texts live as long as the report. */
struct ek_bench_row {
	const char *cell, *system, *unit;
	const char *why;                    /* not available: the reason; NULL when it ran */
	double median, low, high;           /* of the runs, in unit */
	double ratio;                       /* to the base on this cell; 0: there is none */
	double published[EK_BENCH_SOURCES]; /* 0: not published */
	double published_ratio[EK_BENCH_SOURCES];
	enum ek_bench_verdict verdict[EK_BENCH_SOURCES];
	double wall_ns, cpu_ns; /* of a call, medians */
	double cpu_ratio;       /* base's cpu_ns to this one's: above 1 is less work; 0: no base */
	const struct ek_bench_fact *facts;
	size_t nfacts;
};

/* Any two systems of a cell for which order was published: does ours agree? */
struct ek_bench_pairs {
	const char *source; /* of the published numbers; NULL past the last */
	uint64_t agree, differ, noise;
};

/* What the machine was like. */
struct ek_bench_machine {
	double load_before, load_after; /* load averages; busy when above 1 */
	uint32_t cpus, runs, scale;
	double loop_ns; /* of a call, for making it and doing nothing */
};

struct ek_bench_report;

/* What a study is, for lists; NULL past the last (they count from 1). */
EK_EXPORT const char *ek_bench_title(unsigned study);

/* Runs a study.  *ret is set on success only.  -EINVAL for options, -EEXIST for a file in the way,
 * -ECANCELED when the progress function said so; scratch files are gone in any case.  A system
 * whose write path is not there is a row with its reason, not an error. */
EK_EXPORT EK_MUST int ek_bench_run(struct ek_ctx *ctx, unsigned study,
				   const struct ek_bench_options *opt,
				   struct ek_bench_report **ret);

EK_EXPORT const struct ek_bench_row *ek_bench_row(const struct ek_bench_report *rep, size_t i);
EK_EXPORT const char *ek_bench_source(const struct ek_bench_report *rep, size_t measure,
				      size_t source);
EK_EXPORT struct ek_bench_pairs ek_bench_pairs(const struct ek_bench_report *rep, size_t i);
EK_EXPORT struct ek_bench_machine ek_bench_machine(const struct ek_bench_report *rep);
EK_EXPORT void ek_bench_free(struct ek_bench_report *rep);

#ifdef __cplusplus
}
#endif
#endif

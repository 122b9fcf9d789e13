/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the benchmarks share.
 *
 * A study is a const table: systems (policies), measures, what to count, and a function that fills
 * cell number i for a scale.  bench.c goes over cells, runs and systems; bench_load.c runs one load
 * on one target; bench_report.c makes rows of what came out.
 */
#ifndef TRACE_BENCH_H
#define TRACE_BENCH_H

#include <stdbool.h>

#include "base/counters.h"
#include "extkit/bench.h"
#include "extkit/replay.h"

struct diag;

#define BENCH_SYSTEMS  16u
#define BENCH_SETS     5u
#define BENCH_MEASURES 2u
#define BENCH_FACTS    12u
#define BENCH_RUNS     99u

struct bench_system {
	const char *name;
	const char *policy;          /* a preset; NULL: the default */
	const char *set[BENCH_SETS]; /* "switch=value" */
};

enum bench_kind {
	BENCH_RATE_KB,    /* KiB a second, the calls alone */
	BENCH_RATE_MB,    /* MiB a second, the calls alone */
	BENCH_RATE_WHOLE, /* MiB a second until all of it is durable */
	BENCH_SECONDS,    /* until all of it is durable */
	BENCH_EXTENT,     /* blocks of an extent that writeback maps while calls are made */
	BENCH_MARKS       /* inode marks for each 4 KiB */
};

struct bench_measure {
	enum bench_kind kind;
	const char *unit;
	bool less; /* is better */
	const char *sources[EK_BENCH_SOURCES];
};

/* A number to show: counter up over counter or unit below; calls are writes, where there are any.
 */
enum bench_below { BELOW_ONE, BELOW_CALLS, BELOW_PAGES, BELOW_COUNTER };
struct bench_fact {
	const char *name; /* NULL ends a list */
	enum counter up;
	enum bench_below below;
	enum counter other; /* BELOW_COUNTER */
	bool whole;         /* with what writing out took, not the calls alone */
};

struct bench_cell {
	char name[48];
	char spec[192];       /* of the generator */
	uint64_t image_bytes; /* of an image that is large enough */
	const char *features; /* it has beside the usual ones, or NULL */
	uint64_t memory, background, dirty;
	uint64_t extent_ns, page_ns; /* the flusher's pace */
	bool warm;                   /* the cache has all its memory, and the image all its blocks,
				      * before the load begins */
	bool flusher;                /* background writeback has a thread of its own */
	bool in_memory;              /* the image lies in memory */
	unsigned skip;               /* systems that have no part in it, one bit each */
	unsigned passes;             /* study 5: of each writer */
	bool turns;                  /* study 5: writers take turns rather than being threads */
	double published[BENCH_MEASURES][EK_BENCH_SOURCES][BENCH_SYSTEMS];
};

/* What came between the marks of a generator, and what the whole of it was. */
struct bench_result {
	uint64_t calls, writes; /* reads and writes; the latter alone */
	uint64_t bytes;         /* of reads or of writes, whichever moved more */
	uint64_t wall_ns, cpu_ns;
	uint64_t whole_ns; /* with writing out */
	bool counted;      /* the target counts */
	struct counters calls_c, whole_c;
	double facts[BENCH_FACTS]; /* of a study that counts otherwise */
};

struct bench_study {
	const char *title;
	const struct bench_system *systems;
	size_t nsystems;
	struct bench_measure measures[BENCH_MEASURES];
	size_t nmeasures;
	const struct bench_fact *facts;
	/* Fills cell number i; false past the last. */
	bool (*cell)(size_t i, const struct ek_bench_options *opt, struct bench_cell *ret);
	/* Runs a cell on something else than an image; NULL: on an image.  target may be NULL. */
	int (*run)(struct ek_ctx *ctx, const struct bench_cell *cell,
		   const struct bench_system *system, const char *target, struct bench_result *ret);
};

extern const struct bench_study bench_study1, bench_study2, bench_study3, bench_study4,
    bench_study5;

/* ---- one load ---- */

/* Runs a generator's ops on a target ("dir:FOLDER" or an image).  -EEXIST when a file it wants to
 * make is there; with clean, the files it made are removed. */
int bench_load(struct ek_ctx *ctx, const char *spec, const char *target,
	       const struct ek_replay_options *opt, bool flusher, bool clean,
	       struct bench_result *ret);

/* ---- background writeback of a mounted folder ---- */

#define BENCH_FILES_MAX 1024u /* of one load */

struct bench_flusher;

/* background: bytes that may be dirty before writeback is asked for; folder must stay. */
int bench_flusher_start(const char *folder, uint64_t background, struct diag *d,
			struct bench_flusher **ret);
/* One more file of the folder, which is there. */
int bench_flusher_file(struct bench_flusher *f, const char *name, struct diag *d);
/* All that was written so far, in bytes. */
void bench_flusher_wrote(struct bench_flusher *f, uint64_t bytes);
void bench_flusher_stop(struct bench_flusher *f);

/* ns of a call for making the ops of a generator and doing nothing with them. */
int bench_loop(const char *spec, struct diag *d, double *ret);

/* ---- scratch images ---- */

struct bench_scratch {
	char path[512];
	bool made;
};

/* Makes the image that a cell asks for, in TMPDIR or in memory. */
int bench_scratch_make(struct ek_ctx *ctx, const struct bench_cell *cell,
		       struct bench_scratch *ret);
void bench_scratch_drop(struct bench_scratch *s);

/* ---- results ---- */

/* All runs of one system on one cell. */
struct bench_series {
	char *why; /* not available; owned */
	double values[BENCH_MEASURES][BENCH_RUNS];
	double wall_ns[BENCH_RUNS], cpu_ns[BENCH_RUNS];
	unsigned runs;
	struct bench_result last;
};

void bench_series_add(struct bench_series *s, const struct bench_study *study,
		      const struct bench_result *r);

struct ek_bench_report *bench_report_new(const struct bench_study *study);
/* Makes the rows of a cell: series i is that of systems[i], the first is the base; those of no run
 * and no reason are left out.  -ENOMEM. */
int bench_report_cell(struct ek_bench_report *rep, const struct bench_cell *cell,
		      const struct bench_series *series, const struct bench_system *systems,
		      size_t nsystems);
/* A row that a study made itself; copies its texts and facts.  -ENOMEM. */
int bench_report_row(struct ek_bench_report *rep, const struct ek_bench_row *row);
struct ek_bench_machine *bench_report_machine(struct ek_bench_report *rep);

#endif

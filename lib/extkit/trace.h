/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces of what programs did to a file system: import, convert, look at, cut, tidy, repair.
 *
 * A trace is a text file (.wtr) or a binary one (.wtb); both say the same, see doc/TRACE.md.  Every
 * verb reads one trace (import: logs of other tools) and writes another, in constant memory
 * whatever the length.  "-" as a file name is standard input or output.  An output file appears
 * when it is complete; input and output may be the same file.
 *
 *	struct ek_trace_options opt = {.size = sizeof(opt), .root = "/t"};
 *	struct ek_trace_report *report;
 *	const char *log = "strace.txt";
 *
 *	if (ek_trace_import(ctx, &log, 1, "app.wtr", &opt, &report) == 0) {
 *		const struct ek_trace_row *row;
 *		for (size_t i = 0; (row = ek_trace_report_row(report, i)); i++)
 *			printf("%s %s %llu\n", row->group, row->name, (unsigned long
 *long)row->count); ek_trace_report_free(report);
 *	}
 */
#ifndef EXTKIT_TRACE_H
#define EXTKIT_TRACE_H

#include "extkit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ek_ctx;

enum ek_trace_format {
	EK_TRACE_AUTO = 0, /* by content (input) or by name (output) */
	EK_TRACE_WTR,
	EK_TRACE_WTB,
	EK_TRACE_FIO,    /* fio I/O log: version 2 and 3 in, 3 out */
	EK_TRACE_STRACE, /* in only */
	EK_TRACE_EVENTS  /* kernel events as tracefs, trace-cmd or perf print them; in only */
};

enum ek_trace_flag {
	EK_TRACE_LENIENT = 1 << 0,   /* count ops that are not known and lines that make no sense */
	EK_TRACE_NO_READS = 1 << 1,  /* leave reads and stats out */
	EK_TRACE_SCRUB = 1 << 2,     /* drop all recorded bytes and checksums of them */
	EK_TRACE_CHECKSUMS = 1 << 3, /* keep checksums of recorded bytes, not the bytes */
	EK_TRACE_GUESS_STORES = 1 << 4,  /* strace: take an msync for stores to all it covers */
	EK_TRACE_OBSERVED = 1 << 5,      /* events: keep them as observed lines too */
	EK_TRACE_EVENTS_ONLY = 1 << 6,   /* events: observed lines, no ops made from them */
	EK_TRACE_WAIT_RELATIVE = 1 << 7, /* fio 2: waits count from the line before */
	EK_TRACE_NO_TIMES = 1 << 8,      /* normalize: without times and durations */
	EK_TRACE_NO_OBSERVED = 1 << 9,   /* normalize: without observed lines */
	EK_TRACE_SORT = 1 << 10,         /* normalize: in order of start */
	EK_TRACE_REBASE = 1 << 11        /* cut: time begins with 0 */
};

/* Zero is a good value for every member but size. */
struct ek_trace_options {
	size_t size;     /* sizeof(struct ek_trace_options) */
	unsigned input;  /* enum ek_trace_format */
	unsigned output; /* enum ek_trace_format */
	unsigned flags;  /* enum ek_trace_flag, or'ed */
	int level;       /* of zstd, 0: 3; text is compressed when its name ends in .zst */

	/* Import. */
	const char *root; /* directory that becomes "/"; what is outside is left out; NULL: "/" */
	const char *cwd;  /* where the first task was; NULL: "/" */
	const char *initial; /* files before the recording: a table or a .wtr with %init; or NULL */
	const char *extents; /* their extents, a table; or NULL */
	uint32_t dev_major;  /* events: the device; 0:0 takes the first one seen */
	uint32_t dev_minor;

	/* Cut: items in [from_ns, to_ns) with numbers in [first, last); 0 as an end is no limit. */
	uint64_t from_ns, to_ns;
	uint64_t first, last;
};

/* One fact.  group and name are constant English words, except for names of unknown calls, ops seen
 * in lenient reading and observed events.  What makes no sense for a row is 0. */
struct ek_trace_row {
	const char *group; /* "import", "unknown", "trace", "op", "thread", "observed", "repair",
			    * "skipped": the first lines that were passed over, FILE:LINE and why */
	const char *name;
	uint64_t count;
	uint64_t bytes;
	uint64_t ns;
};

struct ek_trace_report;

/* Row i, counted from 0, or NULL behind the last. */
EK_EXPORT const struct ek_trace_row *ek_trace_report_row(const struct ek_trace_report *report,
							 size_t i);
EK_EXPORT void ek_trace_report_free(struct ek_trace_report *report);

/* ret of all verbs may be NULL.  It is set on success only. */

/* Makes a trace of n logs; more than one is strace -ff, whose names end in the thread's number.
 * Groups: import, unknown. */
EK_EXPORT EK_MUST int ek_trace_import(struct ek_ctx *ctx, const char *const *logs, unsigned n,
				      const char *output, const struct ek_trace_options *opt,
				      struct ek_trace_report **ret);

/* Copies a trace into another form, or exports it (EK_TRACE_FIO).  Group: trace. */
EK_EXPORT EK_MUST int ek_trace_convert(struct ek_ctx *ctx, const char *input, const char *output,
				       const struct ek_trace_options *opt,
				       struct ek_trace_report **ret);

/* Counts what is in a trace (or in what can be imported).  Groups: trace, op, thread, observed. */
EK_EXPORT EK_MUST int ek_trace_stat(struct ek_ctx *ctx, const char *input,
				    const struct ek_trace_options *opt,
				    struct ek_trace_report **ret);

/* Takes a part; files open where it begins are opened there.  Group: trace. */
EK_EXPORT EK_MUST int ek_trace_cut(struct ek_ctx *ctx, const char *input, const char *output,
				   const struct ek_trace_options *opt,
				   struct ek_trace_report **ret);

/* Numbers handles, mappings and threads by first use, lets time begin with 0.  Group: trace. */
EK_EXPORT EK_MUST int ek_trace_normalize(struct ek_ctx *ctx, const char *input, const char *output,
					 const struct ek_trace_options *opt,
					 struct ek_trace_report **ret);

/* Saves what can be read of a torn or damaged trace; damaged frames become gaps.  The result is not
 * marked as whole unless the input was.  Groups: trace, repair. */
EK_EXPORT EK_MUST int ek_trace_repair(struct ek_ctx *ctx, const char *input, const char *output,
				      const struct ek_trace_options *opt,
				      struct ek_trace_report **ret);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of traces by name: which form they have, and how to open and to replace them. */
#ifndef TRACE_JOB_H
#define TRACE_JOB_H

#include "extkit/trace.h"
#include "trace/op.h"

/* The options of a caller with an older struct, or none at all, as today's. */
int job_options(const struct ek_trace_options *opt, struct diag *d, struct ek_trace_options *ret);

/* Opens a trace, or a log as an import.  repair: go on behind damage where that is possible.
 * "gen:..." is what a generator makes.
 * The form shows in the first 64 KiB or must be given; several inputs are logs of strace -ff.
 * *ret_format is the form found; import_counts() may be asked of all but WTR and WTB. */
int job_source(const char *const *paths, unsigned n, const struct ek_trace_options *opt,
	       bool repair, struct diag *d, struct op_source **ret,
	       enum ek_trace_format *ret_format);

/* A file being written under a name of its own until it is complete. */
struct job_output {
	struct op_sink *sink;
	char *path, *part; /* NULL part: standard output */
	enum ek_trace_format format;
};

int job_create(const char *path, const struct ek_trace_options *opt, struct diag *d,
	       struct job_output *ret);

/* Gives the file its name (done), or removes it. */
int job_close(struct job_output *out, bool done, struct diag *d);

#endif

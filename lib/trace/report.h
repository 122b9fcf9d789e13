/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of facts about a trace or an import. */
#ifndef TRACE_REPORT_H
#define TRACE_REPORT_H

#include "extkit/trace.h"
#include "trace/import.h"
#include "trace/notes.h"

struct ek_trace_report {
	struct ek_trace_row *rows;
	size_t n, cap;
	char **names; /* those that are not constant */
	size_t nnames, names_cap;
};

struct ek_trace_report *report_new(void);

/* name is copied when copy says so; 0 or -ENOMEM. */
int report_add(struct ek_trace_report *r, const char *group, const char *name, bool copy,
	       uint64_t count, uint64_t bytes, uint64_t ns);

/* All counters of an importer that are not 0 (lines, calls and ops always). */
int report_import(struct ek_trace_report *r, const struct op_source *s);

/* What was passed over: a row for each note kept, one for the number of others. */
int report_notes(struct ek_trace_report *r, const struct notes *notes);

/* What passes by: counts per op, thread and observed event. */
struct tally;

struct tally *tally_new(void);
void tally_free(struct tally *t);
int tally_count(struct tally *t, const struct op *o);

/* full: per op, thread and event too. */
int report_tally(struct ek_trace_report *r, const struct tally *t, bool whole, bool full);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* A growing list of rows, and the counters of an import as rows. */
#include "trace/report.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

struct ek_trace_report *report_new(void)
{
	return mem_zero(sizeof(struct ek_trace_report));
}

EK_EXPORT void ek_trace_report_free(struct ek_trace_report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nnames; i++)
		free(r->names[i]);
	free(r->names);
	free(r->rows);
	free(r);
}

EK_EXPORT const struct ek_trace_row *ek_trace_report_row(const struct ek_trace_report *r, size_t i)
{
	return r && i < r->n ? &r->rows[i] : NULL;
}

static const char *keep_name(struct ek_trace_report *r, const char *name)
{
	void *names = r->names;
	char *copy;

	if (mem_grow(&names, &r->names_cap, r->nnames + 1, sizeof(*r->names)) < 0)
		return NULL;
	r->names = names;
	copy = strdup(name);
	if (copy)
		r->names[r->nnames++] = copy;
	return copy;
}

int report_add(struct ek_trace_report *r, const char *group, const char *name, bool copy,
	       uint64_t count, uint64_t bytes, uint64_t ns)
{
	void *rows = r->rows;

	if (copy)
		name = keep_name(r, name);
	if (!name || mem_grow(&rows, &r->cap, r->n + 1, sizeof(*r->rows)) < 0)
		return -ENOMEM;
	r->rows = rows;
	r->rows[r->n++] = (struct ek_trace_row){group, name, count, bytes, ns};
	return 0;
}

#define COUNTER(member, words)                                \
	{                                                     \
		offsetof(struct import_counts, member), words \
	}

static const struct {
	size_t at;
	const char *name;
} counters[] = {
    COUNTER(lines, "lines"),
    COUNTER(calls, "calls"),
    COUNTER(ops, "ops"),
    COUNTER(outside, "outside the root"),
    COUNTER(failed, "failed calls"),
    COUNTER(ignored, "calls without effect"),
    COUNTER(unknown, "unknown calls"),
    COUNTER(cut, "cut lines"),
    COUNTER(unmatched, "halves of calls"),
    COUNTER(inferred_closes, "inferred closes"),
    COUNTER(inherited, "inherited descriptors"),
    COUNTER(inferred_names, "inferred names"),
    COUNTER(orphans, "threads of unknown origin"),
    COUNTER(unknown_sizes, "files of unknown size"),
    COUNTER(partial_data, "writes with some bytes only"),
    COUNTER(crossing, "names moved across the root"),
    COUNTER(unplaced, "calls no op can express"),
    COUNTER(late, "ops out of order"),
    COUNTER(lost, "lost events"),
    COUNTER(data_bytes, "recorded bytes kept"),
};

int report_import(struct ek_trace_report *r, const struct op_source *s)
{
	const char *counts = (const char *)import_counts(s);
	const struct import_unknown *u;
	size_t n;
	int err = 0;

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(counters); i++) {
		uint64_t v;

		memcpy(&v, counts + counters[i].at, sizeof(v));
		if (v || i < 3)
			err = report_add(r, "import", counters[i].name, false, v, 0, 0);
	}
	u = import_unknowns(s, &n);
	for (size_t i = 0; err == 0 && i < n; i++)
		err = report_add(r, "unknown", u[i].name, true, u[i].count, 0, 0);
	return err;
}

int report_notes(struct ek_trace_report *r, const struct notes *notes)
{
	int err = 0;

	for (unsigned i = 0; err == 0 && i < notes->n; i++)
		err = report_add(r, "skipped", notes->text[i], true, 1, 0, 0);
	if (err == 0 && notes->total > notes->n)
		err = report_add(r, "skipped", "others", false, notes->total - notes->n, 0, 0);
	return err;
}

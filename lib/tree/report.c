/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of what is missing from a tree; what is too much for a report is counted. */
#include "tree/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define ISSUES_MAX 1000u

void report_issue(struct tree_report *r, int error, const char *path, struct diag *d)
{
	char host[128];
	const char *why = d->code == error ? d->text : strerror_r(-error, host, sizeof(host));
	char *p, *w;

	r->r.failed++;
	if (r->r.nissues < ISSUES_MAX &&
	    mem_grow((void **)&r->issues, &r->cap, r->r.nissues + 1, sizeof(*r->issues)) == 0) {
		p = strdup(path);
		w = strdup(why);
		if (p != NULL && w != NULL) {
			r->issues[r->r.nissues++] = (struct ek_tree_issue){error, p, w};
			r->r.issues = r->issues;
		} else {
			free(p);
			free(w);
		}
	}
	diag_clear(d);
}

void ek_tree_report_free(struct ek_tree_report *report)
{
	if (report == NULL)
		return;
	for (size_t i = 0; i < report->nissues; i++) {
		free((void *)(uintptr_t)report->issues[i].path);
		free((void *)(uintptr_t)report->issues[i].why);
	}
	free((void *)(uintptr_t)report->issues);
	free(report);
}

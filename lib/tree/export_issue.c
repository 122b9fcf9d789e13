/* SPDX-License-Identifier: BSD-2-Clause */
/* What an export has to report, and what it remembers for its later passes: lists of copied paths.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fs/session.h"
#include "tree/export_impl.h"

#define ISSUES_MAX 1000u

void export_issue(struct export *x, unsigned kind, int error, const char *path, const char *why)
{
	struct ek_export_issue *i;
	char *p, *w;

	if (kind == EK_ISSUE_SKIPPED)
		x->rep->skipped++;
	else
		x->rep->failed++;
	if (x->rep->nissues >= ISSUES_MAX ||
	    mem_grow((void **)&x->issues, &x->issues_cap, x->rep->nissues + 1, sizeof(*i)) < 0)
		return;
	p = strdup(path);
	w = strdup(why);
	if (p == NULL || w == NULL) {
		free(p);
		free(w);
		return;
	}
	x->rep->issues = x->issues;
	x->issues[x->rep->nissues++] = (struct ek_export_issue){kind, error, p, w};
}

void export_failed(struct export *x, int error, const char *path)
{
	const struct diag *d = &x->img->session->ctx->diag;
	char why[128];

	export_issue(x, EK_ISSUE_FAILED, error, path,
		     d->code == error ? d->text : strerror_r(-error, why, sizeof(why)));
	diag_clear(&x->img->session->ctx->diag);
}

int export_remember(struct list_of_later *l, ek_inum ino, const char *path)
{
	char *copy = strdup(path);
	int rc =
	    copy == NULL ? -ENOMEM : mem_grow((void **)&l->v, &l->cap, l->n + 1, sizeof(*l->v));

	if (rc < 0) {
		free(copy);
		return rc;
	}
	l->v[l->n++] = (struct later){ino, copy};
	return 0;
}

void ek_export_report_free(struct ek_export_report *report)
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

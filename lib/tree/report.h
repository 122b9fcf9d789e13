/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports on trees under construction. */
#ifndef TREE_REPORT_H
#define TREE_REPORT_H

#include "base/diag.h"
#include "extkit/tree.h"

struct tree_report {
	struct ek_tree_report r;
	struct ek_tree_issue *issues;
	size_t cap;
};

/* A row for what is missing, with the story in d, which is cleared. */
void report_issue(struct tree_report *r, int error, const char *path, struct diag *d);

#endif

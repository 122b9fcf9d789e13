/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of entries between a source and a sink: left out, or with other owners, times and
 * attributes. */
#ifndef TREE_FILTER_H
#define TREE_FILTER_H

#include "extkit/tree.h"
#include "tree/source.h"

struct tree_filter;

/* Reads the side files.  opt stays the caller's until filter_close. */
int filter_open(const struct ek_tree_options *opt, struct ek_time now, struct diag *d,
		struct tree_filter **ret);
void filter_close(struct tree_filter *f);

/* 1: *e is as it shall be, its attributes valid until the next call; 0: it is left out. */
int filter_apply(struct tree_filter *f, struct tree_entry *e);

#endif

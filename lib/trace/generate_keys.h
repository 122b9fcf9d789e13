/* SPDX-License-Identifier: BSD-2-Clause */
/* From the text of a workload to the values of a generator's keys. */
#ifndef TRACE_GENERATE_KEYS_H
#define TRACE_GENERATE_KEYS_H

#include "trace/generate.h"

/* In alphabetical order, NULL at the end. */
extern const struct generator *const generators[];

/* Finds the generator of "NAME:KEY=VALUE,..." and fills g->is and g->v.  -EINVAL with one line that
 * names the key, the value and what would do. */
int generate_values(const char *spec, struct gen *g, struct diag *d);

#endif

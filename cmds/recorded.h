/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters that were recorded elsewhere: lines of a name, a tab and a number. */
#ifndef CMDS_RECORDED_H
#define CMDS_RECORDED_H

#include <stddef.h>
#include <stdint.h>

struct run;

struct recorded_row {
	char *name;
	int64_t value;
};

struct recorded {
	struct recorded_row *rows;
	size_t n;
};

/* Reads file; lines that are empty, begin with # or are the heading "counter<TAB>value" are passed
 * over.  An exit code: a line of another form is a usage error with its number. */
int recorded_read(struct run *run, const char *file, struct recorded *ret);
void recorded_free(struct recorded *recorded);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a reader or a replay left out, a line each, for its report.  Hostile input can be wrong at
 * every line: all are counted, the first ones kept.
 */
#ifndef TRACE_NOTES_H
#define TRACE_NOTES_H

#include <stdint.h>

#define NOTES_MAX 20u

/* Zero is an empty list. */
struct notes {
	char *text[NOTES_MAX];
	unsigned n;
	uint64_t total;
};

/* notes may be NULL. */
void notes_add(struct notes *notes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "FILE:LINE: cut or garbled". */
void notes_cut(struct notes *notes, const char *file, uint64_t line);

void notes_free(struct notes *notes);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text form, ".wtr": one line per item, sorted by start time.
 *
 * The reader refuses with "FILE:LINE:COLUMN: reason".  It takes a file that was cut at any line
 * end or in the middle of its last line; op_whole() is true only when the %end line was there and
 * its count and checksum were right.  It also takes the dialect of an early importer.
 */
#ifndef TRACE_WTR_H
#define TRACE_WTR_H

#include "trace/op.h"

struct instream;
struct outstream;

/* The longest line, LF included. */
#define WTR_LINE_MAX ((size_t)64 << 10)

enum wtr_flag {
	WTR_LENIENT = 1, /* unknown ops and words become OP_UNKNOWN or extra text, lines that make
			  * no sense gaps; all are counted and noted */
};

struct wtr_counts {
	uint64_t lines;
	uint64_t unknown_ops;
	uint64_t unknown_words;
	uint64_t bad_lines;
};

/* in becomes the source's own, even on failure.  The header is read before this returns. */
int wtr_read(struct instream *in, unsigned flags, struct diag *d, struct op_source **ret);

/* How much a source made by wtr_read() had to overlook so far. */
const struct wtr_counts *wtr_source_counts(const struct op_source *s);

/* out becomes the sink's own, even on failure. */
int wtr_write(struct outstream *out, struct diag *d, struct op_sink **ret);

#endif

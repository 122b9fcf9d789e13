/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sources that stand in front of another source and change what comes out of it.  Each becomes the
 * owner of the source it is given, even on failure.
 */
#ifndef TRACE_FILTER_H
#define TRACE_FILTER_H

#include "trace/op.h"

/*
 * A part of a trace: timed items that begin in [from, to) and are number first up to (not
 * including) last of all timed items, counted from 0.  Files that are open where the part begins
 * are opened there, and mappings made; an open file without a name is opened as a nameless one.
 * The manifest is left out unless the part begins at the beginning, expectations unless it ends at
 * the end: they would not be true.
 */
struct cut_range {
	uint64_t from, to;    /* ns */
	uint64_t first, last; /* items */
	bool rebase;          /* let time begin with 0 again */
};
int cut_filter(struct op_source *in, const struct cut_range *range, struct op_source **ret);

enum normalize_flag {
	NORMALIZE_NO_TIMES = 1,    /* all times 0, no durations */
	NORMALIZE_NO_READS = 2,    /* without reads and stats */
	NORMALIZE_NO_OBSERVED = 4, /* without observed lines */
	NORMALIZE_SORT = 8,        /* in order of start, for files that are not */
};

/* Handles, mappings and threads numbered from 1 by first use; time begins with 0.  Two recordings
 * of one run then differ only in what differed. */
int normalize_filter(struct op_source *in, unsigned flags, struct op_source **ret);

enum data_flag {
	DATA_KEEP_CHECKSUM = 1, /* bytes become CRC-32C */
	DATA_SCRUB = 2,         /* bytes and checksums go */
};

/* Less of the recorded bytes. */
int data_filter(struct op_source *in, unsigned flags, struct op_source **ret);

#endif

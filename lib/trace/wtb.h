/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The binary form, ".wtb": the same items in columns, in zstd frames.
 *
 * A file is a row of frames: a skippable one with the header, then per stretch of ops an optional
 * frame of recorded bytes and one of columns, then an end mark, our index and the seek table of
 * the zstd seekable format, both skippable.  Every frame of columns stands alone: a reader can
 * start at any of them and one that is damaged costs only its own ops.
 *
 * Memory use is a few MiB for writing and reading, whatever the length of the trace.
 */
#ifndef TRACE_WTB_H
#define TRACE_WTB_H

#include "trace/op.h"

struct instream;
struct outstream;

enum wtb_flag {
	WTB_REPAIR = 1, /* a damaged frame becomes an OP_GAP instead of an error */
};

/* in must be raw (INSTREAM_RAW) and becomes the source's own, even on failure. */
int wtb_read(struct instream *in, unsigned flags, struct diag *d, struct op_source **ret);

/* out becomes the sink's own, even on failure; level is zstd's (3 is a good one).  flush() closes
 * the current frame: a recorder calls it once a second, so that a crash costs no more. */
int wtb_write(struct outstream *out, int level, struct diag *d, struct op_sink **ret);

/* True when the first bytes of a file (n of them, 12 are enough) are those of this form. */
bool wtb_is(const void *p, size_t n);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* A sink that writes fio's I/O log, version 3. */
#ifndef TRACE_FIO_WRITE_H
#define TRACE_FIO_WRITE_H

#include "trace/op.h"

struct outstream;

/* out becomes the sink's own, even on failure.  What a log of fio cannot say (names, attributes,
 * sizes, all but reads, writes, syncs and trims) is left out and counted; a name with a space is an
 * error. */
int fio_write(struct outstream *out, struct diag *d, struct op_sink **ret);

/* Ops left out so far. */
uint64_t fio_sink_left_out(const struct op_sink *s);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ops that become known in the order in which calls end, handed out in the order in which they
 * began; equal times by thread, then as they came.
 *
 * Copies of ops wait until the caller says that nothing earlier can come.  At most REORDER_MAX
 * wait: beyond that the earliest goes out anyway, and what comes later than it should is counted.
 */
#ifndef TRACE_REORDER_H
#define TRACE_REORDER_H

#include "trace/op.h"

#define REORDER_MAX 65536u

struct reorder;

struct reorder *reorder_new(void);
void reorder_free(struct reorder *r);

/* Keeps a copy of the op and of all it points to; 0 or -ENOMEM. */
int reorder_put(struct reorder *r, const struct op *o);

/* The earliest op if it began before that time, or NULL; valid until the next call. */
const struct op *reorder_take(struct reorder *r, uint64_t before);

/* Ops that came too late to be put in order. */
uint64_t reorder_late(const struct reorder *r);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of a replay share. */
#ifndef TRACE_REPLAY_IMPL_H
#define TRACE_REPLAY_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "extkit/replay.h"
#include "trace/notes.h"
#include "trace/op.h"

struct target;

#define UNOPENED_MAX 64u

struct replay {
	struct ek_ctx *ctx;
	struct ek_replay_options opt;
	struct op_source *source;
	struct target *target;
	uint64_t ops[OP_COUNT], failed[OP_COUNT];
	bool told; /* a worker's failure ends the run, and has its place already */
	uint64_t done, lost, missed, bytes;
	uint64_t wall_start;
	struct notes notes;
	const char *trace;
	uint64_t clock; /* where the replayed program's clock stands, ns */
	struct {
		uint32_t handle;
		int why;
	} unopened[UNOPENED_MAX]; /* the last opens that failed */
	unsigned unopened_next;
	bool begun;
};

/* Decides about an op that returned rc: 0 to go on, counted and noted, or the error that ends the
 * run with its story told. */
int replay_failure(struct replay *rp, const struct op *o, int rc);

/* The end of a run as rows. */
int replay_report(struct replay *rp, struct ek_replay_report **ret);

#endif

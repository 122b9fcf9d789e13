/* SPDX-License-Identifier: BSD-2-Clause */
/* dd: one new file, written from its start to its end in calls of one length. */
#include <errno.h>

#include "base/check.h"
#include "base/diag.h"
#include "trace/generate.h"

enum key { BS, COUNT, CONV, PROCS, WARM, NS, END };
enum conv { CONV_NONE, CONV_FDATASYNC, CONV_FSYNC };

static const struct gen_key keys[] = {
    {"bs", GEN_SIZE, 8192, 1, 1 << 30, NULL, "bytes of one call"},
    {"count", GEN_SIZE, 8192, 1, (uint64_t)1 << 38, NULL, "calls; K and M as in dd"},
    {"conv", GEN_WORD, 0, 0, 2, "none|fdatasync|fsync", "how the file is made durable"},
    GEN_KEY_PROCS(1),
    GEN_KEY_WARM,
    GEN_KEY_NS,
    GEN_KEY_END,
    GEN_KEYS_END,
};

static int plan(struct gen *g, struct diag *d)
{
	uint64_t size;

	if (ck_mul(g->v[BS], g->v[COUNT], &size) || size > INT64_MAX)
		return diag_set(d, -EINVAL,
				"generate: dd: bs=%llu count=%llu: more than a file holds",
				(unsigned long long)g->v[BS], (unsigned long long)g->v[COUNT]);
	g->plan = (struct gen_plan){
	    .procs = g->v[PROCS],
	    .setup = 1,
	    .steps = g->v[COUNT] + (g->v[CONV] != CONV_NONE),
	    .bytes = g->v[BS],
	    .files = 1,
	    .size = size,
	};
	return 0;
}

static void step(struct gen *g, uint64_t proc, uint64_t k, struct op *o)
{
	uint32_t handle = gen_handle(proc, 0);

	if (k == 0)
		gen_open(g, o, handle, "dd", proc, OPF_CREAT | OPF_TRUNC);
	else if (k <= g->v[COUNT])
		gen_io(o, OP_WRITE, handle, (k - 1) * g->v[BS], g->v[BS]);
	else
		gen_io(o, g->v[CONV] == CONV_FSYNC ? OP_FSYNC : OP_FDATASYNC, handle, 0, 0);
}

const struct generator generator_dd = {
    .name = "dd",
    .says = "write one new file from start to end",
    .keys = keys,
    .plan = plan,
    .step = step,
};

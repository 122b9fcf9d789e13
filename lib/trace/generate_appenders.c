/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams that grow side by side, each a new file, one block a call. */
#include <errno.h>

#include "base/diag.h"
#include "trace/generate.h"

enum key { PROCS, SIZE, BS, WARM, NS, END };

static const struct gen_key keys[] = {
    GEN_KEY_PROCS(16),
    {"size", GEN_SIZE, 64 << 20, 1, (uint64_t)1 << 44, NULL, "that each file grows to"},
    {"bs", GEN_SIZE, 4096, 1, 1 << 30, NULL, "bytes of one call"},
    GEN_KEY_WARM,
    GEN_KEY_NS,
    GEN_KEY_END,
    GEN_KEYS_END,
};

static int plan(struct gen *g, struct diag *d)
{
	if (g->v[SIZE] < g->v[BS])
		return diag_set(d, -EINVAL, "generate: appenders: bs=%llu is more than size=%llu",
				(unsigned long long)g->v[BS], (unsigned long long)g->v[SIZE]);
	g->plan = (struct gen_plan){
	    .procs = g->v[PROCS],
	    .setup = 1,
	    .steps = g->v[SIZE] / g->v[BS],
	    .bytes = g->v[BS],
	    .files = 1,
	    .size = g->v[SIZE],
	};
	return 0;
}

static void step(struct gen *g, uint64_t proc, uint64_t k, struct op *o)
{
	if (k == 0)
		gen_open(g, o, gen_handle(proc, 0), "stream", proc, OPF_CREAT | OPF_TRUNC);
	else
		gen_io(o, OP_WRITE, gen_handle(proc, 0), (k - 1) * g->v[BS], g->v[BS]);
}

const struct generator generator_appenders = {
    .name = "appenders",
    .says = "let several files grow side by side, one block a call",
    .keys = keys,
    .plan = plan,
    .step = step,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writers on one file: each goes over all its blocks in an order of its own, a new one for every
 * pass, and ends a pass by telling the cache that it needs none of the file any more, which flushes
 * it without waiting and drops what is clean.
 */
#include <errno.h>

#include "base/diag.h"
#include "trace/generate.h"

enum key { PROCS, SIZE, BS, PASSES, ORDER, SEED, NS, END };

static const struct gen_key keys[] = {
    GEN_KEY_PROCS(4),
    {"size", GEN_SIZE, 16 << 20, 1, (uint64_t)1 << 44, NULL, "of the file"},
    {"bs", GEN_SIZE, 4096, 1, 1 << 30, NULL, "bytes of one call"},
    {"passes", GEN_NUMBER, 4, 1, (uint64_t)1 << 32, NULL, "how often each goes over the file"},
    {"order", GEN_WORD, 0, 0, 1, "random|linear", "of the blocks in a pass"},
    {"seed", GEN_NUMBER, 1, 0, UINT64_MAX, NULL, "of the random orders"},
    GEN_KEY_NS,
    GEN_KEY_END,
    GEN_KEYS_END,
};

static int plan(struct gen *g, struct diag *d)
{
	uint64_t calls = g->v[SIZE] / g->v[BS];

	if (calls == 0)
		return diag_set(d, -EINVAL, "generate: region: bs=%llu is more than size=%llu",
				(unsigned long long)g->v[BS], (unsigned long long)g->v[SIZE]);
	if (calls >= UINT64_MAX / 2 / g->v[PASSES])
		return diag_set(d, -EINVAL, "generate: region: passes=%llu: too many calls",
				(unsigned long long)g->v[PASSES]);
	g->plan = (struct gen_plan){
	    .procs = g->v[PROCS],
	    .setup = 1,
	    .steps = (calls + 1) * g->v[PASSES],
	    .bytes = g->v[BS],
	    .files = 1,
	    .calls = calls,
	};
	return 0;
}

static void step(struct gen *g, uint64_t proc, uint64_t k, struct op *o)
{
	uint64_t calls = g->plan.calls, i = (k - 1) % (calls + 1);
	uint64_t pass = (k - 1) / (calls + 1);
	uint32_t handle = gen_handle(proc, 0);

	if (k == 0) {
		gen_open(g, o, handle, "region", 0, OPF_CREAT);
		return;
	}
	if (i == calls) {
		gen_io(o, OP_ADVISE, handle, 0, g->v[SIZE]);
		o->sub = ADVICE_DONTNEED;
		o->plain = 0;
		return;
	}
	if (g->v[ORDER] == 0)
		i = gen_shuffled(i, calls, g->v[SEED] + pass * g->v[PROCS] + proc);
	gen_io(o, OP_WRITE, handle, i * g->v[BS], g->v[BS]);
}

const struct generator generator_region = {
    .name = "region",
    .says = "let writers overwrite one file in orders of their own and flush it after each pass",
    .keys = keys,
    .plan = plan,
    .step = step,
};

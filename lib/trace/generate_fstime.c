/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The file tests of UnixBench: every process has a file f (copy: and g) of its own in one folder
 * and goes over it again and again.  The length of a file is given in units of 1,024 bytes whatever
 * the buffer, so the three usual pairs of buffer and length all make 2,000 calls a pass.  Only the
 * first pass of a write appends; read and copy find f written.
 */
#include <errno.h>

#include "base/diag.h"
#include "trace/generate.h"

enum key { MODE, BUFFER, BLOCKS, PASSES, PROCS, NS, END };
enum mode { MODE_WRITE, MODE_READ, MODE_COPY };

static const struct gen_key keys[] = {
    {"mode", GEN_WORD, 0, 0, 2, "write|read|copy", "what is done with the file"},
    {"buffer", GEN_SIZE, 1024, 1, 1 << 30, NULL, "bytes of one call"},
    {"blocks", GEN_NUMBER, 2000, 1, (uint64_t)1 << 40, NULL,
     "length of the file in units of 1,024 bytes"},
    {"passes", GEN_NUMBER, 20, 1, (uint64_t)1 << 32, NULL, "how often the file is gone over"},
    GEN_KEY_PROCS(1),
    GEN_KEY_NS,
    GEN_KEY_END,
    GEN_KEYS_END,
};

/* Calls of one pass. */
static uint64_t buffers(const struct gen *g)
{
	return g->v[BLOCKS] * 1024 / g->v[BUFFER];
}

static uint64_t opens(const struct gen *g)
{
	return g->v[MODE] == MODE_COPY ? 2 : 1;
}

/* A write is measured from its first append; the others after f was written and read. */
static int plan(struct gen *g, struct diag *d)
{
	uint64_t n = buffers(g);

	if (n == 0)
		return diag_set(d, -EINVAL,
				"generate: fstime: a buffer of %llu does not fit %llu blocks",
				(unsigned long long)g->v[BUFFER], (unsigned long long)g->v[BLOCKS]);
	if (n > UINT64_MAX / 2 / g->v[PASSES])
		return diag_set(d, -EINVAL, "generate: fstime: passes=%llu: too many calls",
				(unsigned long long)g->v[PASSES]);
	g->plan = (struct gen_plan){
	    .procs = g->v[PROCS],
	    .setup = opens(g) + (g->v[MODE] == MODE_WRITE  ? 0
				 : g->v[MODE] == MODE_READ ? n
							   : 2 * n),
	    .steps = n * g->v[PASSES] * opens(g),
	    .bytes = g->v[BUFFER],
	    .files = opens(g),
	    .calls = n,
	};
	return 0;
}

/* Where call k of a row of passes is in its own.  Calls come in order, so that a division is rare:
 * it would take as long as all else that a call needs here. */
static uint64_t in_pass(struct gen *g, uint64_t k)
{
	if (k - g->pass >= g->plan.calls)
		g->pass = k - k % g->plan.calls;
	return k - g->pass;
}

static void prepare(struct gen *g, uint64_t proc, uint64_t k, struct op *o)
{
	uint64_t n = g->plan.calls, len = g->v[BUFFER], first = opens(g);

	if (k < first) {
		gen_open(g, o, gen_handle(proc, k), k == 0 ? "fstime-f" : "fstime-g", proc,
			 OPF_CREAT | OPF_TRUNC);
		return;
	}
	k -= first;
	gen_io(o, k < n ? OP_WRITE : OP_READ, gen_handle(proc, 0), k % n * len, len);
}

/* Calls of one file follow each other to the end of the pass. */
static void go_on(struct gen *g, uint64_t k, enum op_code code, struct op *o)
{
	uint64_t at = in_pass(g, k);

	gen_io(o, code, o->handle, at * g->v[BUFFER], g->v[BUFFER]);
	if (g->plan.procs == 1)
		g->same = g->plan.calls - at - 1;
}

static void step(struct gen *g, uint64_t proc, uint64_t k, struct op *o)
{
	uint64_t len = g->v[BUFFER];

	if (k < g->plan.setup) {
		prepare(g, proc, k, o);
		return;
	}
	k -= g->plan.setup;
	o->handle = gen_handle(proc, g->v[MODE] == MODE_COPY && k % 2 != 0);
	if (g->v[MODE] == MODE_COPY)
		gen_io(o, k % 2 == 0 ? OP_READ : OP_WRITE, o->handle, in_pass(g, k / 2) * len, len);
	else
		go_on(g, k, g->v[MODE] == MODE_WRITE ? OP_WRITE : OP_READ, o);
}

const struct generator generator_fstime = {
    .name = "fstime",
    .says = "write, read or copy a small file again and again, as UnixBench does",
    .keys = keys,
    .plan = plan,
    .step = step,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One file gone over in calls of one size: the rows of the large folio study.  Reads find a hole,
 * bytes in the cache, or bytes on the device (written, made durable and dropped from the cache).
 * Writes append to a new file or overwrite one that was written before, with or without a sync
 * after every call.
 */
#include <errno.h>

#include "base/diag.h"
#include "trace/generate.h"

enum key { MODE, BS, SIZE, PASSES, FROM, OVERWRITE, SYNC, WARM, PROCS, NS, END };
enum mode { MODE_WRITE, MODE_READ };
enum from { FROM_HOLE, FROM_MEMORY, FROM_DISK };

static const struct gen_key keys[] = {
    {"mode", GEN_WORD, 0, 0, 1, "write|read", "which way the bytes go"},
    {"bs", GEN_SIZE, 4096, 1, 1 << 30, NULL, "bytes of one call"},
    {"size", GEN_SIZE, 64 << 20, 1, (uint64_t)1 << 44, NULL, "of the file"},
    {"passes", GEN_NUMBER, 1, 1, (uint64_t)1 << 32, NULL, "how often the file is gone over"},
    {"from", GEN_WORD, 0, 0, 2, "hole|memory|disk", "where reads find the bytes"},
    {"overwrite", GEN_WORD, 0, 0, 1, "no|yes", "write the file before"},
    {"sync", GEN_WORD, 0, 0, 1, "no|yes", "fsync after each write"},
    GEN_KEY_WARM,
    GEN_KEY_PROCS(1),
    GEN_KEY_NS,
    GEN_KEY_END,
    GEN_KEYS_END,
};

static bool is_read(const struct gen *g)
{
	return g->v[MODE] == MODE_READ;
}

/* Calls that write the file before it is measured. */
static uint64_t fills(const struct gen *g)
{
	bool filled = is_read(g) ? g->v[FROM] != FROM_HOLE : g->v[OVERWRITE] != 0;

	return filled ? gen_fills(g->v[SIZE]) : 0;
}

/* Open; a hole's size, or writes, fsync and the drop. */
static uint64_t setup_of(const struct gen *g)
{
	if (is_read(g) && g->v[FROM] == FROM_HOLE)
		return 2;
	return 1 + (fills(g) != 0 ? fills(g) + 1 : 0) + (is_read(g) && g->v[FROM] == FROM_DISK);
}

static int plan(struct gen *g, struct diag *d)
{
	uint64_t calls = g->v[SIZE] / g->v[BS];

	if (calls == 0)
		return diag_set(d, -EINVAL, "generate: folio: bs=%llu is more than size=%llu",
				(unsigned long long)g->v[BS], (unsigned long long)g->v[SIZE]);
	if (calls > UINT64_MAX / 2 / g->v[PASSES])
		return diag_set(d, -EINVAL, "generate: folio: passes=%llu: too many calls",
				(unsigned long long)g->v[PASSES]);
	g->plan = (struct gen_plan){
	    .procs = g->v[PROCS],
	    .setup = setup_of(g),
	    .steps = calls * g->v[PASSES] * (!is_read(g) && g->v[SYNC] != 0 ? 2 : 1),
	    .bytes = g->v[BS],
	    .files = 1,
	    .calls = calls,
	    .size = g->v[SIZE],
	};
	return 0;
}

static void prepare(struct gen *g, uint64_t proc, uint64_t k, struct op *o)
{
	uint32_t handle = gen_handle(proc, 0);

	if (k == 0) {
		gen_open(g, o, handle, "folio", proc, OPF_CREAT | OPF_TRUNC);
	} else if (fills(g) == 0) {
		gen_io(o, OP_FTRUNCATE, handle, 0, g->v[SIZE]);
	} else if (k <= fills(g)) {
		gen_fill(o, handle, k - 1, g->v[SIZE]);
	} else if (k == fills(g) + 1) {
		gen_io(o, OP_FSYNC, handle, 0, 0);
	} else {
		gen_io(o, OP_ADVISE, handle, 0, g->v[SIZE]);
		o->sub = ADVICE_DONTNEED;
		o->plain = 0;
	}
}

static void step(struct gen *g, uint64_t proc, uint64_t k, struct op *o)
{
	uint64_t calls = g->plan.calls;
	uint32_t handle = gen_handle(proc, 0);

	if (k < g->plan.setup) {
		prepare(g, proc, k, o);
		return;
	}
	k -= g->plan.setup;
	if (is_read(g))
		gen_io(o, OP_READ, handle, k % calls * g->v[BS], g->v[BS]);
	else if (g->v[SYNC] == 0)
		gen_io(o, OP_WRITE, handle, k % calls * g->v[BS], g->v[BS]);
	else if (k % 2 != 0)
		gen_io(o, OP_FSYNC, handle, 0, 0);
	else
		gen_io(o, OP_WRITE, handle, k / 2 % calls * g->v[BS], g->v[BS]);
}

const struct generator generator_folio = {
    .name = "folio",
    .says = "read or write one large file in calls of one size, as fio does",
    .keys = keys,
    .plan = plan,
    .step = step,
};

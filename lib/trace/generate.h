/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Generators: workloads that need no file, as sources of ops.
 *
 * A generator is a row of the table in generate.c: keys with their limits, a plan, and a function
 * that makes op number k of process p from those numbers alone.  Nothing is kept between ops, so a
 * workload of any length streams in constant memory and two runs give the same ops.
 *
 * The source takes the steps of all processes in turns: step 0 of each, step 1 of each, ...  Thread
 * p + 1 is process p.  The first plan.setup steps of every process prepare; the op MARK "measure"
 * follows them, then the steps that a benchmark times, then MARK "end" and what the key "end" asks
 * for.  A process takes plan.ns for a step, and its clock is the trace's.
 */
#ifndef TRACE_GENERATE_H
#define TRACE_GENERATE_H

#include "trace/op.h"

#define GENERATE_SCHEME  "gen:"
#define GENERATE_KEYS    12u
#define GENERATE_MEASURE "measure"
#define GENERATE_END     "end"

enum gen_kind {
	GEN_NUMBER, /* decimal */
	GEN_SIZE,   /* bytes, K M G T for powers of 1024 */
	GEN_WORD    /* one of words; the value is its position */
};

struct gen_key {
	const char *name;
	enum gen_kind kind;
	uint64_t usual, least, most;
	const char *words; /* "one|two" */
	const char *says;
};

struct gen_plan {
	uint64_t procs;
	uint64_t setup, steps; /* of one process */
	uint64_t bytes;        /* that one call moves, for the clock */
	uint64_t files;        /* that one process has open at the end: 1 or 2 */
	uint64_t calls;        /* of a pass, for the generator itself */
	uint64_t size;         /* of the file, for the key "warm" */
};

/* A generator at work: values in the order of its keys. */
struct gen {
	const struct generator *is;
	uint64_t v[GENERATE_KEYS];
	struct gen_plan plan;
	uint64_t ns;   /* of a step */
	uint64_t pass; /* the first step of the pass that was made last */
	uint64_t same; /* how many steps behind the last differ from it only by off += len */
	char path[32];
};

struct generator {
	const char *name, *says;
	const struct gen_key *keys; /* the last has no name */
	/* Fills plan; -EINVAL with a story when values do not go together. */
	int (*plan)(struct gen *g, struct diag *d);
	/* Step k (below setup + steps) of a process; step 0 opens handle 0.  *o is clear but for
	 * time and thread.  Where there is only one process it may set g->same, and is not asked
	 * for those steps. */
	void (*step)(struct gen *g, uint64_t proc, uint64_t k, struct op *o);
};

extern const struct generator generator_fstime, generator_dd, generator_folio, generator_appenders,
    generator_region;

/* Opens what "NAME" or "NAME:KEY=VALUE,..." describes. */
int generate_open(const char *spec, struct diag *d, struct op_source **ret);

/* ---- for generators ---- */

/* Calls of 1 MiB that fill a file of that size, and number k of them. */
#define GEN_FILL ((uint64_t)1 << 20)
static inline uint64_t gen_fills(uint64_t size)
{
	return size / GEN_FILL + (size % GEN_FILL != 0);
}
void gen_fill(struct op *o, uint32_t handle, uint64_t k, uint64_t size);

/* Keys that most have. */
#define GEN_KEY_PROCS(n)                                                            \
	{                                                                           \
		"procs", GEN_NUMBER, n, 1, 1024, NULL, "processes, each one thread" \
	}
#define GEN_KEY_NS                                                                              \
	{                                                                                       \
		"ns", GEN_NUMBER, 0, 0, 1000000000, NULL,                                       \
		    "nanoseconds from call to call; 0: 2,000 and a quarter for each byte moved" \
	}
#define GEN_KEY_END                                                                       \
	{                                                                                 \
		"end", GEN_WORD, 0, 0, 2, "none|sync|close", "what follows the last call" \
	}
#define GEN_KEY_WARM                                                                    \
	{                                                                               \
		"warm", GEN_WORD, 0, 0, 1, "no|yes",                                    \
		    "fill the file and cut it to nothing first: memory was used before" \
	}
#define GEN_KEYS_END                                  \
	{                                             \
		NULL, GEN_NUMBER, 0, 0, 0, NULL, NULL \
	}

/* Handles are numbered by process: which is 0 or 1. */
static inline uint32_t gen_handle(uint64_t proc, uint64_t which)
{
	return (uint32_t)(proc * 2 + which + 1);
}

/* Of the file "/STEMnumber". */
void gen_open(struct gen *g, struct op *o, uint32_t handle, const char *stem, uint64_t number,
	      unsigned flags);

static inline void gen_io(struct op *o, enum op_code code, uint32_t handle, uint64_t off,
			  uint64_t len)
{
	o->code = (uint8_t)code;
	o->handle = handle;
	o->off = off;
	o->len = len;
}

/* Item i of a shuffle of n items that seed decides; n > 0, i < n. */
uint64_t gen_shuffled(uint64_t i, uint64_t n, uint64_t seed);

#endif

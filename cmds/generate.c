/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit trace generate: a workload that is made, written out as a trace; and what there is. */
#include "extkit/generate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "cmd.h"
#include "extkit/trace.h"
#include "fail.h"

struct generate_opts {
	const char *to;
	int output;
	struct opt_num level;
};

#define T struct generate_opts

static const struct opt generate_options[] = {
    OPT_FILE(T, to, 'o', "to", N_("FILE"),
	     N_("write to FILE: .wtr is text, .wtb binary; else standard output")),
    OPT_CHOICE(T, output, 0, "output", "auto|wtr|wtb|fio", N_("the form to write")),
    OPT_NUMBER(T, level, 0, "level", N_("N"), N_("zstd level of compressed output, usually 3")),
    OPT_END,
};

/* ---- what there is ---- */

static const struct out_col key_cols[] = {
    {"generator", N_("Generator"), false}, {"key", N_("Key"), false},
    {"values", N_("Values"), false},       {"usual", N_("Usually"), true},
    {"says", N_("Meaning"), false},
};

/* One row for each key, behind one that says what the generator makes. */
static void list_one(struct run *run, size_t i)
{
	struct ek_generator_key key;
	char usual[24];

	out_str(run->out, NULL, NULL, ek_generator_name(i));
	for (int none = 0; none < 3; none++)
		out_none(run->out, NULL, NULL);
	out_word(run->out, NULL, NULL, ek_generator_says(i));
	for (size_t k = 0; ek_generator_key(i, k, usual, &key) != 0; k++) {
		out_str(run->out, NULL, NULL, ek_generator_name(i));
		out_str(run->out, NULL, NULL, key.name);
		out_str(run->out, NULL, NULL, key.values);
		out_str(run->out, NULL, NULL, key.usual);
		out_word(run->out, NULL, NULL, key.says);
	}
}

static int list(struct run *run)
{
	out_table(run->out, "generators", key_cols, sizeof(key_cols) / sizeof(key_cols[0]));
	for (size_t i = 0; ek_generator_name(i) != NULL; i++)
		list_one(run, i);
	out_table_end(run->out);
	return EXIT_DONE;
}

/* ---- run ---- */

/* "gen:NAME:KEY=VALUE,..." of the operands; NULL without memory. */
static char *spec_of(struct run *run)
{
	size_t n = sizeof("gen:");
	char *spec, *p;

	for (int i = 0; i < run->argc; i++)
		n += strlen(run->argv[i]) + 1;
	spec = malloc(n);
	if (spec == NULL)
		return NULL;
	p = stpcpy(spec, "gen:");
	for (int i = 0; i < run->argc; i++) {
		if (i != 0)
			*p++ = i == 1 ? ':' : ',';
		p = stpcpy(p, run->argv[i]);
	}
	return spec;
}

static int write_out(struct run *run, const char *to)
{
	const struct generate_opts *o = run->opts;
	struct ek_trace_options opt = {
	    .size = sizeof(opt), .output = (unsigned)o->output, .level = (int)o->level.v};
	char *spec = spec_of(run);
	int err;

	if (spec == NULL)
		return fail(run, EXIT_HOST, _("out of memory"));
	err = ek_trace_convert(run->ctx, spec, to, &opt, NULL);
	free(spec);
	return err < 0 ? fail_call(run, err) : EXIT_DONE;
}

static int run_generate(struct run *run)
{
	const struct generate_opts *o = run->opts;
	const char *to = o->to != NULL ? o->to : "-";

	if (run->argc == 0)
		return list(run);
	if (o->level.set && (o->level.v < 1 || o->level.v > 22))
		return fail_usage(run, _("--level: zstd has levels 1 to 22"));
	if (strcmp(to, "-") == 0 && run->json)
		return fail_usage(run, _("--json needs standard output for itself: use --to=FILE"));
	return write_out(run, to);
}

static const struct example generate_examples[] = {
    {"extkit trace generate", N_("lists the generators and their keys")},
    {"extkit trace generate fstime mode=copy buffer=256 blocks=500 -o copy.wtr",
     N_("UnixBench's copy with 256-byte buffers, 20 passes")},
    {"extkit trace generate dd bs=8K count=512K -o dd.wtb",
     N_("four gigabytes by calls of 8 KiB; the trace has a few bytes a call")},
    {"extkit replay gen:folio:mode=write,bs=1M,size=1G,end=sync disk.img",
     N_("a large file in large calls, onto an image, without a trace in between")},
    {"extkit replay gen:appenders:procs=16,size=64M,end=sync disk.img",
     N_("sixteen files that grow side by side, one block a call")},
    {"extkit trace generate region passes=2 seed=7 end=close -o region.wtr",
     N_("four writers that overwrite one file, each in orders of its own")},
    {NULL, NULL},
};

COMMAND(trace_generate) = {
    .name = "trace generate",
    .brief = N_("make a trace of a well-known workload"),
    .args = N_("[NAME [KEY=VALUE]...]"),
    .about = N_("Without a name the generators are listed with their keys, the values these take "
		"and what is usual.\n\n"
		"The same words give the same trace. Where a trace is read, "
		"gen:NAME:KEY=VALUE,... stands for its operations, which are then made on the way "
		"and stored nowhere. A mark 'measure' stands where preparing ends, a mark 'end' "
		"behind the last call."),
    .options = generate_options,
    .examples = generate_examples,
    .max_args = -1,
    .opts_size = sizeof(struct generate_opts),
    .run = run_generate,
};

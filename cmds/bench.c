/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit bench: the reference studies, run again, ours beside what was published. */
#include "bench_show.h"
#include "cmd.h"
#include "fail.h"

struct bench_opts {
	const char *on, *kernel, *only, *system;
	struct opt_num runs, scale, procs, threads;
	int form;
	bool csv;
};

enum form { FORM_TEXT, FORM_CSV, FORM_MARKDOWN };

#define T struct bench_opts

static const struct opt bench_options[] = {
    OPT_FILE(T, on, 0, "on", N_("IMG|DEVICE|dir:DIR"),
	     N_("where the load runs; its files are made and removed there")),
    OPT_FILE(T, kernel, 0, "kernel", N_("dir:DIR"),
	     N_("the same calls on a mounted folder too, as one more system")),
    OPT_COUNT(T, runs, 'n', "runs", N_("N"), N_("of each system on each load, usually 3")),
    OPT_COUNT(T, scale, 0, "scale", N_("PERCENT"), N_("of the full load, usually 10")),
    OPT_COUNT(T, threads, 0, "threads", N_("N"), N_("that run the writers, usually 1")),
    OPT_COUNT(T, procs, 0, "procs", N_("N"), N_("writers, where a study leaves it open")),
    OPT_TEXT(T, only, 0, "only", N_("TEXT"), N_("loads whose name holds this")),
    OPT_TEXT(T, system, 0, "system", N_("TEXT"),
	     N_("systems whose name holds this, beside the first")),
    OPT_CHOICE(T, form, 0, "form", "text|csv|markdown", N_("of the result")),
    OPT_FLAG(T, csv, 0, "csv", N_("the same as --form=csv")),
    OPT_END,
};

static void show(struct run *run, const struct ek_bench_report *rep)
{
	const struct bench_opts *o = run->opts;

	if (!run->json && (o->csv || o->form == FORM_CSV))
		bench_show_csv(run, rep);
	else if (run->json || o->form == FORM_TEXT)
		bench_show(run, rep);
	else
		bench_show_markdown(run, rep);
}

static const struct out_col study_cols[] = {
    {"study", N_("Study"), true},
    {"title", N_("What it is about"), false},
};

static int list(struct run *run)
{
	out_table(run->out, "studies", study_cols, 2);
	for (unsigned i = 1; i <= EK_BENCH_STUDIES; i++) {
		if (ek_bench_title(i) == NULL)
			continue;
		out_u64(run->out, NULL, NULL, i);
		out_word(run->out, NULL, NULL, ek_bench_title(i));
	}
	out_table_end(run->out);
	return EXIT_DONE;
}

static uint32_t small(struct opt_num n)
{
	return n.v > UINT32_MAX ? UINT32_MAX : (uint32_t)n.v;
}

static int run_bench(struct run *run)
{
	const struct bench_opts *o = run->opts;
	struct ek_bench_options opt = {.size = sizeof(opt),
				       .target = o->on,
				       .kernel = o->kernel,
				       .only = o->only,
				       .system = o->system,
				       .runs = small(o->runs),
				       .scale = small(o->scale),
				       .procs = small(o->procs),
				       .threads = small(o->threads)};
	struct ek_bench_report *rep;
	uint64_t study;
	int err;

	if (o->csv && (run->json || o->form == FORM_MARKDOWN))
		return fail_usage(run,
				  _("the result has one form: --csv, --json or --form=markdown"));
	if (run->argc == 0)
		return list(run);
	if (opt_number(run->argv[0], &study) != 0 || study == 0 || study > EK_BENCH_STUDIES)
		return fail_usage(run, _("'%s' is no study, they are 1 to 5"), run->argv[0]);
	err = ek_bench_run(run->ctx, (unsigned)study, &opt, &rep);
	if (err < 0)
		return fail_call(run, err);
	show(run, rep);
	ek_bench_free(rep);
	return EXIT_DONE;
}

static const struct example bench_examples[] = {
    {"extkit bench", N_("lists the studies")},
    {"extkit bench 1 --only 'write 256'", N_("one load of study 1, before and after each patch")},
    {"extkit bench 3 --scale 100 --runs 5 --form markdown",
     N_("all of study 3 with files of 1 GiB, for a document")},
    {"extkit bench 4 --kernel dir:/mnt/test", N_("study 4, and the running kernel on /mnt/test")},
    {"extkit bench 2 --on /dev/loop7", N_("on a device that holds a filesystem of yours")},
    {NULL, NULL},
};

COMMAND(bench) = {
    .name = "bench",
    .brief = N_("run a reference study again"),
    .args = N_("[STUDY]"),
    .about = N_("The loads of a published result run through every write path that it compares; "
		"throughput and counters stand beside the published ratios to the first system, "
		"with whether ours goes the same way. A difference that is smaller than the spread "
		"of the runs is called noise.\n\n"
		"Without --on each run has a new image in TMPDIR, or in memory for loads named "
		"ramdisk, cache or hole. With --on nothing that was there is written to: a file in "
		"the way ends the run."),
    .options = bench_options,
    .examples = bench_examples,
    .max_args = 1,
    .opts_size = sizeof(struct bench_opts),
    .run = run_bench,
};

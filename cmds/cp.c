/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit cp: copies inside an image and between images. */
#include <stdlib.h>

#include "cmd.h"
#include "fail.h"
#include "images.h"

struct cp_opts {
	bool all, keep, follow, dry;
};

#define T struct cp_opts

static const struct opt cp_options[] = {
    OPT_FLAG(T, all, 'r', "recursive", N_("folders too, with everything in them")),
    OPT_FLAG(T, keep, 'n', "no-replace", N_("fail when the name is taken")),
    OPT_FLAG(T, follow, 'L', "dereference", N_("what a link given as FROM leads to")),
    OPT_FLAG(T, dry, 0, "dry-run", N_("check everything, change nothing")),
    OPT_END,
};

static int cp_one(struct run *run, struct images *s, const char *arg, const struct place *to,
		  bool many)
{
	const struct cp_opts *o = run->opts;
	unsigned flags = (o->all ? (unsigned)EK_COPY_TREE : 0) |
			 (o->keep ? (unsigned)EK_COPY_NO_REPLACE : 0) |
			 (o->follow ? (unsigned)EK_COPY_FOLLOW : 0);
	struct ek_copied copied = {.size = sizeof(copied)};
	struct place from;
	char *name;
	int code = images_get(s, arg, 0, &from), err;

	if (code != EXIT_DONE)
		return code;
	name = place_name(to, from.path, many);
	if (name == NULL)
		return fail(run, EXIT_HOST, "%s", _("no memory"));
	err = ek_copy(from.img, from.path, to->img, name, flags, &copied);
	code = err < 0 ? fail_call(run, err) : EXIT_DONE;
	if (code == EXIT_DONE && run->json) {
		out_str(run->out, NULL, NULL, from.path);
		out_str(run->out, NULL, NULL, name);
		out_u64(run->out, NULL, NULL, copied.names);
		out_u64(run->out, NULL, NULL, copied.bytes);
	}
	free(name);
	return code;
}

static const struct out_col cp_cols[] = {
    {"from", NULL, false}, {"to", NULL, false}, {"names", NULL, true}, {"bytes", NULL, true}};

static int run_cp(struct run *run)
{
	const struct cp_opts *o = run->opts;
	struct images s = {.run = run};
	int n = run->argc - 1;
	struct place to;
	int code = images_get(&s, run->argv[n], images_write(o->dry), &to);

	if (run->json)
		out_table(run->out, "copied", cp_cols, 4);
	for (int i = 0; i < n && code == EXIT_DONE; i++)
		code = cp_one(run, &s, run->argv[i], &to, n > 1);
	return images_end(&s, code);
}

static const struct example cp_examples[] = {
    {"extkit cp a.img:/bin/sh b.img:/bin/", N_("copies a program into another image")},
    {"extkit cp -r a.img:/etc a.img:/etc.old", N_("keeps a copy of a tree")},
    {"extkit cp -r old.img:/ new.img:/", N_("fills an image with all that another one has")},
    {NULL, NULL},
};

COMMAND(cp) = {
    .name = "cp",
    .brief = N_("copy inside an image and between images"),
    .args = N_("IMG:/FROM... IMG:/TO"),
    .about = N_("A copy has all that the original has: mode, owner, times to the nanosecond, "
		"attributes, flags, holes, and names of one file stay names of one file. Links are "
		"copied as links. When TO is a folder or ends in a slash, copies go into it; a "
		"folder that is there already is filled, a file is replaced as a whole.\n\n"
		"put and get copy between an image and this machine."),
    .options = cp_options,
    .examples = cp_examples,
    .min_args = 2,
    .max_args = -1,
    .opts_size = sizeof(struct cp_opts),
    .run = run_cp,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit rm: names of files and whole trees go. */
#include <errno.h>

#include "cmd.h"
#include "fail.h"
#include "images.h"

struct rm_opts {
	bool all, empty, force, dry;
};

#define T struct rm_opts

static const struct opt rm_options[] = {
    OPT_FLAG(T, all, 'r', "recursive", N_("folders too, with everything in them")),
    OPT_FLAG(T, empty, 'd', "dir", N_("empty folders too")),
    OPT_FLAG(T, force, 'f', "force", N_("what is missing is no failure")),
    OPT_FLAG(T, dry, 0, "dry-run", N_("check everything, change nothing")),
    OPT_END,
};

static const struct out_col rm_cols[] = {{"path", NULL, false}, {"names", NULL, true}};

static int rm_one(struct run *run, struct images *s, const char *arg)
{
	const struct rm_opts *o = run->opts;
	unsigned flags =
	    (o->all ? (unsigned)EK_REMOVE_TREE : 0) | (o->empty ? (unsigned)EK_REMOVE_EMPTY : 0);
	uint64_t count = 0;
	struct place p;
	int code = images_get(s, arg, images_write(o->dry), &p), err;

	if (code != EXIT_DONE)
		return code;
	err = ek_remove(p.img, p.path, flags, &count);
	if (err == -ENOENT && o->force && count == 0)
		err = 0;
	if (run->json) {
		out_str(run->out, NULL, NULL, p.path);
		out_u64(run->out, NULL, NULL, count);
	}
	return err < 0 ? fail_call(run, err) : EXIT_DONE;
}

static int run_rm(struct run *run)
{
	struct images s = {.run = run};
	int code = EXIT_DONE;

	if (run->json)
		out_table(run->out, "removed", rm_cols, 2);
	for (int i = 0; i < run->argc && code == EXIT_DONE; i++)
		code = rm_one(run, &s, run->argv[i]);
	return images_end(&s, code);
}

static const struct example rm_examples[] = {
    {"extkit rm disk.img:/etc/motd disk.img:/etc/issue", N_("removes two files")},
    {"extkit rm -r disk.img:/var/cache", N_("removes a folder with all that is in it")},
    {NULL, NULL},
};

COMMAND(rm) = {
    .name = "rm",
    .brief = N_("remove files and trees"),
    .args = N_("IMG:/PATH..."),
    .about = N_("A link is removed itself, never what it leads to. A tree goes deepest first, name "
		"by name: when it is interrupted the image is sound, and the same command removes "
		"the rest. The root stays."),
    .options = rm_options,
    .examples = rm_examples,
    .min_args = 1,
    .max_args = -1,
    .opts_size = sizeof(struct rm_opts),
    .run = run_rm,
};

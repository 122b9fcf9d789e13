/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit mv: other names, inside an image and from one into another. */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "fail.h"
#include "images.h"

struct mv_opts {
	bool keep, swap, dry;
};

#define T struct mv_opts

static const struct opt mv_options[] = {
    OPT_FLAG(T, keep, 'n', "no-replace", N_("fail when the name is taken")),
    OPT_FLAG(T, swap, 0, "swap", N_("both must exist and change places")),
    OPT_FLAG(T, dry, 0, "dry-run", N_("check everything, change nothing")),
    OPT_END,
};

static const struct out_col mv_cols[] = {{"from", NULL, false}, {"to", NULL, false}};

/* Between images: the copy is safe before the original goes. */
static int move_across(struct run *run, const struct place *from, const struct place *to,
		       const char *name)
{
	const struct mv_opts *o = run->opts;
	unsigned flags = EK_COPY_TREE | (o->keep ? (unsigned)EK_COPY_NO_REPLACE : 0);
	int err;

	if (o->swap)
		return fail_usage(run, _("--swap is for two names in one image"));
	err = ek_copy(from->img, from->path, to->img, name, flags, NULL);
	if (err == 0)
		err = ek_image_sync(to->img);
	if (err == 0)
		err = ek_remove(from->img, from->path, EK_REMOVE_TREE, NULL);
	return err < 0 ? fail_call(run, err) : EXIT_DONE;
}

static int move_in(struct run *run, const struct place *from, const char *name)
{
	const struct mv_opts *o = run->opts;
	unsigned flags = (o->keep ? (unsigned)EK_RENAME_NO_REPLACE : 0) |
			 (o->swap ? (unsigned)EK_RENAME_SWAP : 0);
	int err = ek_rename(from->img, from->path, name, flags);

	return err < 0 ? fail_call(run, err) : EXIT_DONE;
}

static int mv_one(struct run *run, struct images *s, const char *arg, const struct place *to,
		  bool many)
{
	const struct mv_opts *o = run->opts;
	struct place from;
	char *name;
	int code = images_get(s, arg, images_write(o->dry), &from);

	if (code != EXIT_DONE)
		return code;
	name = o->swap ? strdup(to->path) : place_name(to, from.path, many);
	if (name == NULL)
		return fail(run, EXIT_HOST, "%s", _("no memory"));
	code = from.img == to->img ? move_in(run, &from, name) : move_across(run, &from, to, name);
	if (code == EXIT_DONE && run->json) {
		out_str(run->out, NULL, NULL, from.path);
		out_str(run->out, NULL, NULL, name);
	}
	free(name);
	return code;
}

static int run_mv(struct run *run)
{
	const struct mv_opts *o = run->opts;
	struct images s = {.run = run};
	int n = run->argc - 1;
	struct place to;
	int code = images_get(&s, run->argv[n], images_write(o->dry), &to);

	if (run->json)
		out_table(run->out, "moved", mv_cols, 2);
	if (code == EXIT_DONE && o->swap && n != 1)
		code = fail_usage(run, _("--swap is for two names in one image"));
	for (int i = 0; i < n && code == EXIT_DONE; i++)
		code = mv_one(run, &s, run->argv[i], &to, n > 1);
	return images_end(&s, code);
}

static const struct example mv_examples[] = {
    {"extkit mv disk.img:/etc/fstab disk.img:/etc/fstab.old", N_("gives the file another name")},
    {"extkit mv --swap disk.img:/boot/a disk.img:/boot/b", N_("lets two files change places")},
    {NULL, NULL},
};

COMMAND(mv) = {
    .name = "mv",
    .brief = N_("move or rename files and folders"),
    .args = N_("IMG:/FROM... IMG:/TO"),
    .about = N_("When TO is a folder or ends in a slash, names go into it. A file of that name is "
		"replaced, an empty folder by a folder too. Inside one image each move is one "
		"transaction; into another one it is a copy, as cp makes it, that is safe on the "
		"disk before the original goes."),
    .options = mv_options,
    .examples = mv_examples,
    .min_args = 2,
    .max_args = -1,
    .opts_size = sizeof(struct mv_opts),
    .run = run_mv,
};

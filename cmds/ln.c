/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit ln: links, and more names for files. */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "fail.h"
#include "images.h"

struct ln_opts {
	bool symbolic, force, parents, dry;
};

#define T struct ln_opts

static const struct opt ln_options[] = {
    OPT_FLAG(T, symbolic, 's', "symbolic", N_("a link that holds TARGET as it is written")),
    OPT_FLAG(T, force, 'f', "force", N_("a file of that name goes")),
    OPT_FLAG(T, parents, 'p', "parents", N_("make missing folders on the way")),
    OPT_FLAG(T, dry, 0, "dry-run", N_("check everything, change nothing")),
    OPT_END,
};

static int link_text(struct run *run, const struct place *to, const char *name, unsigned flags)
{
	int err;

	if (*run->argv[0] == '\0')
		return fail_usage(run, _("a link holds text, TARGET is ''"));
	err = ek_symlink(to->img, run->argv[0], name, flags, NULL);
	return err < 0 ? fail_call(run, err) : EXIT_DONE;
}

static int link_file(struct run *run, struct images *s, const struct place *to, const char *name,
		     unsigned flags)
{
	const struct ln_opts *o = run->opts;
	struct place from;
	int code, err;

	if (run->held == NULL && strstr(run->argv[0], ":/") == NULL)
		return fail_usage(run, _("'%s' is no IMG:/FILE; text of a link is for --symbolic"),
				  run->argv[0]);
	code = images_get(s, run->argv[0], images_write(o->dry), &from);
	if (code != EXIT_DONE)
		return code;
	if (from.img != to->img)
		return fail(run, EXIT_PATH, _("%s: a file cannot have names in two images"),
			    run->argv[0]);
	err = ek_link(to->img, from.path, name, flags);
	return err < 0 ? fail_call(run, err) : EXIT_DONE;
}

static int run_ln(struct run *run)
{
	const struct ln_opts *o = run->opts;
	unsigned flags =
	    (o->force ? (unsigned)EK_PUT_REPLACE : 0) | (o->parents ? (unsigned)EK_PUT_PARENTS : 0);
	struct images s = {.run = run};
	struct place to;
	char *name;
	int code = images_get(&s, run->argv[1], images_write(o->dry), &to);

	if (code != EXIT_DONE)
		return images_end(&s, code);
	name = place_name(&to, run->argv[0], false);
	if (name == NULL) {
		code = fail(run, EXIT_HOST, "%s", _("no memory"));
	} else if (o->symbolic) {
		code = link_text(run, &to, name, flags);
	} else {
		code = link_file(run, &s, &to, name, flags);
	}
	if (code == EXIT_DONE && run->json)
		out_str(run->out, "path", NULL, name);
	free(name);
	return images_end(&s, code);
}

static const struct example ln_examples[] = {
    {"extkit ln -s ../usr/lib disk.img:/lib", N_("makes a link to a folder")},
    {"extkit ln disk.img:/bin/busybox disk.img:/bin/sh", N_("gives the file a second name")},
    {NULL, NULL},
};

COMMAND(ln) = {
    .name = "ln",
    .brief = N_("make links and further names"),
    .args = N_("TARGET IMG:/PATH"),
    .about = N_("Without --symbolic TARGET is a file of the same image, IMG:/FILE, which gets one "
		"more name; a link is meant itself. When PATH is a folder the new name goes into "
		"it."),
    .options = ln_options,
    .examples = ln_examples,
    .min_args = 2,
    .max_args = 2,
    .opts_size = sizeof(struct ln_opts),
    .run = run_ln,
};

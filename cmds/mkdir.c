/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit mkdir: folders in an image. */
#include "cmd.h"
#include "fail.h"
#include "gift.h"
#include "target.h"

static const struct opt mkdir_options[] = {ROW_PARENTS, ROW_MODE, ROW_UID, ROW_GID,
					   ROW_XATTR,   ROW_DRY,  OPT_END};

static int mkdir_one(struct run *run, const char *arg)
{
	const struct put_opts *o = run->opts;
	struct gift g = {0};
	struct target t;
	int code = gift_options(run, &g), err;

	if (code == EXIT_DONE)
		code = target_open(run, arg, gift_open_flags(o), &t);
	if (code == EXIT_DONE) {
		err = ek_mkdir(t.img, t.path, o->parents ? EK_PUT_PARENTS : 0, &g.attr);
		code = target_end(run, &t, err < 0 ? fail_call(run, err) : EXIT_DONE);
	}
	gift_free(&g);
	return code;
}

static int run_mkdir(struct run *run)
{
	int code = EXIT_DONE;

	for (int i = 0; i < run->argc && code == EXIT_DONE; i++)
		code = mkdir_one(run, run->argv[i]);
	return code;
}

static const struct example mkdir_examples[] = {
    {"extkit mkdir -p -m 1777 disk.img:/var/tmp", N_("makes the folder and what lies above it")},
    {NULL, NULL},
};

COMMAND(mkdir) = {
    .name = "mkdir",
    .brief = N_("make folders in an image"),
    .args = N_("IMG:/PATH..."),
    .about = N_("A folder belongs to root with mode 0755 unless told otherwise. With --parents one "
		"that is there already is fine."),
    .options = mkdir_options,
    .examples = mkdir_examples,
    .min_args = 1,
    .max_args = -1,
    .opts_size = sizeof(struct put_opts),
    .run = run_mkdir,
};

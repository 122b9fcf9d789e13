/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit fallocate: blocks and holes of files. */
#include "cmd.h"
#include "fail.h"
#include "images.h"

struct fallocate_opts {
	int how; /* enum ek_falloc */
	struct opt_num offset, length;
	bool dry;
};

#define T struct fallocate_opts

static const struct opt fallocate_options[] = {
    OPT_CHOICE(T, how, 0, "mode", "allocate|keep-size|punch|zero|collapse|insert",
	       N_("what happens to the range, otherwise allocate")),
    OPT_SIZE(T, offset, 'o', "offset", N_("SIZE"), N_("where it begins, otherwise 0")),
    OPT_ROOM(T, length, 'l', "length", N_("SIZE"), N_("how long it is")),
    OPT_FLAG(T, dry, 0, "dry-run", N_("check everything, change nothing")),
    OPT_END,
};

static int fallocate_one(struct run *run, void *ctx, struct ek_inode *inode,
			 const struct ek_stat *st, const char *path)
{
	const struct fallocate_opts *o = run->opts;
	struct ek_stat after = {.size = sizeof(after)};
	int err = ek_inode_fallocate(inode, (enum ek_falloc)o->how, o->offset.v, o->length.v);

	if (err == 0)
		err = ek_inode_stat(inode, &after);
	if (err < 0)
		return fail_call(run, err);
	if (run->json) {
		out_str(run->out, NULL, NULL, path);
		out_u64(run->out, NULL, NULL, after.bytes);
		out_u64(run->out, NULL, NULL, after.sectors);
	}
	return EXIT_DONE;
}

static const struct out_col fallocate_cols[] = {
    {"path", NULL, false}, {"size", NULL, true}, {"sectors", NULL, true}};

static int run_fallocate(struct run *run)
{
	const struct fallocate_opts *o = run->opts;
	bool make = o->how == EK_FALLOC_ALLOCATE || o->how == EK_FALLOC_KEEP_SIZE;

	if (!o->length.set)
		return fail_usage(run, _("how long? wanted: --length"));
	if (run->json)
		out_table(run->out, "changed", fallocate_cols, 3);
	return each_operands(run, 0, images_write(o->dry), make ? EACH_MAKE : 0, fallocate_one,
			     NULL);
}

static const struct example fallocate_examples[] = {
    {"extkit fallocate -l 512M disk.img:/swap", N_("reserves blocks that read as zeros")},
    {"extkit fallocate --mode punch -o 1M -l 4M disk.img:/db", N_("frees the blocks of a range")},
    {NULL, NULL},
};

COMMAND(fallocate) = {
    .name = "fallocate",
    .brief = N_("reserve, free, zero or shift ranges of files"),
    .args = N_("IMG:/PATH..."),
    .about = N_("allocate gives the range blocks and lets the file grow to its end, keep-size does "
		"not let it grow. punch makes a hole, zero makes zeros that have blocks. collapse "
		"takes the range out and moves down what follows, insert puts a hole in and moves "
		"it up; both want whole blocks."),
    .options = fallocate_options,
    .examples = fallocate_examples,
    .min_args = 1,
    .max_args = -1,
    .opts_size = sizeof(struct fallocate_opts),
    .run = run_fallocate,
};

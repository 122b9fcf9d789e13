/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit df: how full images are. */
#include "cmd.h"
#include "fail.h"
#include "show.h"
#include "target.h"

static const struct out_col df_cols[] = {
    {"image", N_("Image"), false},     {"bytes", N_("Size"), true},
    {"used", N_("Used"), true},        {"available", N_("Available"), true},
    {"percent", N_("Use%"), true},     {"inodes", N_("Inodes"), true},
    {"free_inodes", N_("Free"), true},
};

static void size_cell(struct run *run, uint64_t blocks, uint32_t block_size)
{
	char text[SHOW_MAX];
	uint64_t bytes = blocks * block_size;

	out_u64_as(run->out, NULL, NULL, bytes, show_size(text, bytes));
}

static int df_one(struct run *run, const char *arg)
{
	struct ek_space s = {.size = sizeof(s)};
	struct target t;
	uint64_t used, whole;
	int code = target_open(run, arg, 0, &t), err;

	if (code != EXIT_DONE)
		return code;
	err = ek_image_space(t.img, &s);
	if (err < 0)
		return target_end(run, &t, fail_call(run, err));
	used = s.blocks > s.free_blocks ? s.blocks - s.free_blocks : 0;
	whole = used + s.usable_blocks;
	out_str(run->out, NULL, NULL, arg);
	size_cell(run, s.blocks, s.block_size);
	size_cell(run, used, s.block_size);
	size_cell(run, s.usable_blocks, s.block_size);
	out_u64(run->out, NULL, NULL, whole != 0 ? (used * 100 + whole - 1) / whole : 100);
	out_u64(run->out, NULL, NULL, s.inodes);
	out_u64(run->out, NULL, NULL, s.free_inodes);
	return target_end(run, &t, EXIT_DONE);
}

static int run_df(struct run *run)
{
	int code = EXIT_DONE;

	out_table(run->out, "images", df_cols, sizeof(df_cols) / sizeof(df_cols[0]));
	for (int i = 0; i < run->argc && code == EXIT_DONE; i++)
		code = df_one(run, run->argv[i]);
	return code;
}

static const struct example df_examples[] = {
    {"extkit df disk.img", N_("shows used and free space")},
    {NULL, NULL},
};

COMMAND(df) = {
    .name = "df",
    .brief = N_("show used and free space"),
    .args = N_("IMG..."),
    .about = N_("Counts as df does for a mounted filesystem: the size is without what metadata "
		"takes, and blocks kept for root or for writeback are neither used nor available."),
    .examples = df_examples,
    .min_args = 1,
    .max_args = -1,
    .run = run_df,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit map: where the blocks of a file are. */
#include "cmd.h"
#include "fail.h"
#include "target.h"

static const struct out_col map_cols[] = {
    {"lblk", N_("File block"), true},
    {"pblk", N_("Disk block"), true},
    {"len", N_("Blocks"), true},
    {"state", N_("State"), false},
};

static int show(struct run *run, struct ek_inode *inode)
{
	struct ek_extent e;
	ek_lblk at = {0};
	int err;

	out_table(run->out, "extents", map_cols, 4);
	while ((err = ek_inode_extent(inode, at, &e)) == 1) {
		out_u64(run->out, NULL, NULL, e.lblk.v);
		out_u64(run->out, NULL, NULL, e.pblk.v);
		out_u64(run->out, NULL, NULL, e.len);
		out_word(run->out, NULL, NULL, e.unwritten ? N_("unwritten") : N_("written"));
		if (e.lblk.v > UINT32_MAX - e.len)
			break;
		at.v = e.lblk.v + e.len;
	}
	if (err < 0)
		return fail_call(run, err);
	out_table_end(run->out);
	return EXIT_DONE;
}

static int run_map(struct run *run)
{
	struct ek_inode *inode;
	struct target t;
	int code = target_open(run, run->argv[0], 0, &t), err;

	if (code != EXIT_DONE)
		return code;
	err = ek_inode_open(t.img, t.path, 0, &inode);
	if (err < 0)
		return target_end(run, &t, fail_call(run, err));
	code = show(run, inode);
	ek_inode_close(inode);
	return target_end(run, &t, code);
}

static const struct example map_examples[] = {
    {"extkit map disk.img:/var/log/syslog", N_("lists the extents of the file")},
    {NULL, NULL},
};

COMMAND(map) = {
    .name = "map",
    .brief = N_("show where a file lies"),
    .args = N_("IMG:/PATH"),
    .about = N_("Each row is a run of blocks, counted from the start of the file and of the "
		"filesystem. What is not listed is a hole. Unwritten blocks read as zeros."),
    .examples = map_examples,
    .min_args = 1,
    .max_args = 1,
    .run = run_map,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit diff: what differs between two trees. */
#include "extkit/diff.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "escape.h"
#include "fail.h"
#include "target.h"

struct diff_opts {
	bool no_times, no_owners, no_xattrs, no_contents, brief, blocks;
};

#define T struct diff_opts

static const struct opt diff_options[] = {
    OPT_FLAG(T, no_times, 0, "no-times", N_("do not compare times")),
    OPT_FLAG(T, no_owners, 0, "no-owners", N_("do not compare owners and groups")),
    OPT_FLAG(T, no_xattrs, 0, "no-xattrs", N_("do not compare attributes")),
    OPT_FLAG(T, no_contents, 0, "no-contents", N_("compare sizes, not bytes")),
    OPT_FLAG(T, blocks, 0, "blocks",
	     N_("compare two images block by block, and tell what lies there")),
    OPT_FLAG(T, brief, 'b', "brief", N_("say nothing, the exit code tells")),
    OPT_END,
};

static const struct out_col diff_cols[] = {
    {"what", N_("What"), false},
    {"a", N_("A"), false},
    {"b", N_("B"), false},
    {"path", N_("Path"), false},
};

/* An operand: a source by its name, or a folder of an image that is opened here. */
struct side {
	struct target t;
	struct ek_diff_side s;
	bool open;
};

static int open_side(struct run *run, const char *arg, struct side *ret)
{
	struct side x = {.s = {.name = arg}};
	struct stat st;
	int code, err;

	*ret = x;
	if (strcmp(arg, "-") == 0 || stat(arg, &st) == 0)
		return EXIT_DONE;
	code = target_open(run, arg, 0, &x.t);
	if (code != EXIT_DONE)
		return code;
	err = ek_inode_open(x.t.img, x.t.path, 0, &x.s.inode);
	if (err < 0)
		return target_end(run, &x.t, fail_call(run, err));
	x.open = true;
	*ret = x;
	return EXIT_DONE;
}

static int close_side(struct run *run, struct side *x, int code)
{
	if (!x->open)
		return code;
	ek_inode_close(x->s.inode);
	return target_end(run, &x->t, code);
}

static int show(void *arg, const struct ek_difference *d)
{
	struct run *run = arg;
	const struct diff_opts *o = run->opts;
	const char *path = *d->path != '\0' ? d->path : ".";

	if (o->brief)
		return 1;
	out_str(run->out, NULL, NULL, d->what);
	out_bytes(run->out, NULL, NULL, d->a, strlen(d->a));
	out_bytes(run->out, NULL, NULL, d->b, strlen(d->b));
	out_bytes(run->out, NULL, NULL, path, strlen(path));
	return 0;
}

static int compare(struct run *run, const struct side *a, const struct side *b)
{
	const struct diff_opts *o = run->opts;
	struct ek_diff_options opt = {.size = sizeof(opt)};
	int rc;

	opt.flags = (o->no_times ? (unsigned)EK_DIFF_NO_TIMES : 0) |
		    (o->no_owners ? (unsigned)EK_DIFF_NO_OWNERS : 0) |
		    (o->no_xattrs ? (unsigned)EK_DIFF_NO_XATTRS : 0) |
		    (o->no_contents ? (unsigned)EK_DIFF_NO_CONTENTS : 0);
	if (!o->brief)
		out_table(run->out, "differences", diff_cols, 4);
	rc = ek_diff(run->ctx, &a->s, &b->s, &opt, show, run);
	if (!o->brief)
		out_table_end(run->out);
	if (o->brief && rc == -ECANCELED && *ek_ctx_message(run->ctx) == '\0')
		return EXIT_NO;
	return rc < 0 ? fail_call(run, rc) : rc == 1 ? EXIT_NO : EXIT_DONE;
}

/* ---- blocks ---- */

static const struct out_col block_cols[] = {
    {"block", N_("Block"), true},
    {"blocks", N_("Blocks"), true},
    {"a", N_("A"), false},
    {"b", N_("B"), false},
};

static const struct out_col block_json_cols[] = {
    {"block", NULL, true},    {"blocks", NULL, true},  {"a", NULL, false},
    {"a_group", NULL, true},  {"a_inode", NULL, true}, {"a_last_inode", NULL, true},
    {"a_offset", NULL, true}, {"a_path", NULL, false}, {"b", NULL, false},
    {"b_group", NULL, true},  {"b_inode", NULL, true}, {"b_last_inode", NULL, true},
    {"b_offset", NULL, true}, {"b_path", NULL, false},
};

/* One cell of text: "file 12 +4096 etc/motd", "inode table 17-32", "block bitmap of group 3". */
static void show_owner(struct run *run, const struct ek_block_owner *o)
{
	char numbers[80] = "", *text;

	if (o->inodes_per_block != 0)
		snprintf(numbers, sizeof(numbers), " %u-%u", o->inode, o->last_inode);
	else if (o->has_offset)
		snprintf(numbers, sizeof(numbers), " %u +%llu", o->inode,
			 (unsigned long long)o->offset);
	else if (o->inode != 0)
		snprintf(numbers, sizeof(numbers), " %u", o->inode);
	else if (o->group != 0)
		snprintf(numbers, sizeof(numbers), " %u", o->group);
	if (asprintf(&text, "%s%s%s%s", o->what, numbers, *o->path != '\0' ? " " : "", o->path) < 0)
		return;
	out_bytes(run->out, NULL, NULL, text, strlen(text));
	free(text);
}

static void show_owner_json(struct run *run, const struct ek_block_owner *o)
{
	out_str(run->out, NULL, NULL, o->what);
	out_u64(run->out, NULL, NULL, o->group);
	out_u64(run->out, NULL, NULL, o->inode);
	out_u64(run->out, NULL, NULL, o->inodes_per_block != 0 ? o->last_inode : o->inode);
	out_u64(run->out, NULL, NULL, o->offset);
	out_bytes(run->out, NULL, NULL, o->path, strlen(o->path));
}

static int show_blocks(void *arg, const struct ek_block_difference *d)
{
	struct run *run = arg;

	out_u64(run->out, NULL, NULL, d->block);
	out_u64(run->out, NULL, NULL, d->len);
	if (run->json) {
		show_owner_json(run, &d->a);
		show_owner_json(run, &d->b);
	} else {
		show_owner(run, &d->a);
		show_owner(run, &d->b);
	}
	return 0;
}

static int compare_blocks(struct run *run, struct ek_image *a, struct ek_image *b)
{
	const struct diff_opts *o = run->opts;
	int rc;

	if (o->brief) {
		rc = ek_diff_blocks(a, b, NULL, NULL);
	} else {
		out_table(run->out, "differences", run->json ? block_json_cols : block_cols,
			  run->json ? 14 : 4);
		rc = ek_diff_blocks(a, b, show_blocks, run);
		out_table_end(run->out);
	}
	return rc < 0 ? fail_call(run, rc) : rc == 1 ? EXIT_NO : EXIT_DONE;
}

static int run_blocks(struct run *run)
{
	const struct diff_opts *o = run->opts;
	struct target a, b;
	int code;

	if (o->no_times || o->no_owners || o->no_xattrs || o->no_contents)
		return fail_usage(run, _("--blocks compares all bytes: no --no-times, "
					 "--no-owners, --no-xattrs and --no-contents with it"));
	code = target_open(run, run->argv[0], 0, &a);
	if (code != EXIT_DONE)
		return code;
	code = target_open(run, run->argv[1], 0, &b);
	if (code == EXIT_DONE) {
		code = a.has_path || b.has_path
			   ? fail_usage(run, _("--blocks compares whole images, not paths in them"))
			   : compare_blocks(run, a.img, b.img);
		code = target_end(run, &b, code);
	}
	return target_end(run, &a, code);
}

static int run_diff(struct run *run)
{
	const struct diff_opts *o = run->opts;
	struct side a, b;
	int code;

	if (o->blocks)
		return run_blocks(run);
	code = open_side(run, run->argv[0], &a);
	if (code != EXIT_DONE)
		return code;
	code = open_side(run, run->argv[1], &b);
	if (code == EXIT_DONE) {
		code = compare(run, &a, &b);
		code = close_side(run, &b, code);
	}
	return close_side(run, &a, code);
}

static const struct example diff_examples[] = {
    {"extkit diff old.img new.img", N_("tells what changed between two images")},
    {"extkit diff rootfs.tar disk.img", N_("tells whether an image has what an archive has")},
    {"extkit diff --no-times /srv/site disk.img@p2:/www", N_("compares a folder with one inside")},
    {"extkit diff --blocks old.img new.img", N_("tells which blocks changed, and whose they are")},
    {NULL, NULL},
};

COMMAND(diff) = {
    .name = "diff",
    .brief = N_("tell what differs between two trees"),
    .args = N_("TREE TREE"),
    .about = N_(
	"A tree is an image or a folder in one, a folder of the host, an archive or a manifest. "
	"Names, types, modes, owners, sizes, contents, targets, device numbers, times of change, "
	"attributes, flags, projects, and which names are of one file are compared; times of "
	"access "
	"and creation are not.\n\nWith --blocks two images are compared as they lie on disk, as "
	"far "
	"as the smaller one goes: runs of blocks that differ, and on each side whose they are, by "
	"inode and byte for files and folders, by inodes for their tables, by group for the rest. "
	"What a dirty journal holds is seen as a mount would see it, with --no-replay as it is in "
	"place.\n\nThe exit code is 0 when nothing differs and 1 when something "
	"does."),
    .options = diff_options,
    .examples = diff_examples,
    .min_args = 2,
    .max_args = 2,
    .opts_size = sizeof(struct diff_opts),
    .run = run_diff,
};

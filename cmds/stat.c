/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit stat: everything an inode has. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "entry.h"
#include "fail.h"
#include "show.h"
#include "target.h"

struct stat_opts {
	bool follow;
	struct opt_num inode;
};

static const struct opt stat_options[] = {
    OPT_FLAG(struct stat_opts, follow, 'L', "dereference", N_("follow a link at the end")),
    OPT_NUMBER(struct stat_opts, inode, 'i', "inode", N_("N"),
	       N_("inode N rather than a path; wants IMG alone")),
    OPT_END,
};

static void time_row(struct out *out, const char *key, const char *label, struct ek_time t)
{
	char text[SHOW_MAX];

	out_str(out, key, label, show_time(text, t));
}

static void flags_row(struct out *out, uint32_t flags)
{
	char names[512];

	out_str(out, "flags", _("Flags"), ek_flag_names(flags, names, sizeof(names)));
}

static void record(struct out *out, const struct ek_stat *st)
{
	char text[SHOW_MAX];

	out_u64(out, "inode", _("Inode"), st->ino.v);
	out_word(out, "type", _("Type"), entry_type(st->mode));
	out_u64_as(out, "mode", _("Mode"), st->mode, show_mode(text, st->mode));
	out_u64(out, "links", _("Links"), st->links);
	out_u64(out, "uid", _("Owner"), st->uid);
	out_u64(out, "gid", _("Group"), st->gid);
	out_u64(out, "project", _("Project"), st->project);
	out_u64(out, "size", _("Size"), st->bytes);
	out_u64(out, "sectors", _("Sectors"), st->sectors);
	if (S_ISCHR(st->mode) || S_ISBLK(st->mode)) {
		snprintf(text, sizeof(text), "%" PRIu32 ":%" PRIu32, st->dev_major, st->dev_minor);
		out_str(out, "device", _("Device"), text);
	}
	flags_row(out, st->flags);
	out_u64(out, "generation", _("Generation"), st->generation);
	out_u64(out, "version", _("Version"), st->version);
	out_u64(out, "extra_size", _("Extra size"), st->extra_size);
	if (st->xattr_block.v != 0)
		out_u64(out, "xattr_block", _("Attribute block"), st->xattr_block.v);
	time_row(out, "atime", _("Accessed"), st->atime);
	time_row(out, "mtime", _("Modified"), st->mtime);
	time_row(out, "ctime", _("Changed"), st->ctime);
	if (st->has_crtime)
		time_row(out, "crtime", _("Created"), st->crtime);
}

static const struct out_col xattr_cols[] = {
    {"name", N_("Attribute"), false},
    {"value", N_("Value"), false},
};

static int attributes(struct run *run, struct ek_inode *inode)
{
	struct ek_xattrs *xattrs;
	const struct ek_xattr *x;
	int err = ek_inode_xattrs(inode, &xattrs);

	if (err < 0)
		return err;
	if (run->json || ek_xattrs_get(xattrs, 0) != NULL) {
		out_table(run->out, "xattrs", xattr_cols, 2);
		for (size_t i = 0; (x = ek_xattrs_get(xattrs, i)) != NULL; i++) {
			out_str(run->out, NULL, NULL, x->name);
			out_bytes(run->out, NULL, NULL, x->value, x->len);
		}
		out_table_end(run->out);
	}
	ek_xattrs_free(xattrs);
	return 0;
}

static int show(struct run *run, struct ek_inode *inode)
{
	struct ek_stat st = {.size = sizeof(st)};
	static char target[65537];
	int err = ek_inode_stat(inode, &st);

	if (err < 0)
		return err;
	record(run->out, &st);
	if (S_ISLNK(st.mode)) {
		err = ek_inode_readlink(inode, target, sizeof(target));
		if (err < 0)
			return err;
		out_str(run->out, "target", _("Target"), target);
	}
	return attributes(run, inode);
}

static int run_stat(struct run *run)
{
	const struct stat_opts *o = run->opts;
	struct ek_inode *inode;
	struct target t;
	int code = target_open(run, run->argv[0], 0, &t), err;

	if (code != EXIT_DONE)
		return code;
	if (o->inode.set && (t.has_path || o->inode.v > UINT32_MAX)) {
		code = fail_usage(run, _("--inode wants a number and an image without a path"));
		return target_end(run, &t, code);
	}
	if (o->inode.set)
		err = ek_inode_open_number(t.img, (ek_inum){(uint32_t)o->inode.v}, &inode);
	else
		err = ek_inode_open(t.img, t.path, o->follow ? 0 : EK_NOFOLLOW, &inode);
	if (err < 0)
		return target_end(run, &t, fail_call(run, err));
	if (!o->inode.set)
		out_str(run->out, "path", _("Path"), t.path);
	err = show(run, inode);
	code = err < 0 ? fail_call(run, err) : EXIT_DONE;
	ek_inode_close(inode);
	return target_end(run, &t, code);
}

static const struct example stat_examples[] = {
    {"extkit stat disk.img:/etc/passwd", N_("shows everything that the inode has")},
    {"extkit stat --inode 12 disk.img", N_("the same by number")},
    {NULL, NULL},
};

COMMAND(stat) = {
    .name = "stat",
    .brief = N_("show an inode"),
    .args = N_("IMG[:/PATH]"),
    .about = N_("Times have nanoseconds and are UTC. Extended attributes are listed with their "
		"values, and POSIX access control lists in the form of getxattr."),
    .options = stat_options,
    .examples = stat_examples,
    .min_args = 1,
    .max_args = 1,
    .opts_size = sizeof(struct stat_opts),
    .run = run_stat,
};

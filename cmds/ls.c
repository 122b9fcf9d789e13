/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit ls: what is in folders. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "entry.h"
#include "fail.h"
#include "target.h"

struct ls_opts {
	bool details, all, inode, itself, context, unsorted;
};

#define T struct ls_opts

static const struct opt ls_options[] = {
    OPT_FLAG(T, details, 'l', "long", N_("mode, links, owner, group, size and time")),
    OPT_FLAG(T, all, 'R', "recursive", N_("and everything below")),
    OPT_FLAG(T, inode, 'i', "inode", N_("inode numbers")),
    OPT_FLAG(T, itself, 'd', "directory", N_("folders themselves, not what is in them")),
    OPT_FLAG(T, context, 'Z', "context", N_("the SELinux label")),
    OPT_FLAG(T, unsorted, 'U', "unsorted", N_("in the order of the image")),
    OPT_END,
};

struct list {
	struct run *run;
	const struct ls_opts *opts;
	const char *base; /* the path that was given */
	unsigned flags;   /* enum entry_flag */
	struct trouble trouble;
};

static unsigned flags_of(const struct ls_opts *o)
{
	return (o->inode ? (unsigned)ENTRY_INODE : 0) | (o->details ? (unsigned)ENTRY_LONG : 0) |
	       (o->context ? (unsigned)ENTRY_CONTEXT : 0) | (o->all ? (unsigned)ENTRY_PATH : 0);
}

static void show(struct list *l, const struct ek_found *f)
{
	struct entry_path path = {l->base, f->path, f->path_len};
	int err;

	/* what was named is shown as it was named */
	err = entry_row(l->flags | (f->depth == 0 ? (unsigned)ENTRY_PATH : 0), f->inode, f->ino,
			&path);
	if (err < 0)
		trouble_add(l->run, &l->trouble, err);
}

static void step(struct list *l, struct ek_walk *walk, const struct ek_found *f)
{
	bool folder = S_ISDIR(f->mode);

	if (f->error < 0)
		trouble_add(l->run, &l->trouble, f->error);
	if (f->error < 0 && f->ino.v == 0)
		return; /* the end of a folder that is torn: no row */
	if (folder && f->depth == 0 && !l->opts->itself && !l->opts->all)
		return; /* what is in it is wanted, not the folder */
	if (folder && (!l->opts->all || l->opts->itself))
		ek_walk_prune(walk);
	show(l, f);
}

static int list_tree(struct list *l, struct ek_inode *inode)
{
	struct ek_walk *walk;
	struct ek_found found;
	int err = ek_walk_open(inode, l->opts->unsorted ? 0 : EK_WALK_SORTED, &walk);

	if (err < 0)
		return fail_call(l->run, err);
	while ((err = ek_walk_next(walk, &found)) == 1)
		step(l, walk, &found);
	ek_walk_close(walk);
	entry_end();
	return err < 0 ? fail_call(l->run, err) : EXIT_DONE;
}

static int list_one(struct list *l, const char *arg)
{
	struct ek_inode *inode;
	struct target t;
	int code = target_open(l->run, arg, 0, &t), err;

	if (code != EXIT_DONE)
		return code;
	l->base = t.path;
	/* a link that was named is shown when rows are long, as ls does */
	err = ek_inode_open(t.img, t.path, l->opts->details || l->opts->itself ? EK_NOFOLLOW : 0,
			    &inode);
	if (err < 0)
		return target_end(l->run, &t, fail_call(l->run, err));
	code = list_tree(l, inode);
	ek_inode_close(inode);
	return target_end(l->run, &t, code);
}

static int run_ls(struct run *run)
{
	const struct ls_opts *o = run->opts;
	struct list l = {.run = run, .opts = o, .flags = flags_of(o)};
	int code = EXIT_DONE;

	entry_table(run, l.flags);
	for (int i = 0; i < run->argc && code == EXIT_DONE; i++)
		code = list_one(&l, run->argv[i]);
	if (code != EXIT_DONE)
		return code;
	out_table_end(run->out);
	return trouble_end(run, &l.trouble);
}

static const struct example ls_examples[] = {
    {"extkit ls disk.img", N_("lists the root")},
    {"extkit ls -l disk.img:/etc", N_("lists a folder with all that matters")},
    {"extkit ls -lR --json disk.img", N_("gives a program everything there is")},
    {NULL, NULL},
};

COMMAND(ls) = {
    .name = "ls",
    .brief = N_("list folders"),
    .args = N_("IMG[:/PATH]..."),
    .about = N_(
	"Rows are sorted by name, byte for byte, and names that begin with a dot are shown "
	"too. With -R names are paths, a folder before what is in it. Times are UTC. An inode that "
	"cannot be read has a row with question marks, the rest is listed, and the exit code "
	"tells."),
    .options = ls_options,
    .examples = ls_examples,
    .min_args = 1,
    .max_args = -1,
    .opts_size = sizeof(struct ls_opts),
    .run = run_ls,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit find: inodes of a tree that meet every condition given. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "entry.h"
#include "fail.h"
#include "target.h"

struct find_opts {
	const char *name, *path;
	int type;
	struct opt_num larger, smaller, uid, gid, inode, depth;
	bool details, setid;
};

#define T struct find_opts

static const struct opt find_options[] = {
    OPT_TEXT(T, name, 'n', "name", N_("PATTERN"), N_("the name matches, as in a shell: '*.conf'")),
    OPT_TEXT(T, path, 'P', "path", N_("PATTERN"), N_("the path matches; * matches / too")),
    OPT_CHOICE(T, type, 't', "type", "any|f|d|l|c|b|p|s", N_("file, folder, link, device...")),
    OPT_SIZE(T, larger, 0, "larger", N_("SIZE"), N_("larger than SIZE")),
    OPT_SIZE(T, smaller, 0, "smaller", N_("SIZE"), N_("smaller than SIZE")),
    OPT_NUMBER(T, uid, 'u', "uid", N_("N"), N_("owned by N")),
    OPT_NUMBER(T, gid, 'g', "gid", N_("N"), N_("of group N")),
    OPT_NUMBER(T, inode, 'i', "inode", N_("N"), N_("every name of inode N")),
    OPT_FLAG(T, setid, 0, "setid", N_("set-user-ID or set-group-ID programs")),
    OPT_NUMBER(T, depth, 0, "depth", N_("N"), N_("at most N folders deep")),
    OPT_FLAG(T, details, 'l', "long", N_("mode, links, owner, group, size and time")),
    OPT_END,
};

static bool has_type(const struct ek_stat *st, int type)
{
	static const uint32_t types[] = {0,       S_IFREG, S_IFDIR, S_IFLNK,
					 S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK};

	return type == 0 || (st->mode & S_IFMT) == types[type];
}

static bool matches(const struct find_opts *o, const char *path, const char *name,
		    const struct ek_stat *st)
{
	return (o->name == NULL || fnmatch(o->name, name, 0) == 0) &&
	       (o->path == NULL || fnmatch(o->path, path, 0) == 0) && has_type(st, o->type) &&
	       (!o->larger.set || st->bytes > o->larger.v) &&
	       (!o->smaller.set || st->bytes < o->smaller.v) &&
	       (!o->uid.set || st->uid == o->uid.v) && (!o->gid.set || st->gid == o->gid.v) &&
	       (!o->inode.set || st->ino.v == o->inode.v) &&
	       (!o->setid || (S_ISREG(st->mode) && (st->mode & (S_ISUID | S_ISGID)) != 0));
}

struct search {
	struct run *run;
	const char *base;
	unsigned flags;
	uint64_t hits;
	struct trouble trouble;
};

static int step(struct search *s, struct ek_walk *walk, const struct ek_found *f)
{
	const struct find_opts *o = s->run->opts;
	struct ek_stat st = {.size = sizeof(st)};
	size_t base = strlen(s->base);
	bool slash = f->path_len != 0 && (base == 0 || s->base[base - 1] != '/');
	char *path;
	int err = f->error;

	if (err == 0)
		err = ek_inode_stat(f->inode, &st);
	if (err < 0) {
		trouble_add(s->run, &s->trouble, err);
		return EXIT_DONE;
	}
	if (o->depth.set && f->depth >= o->depth.v)
		ek_walk_prune(walk);
	if (asprintf(&path, "%s%s%s", s->base, slash ? "/" : "", f->path) < 0) {
		entry_end();
		return fail(s->run, EXIT_HOST, "%s", _("no memory"));
	}
	if (matches(o, path, f->path_len != 0 ? f->name : path, &st)) {
		s->hits++;
		err = entry_row(s->flags, f->inode, f->ino,
				&(struct entry_path){s->base, f->path, f->path_len});
		if (err < 0)
			trouble_add(s->run, &s->trouble, err);
	}
	free(path);
	return EXIT_DONE;
}

static int search(struct search *s, struct ek_inode *inode)
{
	struct ek_walk *walk;
	struct ek_found found;
	int code = EXIT_DONE, err = ek_walk_open(inode, EK_WALK_SORTED, &walk);

	if (err < 0)
		return fail_call(s->run, err);
	while (code == EXIT_DONE && (err = ek_walk_next(walk, &found)) == 1)
		code = step(s, walk, &found);
	ek_walk_close(walk);
	entry_end();
	return err < 0 ? fail_call(s->run, err) : code;
}

static int run_find(struct run *run)
{
	const struct find_opts *o = run->opts;
	struct search s = {.run = run,
			   .flags = ENTRY_PATH | (o->details ? (unsigned)ENTRY_LONG : 0)};
	struct ek_inode *inode;
	struct target t;
	int code = target_open(run, run->argv[0], 0, &t), err;

	if (code != EXIT_DONE)
		return code;
	s.base = t.path;
	err = ek_inode_open(t.img, t.path, EK_NOFOLLOW, &inode);
	if (err < 0)
		return target_end(run, &t, fail_call(run, err));
	entry_table(run, s.flags);
	code = search(&s, inode);
	if (code == EXIT_DONE)
		out_table_end(run->out);
	ek_inode_close(inode);
	code = target_end(run, &t, code);
	if (code == EXIT_DONE)
		code = trouble_end(run, &s.trouble);
	return code == EXIT_DONE && s.hits == 0 ? EXIT_NO : code;
}

static const struct example find_examples[] = {
    {"extkit find -n '*.so' disk.img:/usr", N_("prints the paths of shared libraries")},
    {"extkit find --setid -l disk.img", N_("lists programs that change the user")},
    {"extkit find -i 12 disk.img", N_("prints every name of inode 12")},
    {NULL, NULL},
};

COMMAND(find) = {
    .name = "find",
    .brief = N_("search a tree"),
    .args = N_("IMG[:/PATH]"),
    .about = N_("Prints the path of every inode for which all conditions hold. The exit code is 1 "
		"when there is none. Links are not followed."),
    .options = find_options,
    .examples = find_examples,
    .min_args = 1,
    .max_args = 1,
    .opts_size = sizeof(struct find_opts),
    .run = run_find,
};

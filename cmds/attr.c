/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit attr: flags of inodes and project numbers. */
#include <string.h>

#include "cmd.h"
#include "fail.h"
#include "images.h"

struct attr_opts {
	bool all, dry;
	struct opt_num project;
	bool append, no_dump, no_atime, immutable, sync, dirsync, journal, topdir, inherit;
};

#define T struct attr_opts

/* "-i" on the command line is an option: it takes the flag away, as in chattr. */
static const struct opt attr_options[] = {
    OPT_FLAG(T, all, 'R', "recursive", N_("and everything below; links are not followed")),
    OPT_NUMBER(T, project, 'p', "project", N_("N"), N_("the project, for quota")),
    OPT_FLAG(T, append, 'a', "no-append", N_("take away: only ever appended to")),
    OPT_FLAG(T, no_atime, 'A', "no-noatime", N_("take away: no times of access")),
    OPT_FLAG(T, no_dump, 'd', "no-nodump", N_("take away: left out of backups")),
    OPT_FLAG(T, dirsync, 'D', "no-dirsync", N_("take away: names are written at once")),
    OPT_FLAG(T, immutable, 'i', "no-immutable", N_("take away: may not change")),
    OPT_FLAG(T, journal, 'j', "no-journal_data", N_("take away: data go through the journal")),
    OPT_FLAG(T, inherit, 'P', "no-projinherit", N_("take away: the project is inherited")),
    OPT_FLAG(T, sync, 'S', "no-sync", N_("take away: data are written at once")),
    OPT_FLAG(T, topdir, 'T', "no-topdir", N_("take away: subfolders are spread")),
    OPT_FLAG(T, dry, 0, "dry-run", N_("check everything, change nothing")),
    OPT_END,
};

/* Letters of chattr for flags that may be set. */
static const struct {
	char letter;
	const char *name;
	size_t at; /* of the option that takes it away */
} letters[] = {
    {'a', "append", offsetof(T, append)},       {'A', "noatime", offsetof(T, no_atime)},
    {'d', "nodump", offsetof(T, no_dump)},      {'D', "dirsync", offsetof(T, dirsync)},
    {'i', "immutable", offsetof(T, immutable)}, {'j', "journal_data", offsetof(T, journal)},
    {'P', "projinherit", offsetof(T, inherit)}, {'S', "sync", offsetof(T, sync)},
    {'T', "topdir", offsetof(T, topdir)},
};

#define NLETTERS (sizeof(letters) / sizeof(letters[0]))

struct change {
	uint32_t set, clear;
	bool any;
	struct opt_num project;
};

/* One word of a list: a name or letters. */
static uint32_t bits_of(const char *word, size_t len)
{
	char name[32];
	uint32_t bits = 0, bit;

	if (len == 0 || len >= sizeof(name))
		return 0;
	memcpy(name, word, len);
	name[len] = '\0';
	bit = ek_flag_of(name);
	if (bit != 0)
		return bit & ek_flags_settable();
	for (size_t i = 0; i < len; i++) {
		size_t k = 0;

		while (k < NLETTERS && letters[k].letter != name[i])
			k++;
		if (k == NLETTERS)
			return 0;
		bits |= ek_flag_of(letters[k].name);
	}
	return bits;
}

/* "+i", "+immutable,nodump", "=a", "=": an exit code. */
static int parse_operand(struct run *run, const char *arg, struct change *c)
{
	const char *p = arg + 1;

	if (*arg == '=')
		c->clear = ek_flags_settable();
	c->any = true;
	while (*p != '\0') {
		size_t len = strcspn(p, ",");
		uint32_t bits = bits_of(p, len);

		if (bits == 0)
			return fail_usage(run, _("'%.*s' is no flag that can be set"), (int)len, p);
		c->set |= bits;
		p += len + (p[len] == ',' ? 1 : 0);
	}
	return EXIT_DONE;
}

/* What options and leading operands ask for; *ret_first is the first path. */
static int parse(struct run *run, struct change *c, int *ret_first)
{
	const struct attr_opts *o = run->opts;
	int i = 0, code = EXIT_DONE;

	c->project = o->project;
	for (size_t k = 0; k < NLETTERS; k++) {
		if (!*(const bool *)((const char *)o + letters[k].at))
			continue;
		c->clear |= ek_flag_of(letters[k].name);
		c->any = true;
	}
	for (; i < run->argc && code == EXIT_DONE &&
	       (run->argv[i][0] == '+' || run->argv[i][0] == '=');
	     i++)
		code = parse_operand(run, run->argv[i], c);
	if (code == EXIT_DONE && c->project.set && c->project.v > UINT32_MAX)
		code = fail_usage(run, _("--%s: %llu is too much"), "project",
				  (unsigned long long)c->project.v);
	if (code == EXIT_DONE && i == run->argc)
		code = fail_usage(run, _("too few arguments, wanted: %s"), _(run->cmd->args));
	*ret_first = i;
	return code;
}

static void show(struct run *run, const struct ek_stat *st, const char *path)
{
	char names[256];

	out_str(run->out, NULL, NULL, path);
	out_u64(run->out, NULL, NULL, st->project);
	out_str(run->out, NULL, NULL, ek_flag_names(st->flags, names, sizeof(names)));
}

static int attr_one(struct run *run, void *ctx, struct ek_inode *inode, const struct ek_stat *st,
		    const char *path)
{
	const struct change *c = ctx;
	struct ek_stat now = {.size = sizeof(now)};
	struct ek_attr a = {.size = sizeof(a)};
	int err = 0;

	if (c->any)
		a.mask |= EK_ATTR_FLAGS;
	if (c->project.set)
		a.mask |= EK_ATTR_PROJECT;
	a.flags = (st->flags & ~c->clear) | c->set;
	a.project = (uint32_t)c->project.v;
	if (a.mask != 0)
		err = ek_inode_set(inode, &a);
	if (err == 0)
		err = ek_inode_stat(inode, &now);
	if (err < 0)
		return fail_call(run, err);
	if (a.mask == 0 || run->json)
		show(run, &now, path);
	return EXIT_DONE;
}

static const struct out_col attr_cols[] = {
    {"path", NULL, false}, {"project", NULL, true}, {"flags", NULL, false}};

static int run_attr(struct run *run)
{
	const struct attr_opts *o = run->opts;
	struct change c = {0};
	int first, code = parse(run, &c, &first);
	bool reads = !c.any && !c.project.set;

	if (code != EXIT_DONE)
		return code;
	if (reads || run->json)
		out_table(run->out, "entries", attr_cols, 3);
	return each_operands(run, first, reads ? 0 : images_write(o->dry),
			     (o->all ? (unsigned)EACH_TREE : 0) | (reads ? EACH_NOFOLLOW : 0u),
			     attr_one, &c);
}

static const struct example attr_examples[] = {
    {"extkit attr disk.img:/etc", N_("shows flags and project")},
    {"extkit attr +immutable disk.img:/etc/resolv.conf", N_("sets a flag; +i does too")},
    {"extkit attr -R -i disk.img:/etc", N_("takes it away below a folder")},
    {"extkit attr -p 42 +projinherit disk.img:/home/me", N_("sets a project")},
    {NULL, NULL},
};

COMMAND(attr) = {
    .name = "attr",
    .brief = N_("show and set inode flags and projects"),
    .args = N_("[+FLAGS] [=FLAGS] IMG:/PATH..."),
    .about = N_(
	"FLAGS are words with commas between, or the letters of chattr: append a, noatime A, "
	"nodump d, dirsync D, immutable i, journal_data j, projinherit P, sync S, topdir T. "
	"+ adds them, = lets the inode have these and no others that can be set, and "
	"options such as -i take one away. Without any the flags are shown."),
    .options = attr_options,
    .examples = attr_examples,
    .min_args = 1,
    .max_args = -1,
    .opts_size = sizeof(struct attr_opts),
    .run = run_attr,
};

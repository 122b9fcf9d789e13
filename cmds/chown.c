/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit chown: owner and group, by number. */
#include <string.h>

#include "cmd.h"
#include "fail.h"
#include "images.h"

struct chown_opts {
	bool all, itself, dry;
};

#define T struct chown_opts

static const struct opt chown_options[] = {
    OPT_FLAG(T, all, 'R', "recursive", N_("and everything below; links are not followed")),
    OPT_FLAG(T, itself, 'n', "no-dereference", N_("links themselves")),
    OPT_FLAG(T, dry, 0, "dry-run", N_("check everything, change nothing")),
    OPT_END,
};

/* "0", "0:5", ":5".  An exit code. */
static int parse(struct run *run, const char *text, struct ek_attr *a)
{
	char owner[32];
	size_t n = strcspn(text, ":");
	uint64_t v;

	if (n >= sizeof(owner))
		goto bad;
	memcpy(owner, text, n);
	owner[n] = '\0';
	if (n != 0) {
		if (opt_number(owner, &v) != 0 || v >= UINT32_MAX)
			goto bad;
		a->uid = (uint32_t)v;
		a->mask |= EK_ATTR_UID;
	}
	if (text[n] == ':' && text[n + 1] != '\0') {
		if (opt_number(text + n + 1, &v) != 0 || v >= UINT32_MAX)
			goto bad;
		a->gid = (uint32_t)v;
		a->mask |= EK_ATTR_GID;
	}
	if (a->mask != 0)
		return EXIT_DONE;
bad:
	return fail_usage(run, _("'%s' is no owner; wanted numbers: 1000, 1000:100 or :100"), text);
}

static int chown_one(struct run *run, void *ctx, struct ek_inode *inode, const struct ek_stat *st,
		     const char *path)
{
	const struct ek_attr *a = ctx;
	int err = ek_inode_set(inode, a);

	if (err < 0)
		return fail_call(run, err);
	if (run->json) {
		out_str(run->out, NULL, NULL, path);
		out_u64(run->out, NULL, NULL, (a->mask & EK_ATTR_UID) != 0 ? a->uid : st->uid);
		out_u64(run->out, NULL, NULL, (a->mask & EK_ATTR_GID) != 0 ? a->gid : st->gid);
	}
	return EXIT_DONE;
}

static const struct out_col chown_cols[] = {
    {"path", NULL, false}, {"uid", NULL, true}, {"gid", NULL, true}};

static int run_chown(struct run *run)
{
	const struct chown_opts *o = run->opts;
	struct ek_attr a = {.size = sizeof(a)};
	unsigned flags =
	    (o->all ? (unsigned)EACH_TREE : 0) | (o->itself ? (unsigned)EACH_NOFOLLOW : 0);
	int code = parse(run, run->argv[0], &a);

	if (code != EXIT_DONE)
		return code;
	if (run->json)
		out_table(run->out, "changed", chown_cols, 3);
	return each_operands(run, 1, images_write(o->dry), flags, chown_one, &a);
}

static const struct example chown_examples[] = {
    {"extkit chown -R 1000:1000 disk.img:/home/me", N_("gives the tree to user 1000")},
    {"extkit chown :100 disk.img:/srv", N_("changes the group alone")},
    {NULL, NULL},
};

COMMAND(chown) = {
    .name = "chown",
    .brief = N_("change owner and group"),
    .args = N_("UID[:GID] IMG:/PATH..."),
    .about = N_("Owners are numbers, because names mean other users inside the image. All 32 bits "
		"are kept. Set-user-ID bits stay as they are."),
    .options = chown_options,
    .examples = chown_examples,
    .min_args = 2,
    .max_args = -1,
    .opts_size = sizeof(struct chown_opts),
    .run = run_chown,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit chmod: permissions, in octal or as clauses like u+rwX,go-w. */
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "fail.h"
#include "images.h"

struct chmod_opts {
	bool all, dry;
};

#define T struct chmod_opts

static const struct opt chmod_options[] = {
    OPT_FLAG(T, all, 'R', "recursive", N_("and everything below; links are not followed")),
    OPT_FLAG(T, dry, 0, "dry-run", N_("check everything, change nothing")),
    OPT_END,
};

/* Permissions of one class, spread over those that were named. */
static uint32_t spread(uint32_t bits, uint32_t who)
{
	return (bits * 0111u) & who & 0777u;
}

/* "rwX", or "u" for what the owner has: the bits they stand for, among those of who. */
static const char *permissions(const char *p, uint32_t mode, uint32_t who, uint32_t *ret)
{
	bool x = S_ISDIR(mode) || (mode & 0111) != 0;
	uint32_t bits = 0;

	if (*p == 'u' || *p == 'g' || *p == 'o') {
		unsigned shift = *p == 'u' ? 6 : *p == 'g' ? 3 : 0;

		*ret = spread(mode >> shift & 7, who);
		return p + 1;
	}
	for (;; p++) {
		if (*p == 'r')
			bits |= spread(4, who);
		else if (*p == 'w')
			bits |= spread(2, who);
		else if (*p == 'x' || (*p == 'X' && x))
			bits |= spread(1, who);
		else if (*p == 's')
			bits |= who & 06000;
		else if (*p == 't')
			bits |= who & S_ISVTX;
		else if (*p != 'X')
			break;
	}
	*ret = bits;
	return p;
}

/* One clause, "go-w" or "u=rw+x"; NULL when it makes no sense. */
static const char *clause(const char *p, uint32_t *mode)
{
	uint32_t who = 0, bits;

	for (; strchr("ugoa", *p) != NULL && *p != '\0'; p++)
		who |= *p == 'u' ? 04700u : *p == 'g' ? 02070u : *p == 'o' ? 01007u : 07777u;
	if (who == 0)
		who = 07777;
	if (*p != '+' && *p != '-' && *p != '=')
		return NULL;
	while (*p == '+' || *p == '-' || *p == '=') {
		char op = *p;

		p = permissions(p + 1, *mode, who, &bits);
		if (op == '=') /* set-ID bits of folders stay unless they are named */
			*mode &= ~(who & (S_ISDIR(*mode) ? 01777u : 07777u));
		*mode = op == '-' ? *mode & ~bits : *mode | bits;
	}
	return *p == ',' || *p == '\0' ? p : NULL;
}

/* The mode after the change that text asks for: 0, or -1 when it makes no sense. */
static int change_mode(const char *text, uint32_t mode, uint32_t *ret)
{
	uint32_t octal = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '7' && octal <= 07777; p++)
		octal = octal * 8 + (uint32_t)(*p - '0');
	if (p != text) {
		*ret = octal;
		return *p == '\0' && octal <= 07777 ? 0 : -1;
	}
	for (;;) {
		p = clause(p, &mode);
		if (p == NULL)
			return -1;
		if (*p == '\0')
			break;
		p++;
	}
	*ret = mode & 07777;
	return 0;
}

static int chmod_one(struct run *run, void *ctx, struct ek_inode *inode, const struct ek_stat *st,
		     const char *path)
{
	struct ek_attr a = {.size = sizeof(a), .mask = EK_ATTR_MODE};
	int err;

	if (S_ISLNK(st->mode) || change_mode(run->argv[0], st->mode, &a.mode) != 0)
		return EXIT_DONE;
	err = ek_inode_set(inode, &a);
	if (err < 0)
		return fail_call(run, err);
	if (run->json) {
		out_str(run->out, NULL, NULL, path);
		out_u64(run->out, NULL, NULL, a.mode);
	}
	return EXIT_DONE;
}

static const struct out_col chmod_cols[] = {{"path", NULL, false}, {"mode", NULL, true}};

static int run_chmod(struct run *run)
{
	const struct chmod_opts *o = run->opts;
	uint32_t probe;

	if (change_mode(run->argv[0], S_IFREG, &probe) != 0)
		return fail_usage(run, _("'%s' is no mode; wanted: 755 or u+rwX,go-w"),
				  run->argv[0]);
	if (run->json)
		out_table(run->out, "changed", chmod_cols, 2);
	return each_operands(run, 1, images_write(o->dry), o->all ? EACH_TREE : 0, chmod_one, NULL);
}

static const struct example chmod_examples[] = {
    {"extkit chmod 4755 disk.img:/bin/su", N_("sets the mode in octal")},
    {"extkit chmod -R u=rwX,go= disk.img:/root", N_("X is x for folders and programs only")},
    {NULL, NULL},
};

COMMAND(chmod) = {
    .name = "chmod",
    .brief = N_("change permissions"),
    .args = N_("MODE IMG:/PATH..."),
    .about = N_("MODE is octal, or clauses of u, g, o, a, then +, - or =, then r, w, x, X, s, t or "
		"one of u, g, o. No clause depends on the umask. A mode that begins with - follows "
		"after --. A link at the end of a path is followed inside the image, except with "
		"-R."),
    .options = chmod_options,
    .examples = chmod_examples,
    .min_args = 2,
    .max_args = -1,
    .opts_size = sizeof(struct chmod_opts),
    .run = run_chmod,
};

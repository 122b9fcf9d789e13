/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit xattr: extended attributes, one by one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "cmd.h"
#include "fail.h"
#include "images.h"

#define VALUE_MAX ((size_t)65536)

struct xattr_opts {
	bool itself, all, text, raw, values, create, replace, dry;
};

#define T struct xattr_opts

#define ROW_ITSELF OPT_FLAG(T, itself, 'n', "no-dereference", N_("links themselves"))
#define ROW_ALL \
	OPT_FLAG(T, all, 'R', "recursive", N_("and everything below; links are not followed"))
#define ROW_DRY_RUN OPT_FLAG(T, dry, 0, "dry-run", N_("check everything, change nothing"))

static unsigned each_flags(const struct xattr_opts *o)
{
	return (o->itself ? (unsigned)EACH_NOFOLLOW : 0) | (o->all ? (unsigned)EACH_TREE : 0);
}

/* ---- values ---- */

struct value {
	const char *name;
	char *name_mem;
	unsigned char *bytes;
	size_t len;
};

static int hex(char c)
{
	const char *digits = "0123456789abcdef", *at;

	at = c != '\0' ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;
	return at != NULL ? (int)(at - digits) : -1;
}

static int value_from_hex(struct run *run, const char *text, struct value *v)
{
	size_t n = strlen(text);

	if (n % 2 != 0 || n / 2 > VALUE_MAX)
		return fail_usage(run, _("'0x%s' is no value"), text);
	for (size_t i = 0; i < n; i += 2) {
		int high = hex(text[i]), low = hex(text[i + 1]);

		if (high < 0 || low < 0)
			return fail_usage(run, _("'0x%s' is no value"), text);
		v->bytes[i / 2] = (unsigned char)(high << 4 | low);
	}
	v->len = n / 2;
	return EXIT_DONE;
}

static int value_from_file(struct run *run, const char *path, struct value *v)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	int code = EXIT_DONE;

	if (f == NULL)
		return fail(run, EXIT_HOST, "%s: %s", path, strerror(errno));
	v->len = fread(v->bytes, 1, VALUE_MAX + 1, f);
	if (ferror(f))
		code = fail(run, EXIT_HOST, "%s: %s", path, strerror(errno));
	else if (v->len > VALUE_MAX)
		code = fail_usage(run, _("%s: a value has at most %zu bytes"), path, VALUE_MAX);
	if (f != stdin)
		fclose(f);
	return code;
}

static int value_from_text(struct run *run, const char *text, struct value *v)
{
	size_t n = strlen(text);
	int acl;

	if (acl_is_name(v->name)) {
		acl = acl_parse(text, v->bytes);
		if (acl < 0)
			return fail_usage(
			    run, _("'%s' is no ACL; wanted: u::rwx,u:1000:r,g::rx,o::"), text);
		v->len = (size_t)acl;
		return EXIT_DONE;
	}
	if (n > VALUE_MAX)
		return fail_usage(run, _("%s: a value has at most %zu bytes"), v->name, VALUE_MAX);
	memcpy(v->bytes, text, n);
	v->len = n;
	return EXIT_DONE;
}

/* NAME=VALUE; value_free must follow in any case. */
static int value_parse(struct run *run, const char *arg, struct value *v)
{
	const struct xattr_opts *o = run->opts;
	const char *text;

	v->name_mem = strdup(arg);
	v->bytes = malloc(VALUE_MAX + 1);
	if (v->name_mem == NULL || v->bytes == NULL)
		return fail(run, EXIT_HOST, "%s", _("no memory"));
	v->name = v->name_mem;
	v->name_mem[strcspn(arg, "=")] = '\0';
	if (strlen(v->name) == strlen(arg))
		return fail_usage(run, _("'%s' is not NAME=VALUE"), arg);
	if (*v->name == '\0')
		return fail_usage(run, _("'%s': the name is missing"), arg);
	text = arg + strlen(v->name) + 1;
	if (!o->text && strncmp(text, "0x", 2) == 0)
		return value_from_hex(run, text + 2, v);
	if (!o->text && text[0] == '@')
		return value_from_file(run, text + 1, v);
	return value_from_text(run, text, v);
}

static void value_free(struct value *v)
{
	free(v->name_mem);
	free(v->bytes);
}

/* A value as it can be given to set again. */
static void value_show(struct run *run, const struct ek_xattr *x)
{
	static char acl[ACL_TEXT];
	static char text[2 * VALUE_MAX + 3];
	const unsigned char *p = x->value;
	bool plain = true;

	if (acl_is_name(x->name) && acl_format(p, x->len, acl)) {
		out_str(run->out, NULL, NULL, acl);
		return;
	}
	for (size_t i = 0; i < x->len && plain; i++)
		plain = p[i] >= ' ' && p[i] < 127;
	if (plain && (x->len == 0 || p[0] != '@') && (x->len < 2 || memcmp(p, "0x", 2) != 0)) {
		out_bytes(run->out, NULL, NULL, p, x->len);
		return;
	}
	strcpy(text, "0x");
	for (size_t i = 0; i < x->len && i < VALUE_MAX; i++)
		sprintf(text + 2 + 2 * i, "%02x", p[i]);
	out_str(run->out, NULL, NULL, text);
}

/* ---- set, rm ---- */

static const struct out_col path_cols[] = {{"path", NULL, false}};

static int set_one(struct run *run, void *ctx, struct ek_inode *inode, const struct ek_stat *st,
		   const char *path)
{
	const struct xattr_opts *o = run->opts;
	const struct value *v = ctx;
	unsigned flags = (o->create ? (unsigned)EK_XATTR_CREATE : 0) |
			 (o->replace ? (unsigned)EK_XATTR_REPLACE : 0);
	int err = ek_inode_set_xattr(inode, v->name, v->bytes, v->len, flags);

	if (err < 0)
		return fail_call(run, err);
	if (run->json)
		out_str(run->out, NULL, NULL, path);
	return EXIT_DONE;
}

static int run_set(struct run *run)
{
	const struct xattr_opts *o = run->opts;
	struct value v = {0};
	int code = value_parse(run, run->argv[0], &v);

	if (run->json)
		out_table(run->out, "changed", path_cols, 1);
	if (code == EXIT_DONE)
		code = each_operands(run, 1, images_write(o->dry), each_flags(o), set_one, &v);
	value_free(&v);
	return code;
}

static int rm_one(struct run *run, void *ctx, struct ek_inode *inode, const struct ek_stat *st,
		  const char *path)
{
	const struct xattr_opts *o = run->opts;
	int err = ek_inode_remove_xattr(inode, run->argv[0]);

	if (err == -ENODATA && o->all) /* most of a tree will not have it */
		return EXIT_DONE;
	if (err < 0)
		return fail_call(run, err);
	if (run->json)
		out_str(run->out, NULL, NULL, path);
	return EXIT_DONE;
}

static int run_rm(struct run *run)
{
	const struct xattr_opts *o = run->opts;

	if (run->json)
		out_table(run->out, "changed", path_cols, 1);
	return each_operands(run, 1, images_write(o->dry), each_flags(o), rm_one, NULL);
}

/* ---- get, ls ---- */

static const struct out_col get_cols[] = {{"value", NULL, false}};

static int get_one(struct run *run, void *ctx, struct ek_inode *inode, const struct ek_stat *st,
		   const char *path)
{
	const struct xattr_opts *o = run->opts;
	const struct ek_xattr *x;
	struct ek_xattrs *xattrs;
	int err = ek_inode_xattrs(inode, &xattrs), code;

	if (err < 0)
		return fail_call(run, err);
	for (size_t i = 0; (x = ek_xattrs_get(xattrs, i)) != NULL; i++)
		if (strcmp(x->name, run->argv[0]) == 0)
			break;
	code = x != NULL ? EXIT_DONE
			 : fail(run, EXIT_NO, _("%s has no attribute %s"), path, run->argv[0]);
	if (x != NULL && o->raw)
		out_raw(run->out, x->value, x->len);
	else if (x != NULL)
		value_show(run, x);
	ek_xattrs_free(xattrs);
	return code;
}

static int run_get(struct run *run)
{
	const struct xattr_opts *o = run->opts;

	if (o->raw && run->json)
		return fail_usage(run, _("the bytes of a file are no JSON"));
	if (!o->raw)
		out_table(run->out, "values", get_cols, 1);
	return each_operands(run, 1, 0, each_flags(o), get_one, NULL);
}

static const struct out_col ls_cols[] = {
    {"path", NULL, false}, {"name", NULL, false}, {"size", NULL, true}, {"value", NULL, false}};

static int ls_one(struct run *run, void *ctx, struct ek_inode *inode, const struct ek_stat *st,
		  const char *path)
{
	const struct xattr_opts *o = run->opts;
	const struct ek_xattr *x;
	struct ek_xattrs *xattrs;
	int err = ek_inode_xattrs(inode, &xattrs);

	if (err < 0)
		return fail_call(run, err);
	for (size_t i = 0; (x = ek_xattrs_get(xattrs, i)) != NULL; i++) {
		if (o->all || run->json || run->argc > 1)
			out_str(run->out, NULL, NULL, path);
		out_str(run->out, NULL, NULL, x->name);
		out_u64(run->out, NULL, NULL, x->len);
		if (o->values || run->json)
			value_show(run, x);
	}
	ek_xattrs_free(xattrs);
	return EXIT_DONE;
}

static int run_ls(struct run *run)
{
	const struct xattr_opts *o = run->opts;
	bool paths = o->all || run->json || run->argc > 1;
	size_t first = paths ? 0 : 1, last = o->values || run->json ? 4 : 3;

	out_table(run->out, "xattrs", ls_cols + first, last - first);
	return each_operands(run, 0, 0, each_flags(o), ls_one, NULL);
}

/* ---- records ---- */

static const struct example xattr_examples[] = {
    {"extkit xattr set user.origin=build disk.img:/etc/motd", N_("sets an attribute")},
    {NULL, NULL},
};

COMMAND(xattr) = {
    .name = "xattr",
    .brief = N_("extended attributes and ACLs"),
    .args = N_("VERB ..."),
    .about = N_("Names are full, as getfattr prints them: user.x, security.selinux, "
		"security.capability, system.posix_acl_access."),
    .examples = xattr_examples,
};

static const struct opt set_options[] = {
    OPT_FLAG(T, text, 't', "text", N_("VALUE is text, even when it begins with 0x or @")),
    OPT_FLAG(T, create, 'c', "create", N_("fail when it has the attribute")),
    OPT_FLAG(T, replace, 0, "replace", N_("fail when it has not")),
    ROW_ITSELF,
    ROW_ALL,
    ROW_DRY_RUN,
    OPT_END,
};

static const struct example set_examples[] = {
    {"extkit xattr set security.capability=0x0100000200200000000000000000000000000000 "
     "disk.img:/bin/ping",
     N_("gives a program a capability")},
    {"extkit xattr set system.posix_acl_access=u::rwx,u:1000:rwx,g::rx,o:: disk.img:/srv",
     N_("sets an ACL, and the mode with it")},
    {"extkit xattr set user.icon=@icon.png disk.img:/a", N_("takes the value from a file")},
    {NULL, NULL},
};

COMMAND(xattr_set) = {
    .name = "xattr set",
    .brief = N_("set an attribute"),
    .args = N_("NAME=VALUE IMG:/PATH..."),
    .about = N_(
	"VALUE is text, 0x and hexadecimal digits, or @FILE. ACLs are rows of u, g, m or o, "
	"a number or nothing, and permissions; a mask that is missing is made."),
    .options = set_options,
    .examples = set_examples,
    .min_args = 2,
    .max_args = -1,
    .opts_size = sizeof(struct xattr_opts),
    .run = run_set,
};

static const struct opt rm_options[] = {ROW_ITSELF, ROW_ALL, ROW_DRY_RUN, OPT_END};

static const struct example rm_examples[] = {
    {"extkit xattr rm -R security.selinux disk.img:/", N_("takes the labels off a whole image")},
    {NULL, NULL},
};

COMMAND(xattr_rm) = {
    .name = "xattr rm",
    .brief = N_("remove an attribute"),
    .args = N_("NAME IMG:/PATH..."),
    .about = N_("With --recursive what does not have the attribute is passed over."),
    .options = rm_options,
    .examples = rm_examples,
    .min_args = 2,
    .max_args = -1,
    .opts_size = sizeof(struct xattr_opts),
    .run = run_rm,
};

static const struct opt get_options[] = {
    OPT_FLAG(T, raw, 'r', "raw", N_("the bytes as they are, without a newline")),
    ROW_ITSELF,
    OPT_END,
};

static const struct example get_examples[] = {
    {"extkit xattr get security.selinux disk.img:/etc", N_("prints the label")},
    {NULL, NULL},
};

COMMAND(xattr_get) = {
    .name = "xattr get",
    .brief = N_("print the value of an attribute"),
    .args = N_("NAME IMG:/PATH"),
    .about = N_("The value is printed as set takes it: text, or 0x and hexadecimal digits where it "
		"is none, or the rows of an ACL. The exit code is 1 when there is none."),
    .options = get_options,
    .examples = get_examples,
    .min_args = 2,
    .max_args = 2,
    .opts_size = sizeof(struct xattr_opts),
    .run = run_get,
};

static const struct opt ls_options[] = {
    OPT_FLAG(T, values, 'v', "values", N_("values too")),
    ROW_ITSELF,
    ROW_ALL,
    OPT_END,
};

static const struct example ls_examples[] = {
    {"extkit xattr ls -R -v disk.img:/", N_("lists all attributes of an image")},
    {NULL, NULL},
};

COMMAND(xattr_ls) = {
    .name = "xattr ls",
    .brief = N_("list attributes"),
    .args = N_("IMG:/PATH..."),
    .about = N_("One row for each attribute: its name, the length of its value, and with --values "
		"the value as set takes it."),
    .options = ls_options,
    .examples = ls_examples,
    .min_args = 1,
    .max_args = -1,
    .opts_size = sizeof(struct xattr_opts),
    .run = run_ls,
};

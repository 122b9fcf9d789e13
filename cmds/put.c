/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit put and mkdir: files and folders into an image. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cmd.h"
#include "extkit/edit.h"
#include "fail.h"
#include "target.h"

struct put_opts {
	bool parents, keep, no_replace;
	const char *mode;
	struct opt_num uid, gid;
	struct opt_list xattrs;
};

#define T struct put_opts

#define ROW_PARENTS OPT_FLAG(T, parents, 'p', "parents", N_("make missing folders on the way"))
#define ROW_MODE    OPT_TEXT(T, mode, 'm', "mode", N_("OCTAL"), N_("permissions"))
#define ROW_UID     OPT_NUMBER(T, uid, 'u', "uid", N_("N"), N_("the owner, otherwise 0"))
#define ROW_GID     OPT_NUMBER(T, gid, 'g', "gid", N_("N"), N_("the group, otherwise 0"))
#define ROW_XATTR                                           \
	OPT_LIST(T, xattrs, 'x', "xattr", N_("NAME=VALUE"), \
		 N_("an extended attribute; may be given again"))

static const struct opt put_options[] = {
    ROW_PARENTS,
    OPT_FLAG(T, keep, 'a', "archive",
	     N_("keep permissions, owner, group, times and attributes of the file")),
    OPT_FLAG(T, no_replace, 'n', "no-replace", N_("fail when the name is taken")),
    ROW_MODE,
    ROW_UID,
    ROW_GID,
    ROW_XATTR,
    OPT_END,
};

static const struct opt mkdir_options[] = {ROW_PARENTS, ROW_MODE,  ROW_UID,
					   ROW_GID,     ROW_XATTR, OPT_END};

/* ---- what a new inode gets ---- */

#define XATTRS_MAX 256u
#define VALUE_MAX  ((size_t)65536)

/* Attributes with the memory that they point into. */
struct gift {
	struct ek_attr attr;
	struct ek_xattr xattrs[XATTRS_MAX];
	char *held[XATTRS_MAX];
};

static void gift_free(struct gift *g)
{
	for (size_t i = 0; i < g->attr.nxattrs; i++)
		free(g->held[i]);
}

/* Takes over both, which holds the name. */
static int gift_add(struct run *run, struct gift *g, char *both, const char *name,
		    const void *value, size_t len)
{
	size_t at = g->attr.nxattrs;

	for (size_t i = 0; i < at; i++)
		if (strcmp(g->xattrs[i].name, name) == 0) { /* the later one counts */
			free(g->held[i]);
			g->xattrs[i] = (struct ek_xattr){name, value, len};
			g->held[i] = both;
			return EXIT_DONE;
		}
	if (at == XATTRS_MAX) {
		free(both);
		return fail_usage(run, _("more than %u extended attributes"), XATTRS_MAX);
	}
	g->xattrs[at] = (struct ek_xattr){name, value, len};
	g->held[at] = both;
	g->attr.nxattrs++;
	return EXIT_DONE;
}

/* One attribute of the host's file; those that may not be read are not there. */
static int keep_xattr(struct run *run, struct gift *g, int fd, const char *name)
{
	size_t room = strlen(name) + 1;
	char *both = malloc(room + VALUE_MAX);
	ssize_t n;

	if (both == NULL)
		return fail(run, EXIT_HOST, "%s", _("no memory"));
	memcpy(both, name, room);
	n = fgetxattr(fd, name, both + room, VALUE_MAX);
	if (n < 0) {
		free(both);
		return EXIT_DONE;
	}
	return gift_add(run, g, both, both, both + room, (size_t)n);
}

static int keep_xattrs(struct run *run, struct gift *g, int fd)
{
	static char names[65536];
	ssize_t n = flistxattr(fd, names, sizeof(names));
	int code = EXIT_DONE;

	for (ssize_t at = 0; at < n && code == EXIT_DONE; at += (ssize_t)strlen(names + at) + 1)
		code = keep_xattr(run, g, fd, names + at);
	return code;
}

static int keep_stat(struct run *run, struct gift *g, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail(run, EXIT_HOST, "%s", strerror(errno));
	g->attr.mask = EK_ATTR_MODE | EK_ATTR_UID | EK_ATTR_GID | EK_ATTR_ATIME | EK_ATTR_MTIME;
	g->attr.mode = st.st_mode & 07777;
	g->attr.uid = st.st_uid;
	g->attr.gid = st.st_gid;
	g->attr.atime = (struct ek_time){st.st_atim.tv_sec, (uint32_t)st.st_atim.tv_nsec};
	g->attr.mtime = (struct ek_time){st.st_mtim.tv_sec, (uint32_t)st.st_mtim.tv_nsec};
	return keep_xattrs(run, g, fd);
}

static int set_id(struct run *run, const char *word, struct opt_num num, unsigned bit, uint32_t *to,
		  struct gift *g)
{
	if (!num.set)
		return EXIT_DONE;
	if (num.v >= UINT32_MAX)
		return fail_usage(run, _("--%s: %llu is too much"), word,
				  (unsigned long long)num.v);
	*to = (uint32_t)num.v;
	g->attr.mask |= bit;
	return EXIT_DONE;
}

static int set_mode(struct run *run, const char *text, struct gift *g)
{
	char *end;
	unsigned long mode;

	if (text == NULL)
		return EXIT_DONE;
	mode = strtoul(text, &end, 8);
	if (*text < '0' || *text > '7' || *end != '\0' || mode > 07777)
		return fail_usage(run, _("--mode: '%s' is no octal mode"), text);
	g->attr.mode = (uint32_t)mode;
	g->attr.mask |= EK_ATTR_MODE;
	return EXIT_DONE;
}

/* What the options say, over what the file has. */
static int set_options(struct run *run, struct gift *g)
{
	const struct put_opts *o = run->opts;
	int code = set_mode(run, o->mode, g);

	if (code == EXIT_DONE)
		code = set_id(run, "uid", o->uid, EK_ATTR_UID, &g->attr.uid, g);
	if (code == EXIT_DONE)
		code = set_id(run, "gid", o->gid, EK_ATTR_GID, &g->attr.gid, g);
	for (size_t i = 0; i < o->xattrs.n && code == EXIT_DONE; i++) {
		char *both = strdup(o->xattrs.v[i]);
		char *sign = both != NULL ? strchr(both, '=') : NULL;

		if (sign == NULL) {
			free(both);
			return fail_usage(run, _("--xattr: '%s' is not NAME=VALUE"),
					  o->xattrs.v[i]);
		}
		*sign = '\0';
		code = gift_add(run, g, both, both, sign + 1, strlen(sign + 1));
	}
	g->attr.size = sizeof(g->attr);
	g->attr.xattrs = g->xattrs;
	return code;
}

/* ---- put ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static bool is_folder(struct target *t)
{
	struct ek_stat st = {.size = sizeof(st)};
	struct ek_inode *inode;
	bool yes;

	if (ek_inode_open(t->img, t->path, 0, &inode) < 0)
		return false;
	yes = ek_inode_stat(inode, &st) == 0 && S_ISDIR(st.mode);
	ek_inode_close(inode);
	return yes;
}

/* Into a folder that is there, or that a slash at the end promises, under the file's own name. */
static char *name_in(struct target *t, const char *file, bool many)
{
	size_t n = strlen(t->path);
	bool into = many || t->path[n - 1] == '/' || is_folder(t);
	char *path = malloc(n + 1 + strlen(file) + 1);

	if (path == NULL)
		return NULL;
	memcpy(path, t->path, n + 1);
	if (into) {
		n -= path[n - 1] == '/' ? 1 : 0;
		path[n] = '/';
		memcpy(path + n + 1, base_name(file), strlen(base_name(file)) + 1);
	}
	return path;
}

static int put_open(struct run *run, struct target *t, int fd, const char *path)
{
	const struct put_opts *o = run->opts;
	struct gift g = {0};
	uint64_t bytes = 0;
	unsigned flags = (o->no_replace ? 0 : (unsigned)EK_PUT_REPLACE) |
			 (o->parents ? (unsigned)EK_PUT_PARENTS : 0);
	int code = o->keep ? keep_stat(run, &g, fd) : EXIT_DONE, err;

	if (code == EXIT_DONE)
		code = set_options(run, &g);
	if (code == EXIT_DONE) {
		err = ek_put_fd(t->img, path, fd, flags, &g.attr, &bytes);
		if (err < 0)
			code = fail_call(run, err);
	}
	gift_free(&g);
	if (code == EXIT_DONE && run->json) {
		out_str(run->out, NULL, NULL, path);
		out_u64(run->out, NULL, NULL, bytes);
	}
	return code;
}

static int put_one(struct run *run, struct target *t, const char *file, bool many)
{
	char *path = name_in(t, file, many);
	int fd, code;

	if (path == NULL)
		return fail(run, EXIT_HOST, "%s", _("no memory"));
	fd = strcmp(file, "-") == 0 ? dup(STDIN_FILENO) : open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		code = fail(run, EXIT_HOST, "%s: %s", file, strerror(errno));
	} else {
		code = put_open(run, t, fd, path);
		close(fd);
	}
	free(path);
	return code;
}

static const struct out_col put_cols[] = {{"path", NULL, false}, {"size", NULL, true}};

static int run_put(struct run *run)
{
	int files = run->argc - 1;
	struct target t;
	int code = target_open(run, run->argv[files], EK_IMAGE_WRITE, &t);

	if (code != EXIT_DONE)
		return code;
	if (!t.has_path) {
		code = fail_usage(run, _("where in the image? wanted: %s"), "IMG:/PATH");
		return target_end(run, &t, code);
	}
	if (run->json)
		out_table(run->out, "files", put_cols, 2);
	for (int i = 0; i < files && code == EXIT_DONE; i++)
		code = put_one(run, &t, run->argv[i], files > 1);
	return target_end(run, &t, code);
}

static const struct example put_examples[] = {
    {"extkit put -a vmlinuz disk.img:/boot/", N_("copies the file with its owner and times")},
    {"printf x | extkit put -p - disk.img:/etc/app/key", N_("makes folders, then the file")},
    {NULL, NULL},
};

COMMAND(put) = {
    .name = "put",
    .brief = N_("copy files into an image"),
    .args = N_("FILE... IMG:/PATH"),
    .about = N_(
	"A file of that name is replaced as a whole: whenever the machine stops, the "
	"image has the old one or the new one. Holes stay holes. Without --archive a file "
	"belongs to root with mode 0644. \"-\" is standard input.\n\n"
	"When PATH is a folder or ends in a slash, files go into it under their own names."),
    .options = put_options,
    .examples = put_examples,
    .min_args = 2,
    .max_args = -1,
    .opts_size = sizeof(struct put_opts),
    .run = run_put,
};

/* ---- mkdir ---- */

static int mkdir_one(struct run *run, const char *arg)
{
	const struct put_opts *o = run->opts;
	struct gift g = {0};
	struct target t;
	int code = set_options(run, &g), err;

	if (code == EXIT_DONE)
		code = target_open(run, arg, EK_IMAGE_WRITE, &t);
	if (code == EXIT_DONE) {
		err = ek_mkdir(t.img, t.path, o->parents ? EK_PUT_PARENTS : 0, &g.attr);
		code = target_end(run, &t, err < 0 ? fail_call(run, err) : EXIT_DONE);
	}
	gift_free(&g);
	return code;
}

static int run_mkdir(struct run *run)
{
	int code = EXIT_DONE;

	for (int i = 0; i < run->argc && code == EXIT_DONE; i++)
		code = mkdir_one(run, run->argv[i]);
	return code;
}

static const struct example mkdir_examples[] = {
    {"extkit mkdir -p -m 1777 disk.img:/var/tmp", N_("makes the folder and what lies above it")},
    {NULL, NULL},
};

COMMAND(mkdir) = {
    .name = "mkdir",
    .brief = N_("make folders in an image"),
    .args = N_("IMG:/PATH..."),
    .about = N_("A folder belongs to root with mode 0755 unless told otherwise. With --parents one "
		"that is there already is fine."),
    .options = mkdir_options,
    .examples = mkdir_examples,
    .min_args = 1,
    .max_args = -1,
    .opts_size = sizeof(struct put_opts),
    .run = run_mkdir,
};

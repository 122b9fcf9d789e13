/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit put: files into an image. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "fail.h"
#include "gift.h"
#include "target.h"

#define T struct put_opts

static const struct opt put_options[] = {
    ROW_PARENTS,
    OPT_FLAG(T, keep, 'a', "archive",
	     N_("keep permissions, owner, group, times and attributes of the file")),
    OPT_FLAG(T, no_replace, 'n', "no-replace", N_("fail when the name is taken")),
    ROW_MODE,
    ROW_UID,
    ROW_GID,
    ROW_XATTR,
    ROW_DRY,
    OPT_END,
};

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
	int code = o->keep ? gift_keep(run, &g, fd) : EXIT_DONE, err;

	if (code == EXIT_DONE)
		code = gift_options(run, &g);
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
	struct stat st;
	int fd, code;

	if (path == NULL)
		return fail(run, EXIT_HOST, "%s", _("no memory"));
	fd = strcmp(file, "-") == 0 ? dup(STDIN_FILENO) : open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		code = fail(run, EXIT_HOST, "%s: %s", file, strerror(errno));
	} else if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		code = fail(run, EXIT_HOST, _("%s is a folder; trees are for import"), file);
		close(fd);
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
	int code = target_open(run, run->argv[files], gift_open_flags(run->opts), &t);

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

/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit export and spec: trees of images as archives and manifests. */
#include "extkit/export.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "fail.h"
#include "from.h"
#include "target.h"

struct export_opts {
	const char *to, *filter;
	int format;
	bool keep_going, force;
};

#define T struct export_opts

#define ROW_TO                                                                        \
	OPT_FILE(T, to, 'o', "output", N_("FILE"), N_("instead of standard output")), \
	    OPT_FLAG(T, force, 'f', "force", N_("replace a file that is there")),     \
	    OPT_FLAG(T, keep_going, 0, "keep-going",                                  \
		     N_("list what cannot be kept and go on; the exit code is 8"))

static const struct opt export_options[] = {
    OPT_CHOICE(T, format, 0, "format", "tar|cpio|spec", N_("what is written")),
    OPT_TEXT(T, filter, 0, "compress", N_("NAME"),
	     N_("gzip, zstd, xz and what else libarchive has")),
    ROW_TO,
    OPT_END,
};

static const struct opt spec_options[] = {
    ROW_TO,
    OPT_END,
};

#define TEMP_TRIES 100u

/* What is written, and under which name until it is whole. */
struct output {
	int fd;
	char *temp;
};

/* The kernel takes the umask off the mode, where mkstemp(3) makes a file for its owner alone.  A
 * name that somebody guessed is only one to pass over. */
static int temp_open(struct run *run, const char *to, struct output *out)
{
	int why = EEXIST;

	for (unsigned i = 0; i < TEMP_TRIES && why == EEXIST; i++) {
		if (asprintf(&out->temp, "%s.%ld.%u", to, (long)getpid(), i) < 0) {
			out->temp = NULL;
			return fail(run, EXIT_HOST, "%s", _("no memory"));
		}
		out->fd = open(out->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (out->fd >= 0)
			return EXIT_DONE;
		why = errno;
		free(out->temp);
		out->temp = NULL;
	}
	return fail(run, EXIT_HOST, "%s: %s", to, strerror(why));
}

static bool to_stdout(const struct export_opts *o)
{
	return o->to == NULL || strcmp(o->to, "-") == 0;
}

static int output_open(struct run *run, const struct export_opts *o, struct output *out)
{
	struct stat st;

	*out = (struct output){.fd = STDOUT_FILENO};
	if (to_stdout(o))
		return EXIT_DONE;
	if (stat(o->to, &st) == 0 && !S_ISREG(st.st_mode)) {
		out->fd = open(o->to, O_WRONLY | O_CLOEXEC);
		return out->fd >= 0 ? EXIT_DONE
				    : fail(run, EXIT_HOST, "%s: %s", o->to, strerror(errno));
	}
	if (!o->force && access(o->to, F_OK) == 0)
		return fail(run, EXIT_HOST, "%s: %s", o->to, strerror(EEXIST));
	return temp_open(run, o->to, out);
}

/* As renameat2 with RENAME_NOREPLACE, also on file systems that know no flags of it. */
static int rename_anew(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if ((errno != EINVAL && errno != ENOSYS) || link(from, to) < 0)
		return -1;
	return unlink(from);
}

/* A name that was free when the work began may be somebody's when it is done. */
static int output_place(const struct export_opts *o, const struct output *out)
{
	return o->force ? rename(out->temp, o->to) : rename_anew(out->temp, o->to);
}

static int output_close(struct run *run, const struct export_opts *o, struct output *out, int code)
{
	bool good = code == EXIT_DONE || code == EXIT_SKIPPED;

	if (out->fd > STDOUT_FILENO && close(out->fd) < 0 && good) {
		code = fail(run, EXIT_HOST, "%s: %s", o->to, strerror(errno));
		good = false;
	}
	if (out->temp != NULL && good && output_place(o, out) < 0) {
		code = fail(run, EXIT_HOST, "%s: %s", o->to, strerror(errno));
		good = false;
	}
	if (out->temp != NULL && !good)
		unlink(out->temp);
	free(out->temp);
	return code;
}

static void say_issues(struct run *run, const struct ek_tree_report *r)
{
	for (size_t i = 0; i < r->nissues && !run->quiet; i++)
		fail_tell(run, r->issues[i].why);
}

static int write_stream(struct run *run, struct ek_inode *inode, unsigned format)
{
	const struct export_opts *o = run->opts;
	struct ek_stream_options opt = {.size = sizeof(opt),
					.format = format,
					.filter = o->filter,
					.flags =
					    o->keep_going ? (unsigned)EK_STREAM_KEEP_GOING : 0};
	struct ek_tree_report *r;
	struct output out;
	int code = output_open(run, o, &out), err;

	if (code == EXIT_DONE) {
		err = ek_export_stream(inode, out.fd, &opt, &r);
		if (err < 0) {
			code = fail_call(run, err);
		} else {
			code = r->failed != 0 ? EXIT_SKIPPED : EXIT_DONE;
			say_issues(run, r);
			ek_tree_report_free(r);
		}
	}
	return output_close(run, o, &out, code);
}

static int export_as(struct run *run, unsigned format)
{
	struct ek_inode *inode;
	struct target t;
	int code, err;

	if (run->json && to_stdout(run->opts))
		return fail_usage(run, _("--json needs standard output for itself: use --output"));
	code = target_open(run, run->argv[0], 0, &t);
	if (code != EXIT_DONE)
		return code;
	err = ek_inode_open(t.img, t.path, 0, &inode);
	if (err < 0)
		return target_end(run, &t, fail_call(run, err));
	code = write_stream(run, inode, format);
	ek_inode_close(inode);
	return target_end(run, &t, code);
}

static int run_export(struct run *run)
{
	return export_as(run, (unsigned)((const struct export_opts *)run->opts)->format);
}

static int run_spec(struct run *run)
{
	return export_as(run, EK_FORMAT_SPEC);
}

static const struct example export_examples[] = {
    {"extkit export disk.img | zstd > disk.tar.zst", N_("writes the whole tree as tar")},
    {"extkit export --format cpio -o init.cpio disk.img:/boot", N_("writes a part of it as cpio")},
    {NULL, NULL},
};

COMMAND(export) = {
    .name = "export",
    .brief = N_("write trees of an image as an archive"),
    .args = N_("IMG[:/PATH]"),
    .about = N_(
	"tar is written in the pax form: 32-bit owners, times with nanoseconds, device numbers, "
	"further names, attributes, access lists, flags and holes come along. What a format cannot "
	"keep (sockets in tar, attributes and parts of seconds in cpio) ends the command, or is "
	"listed with --keep-going. The same tree gives the same bytes."),
    .options = export_options,
    .examples = export_examples,
    .min_args = 1,
    .max_args = 1,
    .opts_size = sizeof(struct export_opts),
    .run = run_export,
};

static const struct example spec_examples[] = {
    {"extkit spec disk.img > disk.spec", N_("describes every file, contents included")},
    {"extkit create --size auto --from disk.spec new.img", N_("makes an image of that")},
    {NULL, NULL},
};

COMMAND(spec) = {
    .name = "spec",
    .brief = N_("write trees of an image as a manifest"),
    .args = N_("IMG[:/PATH]"),
    .about = N_("A manifest is text with a line for each name; every attribute can be changed in "
		"an editor, "
		"and create makes the same image of it again. The words are in doc/SPEC.md."),
    .options = spec_options,
    .examples = spec_examples,
    .min_args = 1,
    .max_args = 1,
    .opts_size = sizeof(struct export_opts),
    .run = run_spec,
};

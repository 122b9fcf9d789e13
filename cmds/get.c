/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit get: files and trees out of an image. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "extkit/export.h"
#include "fail.h"
#include "target.h"

struct get_opts {
	bool all, into, force, nodes, setid, owner, xattrs;
	int links;
	struct opt_num max_entries, max_bytes;
};

#define T struct get_opts

static const struct opt get_options[] = {
    OPT_FLAG(T, all, 'R', "recursive", N_("a folder and everything below")),
    OPT_FLAG(T, into, 0, "into", N_("the folder TO may be there and hold other files")),
    OPT_FLAG(T, force, 'f', "force", N_("replace a file that is there")),
    OPT_CHOICE(T, links, 0, "links", "keep|skip|inside", N_("what to do with symbolic links")),
    OPT_FLAG(T, owner, 0, "owner", N_("keep owner and group")),
    OPT_FLAG(T, setid, 0, "setid", N_("keep set-user-ID, set-group-ID and sticky bits")),
    OPT_FLAG(T, xattrs, 0, "xattrs", N_("keep extended attributes")),
    OPT_FLAG(T, nodes, 0, "nodes", N_("make device nodes, pipes and sockets")),
    OPT_COUNT(T, max_entries, 0, "max-entries", N_("N"), N_("stop behind N files; 1000000")),
    OPT_ROOM(T, max_bytes, 0, "max-bytes", N_("SIZE"), N_("stop behind SIZE of data; 16G")),
    OPT_END,
};

static void fill(const struct get_opts *o, struct ek_export_options *opt)
{
	opt->flags = (o->into ? (unsigned)EK_EXPORT_INTO : 0) |
		     (o->nodes ? (unsigned)EK_EXPORT_NODES : 0) |
		     (o->setid ? (unsigned)EK_EXPORT_SETID : 0) |
		     (o->owner ? (unsigned)EK_EXPORT_OWNER : 0) |
		     (o->xattrs ? (unsigned)EK_EXPORT_XATTRS : 0) |
		     (o->force ? (unsigned)EK_EXPORT_REPLACE : 0);
	opt->links = (unsigned)o->links;
	opt->max_entries = o->max_entries.v;
	opt->max_bytes = o->max_bytes.v;
}

static const struct out_col issue_cols[] = {
    {"path", N_("Path"), false}, {"kind", N_("Kind"), false}, {"why", N_("Why"), false}};

static int report(struct run *run, const struct ek_export_report *r)
{
	bool bad = r->failed != 0;

	if (run->json) {
		out_u64(run->out, "files", NULL, r->files);
		out_u64(run->out, "folders", NULL, r->folders);
		out_u64(run->out, "links", NULL, r->links);
		out_u64(run->out, "hard_links", NULL, r->hard_links);
		out_u64(run->out, "nodes", NULL, r->nodes);
		out_u64(run->out, "bytes", NULL, r->bytes);
		out_u64(run->out, "skipped", NULL, r->skipped);
		out_u64(run->out, "failed", NULL, r->failed);
	}
	if (run->json || (r->nissues != 0 && (bad || !run->quiet))) {
		out_table(run->out, "issues", issue_cols, 3);
		for (size_t i = 0; i < r->nissues; i++) {
			out_str(run->out, NULL, NULL, r->issues[i].path);
			out_word(run->out, NULL, NULL,
				 r->issues[i].kind == EK_ISSUE_SKIPPED ? N_("skipped")
								       : N_("failed"));
			out_str(run->out, NULL, NULL, r->issues[i].why);
		}
		out_table_end(run->out);
	}
	return bad ? EXIT_SKIPPED : EXIT_DONE;
}

static int get_tree(struct run *run, struct ek_inode *inode, const char *to)
{
	struct ek_export_options opt = {.size = sizeof(opt)};
	struct ek_export_report *r;
	int err, code;

	fill(run->opts, &opt);
	err = ek_export(inode, to, &opt, &r);
	if (err < 0)
		return fail_call(run, err);
	code = report(run, r);
	ek_export_report_free(r);
	return code;
}

/* Into a folder of the host under the file's own name. */
static char *name_in(const char *to, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat st;
	char *both;

	if (stat(to, &st) < 0 || !S_ISDIR(st.st_mode))
		return strdup(to);
	return asprintf(&both, "%s/%s", to, slash != NULL ? slash + 1 : path) < 0 ? NULL : both;
}

static int get_file(struct run *run, struct ek_inode *inode, const char *path, const char *to)
{
	struct ek_export_options opt = {.size = sizeof(opt)};
	char *dest = name_in(to, path);
	uint64_t bytes = 0;
	int err;

	if (dest == NULL)
		return fail(run, EXIT_HOST, "%s", _("no memory"));
	fill(run->opts, &opt);
	err = ek_export_file(inode, dest, &opt, &bytes);
	if (err == 0 && run->json) {
		out_str(run->out, "file", NULL, dest);
		out_u64(run->out, "bytes", NULL, bytes);
	}
	free(dest);
	return err < 0 ? fail_call(run, err) : EXIT_DONE;
}

static int run_get(struct run *run)
{
	const struct get_opts *o = run->opts;
	struct ek_inode *inode;
	struct target t;
	int code = target_open(run, run->argv[0], 0, &t), err;

	if (code != EXIT_DONE)
		return code;
	if (!o->all && !t.has_path) {
		code = fail_usage(run, _("which file of it? wanted: %s"), "IMG:/PATH");
		return target_end(run, &t, code);
	}
	err = ek_inode_open(t.img, t.path, 0, &inode);
	if (err < 0)
		return target_end(run, &t, fail_call(run, err));
	if (o->all)
		code = get_tree(run, inode, run->argv[1]);
	else if (target_is_folder(inode))
		code = fail(run, EXIT_PATH, _("%s is a folder; wanted: --recursive"), t.path);
	else
		code = get_file(run, inode, t.path, run->argv[1]);
	ek_inode_close(inode);
	return target_end(run, &t, code);
}

static const struct example get_examples[] = {
    {"extkit get disk.img:/etc/fstab .", N_("copies the file into this folder")},
    {"extkit get -R disk.img:/home out", N_("copies the tree into a new folder")},
    {NULL, NULL},
};

COMMAND(get) = {
    .name = "get",
    .brief = N_("copy files out of an image"),
    .args = N_("IMG[:/PATH] TO"),
    .about = N_(
	"An image from elsewhere can do no harm: nothing is written outside of TO, no link is "
	"followed, nothing is overwritten, and owners, set-user-ID bits, attributes and devices "
	"stay behind unless asked for. Files appear when they are whole; holes stay holes.\n\n"
	"With --recursive a file that cannot be copied is listed, the rest goes on, and the exit "
	"code is 8."),
    .options = get_options,
    .examples = get_examples,
    .min_args = 2,
    .max_args = 2,
    .opts_size = sizeof(struct get_opts),
    .run = run_get,
};

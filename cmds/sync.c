/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit sync: a folder of an image made equal to a tree. */
#include <string.h>

#include "cmd.h"
#include "fail.h"
#include "from.h"
#include "target.h"

struct sync_opts {
	struct from_opts tree;
	bool keep, dry;
};

#define T struct sync_opts

static const struct opt sync_options[] = {
    OPT_FLAG(T, keep, 'k', "keep", N_("what the source has not stays")),
    ROWS_FROM(T, tree),
    OPT_FLAG(T, dry, 0, "dry-run", N_("show what would be done, change nothing")),
    OPT_END,
};

static const struct out_col sync_cols[] = {{"action", N_("Action"), false},
					   {"path", N_("Path"), false}};

static int show(void *arg, const struct ek_sync_step *step)
{
	struct run *run = arg;
	const char *path = *step->path != '\0' ? step->path : ".";

	out_str(run->out, NULL, NULL, step->action);
	out_bytes(run->out, NULL, NULL, path, strlen(path));
	return 0;
}

static unsigned keep_flag(const struct sync_opts *o)
{
	return o->keep ? (unsigned)EK_SYNC_KEEP : 0;
}

static int report(struct run *run, struct target *t, struct ek_tree_report *r)
{
	int code;

	if (run->json)
		out_u64(run->out, "entries", NULL, r->entries);
	code = from_issues(run, r);
	ek_tree_report_free(r);
	return target_end(run, t, code);
}

static int sync_image(struct run *run, const struct ek_tree_options *tree)
{
	const struct sync_opts *o = run->opts;
	unsigned flags = (unsigned)EK_IMAGE_WRITE | (o->dry ? (unsigned)EK_IMAGE_DRY_RUN : 0);
	bool rows = o->dry || run->json;
	struct ek_tree_report *r;
	struct target t;
	int code = target_open(run, run->argv[1], flags, &t), err;

	if (code != EXIT_DONE)
		return code;
	if (rows)
		out_table(run->out, "changes", sync_cols, 2);
	err = ek_sync_tree(t.img, t.path, tree, keep_flag(o), rows ? show : NULL, run, &r);
	if (rows)
		out_table_end(run->out);
	return err < 0 ? target_end(run, &t, fail_call(run, err)) : report(run, &t, r);
}

static int note(void *arg, const struct ek_sync_step *step)
{
	bool *differs = arg;

	(void)step;
	*differs = true;
	return 1;
}

/* Opening for writing leaves marks in the superblock and the journal, so an image that needs no
 * change is only read.  The first difference ends the look, and all begins anew. */
static int look(struct run *run, const struct ek_tree_options *tree, bool *differs)
{
	struct ek_tree_report *r;
	struct target t;
	int code = target_open(run, run->argv[1], 0, &t), err;

	if (code != EXIT_DONE)
		return code;
	err = ek_sync_tree(t.img, t.path, tree, keep_flag(run->opts), note, differs, &r);
	if (err < 0)
		return target_end(run, &t, *differs ? EXIT_DONE : fail_call(run, err));
	if (*differs) {
		ek_tree_report_free(r);
		return target_end(run, &t, EXIT_DONE);
	}
	if (run->json) {
		out_table(run->out, "changes", sync_cols, 2);
		out_table_end(run->out);
	}
	return report(run, &t, r);
}

static int run_sync(struct run *run)
{
	const struct sync_opts *o = run->opts;
	struct ek_tree_options tree = {.size = sizeof(tree)};
	bool differs = o->dry || from_reads_once(run->argv[0]);
	int code = from_fill(run, &o->tree, &tree);

	tree.sources = (const char *const *)run->argv;
	tree.nsources = 1;
	if (code == EXIT_DONE)
		code = from_check(run, &tree);
	if (code == EXIT_DONE && !differs)
		code = look(run, &tree, &differs);
	if (code == EXIT_DONE && differs)
		code = sync_image(run, &tree);
	from_free(&tree);
	return code;
}

static const struct example sync_examples[] = {
    {"extkit sync rootfs disk.img", N_("makes the image have what the folder has")},
    {"extkit sync --dry-run site.tar disk.img@p2:/www", N_("shows what that would change")},
    {"extkit sync --keep --all-root conf disk.img:/etc", N_("removes nothing")},
    {NULL, NULL},
};

COMMAND(sync) = {
    .name = "sync",
    .brief = N_("make a folder of an image equal to a tree"),
    .args = N_("SOURCE IMG[:/PATH]"),
    .about = N_(
	"SOURCE is a folder, archive, manifest or image, as for 'create --from'. What is equal "
	"already is not touched, and an image that is equal is only read, unless SOURCE is -; of "
	"what differs in mode, owner, time, attributes, flags or "
	"project just that is set; what differs in contents is replaced, each file whole or not "
	"at all. A file that the image has under another name is not written again: it gets the "
	"new "
	"name.\n\nWhat the source has not goes first, to make room, but a file that may have moved "
	"only when it has its new name; with - and --keep-going everything goes at the end, and "
	"nothing when entries have failed. What options leave out of the source goes too: names "
	"that "
	"--exclude matches, attributes with --no-xattrs. lost+found in the root is left alone, "
	"with "
	"what is in it.\n\nTimes of access and creation are not compared. Sources are checked to "
	"their ends before anything is changed, standard input excepted. When the command is "
	"killed, "
	"an image with a journal is sound and has each step whole or not at all, and a second run "
	"ends what was begun; without a journal 'undo' brings back what was before."),
    .options = sync_options,
    .examples = sync_examples,
    .min_args = 2,
    .max_args = 2,
    .opts_size = sizeof(struct sync_opts),
    .run = run_sync,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit import: trees into an image that is there. */
#include "cmd.h"
#include "fail.h"
#include "from.h"
#include "target.h"

struct import_opts {
	struct from_opts tree;
	bool dry;
};

#define T struct import_opts

static const struct opt import_options[] = {
    ROWS_FROM(T, tree),
    OPT_FLAG(T, dry, 0, "dry-run", N_("check everything, change nothing")),
    OPT_END,
};

static int import(struct run *run, const struct ek_tree_options *tree)
{
	const struct import_opts *o = run->opts;
	unsigned flags = (unsigned)EK_IMAGE_WRITE | (o->dry ? (unsigned)EK_IMAGE_DRY_RUN : 0);
	struct ek_tree_report *r;
	struct target t;
	int code = target_open(run, run->argv[run->argc - 1], flags, &t), err;

	if (code != EXIT_DONE)
		return code;
	err = ek_import_tree(t.img, t.path, tree, &r);
	if (err < 0)
		return target_end(run, &t, fail_call(run, err));
	if (run->json)
		out_u64(run->out, "entries", NULL, r->entries);
	code = from_issues(run, r);
	ek_tree_report_free(r);
	return target_end(run, &t, code);
}

static int run_import(struct run *run)
{
	const struct import_opts *o = run->opts;
	struct ek_tree_options tree = {.size = sizeof(tree)};
	int code = from_fill(run, &o->tree, &tree);

	tree.sources = (const char *const *)run->argv;
	tree.nsources = (size_t)run->argc - 1;
	if (code == EXIT_DONE)
		code = from_check(run, &tree);
	if (code == EXIT_DONE)
		code = import(run, &tree);
	from_free(&tree);
	return code;
}

static const struct example import_examples[] = {
    {"extkit import patch.tar disk.img", N_("lays the archive over the tree of the image")},
    {"zstdcat app.tar.zst | extkit import - disk.img:/opt", N_("unpacks it into a folder")},
    {NULL, NULL},
};

COMMAND(import) = {
    .name = "import",
    .brief = N_("unpack trees into an image"),
    .args = N_("SOURCE... IMG[:/PATH]"),
    .about = N_(
	"Sources are folders, archives, manifests and images, as for 'create --from'. What is "
	"there "
	"under a name of theirs is replaced, folders are joined. Each file appears whole or not at "
	"all. Sources are checked to their ends before anything is changed, standard input "
	"excepted.\n\nEntries come in the order of the source and are not one step: when the "
	"command "
	"is killed or fails, an image with a journal is sound and has what came before; without a "
	"journal 'undo' brings back what was before a command that was killed."),
    .options = import_options,
    .examples = import_examples,
    .min_args = 2,
    .max_args = -1,
    .opts_size = sizeof(struct import_opts),
    .run = run_import,
};

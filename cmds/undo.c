/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit undo: what an interrupted edit did goes. */
#include "extkit/undo.h"

#include <errno.h>
#include <stdlib.h>

#include "cmd.h"
#include "fail.h"
#include "show.h"
#include "target.h"

struct undo_opts {
	const char *file;
	bool forget;
};

#define T struct undo_opts

static const struct opt undo_options[] = {
    OPT_FILE(T, file, 0, "undo-file", N_("FILE"), N_("the undo file, otherwise IMG.undo")),
    OPT_FLAG(T, forget, 0, "forget", N_("leave the image as it is, remove the file alone")),
    OPT_END,
};

static int run_undo(struct run *run)
{
	const struct undo_opts *o = run->opts;
	struct ek_undone done = {.size = sizeof(done)};
	char text[SHOW_MAX];
	struct target t;
	int code = target_parse(run, run->argv[0], &t), err;

	if (code != EXIT_DONE)
		return code;
	err = ek_undo(run->ctx, t.image, o->file, o->forget ? EK_UNDO_FORGET : 0, &done);
	free(t.image);
	if (err < 0)
		return err == -ENOENT && ek_ctx_from_host(run->ctx) == 0
			   ? fail(run, EXIT_NO, "%s", ek_ctx_message(run->ctx))
			   : fail_call(run, err);
	if (run->json)
		out_u64(run->out, "records", NULL, done.records);
	if (!o->forget)
		out_u64_as(run->out, "bytes", _("Taken back"), done.bytes,
			   show_size(text, done.bytes));
	return EXIT_DONE;
}

static const struct example undo_examples[] = {
    {"extkit undo disk.img", N_("takes back the edit that was interrupted")},
    {NULL, NULL},
};

COMMAND(undo) = {
    .name = "undo",
    .brief = N_("take back an interrupted edit"),
    .args = N_("IMG"),
    .about = N_("Edits of an image without a journal, and scripts that are too long for one "
		"transaction, keep what they overwrite in a file beside the image, IMG.undo, until "
		"they are done. Where that file is left, the image is half changed and nothing "
		"writes to it; this makes it what it was before, byte for byte. The exit code is 1 "
		"when there is nothing to take back."),
    .options = undo_options,
    .examples = undo_examples,
    .min_args = 1,
    .max_args = 1,
    .opts_size = sizeof(struct undo_opts),
    .run = run_undo,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit cat: the bytes of files. */
#include <stdlib.h>

#include "cmd.h"
#include "fail.h"
#include "target.h"

#define PIECE ((size_t)1 << 20)

static int copy(struct run *run, struct ek_inode *inode, void *piece)
{
	uint64_t at = 0;
	size_t n;

	do {
		int err = ek_inode_read(inode, at, piece, PIECE, &n);

		if (err < 0)
			return fail_call(run, err);
		out_raw(run->out, piece, n);
		at += n;
	} while (n == PIECE);
	return EXIT_DONE;
}

static int cat_one(struct run *run, const char *arg, void *piece)
{
	struct ek_inode *inode;
	struct target t;
	int code = target_open(run, arg, 0, &t), err;

	if (code != EXIT_DONE)
		return code;
	if (!t.has_path) {
		code = fail_usage(run, _("which file of it? wanted: %s"), "IMG:/PATH");
		return target_end(run, &t, code);
	}
	err = ek_inode_open(t.img, t.path, 0, &inode);
	if (err < 0)
		return target_end(run, &t, fail_call(run, err));
	code = target_is_folder(inode) ? fail(run, EXIT_PATH, _("%s is a folder"), t.path)
				       : copy(run, inode, piece);
	ek_inode_close(inode);
	return target_end(run, &t, code);
}

static int run_cat(struct run *run)
{
	void *piece;
	int code = EXIT_DONE;

	if (run->json)
		return fail_usage(run, _("the bytes of a file are no JSON"));
	piece = malloc(PIECE);
	if (piece == NULL)
		return fail(run, EXIT_HOST, "%s", _("no memory"));
	for (int i = 0; i < run->argc && code == EXIT_DONE; i++)
		code = cat_one(run, run->argv[i], piece);
	free(piece);
	return code;
}

static const struct example cat_examples[] = {
    {"extkit cat disk.img:/etc/fstab", N_("prints the file")},
    {NULL, NULL},
};

COMMAND(cat) = {
    .name = "cat",
    .brief = N_("print files"),
    .args = N_("IMG:/PATH..."),
    .about = N_("Holes and blocks that were never written are zeros. Links are followed inside the "
		"image."),
    .examples = cat_examples,
    .min_args = 1,
    .max_args = -1,
    .run = run_cat,
};

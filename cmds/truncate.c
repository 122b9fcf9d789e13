/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit truncate: lengths of files. */
#include "cmd.h"
#include "fail.h"
#include "images.h"

struct truncate_opts {
	const char *size;
	bool only, dry;
};

#define T struct truncate_opts

static const struct opt truncate_options[] = {
    OPT_TEXT(T, size, 's', "size", N_("[+|-]SIZE"), N_("the length, or by how much it changes")),
    OPT_FLAG(T, only, 'c', "no-create", N_("make no file")),
    OPT_FLAG(T, dry, 0, "dry-run", N_("check everything, change nothing")),
    OPT_END,
};

struct length {
	char sign; /* 0: bytes is the length itself */
	uint64_t bytes;
};

static int truncate_one(struct run *run, void *ctx, struct ek_inode *inode,
			const struct ek_stat *st, const char *path)
{
	const struct length *l = ctx;
	uint64_t size = l->bytes;
	int err;

	if (l->sign == '+' && __builtin_add_overflow(st->bytes, l->bytes, &size))
		size = UINT64_MAX;
	if (l->sign == '-')
		size = st->bytes > l->bytes ? st->bytes - l->bytes : 0;
	err = ek_inode_set_size(inode, size);
	if (err < 0)
		return fail_call(run, err);
	if (run->json) {
		out_str(run->out, NULL, NULL, path);
		out_u64(run->out, NULL, NULL, size);
	}
	return EXIT_DONE;
}

static const struct out_col truncate_cols[] = {{"path", NULL, false}, {"size", NULL, true}};

static int run_truncate(struct run *run)
{
	const struct truncate_opts *o = run->opts;
	struct length l = {0};
	const char *text = o->size;

	if (text == NULL)
		return fail_usage(run, _("how long? wanted: --size"));
	if (*text == '+' || *text == '-')
		l.sign = *text++;
	if (opt_size(text, &l.bytes) != 0)
		return fail_usage(run, _("--%s: '%s' is not %s"), "size", o->size,
				  _("a size such as 4096, 64K, 256M or 10GB"));
	if (run->json)
		out_table(run->out, "changed", truncate_cols, 2);
	return each_operands(run, 0, images_write(o->dry), o->only ? EACH_OPTIONAL : EACH_MAKE,
			     truncate_one, &l);
}

static const struct example truncate_examples[] = {
    {"extkit truncate -s 0 disk.img:/var/log/messages", N_("empties the file, it keeps its owner")},
    {"extkit truncate -s +1G disk.img:/swap", N_("adds a hole of a gigabyte")},
    {NULL, NULL},
};

COMMAND(truncate) = {
    .name = "truncate",
    .brief = N_("change the length of files"),
    .args = N_("IMG:/PATH..."),
    .about = N_("What is added reads as zeros and takes no blocks. What is cut off is freed; when "
		"that is interrupted the next command finishes it."),
    .options = truncate_options,
    .examples = truncate_examples,
    .min_args = 1,
    .max_args = -1,
    .opts_size = sizeof(struct truncate_opts),
    .run = run_truncate,
};

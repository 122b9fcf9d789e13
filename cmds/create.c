/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit create: an empty filesystem. */
#include "extkit/create.h"

#include <errno.h>

#include "cmd.h"
#include "fail.h"
#include "show.h"
#include "target.h"

struct create_opts {
	struct opt_num size, block_size, inode_size, inodes, ratio, journal, reserved, group, flex;
	const char *features, *label, *uuid, *seed;
	bool force, dry, no_journal, no_lost_found;
};

#define T struct create_opts

static const struct opt create_options[] = {
    OPT_SIZE(T, size, 's', "size", N_("SIZE"), N_("of the filesystem; else all of the file")),
    OPT_SIZE(T, block_size, 'b', "block-size", N_("SIZE"), N_("1K to 64K; else by size")),
    OPT_SIZE(T, inode_size, 'I', "inode-size", N_("SIZE"), N_("bytes of an inode, usually 256")),
    OPT_NUMBER(T, inodes, 'N', "inodes", N_("N"), N_("at least so many inodes")),
    OPT_SIZE(T, ratio, 'i', "bytes-per-inode", N_("SIZE"), N_("an inode for each SIZE bytes")),
    OPT_SIZE(T, journal, 'J', "journal", N_("SIZE"), N_("of the journal; else by size")),
    OPT_FLAG(T, no_journal, 0, "no-journal", N_("without a journal")),
    OPT_NUMBER(T, reserved, 'm', "reserved", N_("PERCENT"), N_("of blocks for root, usually 5")),
    OPT_NUMBER(T, group, 'g', "blocks-per-group", N_("N"), N_("a multiple of 8")),
    OPT_NUMBER(T, flex, 'G', "flex-groups", N_("N"), N_("groups whose metadata lie together")),
    OPT_TEXT(T, features, 'O', "features", N_("LIST"),
	     N_("changes to the usual features: orphan_file,^resize_inode")),
    OPT_TEXT(T, label, 'L', "label", N_("TEXT"), N_("up to 16 bytes")),
    OPT_TEXT(T, uuid, 'U', "uuid", N_("UUID"), N_("instead of a random one")),
    OPT_TEXT(T, seed, 0, "seed", N_("TEXT"), N_("make UUID and hash seed from TEXT")),
    OPT_FLAG(T, no_lost_found, 0, "no-lost-found", N_("without the folder lost+found")),
    OPT_FLAG(T, force, 'f', "force", N_("overwrite what is there")),
    OPT_FLAG(T, dry, 0, "dry-run", N_("check everything, change nothing")),
    OPT_END,
};

/* A number that must fit 32 bits. */
static int narrow(struct run *run, const char *word, struct opt_num num, uint32_t *ret)
{
	if (num.v > UINT32_MAX)
		return fail_usage(run, _("--%s: %llu is too much"), word,
				  (unsigned long long)num.v);
	*ret = (uint32_t)num.v;
	return EXIT_DONE;
}

static int fill(struct run *run, struct ek_create_options *opt)
{
	const struct create_opts *o = run->opts;
	const struct {
		const char *word;
		struct opt_num num;
		uint32_t *to;
	} rows[] = {
	    {"block-size", o->block_size, &opt->block_size},
	    {"inode-size", o->inode_size, &opt->inode_size},
	    {"inodes", o->inodes, &opt->inodes},
	    {"bytes-per-inode", o->ratio, &opt->bytes_per_inode},
	    {"reserved", o->reserved, &opt->reserved_percent},
	    {"blocks-per-group", o->group, &opt->blocks_per_group},
	    {"flex-groups", o->flex, &opt->flex_groups},
	};
	int code = target_now(run, &opt->now);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && code == EXIT_DONE; i++)
		code = narrow(run, rows[i].word, rows[i].num, rows[i].to);
	opt->flags = (o->force ? (unsigned)EK_CREATE_FORCE : 0) |
		     (o->no_journal ? (unsigned)EK_CREATE_NO_JOURNAL : 0) |
		     (o->no_lost_found ? (unsigned)EK_CREATE_NO_LOST_FOUND : 0) |
		     (o->dry ? (unsigned)EK_CREATE_DRY_RUN : 0) |
		     (o->reserved.set ? (unsigned)EK_CREATE_RESERVED : 0);
	opt->bytes = o->size.v;
	opt->journal_bytes = o->journal.v;
	opt->features = o->features;
	opt->label = o->label;
	opt->uuid = o->uuid;
	opt->seed = o->seed;
	return code;
}

/* What was made, for programs: people have 'extkit info'. */
static int report(struct run *run, const struct target *t)
{
	struct ek_image_options opt = {.size = sizeof(opt), .offset = t->offset};
	struct ek_facts f = {.size = sizeof(f)};
	struct ek_image *img;
	int err = ek_image_open(run->ctx, t->image, &opt, &img);

	if (err < 0)
		return fail_call(run, err);
	err = ek_image_facts(img, &f);
	ek_image_close(img);
	if (err < 0)
		return fail_call(run, err);
	out_u64(run->out, "blocks", NULL, f.blocks);
	out_u64(run->out, "block_size", NULL, f.block_size);
	out_u64(run->out, "inodes", NULL, f.inodes);
	out_u64(run->out, "journal_blocks", NULL, f.journal_blocks);
	return EXIT_DONE;
}

static int run_create(struct run *run)
{
	struct ek_create_options opt = {.size = sizeof(opt)};
	struct target t;
	int code = fill(run, &opt), err;

	if (code != EXIT_DONE || (code = target_parse(run, run->argv[0], &t)) != EXIT_DONE)
		return code;
	if (t.has_path) {
		code = fail_usage(run, _("an image is wanted, not a path inside one"));
		return target_end(run, &t, code);
	}
	opt.offset = t.offset;
	err = ek_create(run->ctx, t.image, &opt);
	code = err == -EISDIR ? fail(run, EXIT_USAGE, "%s", ek_ctx_message(run->ctx))
	       : err < 0      ? fail_call(run, err)
			      : EXIT_DONE;
	if (err == 0 && run->json && (opt.flags & EK_CREATE_DRY_RUN) == 0)
		code = report(run, &t);
	return target_end(run, &t, code);
}

static const struct example create_examples[] = {
    {"extkit create --size 64M disk.img", N_("makes a sparse file with a small filesystem")},
    {"extkit create -s 16T -L archive big.img", N_("makes a very large one; the file is sparse")},
    {"SOURCE_DATE_EPOCH=1700000000 extkit create --seed v1 -s 1G -f root.img",
     N_("makes the same bytes every time")},
    {"extkit create -O ^has_journal,orphan_file -s 100M disk.img@@1M",
     N_("begins behind the first megabyte of the file")},
    {NULL, NULL},
};

COMMAND(create) = {
    .name = "create",
    .brief = N_("make an empty filesystem"),
    .args = N_("IMG"),
    .about = N_("The layout is that of mke2fs 1.47 with its usual ext4 features. A file that is "
		"not there is made. A file or device that holds something known (a filesystem, a "
		"partition table) is left alone without --force, and one that is mounted or in use "
		"always. Nothing is changed before the options are known to fit."),
    .options = create_options,
    .examples = create_examples,
    .min_args = 1,
    .max_args = 1,
    .opts_size = sizeof(struct create_opts),
    .run = run_create,
};

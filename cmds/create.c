/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit create: a filesystem, empty or with trees in it; extkit size: how large it would be. */
#include "extkit/create.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "buffer.h"
#include "cmd.h"
#include "fail.h"
#include "from.h"
#include "show.h"
#include "target.h"

struct create_opts {
	struct opt_num free, block_size, cluster, inode_size, inodes, ratio, journal, reserved,
	    group;
	struct opt_num flex, grow_to, stride, stripe, backups, guard;
	struct from_opts tree;
	struct opt_list from, features;
	const char *size, *journal_path, *label, *uuid, *seed, *compat, *mount_options, *owner;
	int type, hash, errors;
	bool force, dry, no_journal, journal_device, no_lost_found, unsigned_hash, revision_0;
};

#define T struct create_opts

static const struct opt create_options[] = {
    OPT_TEXT(
	T, size, 's', "size", N_("SIZE"),
	N_("of the filesystem, or auto or min with --from; else all of the file, and auto where "
	   "there is none")),
    OPT_LIST(T, from, 0, "from", N_("SOURCE"),
	     N_("with this tree in it: a folder, archive, manifest or image, - for an archive on "
		"standard input; a further one lies over the others")),
    OPT_SIZE(T, free, 0, "free", N_("SIZE"), N_("room to leave, with --size auto or min")),
    ROWS_FROM(T, tree),
    OPT_CHOICE(T, type, 't', "type", "ext4|ext3|ext2",
	       N_("which features there are to begin with")),
    OPT_LIST(T, features, 'O', "features", N_("LIST"),
	     N_("changes to the usual features: orphan_file,^resize_inode; none: no feature")),
    OPT_TEXT(T, compat, 0, "compat", N_("NAME"),
	     N_("only features that NAME knows: linux-4.9, e2fsprogs-1.42, grub-2.06")),
    OPT_ROOM(T, block_size, 'b', "block-size", N_("SIZE"), N_("1K to 64K; else by size")),
    OPT_ROOM(T, cluster, 'C', "cluster-size", N_("SIZE"), N_("with bigalloc; else sixteen blocks")),
    OPT_ROOM(T, inode_size, 'I', "inode-size", N_("SIZE"), N_("bytes of an inode, usually 256")),
    OPT_COUNT(T, inodes, 'N', "inodes", N_("N"), N_("at least so many inodes")),
    OPT_ROOM(T, ratio, 'i', "bytes-per-inode", N_("SIZE"), N_("an inode for each SIZE bytes")),
    OPT_ROOM(T, journal, 'J', "journal", N_("SIZE"), N_("of the journal; else by size")),
    OPT_FLAG(T, no_journal, 0, "no-journal", N_("without a journal")),
    OPT_FILE(T, journal_path, 0, "journal-on", N_("DEVICE"),
	     N_("the journal lies on a device of its own")),
    OPT_FLAG(T, journal_device, 0, "journal-device", N_("no filesystem but a journal for others")),
    OPT_NUMBER(T, reserved, 'm', "reserved", N_("PERCENT"), N_("of blocks for root, usually 5")),
    OPT_COUNT(T, group, 'g', "blocks-per-group", N_("N"), N_("a multiple of 8")),
    OPT_COUNT(T, flex, 'G', "flex-groups", N_("N"), N_("groups whose metadata lie together")),
    OPT_NUMBER(T, backups, 0, "backups", N_("N"),
	       N_("copies of the superblock, with sparse_super2")),
    OPT_ROOM(T, grow_to, 0, "grow-to", N_("SIZE"), N_("what it may grow to while mounted")),
    OPT_NUMBER(T, stride, 0, "stride", N_("N"), N_("blocks on one disk before the next")),
    OPT_NUMBER(T, stripe, 0, "stripe-width", N_("N"), N_("blocks of a full stripe of data")),
    OPT_NUMBER(T, guard, 0, "guard-interval", N_("SECONDS"), N_("of the mount guard, with mmp")),
    OPT_CHOICE(T, hash, 0, "hash", "half_md4|tea|legacy", N_("of names in large folders")),
    OPT_FLAG(T, unsigned_hash, 0, "unsigned-hash", N_("as on machines whose char has no sign")),
    OPT_CHOICE(T, errors, 'e', "errors", "continue|remount-ro|panic", N_("what a mount does then")),
    OPT_TEXT(T, mount_options, 0, "mount-options", N_("LIST"), N_("that every mount begins with")),
    OPT_TEXT(T, owner, 0, "root-owner", N_("UID:GID"), N_("of the root folder, usually 0:0")),
    OPT_FLAG(T, revision_0, 0, "revision-0", N_("ext2 as it was before it had features")),
    OPT_TEXT(T, label, 'L', "label", N_("TEXT"), N_("up to 16 bytes")),
    OPT_TEXT(T, uuid, 'U', "uuid", N_("UUID"), N_("of the filesystem, random or clear")),
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

/* "UID:GID", both as numbers: names mean nothing outside the host. */
static int parse_owner(struct run *run, const char *text, struct ek_create_options *opt)
{
	unsigned long long uid, gid;
	char *end;

	if (text == NULL)
		return EXIT_DONE;
	errno = 0;
	uid = strtoull(text, &end, 10);
	if (errno == 0 && end != text && *end == ':' && end[1] >= '0' && end[1] <= '9') {
		gid = strtoull(end + 1, &end, 10);
		if (errno == 0 && *end == '\0' && uid <= UINT32_MAX && gid <= UINT32_MAX) {
			opt->root_uid = (uint32_t)uid;
			opt->root_gid = (uint32_t)gid;
			return EXIT_DONE;
		}
	}
	return fail_usage(run, _("--root-owner: '%s' is not UID:GID"), text);
}

static unsigned flags_of(const struct create_opts *o)
{
	return (o->force ? (unsigned)EK_CREATE_FORCE : 0) |
	       (o->no_journal ? (unsigned)EK_CREATE_NO_JOURNAL : 0) |
	       (o->no_lost_found ? (unsigned)EK_CREATE_NO_LOST_FOUND : 0) |
	       (o->dry ? (unsigned)EK_CREATE_DRY_RUN : 0) |
	       (o->reserved.set ? (unsigned)EK_CREATE_RESERVED : 0) |
	       (o->backups.set ? (unsigned)EK_CREATE_BACKUPS : 0) |
	       (o->unsigned_hash ? (unsigned)EK_CREATE_UNSIGNED_HASH : 0) |
	       (o->journal_device ? (unsigned)EK_CREATE_JOURNAL_DEVICE : 0) |
	       (o->revision_0 ? (unsigned)EK_CREATE_REVISION_0 : 0);
}

static void fill_words(const struct create_opts *o, struct ek_create_options *opt)
{
	static const char *const types[] = {"ext4", "ext3", "ext2"};
	static const char *const hashes[] = {"half_md4", "tea", "legacy"};
	static const char *const errors[] = {"continue", "remount-ro", "panic"};

	opt->type = types[o->type];
	opt->hash = hashes[o->hash];
	opt->errors = errors[o->errors];
	opt->compat = o->compat;
	opt->mount_options = o->mount_options;
	opt->journal_path = o->journal_path;
	opt->label = o->label;
	opt->uuid = o->uuid;
	opt->seed = o->seed;
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
	    {"cluster-size", o->cluster, &opt->cluster_size},
	    {"stride", o->stride, &opt->stride},
	    {"stripe-width", o->stripe, &opt->stripe_width},
	    {"backups", o->backups, &opt->backups},
	    {"guard-interval", o->guard, &opt->guard_interval},
	};
	int code = target_now(run, &opt->now);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && code == EXIT_DONE; i++)
		code = narrow(run, rows[i].word, rows[i].num, rows[i].to);
	opt->flags = flags_of(o);
	opt->journal_bytes = o->journal.v;
	opt->grow_to = o->grow_to.v;
	fill_words(o, opt);
	if (code == EXIT_DONE)
		code = parse_owner(run, o->owner, opt);
	return code;
}

/* What was made, for programs: people have 'extkit info'. */
static int report(struct run *run, const struct target *t)
{
	const struct create_opts *o = run->opts;
	struct ek_image_options opt = {
	    .size = sizeof(opt), .offset = t->offset, .journal = o->journal_path};
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

static int create_tree(struct run *run, const struct target *t, struct ek_create_options *opt,
		       struct ek_tree_options *tree)
{
	const struct create_opts *o = run->opts;
	struct ek_tree_report *r;
	int code = from_fill(run, &o->tree, tree), err;

	tree->sources = o->from.v;
	tree->nsources = o->from.n;
	tree->free_bytes = o->free.v;
	if (code == EXIT_DONE) {
		err = ek_create_tree(run->ctx, t->image, opt, tree, &r);
		if (err < 0) {
			code = fail_call(run, err);
		} else {
			if (run->json)
				from_bill(run, r);
			code = from_issues(run, r);
			ek_tree_report_free(r);
		}
	}
	from_free(tree);
	return code;
}

/* Each -O goes on where the one before it ended. */
static void join_features(const struct opt_list *list, struct buffer *ret)
{
	for (size_t i = 0; i < list->n; i++) {
		buffer_adds(ret, list->v[i]);
		buffer_addc(ret, i + 1 < list->n ? ',' : '\0');
	}
}

static int create_empty(struct run *run, const struct target *t, struct ek_create_options *opt)
{
	int err = ek_create(run->ctx, t->image, opt);

	if (err == -EISDIR)
		return fail(run, EXIT_USAGE, "%s", ek_ctx_message(run->ctx));
	if (err < 0)
		return fail_call(run, err);
	if (!run->json ||
	    (opt->flags & (unsigned)(EK_CREATE_DRY_RUN | EK_CREATE_JOURNAL_DEVICE)) != 0)
		return EXIT_DONE;
	return report(run, t);
}

/* Nothing there tells how large it should be; a device of a server does. */
static bool is_new(const struct target *t)
{
	struct stat st;

	return t->offset == 0 && strstr(t->image, "://") == NULL && stat(t->image, &st) < 0 &&
	       errno == ENOENT;
}

static int make(struct run *run, struct ek_create_options *opt)
{
	const struct create_opts *o = run->opts;
	struct ek_tree_options tree = {.size = sizeof(tree)};
	struct target t;
	int code = from_size(run, o->size, &tree, &opt->bytes);

	if (code != EXIT_DONE || (code = target_parse(run, run->argv[0], &t)) != EXIT_DONE)
		return code;
	opt->offset = t.offset;
	if (t.has_path) {
		code = fail_usage(run, _("an image is wanted, not a path inside one"));
	} else if (o->from.n != 0) {
		if (o->size == NULL && is_new(&t))
			tree.how = EK_SIZE_AUTO;
		code = create_tree(run, &t, opt, &tree);
	} else if (tree.how != EK_SIZE_GIVEN) {
		code = fail_usage(run, _("--size auto and min need --from"));
	} else if (from_given(&o->tree) != NULL) {
		code = fail_usage(run, _("--%s needs --from"), from_given(&o->tree));
	} else {
		code = create_empty(run, &t, opt);
	}
	return target_end(run, &t, code);
}

/* Runs fn with what the options say. */
static int with_options(struct run *run, int (*fn)(struct run *run, struct ek_create_options *opt))
{
	const struct create_opts *o = run->opts;
	struct ek_create_options opt = {.size = sizeof(opt)};
	struct buffer features = {0};
	int code;

	join_features(&o->features, &features);
	opt.features = features.text;
	code = features.err != 0 ? fail(run, EXIT_HOST, "%s", _("no memory")) : fill(run, &opt);
	if (code == EXIT_DONE)
		code = fn(run, &opt);
	buffer_free(&features);
	return code;
}

static int run_create(struct run *run)
{
	return with_options(run, make);
}

static const struct example create_examples[] = {
    {"extkit create --size 64M disk.img", N_("makes a sparse file with a small filesystem")},
    {"extkit create --from rootfs root.img", N_("makes an image with a tree, a tenth of it free")},
    {"tar c . | extkit create --size min --free 200M --from - root.img",
     N_("makes one of an archive, with room for 200 MiB")},
    {"extkit create -s 16T -L archive big.img", N_("makes a very large one; the file is sparse")},
    {"SOURCE_DATE_EPOCH=1700000000 extkit create --seed v1 -s 1G -f root.img",
     N_("makes the same bytes every time")},
    {"extkit create -t ext3 --compat linux-2.6.20 -s 64M old.img",
     N_("makes what a kernel of 2007 mounts")},
    {"extkit create -O orphan_file,^resize_inode -s 100M disk.img@@1M",
     N_("begins behind the first megabyte of the file")},
    {NULL, NULL},
};

COMMAND(create) = {
    .name = "create",
    .brief = N_("make a filesystem, empty or with files in it"),
    .args = N_("IMG"),
    .about = N_(
	"The layout is that of mke2fs 1.47 with its usual features of the type. A file that is "
	"not there is made. A file or device that holds something known (a filesystem, a "
	"partition table) is left alone without --force, and one that is mounted or in use "
	"always. Nothing is changed before the options are known to fit.\n\n"
	"With --from the image holds trees, each entry with all it has: owners, device numbers, "
	"times, further names, attributes, access lists, holes. What cannot be kept ends the "
	"command. Blocks are 4 KiB, there are as many inodes as the tree needs and the size "
	"allows, "
	"and a regular file takes its place only when it is whole."),
    .options = create_options,
    .examples = create_examples,
    .min_args = 1,
    .max_args = 1,
    .opts_size = sizeof(struct create_opts),
    .run = run_create,
};

/* ---- size ---- */

static int count(struct run *run, struct ek_create_options *opt)
{
	struct ek_tree_options tree = {.size = sizeof(tree)};
	const struct create_opts *o = run->opts;
	struct ek_tree_report *r;
	int code = from_size(run, o->size != NULL ? o->size : "auto", &tree, &opt->bytes), err;

	if (code == EXIT_DONE)
		code = from_fill(run, &o->tree, &tree);
	if (code == EXIT_DONE) {
		tree.sources = (const char *const *)run->argv;
		tree.nsources = (size_t)run->argc;
		tree.free_bytes = o->free.v;
		err = ek_create_tree(run->ctx, NULL, opt, &tree, &r);
		if (err < 0) {
			code = fail_call(run, err);
		} else {
			from_bill(run, r);
			code = from_issues(run, r);
			ek_tree_report_free(r);
		}
	}
	from_free(&tree);
	return code;
}

static int run_size(struct run *run)
{
	return with_options(run, count);
}

static const struct example size_examples[] = {
    {"extkit size rootfs", N_("prints what 'create --size auto --from rootfs' would make")},
    {"extkit size --size min --no-journal rootfs",
     N_("prints the smallest size without a journal")},
    {NULL, NULL},
};

COMMAND(size) = {
    .name = "size",
    .brief = N_("tell how large an image of trees would be"),
    .args = N_("SOURCE..."),
    .about = N_(
	"Prints the size in bytes and where the blocks go. 'create' with the same options and "
	"sources makes an image of exactly that size; where folders have an index, their blocks "
	"follow from the hash seed, so that both want the same --seed. An archive is read to its "
	"end for this."),
    .options = create_options,
    .examples = size_examples,
    .min_args = 1,
    .max_args = -1,
    .opts_size = sizeof(struct create_opts),
    .run = run_size,
};

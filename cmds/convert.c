/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit convert: images from one form into another. */
#include "extkit/convert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "fail.h"
#include "progress.h"
#include "target.h"

struct convert_opts {
	int to;
	struct opt_num level;
	bool trim, force;
};

#define T struct convert_opts

static const struct opt convert_options[] = {
    OPT_CHOICE(T, to, 0, "to", "auto|raw|zstd|sparse|qcow2",
	       N_("the form; auto goes by the name of DST")),
    OPT_NUMBER(T, level, 0, "level", N_("N"), N_("of zstd, 1 to 22, usually 3")),
    OPT_FLAG(T, trim, 0, "trim", N_("leave out what the filesystem does not use")),
    OPT_FLAG(T, force, 'f', "force", N_("replace a file that is there")),
    OPT_END,
};

/* -1: another form's name, which we do not write. */
struct ending {
	const char *text;
	int form;
};

static const struct ending endings[] = {
    {".zst", EK_FORM_ZSTD},
    {".simg", EK_FORM_SPARSE},
    {".qcow2", EK_FORM_QCOW2},
    {".gz", -1},
    {".xz", -1},
    {".bz2", -1},
    {".vhd", -1},
    {".vhdx", -1},
    {".vmdk", -1},
};

static int form_of(struct run *run, const char *dst, unsigned *ret)
{
	const struct convert_opts *o = run->opts;
	size_t len = strlen(dst);

	*ret = EK_FORM_RAW;
	if (o->to != 0) {
		*ret = (unsigned)(o->to - 1);
		return EXIT_DONE;
	}
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t n = strlen(endings[i].text);

		if (len <= n || strcmp(dst + len - n, endings[i].text) != 0)
			continue;
		if (endings[i].form < 0)
			return fail_usage(run, _("%s is no form that is written: --to tells which"),
					  endings[i].text);
		*ret = (unsigned)endings[i].form;
	}
	return EXIT_DONE;
}

/* Of a disk with partitions, the filesystem alone is taken. */
static int measure(struct run *run, const struct target *t, struct ek_convert_options *opt)
{
	struct ek_image_options how = {.size = sizeof(how), .offset = t->offset};
	struct ek_facts info = {.size = sizeof(info)};
	struct ek_image *img;
	int err;

	opt->offset = t->offset;
	if (t->offset == 0)
		return EXIT_DONE;
	err = ek_image_open(run->ctx, t->image, &how, &img);
	if (err == 0) {
		err = ek_image_facts(img, &info);
		(void)!ek_image_close(img);
	}
	if (err < 0)
		return fail_call(run, err);
	opt->bytes = info.blocks * info.block_size;
	return EXIT_DONE;
}

static void show(struct run *run, const struct ek_converted *done)
{
	if (!run->json)
		return;
	out_u64(run->out, "bytes", NULL, done->bytes);
	out_u64(run->out, "used", NULL, done->used);
	out_u64(run->out, "written", NULL, done->written);
}

static int convert(struct run *run, const struct target *t)
{
	const struct convert_opts *o = run->opts;
	struct ek_convert_options opt = {.size = sizeof(opt), .level = (int)o->level.v};
	struct ek_converted done = {.size = sizeof(done)};
	struct progress progress;
	int code, err;

	if (t->has_path)
		return fail_usage(run, _("a whole image is converted, not a path in it"));
	if (o->level.set && (o->level.v < 1 || o->level.v > 22))
		return fail_usage(run, _("--level: %llu is not one of 1 to 22"),
				  (unsigned long long)o->level.v);
	code = form_of(run, run->argv[1], &opt.to);
	if (code == EXIT_DONE)
		code = measure(run, t, &opt);
	if (code != EXIT_DONE)
		return code;
	opt.flags =
	    (o->trim ? (unsigned)EK_CONVERT_TRIM : 0) | (o->force ? (unsigned)EK_CONVERT_FORCE : 0);
	progress_begin(&progress, run);
	err = ek_convert(run->ctx, t->image, run->argv[1], &opt, &done);
	progress_end(&progress, run);
	if (err < 0) /* -EINVAL is about the other file, too */
		return err == -EISDIR ? fail_open(run, err) : fail_call(run, err);
	show(run, &done);
	return EXIT_DONE;
}

static int run_convert(struct run *run)
{
	struct target t;
	int code = target_parse(run, run->argv[0], &t);

	if (code != EXIT_DONE)
		return code;
	code = convert(run, &t);
	free(t.image);
	return code;
}

static const struct example convert_examples[] = {
    {"extkit convert disk.qcow2 disk.img", N_("makes a raw image, with holes")},
    {"extkit convert --trim disk.img disk.img.zst", N_("packs what is used, to be read at random")},
    {"extkit convert disk.img@p2 system.simg", N_("takes the filesystem of a partition")},
    {NULL, NULL},
};

COMMAND(convert) = {
    .name = "convert",
    .brief = N_("write an image in another form"),
    .args = N_("SRC DST"),
    .about = N_(
	"SRC may be raw, qcow, qcow2, VHD, VHDX, VMDK, zstd, gzip, xz, bzip2 or Android "
	"sparse, and hold anything. Every verb reads these without being told; qcow2, VHD, "
	"VHDX and VMDK it also writes, through qemu-nbd.\n\n"
	"zstd has frames of 1 MiB and a table of them: it is read in place, and other programs "
	"decompress it as ever. Zeros become holes of a raw image, are left out of qcow2 and "
	"are patterns in Android sparse images, for the device that one is flashed to may hold "
	"anything; with --trim what nobody uses is left out there too.\n\n"
	"The same image gives the same bytes. DST gets its name when it is whole."),
    .options = convert_options,
    .examples = convert_examples,
    .min_args = 2,
    .max_args = 2,
    .opts_size = sizeof(struct convert_opts),
    .run = run_convert,
};

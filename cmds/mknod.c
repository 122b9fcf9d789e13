/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit mknod: device nodes, pipes and sockets in an image. */
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "fail.h"
#include "gift.h"
#include "target.h"

static const struct opt mknod_options[] = {ROW_PARENTS, ROW_MODE, ROW_UID, ROW_GID,
					   ROW_XATTR,   ROW_DRY,  OPT_END};

struct node {
	uint32_t mode;
	uint64_t major, minor;
};

static int parse(struct run *run, struct node *ret)
{
	static const struct {
		const char *word;
		uint32_t mode;
		int operands;
	} types[] = {{"b", S_IFBLK, 4}, {"c", S_IFCHR, 4}, {"p", S_IFIFO, 2}, {"s", S_IFSOCK, 2}};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(types[i].word, run->argv[1]) != 0)
			continue;
		ret->mode = types[i].mode;
		if (run->argc != types[i].operands)
			return fail_usage(run, types[i].operands == 4
						   ? _("a device needs its major and minor number")
						   : _("only devices have numbers"));
		if (run->argc == 2)
			return EXIT_DONE;
		if (opt_number(run->argv[2], &ret->major) == 0 &&
		    opt_number(run->argv[3], &ret->minor) == 0 && ret->major <= UINT32_MAX &&
		    ret->minor <= UINT32_MAX)
			return EXIT_DONE;
		return fail_usage(run, _("'%s %s' is no device number"), run->argv[2],
				  run->argv[3]);
	}
	return fail_usage(run, _("'%s' is no type; wanted: b, c, p or s"), run->argv[1]);
}

static int run_mknod(struct run *run)
{
	const struct put_opts *o = run->opts;
	struct gift g = {0};
	struct node node = {0};
	struct target t;
	int code = parse(run, &node), err;

	if (code == EXIT_DONE)
		code = gift_options(run, &g);
	if (code == EXIT_DONE)
		code = target_open(run, run->argv[0], gift_open_flags(o), &t);
	if (code == EXIT_DONE) {
		err = ek_mknod(t.img, t.path, node.mode, (uint32_t)node.major, (uint32_t)node.minor,
			       o->parents ? EK_PUT_PARENTS : 0, &g.attr);
		code = target_end(run, &t, err < 0 ? fail_call(run, err) : EXIT_DONE);
	}
	gift_free(&g);
	return code;
}

static const struct example mknod_examples[] = {
    {"extkit mknod -m 666 disk.img:/dev/null c 1 3", N_("makes a character device")},
    {"extkit mknod disk.img:/run/initctl p", N_("makes a pipe")},
    {NULL, NULL},
};

COMMAND(mknod) = {
    .name = "mknod",
    .brief = N_("make device nodes, pipes and sockets"),
    .args = N_("IMG:/PATH b|c|p|s [MAJOR MINOR]"),
    .about = N_(
	"b and c are a block and a character device with their numbers, p is a pipe and s a "
	"socket. It needs no rights on this machine: nothing is made outside of the image."),
    .options = mknod_options,
    .examples = mknod_examples,
    .min_args = 2,
    .max_args = 4,
    .opts_size = sizeof(struct put_opts),
    .run = run_mknod,
};

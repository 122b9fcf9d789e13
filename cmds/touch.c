/* SPDX-License-Identifier: BSD-2-Clause */
/* extkit touch: times of files, and empty files. */
#include <time.h>

#include "cmd.h"
#include "fail.h"
#include "images.h"
#include "when.h"

struct touch_opts {
	const char *date;
	bool access, modification, only, itself, dry;
};

#define T struct touch_opts

static const struct opt touch_options[] = {
    OPT_TEXT(T, date, 'd', "date", N_("TIME"), N_("this time instead of now")),
    OPT_FLAG(T, access, 'a', "access", N_("the time of access only")),
    OPT_FLAG(T, modification, 'm', "modification", N_("the time of modification only")),
    OPT_FLAG(T, only, 'c', "no-create", N_("make no file")),
    OPT_FLAG(T, itself, 'n', "no-dereference", N_("links themselves")),
    OPT_FLAG(T, dry, 0, "dry-run", N_("check everything, change nothing")),
    OPT_END,
};

static int time_of(struct run *run, const char *text, struct ek_time *ret)
{
	struct timespec ts;
	int code;

	if (text != NULL && when_parse(text, ret) != 0)
		return fail_usage(
		    run, _("'%s' is no time; wanted: '2026-11-30 12:00:00.5' in UTC, or @SECONDS"),
		    text);
	if (text != NULL)
		return EXIT_DONE;
	code = target_now(run, ret);
	if (code == EXIT_DONE && ret->sec == 0 && ret->nsec == 0) {
		clock_gettime(CLOCK_REALTIME, &ts);
		*ret = (struct ek_time){ts.tv_sec, (uint32_t)ts.tv_nsec};
	}
	return code;
}

static int touch_one(struct run *run, void *ctx, struct ek_inode *inode, const struct ek_stat *st,
		     const char *path)
{
	int err = ek_inode_set(inode, ctx);

	if (err < 0)
		return fail_call(run, err);
	if (run->json)
		out_str(run->out, NULL, NULL, path);
	return EXIT_DONE;
}

static const struct out_col touch_cols[] = {{"path", NULL, false}};

static int run_touch(struct run *run)
{
	const struct touch_opts *o = run->opts;
	struct ek_attr a = {.size = sizeof(a)};
	unsigned flags = (o->only ? (unsigned)EACH_OPTIONAL : (unsigned)EACH_MAKE) |
			 (o->itself ? (unsigned)EACH_NOFOLLOW : 0);
	int code = time_of(run, o->date, &a.atime);

	if (code != EXIT_DONE)
		return code;
	a.mtime = a.atime;
	if (o->access || !o->modification)
		a.mask |= EK_ATTR_ATIME;
	if (o->modification || !o->access)
		a.mask |= EK_ATTR_MTIME;
	if (run->json)
		out_table(run->out, "changed", touch_cols, 1);
	return each_operands(run, 0, images_write(o->dry), flags, touch_one, &a);
}

static const struct example touch_examples[] = {
    {"extkit touch disk.img:/.autorelabel", N_("makes an empty file, or says it changed now")},
    {"extkit touch -m -d '2001-02-03 04:05:06.123456789' disk.img:/etc/motd",
     N_("sets a time to the nanosecond")},
    {NULL, NULL},
};

COMMAND(touch) = {
    .name = "touch",
    .brief = N_("set times, make empty files"),
    .args = N_("IMG:/PATH..."),
    .about = N_(
	"TIME is YYYY-MM-DD, perhaps with HH:MM:SS and up to nine digits of a second, always "
	"in UTC, or @SECONDS since 1970, which may be negative. Now is SOURCE_DATE_EPOCH "
	"when that is set. A time that the inode has no room for is refused."),
    .options = touch_options,
    .examples = touch_examples,
    .min_args = 1,
    .max_args = -1,
    .opts_size = sizeof(struct touch_opts),
    .run = run_touch,
};

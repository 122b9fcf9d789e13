/* SPDX-License-Identifier: BSD-2-Clause */
/* Command lines into option structs.  The commands' own code is no library, so it is included. */
#include "tap.h"

#include "../../cmds/opt.c"

struct opts {
	bool force;
	const char *label;
	struct opt_num size, count, wait;
	int clock;
	struct opt_list list;
};

static const struct opt table[] = {
    OPT_FLAG(struct opts, force, 'f', "force", "x"),
    OPT_TEXT(struct opts, label, 'L', "label", "NAME", "x"),
    OPT_SIZE(struct opts, size, 's', "size", "SIZE", "x"),
    OPT_NUMBER(struct opts, count, 'n', "count", "N", "x"),
    OPT_TIME(struct opts, wait, 0, "wait", "TIME", "x"),
    OPT_CHOICE(struct opts, clock, 0, "clock", "virtual|real|asap", "x"),
    OPT_LIST(struct opts, list, 'i', "include", "NAME", "x"),
    OPT_END,
};

static char why[OPT_WHY];

static int parse(struct opts *o, int *argc, char **argv, bool stop)
{
	const struct opt_into into[] = {{table, o}};

	memset(o, 0, sizeof(*o));
	for (*argc = 0; argv[*argc] != NULL; (*argc)++)
		;
	return opt_parse(into, 1, argc, argv, stop, why);
}

#define ARGS(...) ((char *[]){__VA_ARGS__, NULL})

TEST(sizes_have_explicit_units)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
	    {"0", 0},
	    {"4096", 4096},
	    {"64K", 65536},
	    {"64k", 65536},
	    {"1KiB", 1024},
	    {"1kB", 1000},
	    {"256M", 268435456},
	    {"10MB", 10000000},
	    {"1.5G", 1610612736},
	    {"0.5K", 512},
	    {"1T", 1099511627776},
	};
	static const char *const bad[] = {
	    "",     "K",           "-1",  "1X",   "1.3",
	    "1.5.", "1 K",         "0x1", "1KBs", "99999999999999999999",
	    "1e3",  "20000000000T"};
	uint64_t v;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_INT(opt_size(good[i].text, &v), 0);
		CHECK_INT(v, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(opt_size(bad[i], &v), -1);
}

TEST(times_are_seconds_unless_a_unit_says_else)
{
	uint64_t v;

	CHECK_INT(opt_time("30", &v), 0);
	CHECK_INT(v, 30000000000);
	CHECK_INT(opt_time("1.5ms", &v), 0);
	CHECK_INT(v, 1500000);
	CHECK_INT(opt_time("0.5ns", &v), -1);
}

TEST(letters_may_share_a_dash_and_carry_their_value)
{
	struct opts o;
	int argc;

	CHECK_INT(parse(&o, &argc, ARGS("-fLroot", "-s", "1M", "x.img"), false), 0);
	CHECK(o.force);
	CHECK_STR(o.label, "root");
	CHECK_INT(o.size.v, 1048576);
	CHECK_INT(argc, 1);
}

TEST(options_may_follow_operands_and_two_dashes_end_them)
{
	struct opts o;
	int argc;
	char **argv = ARGS("a", "--force", "-", "--", "--label", "-f");

	CHECK_INT(parse(&o, &argc, argv, false), 0);
	CHECK(o.force);
	CHECK(o.label == NULL);
	CHECK_INT(argc, 4);
	CHECK_STR(argv[1], "-");
	CHECK_STR(argv[2], "--label");
}

TEST(parsing_can_stop_at_the_verb)
{
	struct opts o;
	int argc;
	char **argv = ARGS("--force", "verb", "--unknown", "--");

	CHECK_INT(parse(&o, &argc, argv, true), 0);
	CHECK_INT(argc, 3);
	CHECK_STR(argv[1], "--unknown");
}

TEST(lists_keep_their_order)
{
	struct opts o;
	int argc;

	CHECK_INT(parse(&o, &argc, ARGS("-ia", "--include=b", "--include", "c"), false), 0);
	CHECK_INT(o.list.n, 3);
	CHECK_STR(o.list.v[0], "a");
	CHECK_STR(o.list.v[2], "c");
	opt_free(table, &o);
}

TEST(wrong_options_are_explained)
{
	struct opts o;
	int argc;

	CHECK_INT(parse(&o, &argc, ARGS("--siz=1"), false), -1);
	CHECK_STR(why, "unknown option --siz");
	CHECK_INT(parse(&o, &argc, ARGS("-fx"), false), -1);
	CHECK_STR(why, "unknown option -x");
	CHECK_INT(parse(&o, &argc, ARGS("--force=1"), false), -1);
	CHECK_STR(why, "--force takes no value");
	CHECK_INT(parse(&o, &argc, ARGS("-s"), false), -1);
	CHECK_STR(why, "--size needs a value: SIZE");
	CHECK_INT(parse(&o, &argc, ARGS("--clock=fast"), false), -1);
	CHECK_STR(why, "--clock: 'fast' is not virtual|real|asap");
	CHECK_INT(parse(&o, &argc, ARGS("-n", "-1"), false), -1);
	CHECK_STR(why, "--count: '-1' is not a number");
}

TEST(choices_become_their_position)
{
	struct opts o;
	int argc;

	CHECK_INT(parse(&o, &argc, ARGS("--clock", "asap"), false), 0);
	CHECK_INT(o.clock, 2);
	CHECK_INT(parse(&o, &argc, ARGS("--clock", "virtual|real"), false), -1);
}

int main(void)
{
	return tap_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Modes, times and sizes as text.  The commands' own code is no library, so it is included. */
#include "tap.h"

#include "../../cmds/show.c"

static char buf[SHOW_MAX];

TEST(modes_look_as_in_ls)
{
	CHECK_STR(show_mode(buf, S_IFDIR | 01777), "drwxrwxrwt");
	CHECK_STR(show_mode(buf, S_IFREG | 04755), "-rwsr-xr-x");
	CHECK_STR(show_mode(buf, S_IFREG | 06644), "-rwSr-Sr--");
	CHECK_STR(show_mode(buf, S_IFLNK | 0777), "lrwxrwxrwx");
	CHECK_STR(show_mode(buf, S_IFCHR | 01600), "crw------T");
	CHECK_STR(show_mode(buf, 0xffff), "?rwsrwsrwt");
}

TEST(times_before_1970_and_after_2106_are_right)
{
	CHECK_STR(show_time(buf, (struct ek_time){0, 4}), "1970-01-01 00:00:00.000000004 UTC");
	CHECK_STR(show_time(buf, (struct ek_time){-1, 999999999}),
		  "1969-12-31 23:59:59.999999999 UTC");
	CHECK_STR(show_time(buf, (struct ek_time){-315619200, 0}),
		  "1960-01-01 00:00:00.000000000 UTC");
	CHECK_STR(show_time(buf, (struct ek_time){951782400, 0}),
		  "2000-02-29 00:00:00.000000000 UTC");
	CHECK_STR(show_time(buf, (struct ek_time){15032385535, 0}),
		  "2446-05-10 22:38:55.000000000 UTC");
}

TEST(sizes_never_look_smaller_than_they_are)
{
	CHECK_STR(show_size(buf, 1023), "1023 B");
	CHECK_STR(show_size(buf, 1024), "1 KiB");
	CHECK_STR(show_size(buf, 1025), "1.1 KiB");
	CHECK_STR(show_size(buf, 268435456), "256 MiB");
	CHECK_STR(show_size(buf, UINT64_MAX), "16 EiB");
}

int main(void)
{
	return tap_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Growing strings, and escaping into them. */
#include "tap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/str.h"

TEST(additions_follow_one_another)
{
	struct str s = {0};

	CHECK_STR(str_text(&s), "");
	str_adds(&s, "inode ");
	str_addf(&s, "%d%c", 12, ':');
	str_addc(&s, ' ');
	str_add(&s, "a\0b", 3);
	CHECK_INT(s.len, 13);
	CHECK(memcmp(s.p, "inode 12: a\0b", 14) == 0);
	str_cut(&s, 5);
	CHECK_STR(str_text(&s), "inode");
	str_free(&s);
}

TEST(long_text_is_kept_whole)
{
	struct str s = {0};
	char *p;

	for (int i = 0; i < 10000; i++)
		str_addf(&s, "%04d", i);
	CHECK_INT(s.len, 40000);
	p = str_take(&s);
	CHECK(p != NULL && memcmp(p + 4 * 9999, "9999", 5) == 0);
	CHECK_INT(s.len, 0);
	free(p);
}

TEST(absurd_room_is_an_error_that_sticks)
{
	struct str s = {0};

	str_adds(&s, "x");
	CHECK(str_room(&s, SIZE_MAX) == NULL);
	CHECK_INT(s.err, -ENOMEM);
	str_adds(&s, "y");
	CHECK_STR(str_text(&s), "x");
	CHECK(str_take(&s) == NULL);
	CHECK_INT(s.err, 0);
}

static const char *escaped(const char *text)
{
	static char buf[200];

	return escape_to(buf, sizeof(buf), text, strlen(text));
}

TEST(printable_utf8_stays_as_it_is)
{
	CHECK_STR(escaped("plain name.txt"), "plain name.txt");
	CHECK_STR(escaped("Z\xc3\xbcrich \xe2\x82\xac \xf0\x9f\x90\xa7"),
		  "Z\xc3\xbcrich \xe2\x82\xac \xf0\x9f\x90\xa7");
}

TEST(controls_become_hex)
{
	CHECK_STR(escaped("\x1b[31mred\n"), "\\x1b[31mred\\x0a");
	CHECK_STR(escaped("\x7f"), "\\x7f");
	CHECK_STR(escaped("\xc2\x9b"), "\\xc2\\x9b");
}

TEST(bidi_controls_become_hex)
{
	CHECK_STR(escaped("a\xe2\x80\xae"), "a\\xe2\\x80\\xae");
	CHECK_STR(escaped("\xe2\x81\xa6"), "\\xe2\\x81\\xa6");
	CHECK_STR(escaped("\xe2\x80\xad\xe2\x81\xa9"), "\\xe2\\x80\\xad\\xe2\\x81\\xa9");
}

TEST(broken_utf8_becomes_hex)
{
	CHECK_STR(escaped("\xff\x80"), "\\xff\\x80");
	CHECK_STR(escaped("\xc0\xaf"), "\\xc0\\xaf");
	CHECK_STR(escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80");
	CHECK_STR(escaped("\xe2\x82"), "\\xe2\\x82");
	CHECK_STR(escaped("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
	CHECK_STR(escaped("\xe2(x"), "\\xe2(x");
}

TEST(a_short_buffer_cuts_between_characters)
{
	char buf[6];

	CHECK_STR(escape_to(buf, sizeof(buf), "ab\x01z", 4), "ab");
	CHECK_STR(escape_to(buf, sizeof(buf), "abc\xe2\x82\xac", 6), "abc");
	CHECK_STR(escape_to(buf, 1, "abc", 3), "");
}

TEST(both_escapes_agree)
{
	struct str s = {0};
	char all[256], buf[1200];

	for (int i = 0; i < 256; i++)
		all[i] = (char)i;
	escape_add(&s, all, sizeof(all));
	CHECK_STR(str_text(&s), escape_to(buf, sizeof(buf), all, sizeof(all)));
	str_free(&s);
}

int main(void)
{
	return tap_main();
}

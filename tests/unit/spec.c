/* SPDX-License-Identifier: BSD-2-Clause */
/* Words of manifests, and the paths that sources may hand out. */
#include "tree/spec.h"

#include <errno.h>
#include <string.h>

#include "base/diag.h"
#include "tap.h"
#include "tree/source.h"

/* Every byte value, n of them. */
static void fill(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(i * 37 + 11);
}

TEST(text_of_any_bytes_comes_back)
{
	uint8_t bytes[256];
	struct str s = {0};
	size_t len;

	fill(bytes, sizeof(bytes));
	spec_text(&s, bytes, sizeof(bytes));
	len = s.len;
	CHECK(strpbrk(str_text(&s), " \n\t") == NULL);
	CHECK_INT(spec_untext(s.p, &len), 0);
	CHECK_INT((long)len, 256);
	CHECK(memcmp(s.p, bytes, 256) == 0);
	str_free(&s);
}

TEST(values_of_any_length_come_back)
{
	uint8_t bytes[200];

	fill(bytes, sizeof(bytes));
	for (size_t n = 1; n <= sizeof(bytes); n++) {
		struct str s = {0};
		size_t len;

		spec_bytes(&s, bytes, n);
		len = s.len;
		CHECK_INT(spec_unbytes(s.p, &len), 0);
		CHECK_INT((long)len, (long)n);
		CHECK(memcmp(s.p, bytes, n) == 0);
		str_free(&s);
	}
}

TEST(a_text_that_looks_like_base64_stays_a_text)
{
	struct str s = {0};
	size_t len;

	spec_bytes(&s, "0sQUJD", 6);
	CHECK_STR(str_text(&s), "\\060sQUJD");
	len = s.len;
	CHECK_INT(spec_unbytes(s.p, &len), 0);
	CHECK_INT((long)len, 6);
	CHECK(memcmp(s.p, "0sQUJD", 6) == 0);
	str_free(&s);
}

TEST(base64_that_is_none_is_refused)
{
	static const char *const bad[] = {"QUJ", "QU=D", "Q===", "QUJ!", "=UJD", "QQ==QUJD"};
	uint8_t to[8];
	size_t len;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(spec_unbase64(bad[i], strlen(bad[i]), to, &len), -EINVAL);
	CHECK_INT(spec_unbase64("QUI=", 4, to, &len), 0);
	CHECK_INT((long)len, 2);
}

TEST(escapes_that_are_cut_off_are_refused)
{
	static const char *const bad[] = {"\\", "\\1", "\\12", "\\400", "\\18a", "a\\\\"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[16];
		size_t len = strlen(bad[i]);

		memcpy(text, bad[i], len + 1);
		CHECK_INT(spec_untext(text, &len), -EINVAL);
	}
}

TEST(paths_are_cleaned_and_those_that_lead_out_refused)
{
	static const char *const rows[][2] = {
	    {"./a/b", "a/b"}, {"a//b/", "a/b"},      {".", ""}, {"", ""}, {"./", ""},
	    {"a/./b", "a/b"}, {"..a/b..", "..a/b.."}};
	static const char *const bad[] = {"/a", "..", "a/../b", "./..", "a/.."};
	struct diag d = {0};
	char buf[600];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK_INT(tree_clean_path("x", rows[i][0], buf, &d), 0);
		CHECK_STR(buf, rows[i][1]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(tree_clean_path("x", bad[i], buf, &d), -EINVAL);
	memset(buf, 'n', 256);
	buf[256] = '\0';
	CHECK_INT(tree_clean_path("x", buf, buf, &d), -EINVAL);
	buf[255] = '\0';
	CHECK_INT(tree_clean_path("x", buf, buf, &d), 0);
}

int main(void)
{
	return tap_main();
}

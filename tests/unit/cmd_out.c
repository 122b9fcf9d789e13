/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts and tables as text and JSON.  The commands' own code is no library, so it is included. */
#include "tap.h"

#include "../../cmds/buffer.c"
#include "../../cmds/escape.c"
#include "../../cmds/out.c"

static const struct out_col cols[] = {
    {"size", "Size", true}, {"kind", "Kind", false}, {"name", "Name", false}};

static char *text;
static size_t text_len;
static FILE *to;

static struct out *begin(bool json, bool quiet)
{
	free(text);
	text = NULL;
	to = open_memstream(&text, &text_len);
	return out_new(to, json, quiet, "ls");
}

static const char *finish(struct out *out)
{
	out_close(out);
	fclose(to);
	return text;
}

static void row(struct out *out, uint64_t size, const char *kind, const char *name)
{
	out_u64(out, NULL, NULL, size);
	out_word(out, NULL, NULL, kind);
	out_str(out, NULL, NULL, name);
}

TEST(tables_line_up)
{
	struct out *out = begin(false, false);

	out_table(out, "files", cols, 3);
	row(out, 5, "file", "a");
	row(out, 12345, "d", "gr\xc3\xbc\xc3\x9f");
	out_table_end(out);
	CHECK_STR(finish(out), " Size  Kind  Name\n"
			       "    5  file  a\n"
			       "12345  d     gr\xc3\xbc\xc3\x9f\n");
}

TEST(lines_never_end_in_blanks)
{
	struct out *out = begin(false, true);

	out_table(out, "files", cols, 3);
	row(out, 5, "a", "");
	row(out, 6, "abc", "x");
	out_table_end(out);
	CHECK_STR(finish(out), "5  a\n6  abc  x\n");
}

TEST(quiet_tables_have_no_heading)
{
	struct out *out = begin(false, true);

	out_table(out, "files", cols, 3);
	row(out, 5, "file", "a");
	out_table_end(out);
	out_note(out, "not shown");
	CHECK_STR(finish(out), "5  file  a\n");
}

TEST(long_tables_stream_after_the_rows_held_back)
{
	struct out *out = begin(false, false);
	int lines = 0;

	out_table(out, "files", cols, 3);
	for (unsigned i = 0; i < 3 * HOLD_ROWS + 7; i++)
		row(out, i, "f", "x");
	out_table_end(out);
	for (const char *p = finish(out); *p != '\0'; p++)
		lines += *p == '\n';
	CHECK_INT(lines, 3 * HOLD_ROWS + 8);
}

TEST(json_has_sections_tables_and_facts_in_one_object)
{
	struct out *out = begin(true, false);

	out_section(out, "image", "Image");
	out_u64(out, "blocks", "Blocks", UINT64_MAX);
	out_bool(out, "clean", "Clean", true);
	out_none(out, "label", "Label");
	out_section_end(out);
	out_table(out, "files", cols, 3);
	row(out, 1, "file", "a\"\\\n");
	row(out, 2, "file", "\xff");
	out_table_end(out);
	out_double(out, "share", "Share", 0.5, 2);
	out_note(out, "not shown");
	CHECK_STR(finish(out), "{\"verb\":\"ls\",\"image\":{\"blocks\":18446744073709551615,"
			       "\"clean\":true,\"label\":null},\"files\":[\n"
			       "{\"size\":1,\"kind\":\"file\",\"name\":\"a\\\"\\\\\\u000a\"},\n"
			       "{\"size\":2,\"kind\":\"file\",\"name\":{\"bytes\":\"ff\"}}],"
			       "\"share\":0.50}\n");
}

TEST(json_stays_valid_when_a_verb_fails_within_a_row)
{
	struct out *out = begin(true, false);

	out_section(out, "a", "A");
	out_table(out, "files", cols, 3);
	out_u64(out, NULL, NULL, 1);
	out_error(out, 4, "no space", 7, 0);
	CHECK_STR(finish(out), "{\"verb\":\"ls\",\"a\":{\"files\":[\n{\"size\":1}]},"
			       "\"error\":{\"exit\":4,\"message\":\"no space\","
			       "\"need_blocks\":7}}\n");
}

TEST(text_shows_the_rows_before_a_failure)
{
	struct out *out = begin(false, true);

	out_table(out, "files", cols, 3);
	row(out, 1, "file", "a");
	out_u64(out, NULL, NULL, 2);
	out_error(out, 3, "damaged", 0, 0);
	CHECK_STR(finish(out), "1  file  a\n2\n");
}

TEST(names_that_try_to_command_the_terminal_are_spelled_out)
{
	struct out *out = begin(false, false);

	out_str(out, "name", "Name", "a\033[2Jb\xe2\x80\xae");
	CHECK_STR(finish(out), "Name: a\\x1b[2Jb\\xe2\\x80\\xae\n");
}

int main(void)
{
	return tap_main();
}

// SPDX-License-Identifier: BSD-2-Clause
/* The text form of traces: what is read is written back, and what is wrong is refused with a place.
 */
#include "tap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/diag.h"
#include "every_op.h"
#include "trace/stream.h"
#include "trace/wtr.h"

static struct diag diag;

static int open_text(const char *text, size_t n, unsigned flags, struct op_source **ret)
{
	struct instream *in;
	int err;

	diag_clear(&diag);
	err = instream_memory(text, n, "t.wtr", 0, &diag, &in);
	return err < 0 ? err : wtr_read(in, flags, &diag, ret);
}

/* Reads all; the first error, or the number of items. */
static int drain(const char *text, size_t n, unsigned flags)
{
	struct op_source *s;
	const struct op *o;
	int err = open_text(text, n, flags, &s), items = 0;

	if (err < 0)
		return err;
	while ((err = op_next(s, &o)) > 0)
		items++;
	op_source_close(s);
	return err < 0 ? err : items;
}

/* text through the model and out again; the caller frees. */
static char *again(const char *text)
{
	struct op_source *s;
	struct outstream *out;
	struct op_sink *k;
	const void *p;
	size_t n;
	char *copy;

	if (open_text(text, strlen(text), 0, &s) < 0 || outstream_memory(&diag, &out) < 0 ||
	    wtr_write(out, &diag, &k) < 0)
		return strdup(diag.text);
	if (op_copy(s, k) < 0) {
		copy = strdup(diag.text);
	} else {
		p = outstream_bytes(out, &n);
		copy = calloc(1, n + 1);
		memcpy(copy, p, n);
	}
	op_sink_close(k);
	op_source_close(s);
	return copy;
}

static void check_refused(const char *line, const char *message)
{
	char text[1024];

	snprintf(text, sizeof(text), "#wtrace 1\n%s\n", line);
	CHECK(drain(text, strlen(text), 0) < 0);
	CHECK_STR(diag.text, message);
}

TEST(every_op_is_written_back_as_it_was_read)
{
	char *out = again(every_op);
	char *want = strdup(every_op);

	/* The input is cut in its %end line, so the copy has none. */
	*strstr(want, "%end") = 0;
	CHECK_STR(out, want);
	free(want);
	free(out);
}

TEST(a_whole_file_has_an_end_line_that_proves_it)
{
	const char *good = "#wtrace 1\n%ops\n1 2 sync\n%end ops=1 crc32c=";
	char text[200], *out;
	struct op_source *s;
	const struct op *o;

	snprintf(text, sizeof(text), "%s%s", good, "00000000\n");
	CHECK_INT(drain(text, strlen(text), 0), -EINVAL);
	CHECK(strstr(diag.text, "the file has ops=1 crc32c=") != NULL);
	snprintf(text, sizeof(text), "%s%.8s\n", good, strrchr(diag.text, '=') + 1);
	CHECK_INT(open_text(text, strlen(text), 0, &s), 0);
	CHECK_INT(op_next(s, &o), 1);
	CHECK_INT(op_next(s, &o), 0);
	CHECK(op_whole(s));
	op_source_close(s);
	out = again(text);
	CHECK_STR(out, text);
	free(out);
}

TEST(blobs_travel_with_the_first_write_that_needs_them)
{
	char text[1000], *out;

	snprintf(text, sizeof(text),
		 "#wtrace 1\n"
		 "%%blob ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad 3\n"
		 "%%+ YWJj\n"
		 "%%ops\n"
		 "1 2 write h1 0 3 "
		 "data=b:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n"
		 "2 2 write h1 3 3 "
		 "data=b:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n");
	out = again(text);
	/* The section line moves in front of the blob, nothing else changes. */
	CHECK(strstr(out, "%ops\n%blob ba7816bf") != NULL);
	CHECK(strstr(out, "%+ YWJj\n1 2 write") != NULL);
	CHECK(strstr(strstr(out, "%+") + 2, "%+") == NULL);
	free(out);
}

TEST(words_of_the_early_importer_are_understood)
{
	char *out = again("#wtrace 1\n#time ns\n"
			  "1 2 fchmod h1 0100744\n"
			  "2 2 fchown h1 0 0\n"
			  "3 2 lchown /l 1 2\n"
			  "4 2 futimens h1 [...]\n"
			  "5 2 utimens /l NULL\n"
			  "6 2 sync_file_range h1 0 10 "
			  "SYNC_FILE_RANGE_WAIT_BEFORE|SYNC_FILE_RANGE_WRITE\n"
			  "7 2 copy h0 0 h1 0 414\n");

	CHECK_STR(out, "#wtrace 1\n#time ns\n%ops\n"
		       "1 2 chmod h1 100744\n"
		       "2 2 chown h1 0 0\n"
		       "3 2 chown /l 1 2 nofollow\n"
		       "4 2 utimens h1 ? ?\n"
		       "5 2 utimens /l now now\n"
		       "6 2 syncrange h1 0 10 wb,w\n"
		       "7 2 copy h0 0 h1 0 414\n");
	free(out);
}

TEST(refusals_name_file_line_and_column)
{
	check_refused("1 2 wrote h1 0 1", "t.wtr:2:5: unknown op");
	check_refused("1 2 write h1 0 1x", "t.wtr:2:16: not a number");
	check_refused("1 2 write h1 0", "t.wtr:2:15: an argument is missing");
	check_refused("1 2 write h1 0 99999999999999999999", "t.wtr:2:16: number too large");
	check_refused("1 2 close h4294967295", "t.wtr:2:12: number too large");
	check_refused("1 2 close 7", "t.wtr:2:11: expected a handle (h and a number)");
	check_refused("1 2 unlink a", "t.wtr:2:12: a path starts with /");
	check_refused("1 2 unlink /a/../../etc", "t.wtr:2:12: a path must not climb with ..");
	check_refused("1 2 unlink /a%2e./..", "t.wtr:2:12: a path must not climb with ..");
	check_refused("1 2 unlink /a%00b", "t.wtr:2:14: an escaped 0 byte");
	check_refused("1 2 unlink /a%4",
		      "t.wtr:2:14: % must be followed by two hexadecimal digits");
	check_refused("1 2 write h1 0 1 data=q:1", "t.wtr:2:18: not a data reference");
	check_refused("1 2 write h1 0 1 shiny", "t.wtr:2:18: unknown word");
	check_refused("1  2 sync", "t.wtr:2:3: an argument is missing");
	check_refused("1 2 chmod /a 99", "t.wtr:2:16: not an octal mode");
	check_refused("x", "t.wtr:2:1: expected a time");
	check_refused("%what", "t.wtr:2:1: unknown section");
	check_refused("#!needed", "t.wtr:2:2: a required key this version does not know");
	check_refused("%+ YWJj", "t.wtr:2:4: not base64, or more than the blob announced");
}

TEST(a_newer_version_or_another_unit_is_refused)
{
	const char *newer = "#wtrace 2\n", *micro = "#wtrace 1\n#unit us\n", *none = "hello\n";

	CHECK(drain(newer, strlen(newer), 0) < 0);
	CHECK_STR(diag.text, "t.wtr:1:2: a version newer than 1");
	CHECK(drain(micro, strlen(micro), 0) < 0);
	CHECK(drain(none, strlen(none), 0) < 0);
	CHECK(drain("", 0, 0) < 0);
}

TEST(lenient_reading_counts_what_it_does_not_know)
{
	const char *text = "#wtrace 1\n1 2 warp h1 9 z=1\n2 2 sync oddly\n%later\n3 2 sync\n";
	struct op_source *s;
	const struct op *o;

	CHECK_INT(open_text(text, strlen(text), WTR_LENIENT, &s), 0);
	CHECK_INT(op_next(s, &o), 1);
	CHECK_INT(o->code, OP_UNKNOWN);
	CHECK_STR(o->name.p, "warp");
	CHECK_STR(o->extra.p, "h1 9 z=1");
	CHECK_INT(op_next(s, &o), 1);
	CHECK_STR(o->extra.p, "oddly");
	CHECK_INT(op_next(s, &o), 1);
	CHECK_INT(o->time, 3);
	CHECK_INT(op_next(s, &o), 0);
	CHECK_INT(wtr_source_counts(s)->unknown_ops, 1);
	CHECK_INT(wtr_source_counts(s)->unknown_words, 2);
	op_source_close(s);
}

TEST(a_line_over_64_kib_is_refused)
{
	size_t n = 70000;
	char *text = malloc(n + 1);

	memset(text, 'a', n);
	memcpy(text, "#wtrace 1\n1 2 unlink /", 22);
	text[n - 1] = '\n';
	CHECK_INT(drain(text, n, 0), -EINVAL);
	CHECK_STR(diag.text, "t.wtr:2:65537: line is longer than 64 KiB");
	free(text);
}

TEST(a_file_cut_at_any_byte_still_parses)
{
	size_t n = sizeof(every_op) - 1;

	for (size_t cut = 10; cut <= n; cut++) {
		int items = drain(every_op, cut, 0);

		if (items < 0)
			TAP_FAIL("cut at %zu: %s", cut, diag.text);
	}
}

TEST(damaged_text_never_crashes)
{
	size_t n = sizeof(every_op) - 1;
	uint64_t seed = 42;
	char *text = malloc(n);

	for (int round = 0; round < 3000; round++) {
		memcpy(text, every_op, n);
		for (int hit = 0; hit < 4; hit++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			text[10 + (seed >> 33) % (n - 10)] = (char)(seed >> 20);
		}
		(void)drain(text, n, round & 1 ? WTR_LENIENT : 0);
	}
	free(text);
}

int main(void)
{
	return tap_main();
}

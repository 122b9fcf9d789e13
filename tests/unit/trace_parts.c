// SPDX-License-Identifier: BSD-2-Clause
/* The parts under the trace formats: names, order, numbers, lines, base64, SHA-256. */
#include "tap.h"

#include <stdlib.h>

#include "base/diag.h"
#include "base/sha256.h"
#include "trace/base64.h"
#include "trace/blobs.h"
#include "trace/interner.h"
#include "trace/names.h"
#include "trace/procs.h"
#include "trace/reorder.h"
#include "trace/stream.h"

static struct diag diag;

TEST(sha256_gives_the_published_sums)
{
	static const struct {
		const char *text;
		uint8_t first[4];
	} known[] = {
	    {"", {0xe3, 0xb0, 0xc4, 0x42}},
	    {"abc", {0xba, 0x78, 0x16, 0xbf}},
	    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", {0x24, 0x8d, 0x6a, 0x61}},
	};
	uint8_t sum[32], parts[32];
	struct sha256 s;
	char million[1000];

	for (unsigned i = 0; i < 3; i++) {
		sha256_of(known[i].text, strlen(known[i].text), sum);
		CHECK(memcmp(sum, known[i].first, 4) == 0);
	}
	memset(million, 'a', sizeof(million));
	sha256_init(&s);
	for (unsigned i = 0; i < 1000; i++)
		sha256_add(&s, million, sizeof(million));
	sha256_end(&s, sum);
	CHECK(memcmp(sum, "\xcd\xc7\x6e\x5c", 4) == 0);
	sha256_init(&s);
	for (unsigned i = 0; i < 1000; i++)
		sha256_add(&s, million, i);
	sha256_end(&s, parts);
	CHECK(memcmp(sum, parts, 32) != 0);
}

TEST(base64_comes_back_at_every_length)
{
	uint8_t bytes[64], back[64];
	char text[100];

	for (unsigned i = 0; i < 64; i++)
		bytes[i] = (uint8_t)(i * 37);
	for (size_t n = 0; n <= 64; n++) {
		base64_put(bytes, n, text);
		CHECK_INT(base64_get(text, BASE64_LEN(n), back, n), n);
		CHECK(memcmp(bytes, back, n) == 0);
	}
	CHECK_INT(base64_get("YWJj", 4, back, 2), -1);
	CHECK_INT(base64_get("YW=j", 4, back, 9), -1);
	CHECK_INT(base64_get("YWJ", 3, back, 9), -1);
}

TEST(a_renamed_directory_takes_names_below_it)
{
	struct names ns;
	struct name *f, *dir, *to;
	char path[64];

	CHECK_INT(names_init(&ns), 0);
	f = names_walk(&ns, ns.root, "/a/b/f", 6, 0);
	name_file(f);
	dir = names_walk(&ns, ns.root, "a/b", 3, 0);
	to = names_walk(&ns, ns.root, "/x/y", 4, 0);
	CHECK_INT(name_move(&ns, dir, to), 0);
	CHECK_INT(name_path(f, ns.root, path, sizeof(path)), 6);
	CHECK_STR(path, "/x/y/f");
	CHECK_INT(name_path(f, dir, path, sizeof(path)), 2);
	CHECK_INT(name_path(dir, f, path, sizeof(path)), 0);
	name_put(&ns, to);
	to = names_walk(&ns, ns.root, "/x/y/f/z", 8, 0);
	CHECK_INT(name_move(&ns, dir, to), -22);
	name_put(&ns, to);
	name_put(&ns, f);
	name_put(&ns, dir);
	names_free(&ns);
}

TEST(names_of_which_nothing_is_known_leave_the_tree)
{
	struct names ns;
	struct name *n;

	CHECK_INT(names_init(&ns), 0);
	for (int i = 0; i < 1000; i++) {
		char path[32];
		int len = snprintf(path, sizeof(path), "/tmp/d%d/f", i);

		n = names_walk(&ns, ns.root, path, (size_t)len, 0);
		name_put(&ns, n);
	}
	CHECK_INT(ns.table.count, 0);
	n = names_walk(&ns, ns.root, "/tmp/f", 6, WALK_EXISTING);
	CHECK(n == NULL);
	names_free(&ns);
}

TEST(ops_leave_in_order_of_their_start)
{
	struct reorder *r = reorder_new();
	uint64_t seed = 5, last = 0;
	struct op o;
	const struct op *out;
	char text[16];
	int n = 0;

	op_clear(&o);
	for (int i = 0; i < 1000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		o.code = OP_MARK;
		o.plain = 0;
		o.time = (seed >> 33) % 5000;
		snprintf(text, sizeof(text), "%d", (int)o.time);
		o.name = (struct op_str){text, (uint32_t)strlen(text)};
		CHECK_INT(reorder_put(r, &o), 0);
	}
	while ((out = reorder_take(r, 2500))) {
		CHECK(out->time >= last && out->time < 2500);
		CHECK_INT(atoll(out->name.p), out->time);
		last = out->time;
		n++;
	}
	CHECK(n > 300 && n < 700);
	while ((out = reorder_take(r, UINT64_MAX)))
		n++;
	CHECK_INT(n, 1000);
	CHECK_INT(reorder_late(r), 0);
	reorder_free(r);
}

TEST(too_many_waiting_ops_leave_early_and_are_counted)
{
	struct reorder *r = reorder_new();
	struct op o;
	int early = 0;

	op_clear(&o);
	o.code = OP_SYNC;
	for (unsigned i = 0; i < REORDER_MAX + 10; i++) {
		o.time = 1000 + i;
		CHECK_INT(reorder_put(r, &o), 0);
		early += reorder_take(r, 0) != NULL;
	}
	CHECK_INT(early, 10);
	o.time = 1;
	CHECK_INT(reorder_put(r, &o), 0);
	CHECK_INT(reorder_take(r, 0)->time, 1);
	CHECK_INT(reorder_late(r), 1);
	reorder_free(r);
}

TEST(numbers_are_given_by_first_use)
{
	struct interner *in = interner_new();
	bool fresh;

	CHECK_INT(interner_reserve(in, 3, 10), 0);
	CHECK_INT(intern(in, "b", 1, &fresh), 1);
	CHECK(fresh);
	CHECK_INT(intern(in, "a", 1, &fresh), 2);
	CHECK_INT(intern(in, "b", 1, &fresh), 1);
	CHECK(!fresh);
	interner_clear(in);
	for (uint32_t i = 0; i < 100000; i++) {
		CHECK_INT(interner_reserve(in, 1, 0), 0);
		CHECK_INT(intern_number(in, (uint64_t)i * 7919, &fresh), i + 1);
	}
	CHECK_INT(interned_number(in, 7919), 2);
	CHECK_INT(interned_number(in, 5), 0);
	CHECK_INT(interner_key(in, 3), 2 * 7919);
	interner_free(in);
}

TEST(the_window_of_blobs_forgets_the_oldest)
{
	struct blobs *b = blobs_new(BLOBS_WRITER);
	uint8_t hash[32] = {0};
	uint32_t n;

	CHECK(blobs_room(b, BLOBS_MAX + 1) == NULL);
	for (unsigned i = 0; i < 100; i++) {
		uint8_t *room = blobs_room(b, 1000000);

		CHECK(room != NULL);
		memset(room, (int)i, 1000000);
		hash[0] = (uint8_t)i;
		blobs_add(b, hash, 1000000);
		for (unsigned k = 0; k <= i; k++) {
			const uint8_t *p;

			hash[0] = (uint8_t)k;
			p = blobs_find(b, hash, &n);
			CHECK(p || k + 15 < i);
			CHECK(!p || (p[0] == k && p[n - 1] == k));
		}
	}
	blobs_free(b);
}

static void check_lines(const char *text, size_t max, const char *want)
{
	struct instream *in;
	struct lines l;
	char got[256], *to = got, *line;
	size_t n;

	CHECK_INT(instream_memory(text, strlen(text), "t", 0, &diag, &in), 0);
	CHECK_INT(lines_init(&l, in, max), 0);
	while (lines_next(&l, &line, &n) > 0)
		to += snprintf(to, 64, "%s%s%s|", line, l.too_long ? "!" : "", l.torn ? "~" : "");
	*to = 0;
	CHECK_STR(got, want);
	lines_free(&l);
}

TEST(lines_are_cut_at_their_limit_and_torn_at_the_end)
{
	check_lines("", 10, "");
	check_lines("a\n\nb\n", 10, "a||b|");
	check_lines("a\nb", 10, "a|b~|");
	check_lines("abcdef\nx\n", 3, "abc!|x|");
	check_lines("abc\nx\n", 3, "abc|x|");
	check_lines("abcdef", 3, "abc!~|");
}

TEST(an_exec_closes_what_is_marked_and_a_copy_keeps_its_own)
{
	struct procs ps;
	struct task *a, *b;

	CHECK_INT(procs_init(&ps, NULL, NULL), 0);
	a = task_new(&ps, 1, NULL, 0);
	CHECK_INT(fd_install(&ps, a, 3, ofd_new(), true), 0);
	CHECK_INT(fd_install(&ps, a, 4, ofd_new(), false), 0);
	b = task_new(&ps, 2, a, SHARE_FILES);
	CHECK_INT(task_exec(&ps, b), 0);
	CHECK(fd_get(b, 3) == NULL && fd_get(b, 4) != NULL);
	CHECK(fd_get(a, 3) != NULL);
	CHECK_INT(fd_get(a, 4)->refs, 2);
	CHECK(fd_get(a, -1) == NULL && fd_get(a, 99999) == NULL);
	CHECK_INT(fd_install(&ps, a, FD_MAX, ofd_new(), false), 0);
	CHECK(fd_get(a, FD_MAX) == NULL);
	task_end(&ps, b);
	CHECK_INT(fd_get(a, 4)->refs, 1);
	procs_free(&ps);
}

int main(void)
{
	return tap_main();
}

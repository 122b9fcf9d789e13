// SPDX-License-Identifier: BSD-2-Clause
/* The importer of strace logs, rule by rule, with logs of a few lines. */
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/diag.h"
#include "trace/import.h"
#include "trace/stream.h"
#include "trace/wtr.h"

static struct diag diag;
static struct import_counts counts;

/* The lines of ops behind the thread number, without dur= and the lines of fork and exit. */
static char *strip(const char *text, bool with_threads)
{
	char *out = calloc(1, strlen(text) + 1), *to = out;

	while (*text) {
		const char *lf = strchr(text, '\n'), *end = lf ? lf : text + strlen(text),
			   *p = text;

		text = lf ? lf + 1 : end;
		if (*p < '0' || *p > '9' || memmem(p, (size_t)(end - p), " fork ", 6) ||
		    memmem(p, (size_t)(end - p), " exit ", 6))
			continue;
		p = strchr(p, ' ') + 1;
		if (!with_threads)
			p = strchr(p, ' ') + 1;
		while (p < end) {
			if (strncmp(p, " dur=", 5) == 0)
				for (p += 5; p < end && *p != ' '; p++)
					;
			else
				*to++ = *p++;
		}
		*to++ = '\n';
	}
	*to = 0;
	return out;
}

/* What an import writes is a trace that its own reader takes. */
static void check_readable(const void *p, size_t n)
{
	struct op_source *s;
	struct instream *in;
	const struct op *o;
	struct diag d = {0};
	int rc = instream_memory(p, n, "again", 0, &d, &in);

	if (rc == 0)
		rc = wtr_read(in, 0, &d, &s);
	if (rc == 0) {
		while ((rc = op_next(s, &o)) > 0)
			;
		CHECK(rc < 0 || op_whole(s));
		op_source_close(s);
	}
	if (rc < 0)
		TAP_FAIL("%s", d.text);
}

static char *write_text(struct op_source *s)
{
	struct outstream *out;
	struct op_sink *k;
	const void *p;
	char *text = NULL;
	size_t n;

	if (outstream_memory(&diag, &out) == 0 && wtr_write(out, &diag, &k) == 0) {
		if (op_copy(s, k) == 0) {
			p = outstream_bytes(out, &n);
			check_readable(p, n);
			text = calloc(1, n + 1);
			memcpy(text, p, n);
		}
		op_sink_close(k);
	}
	counts = *import_counts(s);
	op_source_close(s);
	return text;
}

/* The whole .wtr text of a log. */
static char *import_whole(const char *log, size_t n, unsigned flags)
{
	struct import_options opt = {.root = "/t", .cwd = "/t", .flags = flags};
	struct op_source *s;

	diag_clear(&diag);
	if (strace_import_memory(log, n, &opt, &diag, &s) < 0)
		return NULL;
	return write_text(s);
}

static void check_flags(const char *log, unsigned flags, const char *want)
{
	char *whole = import_whole(log, strlen(log), flags), *got;

	CHECK(whole != NULL);
	got = strip(whole, false);
	CHECK_STR(got, want);
	free(got);
	free(whole);
}

static void check(const char *log, const char *want)
{
	check_flags(log, 0, want);
}

/* (a) */
TEST(a_child_that_runs_before_the_fork_returns_inherits_from_its_parent)
{
	check("1 1700000000.000000 chdir(\"/t/a\") = 0\n"
	      "1 1700000000.000001 openat(AT_FDCWD, \"f\", O_WRONLY|O_CREAT, 0644) = 3\n"
	      "1 1700000000.000002 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n"
	      "2 1700000000.000003 write(3, \"\"..., 5) = 5\n"
	      "2 1700000000.000004 chdir(\"/t/b\") = 0\n"
	      "2 1700000000.000005 mkdir(\"x\", 0700) = 0\n"
	      "1 1700000000.000006 <... clone resumed>) = 2\n"
	      "1 1700000000.000007 mkdir(\"y\", 0700) = 0\n",
	      "open h1 /a/f w flags=creat mode=0644\n"
	      "write h1 0 5\n"
	      "mkdir /b/x 0700\n"
	      "mkdir /a/y 0700\n");
}

TEST(several_births_under_way_are_told_apart_by_their_returns)
{
	check("1 1700000000.000000 chdir(\"/t/one\") = 0\n"
	      "9 1700000000.000001 chdir(\"/t/nine\") = 0\n"
	      "1 1700000000.000002 vfork( <unfinished ...>\n"
	      "9 1700000000.000003 vfork( <unfinished ...>\n"
	      "20 1700000000.000004 mkdir(\"x\", 0700) = 0\n"
	      "10 1700000000.000005 mkdir(\"x\", 0700) = 0\n"
	      "1 1700000000.000006 <... vfork resumed>) = 10\n"
	      "9 1700000000.000007 <... vfork resumed>) = 20\n",
	      /* 9 is a thread of 1 as far as the log tells, so both are in /t/nine. */
	      "mkdir /nine/x 0700\n"
	      "mkdir /nine/x 0700\n");
	check("1 1700000000.000000 fork() = 9\n"
	      "1 1700000000.000000 chdir(\"/t/one\") = 0\n"
	      "9 1700000000.000001 chdir(\"/t/nine\") = 0\n"
	      "1 1700000000.000002 vfork( <unfinished ...>\n"
	      "9 1700000000.000003 vfork( <unfinished ...>\n"
	      "20 1700000000.000004 mkdir(\"x\", 0700) = 0\n"
	      "10 1700000000.000005 mkdir(\"x\", 0700) = 0\n"
	      "1 1700000000.000006 <... vfork resumed>) = 10\n"
	      "9 1700000000.000007 <... vfork resumed>) = 20\n",
	      "mkdir /nine/x 0700\n"
	      "mkdir /one/x 0700\n");
}

TEST(clone_flags_share_descriptors_and_directory)
{
	check("1 1700000000.000000 "
	      "clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD, stack=0x7f0000, "
	      "stack_size=0x7fff80} => {parent_tid=[2]}, 88) = 2\n"
	      "2 1700000000.000001 openat(AT_FDCWD, \"f\", O_RDWR) = 5\n"
	      "2 1700000000.000002 chdir(\"/t/d\") = 0\n"
	      "1 1700000000.000003 pwrite64(5, \"\"..., 10, 20) = 10\n"
	      "1 1700000000.000004 mkdir(\"m\", 0755) = 0\n"
	      "2 1700000000.000005 +++ exited with 0 +++\n"
	      "1 1700000000.000006 fsync(5) = 0\n"
	      "1 1700000000.000007 +++ exited with 0 +++\n",
	      "open h1 /f rw\n"
	      "write h1 20 10\n"
	      "mkdir /d/m 0755\n"
	      "fsync h1\n"
	      "close h1\n");
}

/* (b) */
TEST(state_follows_the_end_of_calls_and_ops_their_start)
{
	char *whole, *got;
	const char *log =
	    "1 1700000000.000000 openat(AT_FDCWD, \"f\", O_RDWR|O_CREAT|O_TRUNC, 0644) = 3\n"
	    "1 1700000000.000010 fsync(3 <unfinished ...>\n"
	    "2 1700000000.000020 pwrite64(3, \"\"..., 4, 0) = 4\n"
	    "1 1700000000.000030 <... fsync resumed>) = 0\n";

	check(log, "open h1 /f rw flags=creat,trunc mode=0644\n"
		   "fsync h1\n"
		   "write h1 0 4\n");
	whole = import_whole(log, strlen(log), 0);
	got = strstr(whole, "10000 1 fsync h1 dur=20000\n");
	CHECK(got != NULL);
	free(whole);
}

TEST(a_close_under_way_has_freed_its_number_already)
{
	check("1 1700000000.000000 openat(AT_FDCWD, \"a\", O_WRONLY|O_CREAT, 0644) = 3\n"
	      "1 1700000000.000001 close(3 <unfinished ...>\n"
	      "2 1700000000.000002 openat(AT_FDCWD, \"b\", O_WRONLY|O_CREAT, 0644) = 3\n"
	      "1 1700000000.000003 <... close resumed>) = 0\n"
	      "2 1700000000.000004 write(3, \"\"..., 7) = 7\n",
	      "open h1 /a w flags=creat mode=0644\n"
	      "close h1\n"
	      "open h2 /b w flags=creat mode=0644\n"
	      "write h2 0 7\n");
	CHECK_INT(counts.inferred_closes, 0);
}

/* (c) */
TEST(an_append_goes_to_the_size_the_file_has_then)
{
	check("1 1700000000.000000 openat(AT_FDCWD, \"log\", O_WRONLY|O_CREAT|O_TRUNC, 0644) = 3\n"
	      "1 1700000000.000001 openat(AT_FDCWD, \"log\", O_WRONLY|O_APPEND) = 4\n"
	      "1 1700000000.000002 pwrite64(3, \"\"..., 10, 90) = 10\n"
	      "1 1700000000.000003 write(4, \"\"..., 5) = 5\n"
	      "1 1700000000.000004 write(4, \"\"..., 5) = 5\n"
	      "1 1700000000.000005 ftruncate(3, 50) = 0\n"
	      "1 1700000000.000006 write(4, \"\"..., 1) = 1\n"
	      "1 1700000000.000007 fcntl(3, F_SETFL, O_WRONLY|O_APPEND) = 0\n"
	      "1 1700000000.000008 write(3, \"\"..., 1) = 1\n",
	      "open h1 /log w flags=creat,trunc mode=0644\n"
	      "open h2 /log w flags=append\n"
	      "write h1 90 10\n"
	      "write h2 100 5 append\n"
	      "write h2 105 5 append\n"
	      "ftruncate h1 50\n"
	      "write h2 50 1 append\n"
	      "write h1 51 1 append\n");
	CHECK_INT(counts.unknown_sizes, 0);
}

TEST(who_looks_at_times_is_kept)
{
	check("1 1700000000.000000 stat(\"a\", {st_mode=S_IFREG|0644, st_size=7, ...}) = 0\n"
	      "1 1700000000.000001 lstat(\"a\", {st_mode=S_IFREG|0644, st_size=7, ...}) = 0\n"
	      "1 1700000000.000002 stat(\"b\", 0x7ffc) = -1 ENOENT (No such file or directory)\n"
	      "1 1700000000.000003 stat(\"/etc/passwd\", {st_mode=S_IFREG|0644, ...}) = 0\n"
	      "1 1700000000.000004 newfstatat(AT_FDCWD, \"c\", {st_mode=S_IFREG|0644, ...}, "
	      "AT_SYMLINK_NOFOLLOW) = 0\n"
	      "1 1700000000.000005 openat(AT_FDCWD, \"d\", O_RDONLY|O_DIRECTORY) = 3\n"
	      "1 1700000000.000006 fstat(3, {st_mode=S_IFDIR|0755, ...}) = 0\n"
	      "1 1700000000.000007 newfstatat(3, \"e\", {st_mode=S_IFREG|0644, ...}, 0) = 0\n"
	      "1 1700000000.000008 statx(3, \"\", AT_EMPTY_PATH, STATX_BASIC_STATS, {...}) = 0\n"
	      "1 1700000000.000009 statx(3, \"e\", 0, STATX_TYPE|STATX_MODE, {...}) = 0\n"
	      "1 1700000000.000010 statx(3, \"e\", 0, STATX_MODE|STATX_MTIME, {...}) = 0\n",
	      "stat /a\n"
	      "stat /a nofollow\n"
	      "stat /c nofollow\n"
	      "open h1 /d r flags=directory\n"
	      "stat h1\n"
	      "stat /d/e\n"
	      "stat h1\n"
	      "stat /d/e\n");
}

TEST(an_append_to_a_file_of_unknown_size_is_counted)
{
	check("1 1700000000.000000 openat(AT_FDCWD, \"log\", O_WRONLY|O_APPEND) = 4\n"
	      "1 1700000000.000001 write(4, \"\"..., 5) = 5\n",
	      "open h1 /log w flags=append\n"
	      "write h1 0 5 append\n");
	CHECK_INT(counts.unknown_sizes, 1);
	check("1 1700000000.000000 openat(AT_FDCWD, \"log\", O_WRONLY|O_APPEND) = 4\n"
	      "1 1700000000.000001 newfstatat(4, \"\", {st_mode=S_IFREG|0644, st_size=777, ...}, "
	      "AT_EMPTY_PATH) = 0\n"
	      "1 1700000000.000002 write(4, \"\"..., 5) = 5\n",
	      "open h1 /log w flags=append\n"
	      "stat h1\n"
	      "write h1 777 5 append\n");
	CHECK_INT(counts.unknown_sizes, 0);
}

/* (d) */
TEST(lengths_are_what_calls_returned)
{
	check(
	    "1 1700000000.000000 openat(AT_FDCWD, \"a\", O_RDONLY) = 3\n"
	    "1 1700000000.000001 openat(AT_FDCWD, \"b\", O_WRONLY|O_CREAT, 0644) = 4\n"
	    "1 1700000000.000002 copy_file_range(3, NULL, 4, NULL, 9223372035781033984, 0) = 414\n"
	    "1 1700000000.000003 copy_file_range(3, NULL, 4, NULL, 9223372035781033984, 0) = 0\n"
	    "1 1700000000.000004 copy_file_range(3, [7], 4, [1000 => 1010], 50, 0) = 10\n"
	    "1 1700000000.000005 write(4, \"\"..., 100) = 60\n",
	    "open h1 /a r\n"
	    "open h2 /b w flags=creat mode=0644\n"
	    "copy h1 0 h2 0 414\n"
	    "copy h1 7 h2 1000 10\n"
	    "write h2 414 60 want=100\n");
}

/* (e) */
TEST(short_arrays_are_taken_by_their_result)
{
	check("1 1700000000.000000 openat(AT_FDCWD, \"a\", O_RDWR|O_CREAT|O_TRUNC, 0600) = 3\n"
	      "1 1700000000.000001 writev(3, [...], 2) = 1024\n"
	      "1 1700000000.000002 utimensat(3, NULL, [...], 0) = 0\n"
	      "1 1700000000.000003 writev(3, [{iov_base=\"ab\", iov_len=2}, {iov_base=\"c}, "
	      "iov_len=9\", iov_len=13}], 2) = 15\n"
	      "1 1700000000.000004 utimensat(AT_FDCWD, \"a\", [{tv_sec=5, tv_nsec=6} /* x */, "
	      "UTIME_OMIT], AT_SYMLINK_NOFOLLOW) = 0\n"
	      "1 1700000000.000005 utimensat(3, NULL, NULL, 0) = 0\n",
	      "open h1 /a rw flags=creat,trunc mode=0600\n"
	      "write h1 0 1024\n"
	      "utimens h1 ? ?\n"
	      "write h1 1024 15 segs=2,13 data=x:6162637d2c20696f765f6c656e3d39\n"
	      "utimens /a 5.000000006 omit nofollow\n"
	      "utimens h1 now now\n");
}

/* (f) */
TEST(descriptor_0_is_a_directory_like_any_other)
{
	check("1 1700000000.000000 close(0) = 0\n"
	      "1 1700000000.000001 openat(AT_FDCWD, \"/\", O_RDONLY|O_DIRECTORY) = 0\n"
	      "1 1700000000.000002 mkdirat(0, \"t\", 0755) = -1 EEXIST (File exists)\n"
	      "1 1700000000.000003 mkdirat(0, \"t//x\", 0755) = 0\n"
	      "1 1700000000.000004 mkdirat(0, \"t/./x/../y\", 0755) = 0\n",
	      "mkdir /x 0755\n"
	      "mkdir /y 0755\n");
	CHECK_INT(counts.failed, 1);
}

/* (g) */
TEST(copies_of_descriptors_share_their_place_until_the_last_is_closed)
{
	check("1 1700000000.000000 openat(AT_FDCWD, \"a\", O_WRONLY|O_CREAT|O_CLOEXEC, 0600) = 3\n"
	      "1 1700000000.000001 fcntl(3, F_DUPFD, 10) = 10\n"
	      "1 1700000000.000002 dup2(3, 7) = 7\n"
	      "1 1700000000.000003 write(10, \"\"..., 4) = 4\n"
	      "1 1700000000.000004 write(7, \"\"..., 4) = 4\n"
	      "1 1700000000.000005 close(3) = 0\n"
	      "1 1700000000.000006 fcntl(7, F_SETFD, FD_CLOEXEC) = 0\n"
	      "1 1700000000.000007 execve(\"/bin/x\", [\"x\"], 0x7ffc /* 3 vars */) = 0\n"
	      "1 1700000000.000008 write(7, \"\"..., 4) = -1 EBADF (Bad file descriptor)\n"
	      "1 1700000000.000009 lseek(10, 100, SEEK_SET) = 100\n"
	      "1 1700000000.000010 write(10, \"\"..., 4) = 4\n"
	      "1 1700000000.000011 close_range(3, 4294967295, 0) = 0\n"
	      "1 1700000000.000012 sync() = 0\n",
	      "open h1 /a w flags=creat mode=0600\n"
	      "write h1 0 4\n"
	      "write h1 4 4\n"
	      "write h1 100 4\n"
	      "close h1\n"
	      "sync\n");
}

/* (h) */
TEST(a_number_that_comes_back_was_closed_in_between)
{
	check("1 1700000000.000000 openat(AT_FDCWD, \"a\", O_WRONLY|O_CREAT, 0600) = 3\n"
	      "1 1700000000.000001 socket(AF_UNIX, SOCK_STREAM, 0) = 3\n"
	      "1 1700000000.000002 write(3, \"\"..., 4) = 4\n"
	      "1 1700000000.000003 openat(AT_FDCWD, \"b\", O_WRONLY|O_CREAT, 0600) = 4\n"
	      "1 1700000000.000004 pipe2([4, 5], O_CLOEXEC) = 0\n"
	      "1 1700000000.000005 bind(3, {sa_family=AF_UNIX, sun_path=\"/t/sock\"}, 110) = 0\n",
	      "open h1 /a w flags=creat mode=0600\n"
	      "close h1\n"
	      "open h2 /b w flags=creat mode=0600\n"
	      "close h2\n"
	      "mknod /sock 140777\n");
	CHECK_INT(counts.inferred_closes, 2);
}

/* (i) */
TEST(escapes_are_undone_in_names_decorations_and_bytes)
{
	check("1 1700000000.000000 openat(AT_FDCWD<\\x2f\\x74>, \"\\x61\\x20\\x22\", "
	      "O_WRONLY|O_CREAT, 0600) = 3<\\x2f\\x74\\x2f\\x61\\x20\\x22>\n"
	      "1 1700000000.000001 write(3<\\x2f\\x74\\x2f\\x61\\x20\\x22>, "
	      "\"q\\\"\\\\\\n\\1\\377\", "
	      "6) = 6\n"
	      "1 1700000000.000002 write(3</t/a \"\\76>, \"abc\"..., 600) = 600\n"
	      "1 1700000000.000003 write(3, \"\\0\\0\\0\\0\", 4) = 4\n"
	      "1 1700000000.000004 unlink(\"\\303\\244\\t\\\\\") = 0\n",
	      "open h1 /a%20\" w flags=creat mode=0600\n"
	      "write h1 0 6 data=x:71225c0a01ff\n"
	      "write h1 6 600\n"
	      "write h1 606 4 data=z\n"
	      "unlink /\303\244%09\\\n");
	CHECK_INT(counts.partial_data, 1);
}

TEST(addresses_of_sockets_do_not_end_a_decoration)
{
	check("1 1700000000.000000 write(5<TCP:[127.0.0.1:80->127.0.0.1:99]>, \"x\", 1) = 1\n"
	      "1 1700000000.000001 write(6<UNIX-STREAM:[12->34,\"/t/s\"]>, \"x\", 1) = 1\n"
	      "1 1700000000.000002 write(7</dev/null<char 1:3>>, \"x\", 1) = 1\n"
	      "1 1700000000.000003 fsync(8</t/d/e>) = 0 <0.000010>\n",
	      "open h1 /d/e rw\n"
	      "fsync h1\n");
	CHECK_INT(counts.inherited, 1);
	CHECK_INT(counts.cut, 0);
}

/* (j) */
TEST(renaming_a_directory_moves_what_is_below)
{
	check("1 1700000000.000000 mkdir(\"d\", 0755) = 0\n"
	      "1 1700000000.000001 openat(AT_FDCWD, \"d/f\", O_WRONLY|O_CREAT|O_APPEND, 0600) = 3\n"
	      "1 1700000000.000002 write(3, \"\"..., 9) = 9\n"
	      "1 1700000000.000003 openat(AT_FDCWD, \"d\", O_RDONLY|O_DIRECTORY) = 4\n"
	      "1 1700000000.000004 chdir(\"d\") = 0\n"
	      "1 1700000000.000005 rename(\"/t/d\", \"/t/e\") = 0\n"
	      "1 1700000000.000006 write(3, \"\"..., 1) = 1\n"
	      "1 1700000000.000007 openat(4, \"f\", O_WRONLY|O_APPEND) = 5\n"
	      "1 1700000000.000008 write(5, \"\"..., 1) = 1\n"
	      "1 1700000000.000009 unlink(\"f\") = 0\n",
	      "mkdir /d 0755\n"
	      "open h1 /d/f w flags=creat,append mode=0600 new\n"
	      "write h1 0 9 append\n"
	      "open h2 /d r flags=directory\n"
	      "rename /d /e\n"
	      "write h1 9 1 append\n"
	      "open h3 /e/f w flags=append\n"
	      "write h3 10 1 append\n"
	      "unlink /e/f\n");
}

TEST(renames_replace_exchange_and_leave_the_root)
{
	check(
	    "1 1700000000.000000 renameat2(AT_FDCWD, \"a\", AT_FDCWD, \"b\", RENAME_NOREPLACE) = "
	    "0\n"
	    "1 1700000000.000001 renameat2(AT_FDCWD, \"a\", AT_FDCWD, \"b\", RENAME_EXCHANGE) = 0\n"
	    "1 1700000000.000002 rename(\"b\", \"/u/b\") = 0\n"
	    "1 1700000000.000003 rename(\"/u/b\", \"/u/c\") = 0\n",
	    "rename /a /b noreplace\n"
	    "rename /a /b exchange\n");
	CHECK_INT(counts.crossing, 1);
	CHECK_INT(counts.outside, 1);
}

TEST(symbolic_links_lead_into_the_root_and_out)
{
	check("1 1700000000.000000 symlink(\"/t/real\", \"/t/abs\") = 0\n"
	      "1 1700000000.000001 mkdir(\"abs/x\", 0755) = 0\n"
	      "1 1700000000.000002 symlink(\"/u\", \"out\") = 0\n"
	      "1 1700000000.000003 mkdir(\"out/y\", 0755) = 0\n"
	      "1 1700000000.000004 unlink(\"abs\") = 0\n"
	      "1 1700000000.000005 symlink(\"loop\", \"loop\") = 0\n"
	      "1 1700000000.000006 openat(AT_FDCWD, \"loop\", O_RDONLY) = 3\n",
	      "symlink /t/real /abs\n"
	      "mkdir /real/x 0755\n"
	      "symlink /u /out\n"
	      "unlink /abs\n"
	      "symlink loop /loop\n");
}

/* (k) */
TEST(read_bytes_are_dropped_and_scrubbing_drops_all)
{
	const char *log = "1 1700000000.000000 openat(AT_FDCWD, \"a\", O_RDWR|O_CREAT, 0600) = 3\n"
			  "1 1700000000.000001 write(3, \"secret\", 6) = 6\n"
			  "1 1700000000.000002 pread64(3, \"secret\", 6, 0) = 6\n";

	check(log, "open h1 /a rw flags=creat mode=0600\n"
		   "write h1 0 6 data=x:736563726574\n"
		   "read h1 0 6\n");
	check_flags(log, IMPORT_SCRUB | IMPORT_NO_READS,
		    "open h1 /a rw flags=creat mode=0600\n"
		    "write h1 0 6\n");
	check_flags(log, IMPORT_CHECKSUMS | IMPORT_NO_READS,
		    "open h1 /a rw flags=creat mode=0600\n"
		    "write h1 0 6 data=c:b03c4d4d\n");
}

TEST(long_bytes_become_blobs)
{
	char log[8192], *to = log, *whole;

	to += sprintf(to, "1 1.0 openat(AT_FDCWD, \"a\", O_RDWR|O_CREAT, 0600) = 3\n"
			  "1 1.1 write(3, \"");
	for (int i = 0; i < 1000; i++)
		*to++ = (char)('a' + i % 26);
	to += sprintf(to, "\", 1000) = 1000\n");
	whole = import_whole(log, (size_t)(to - log), 0);
	CHECK(strstr(whole, "%blob ") != NULL);
	CHECK(strstr(whole, "write h1 0 1000 data=b:") != NULL);
	CHECK_INT(counts.data_bytes, 1000);
	free(whole);
}

/* (l) */
TEST(lines_without_a_call_and_cut_lines_are_survived)
{
	check("1 1700000000.000000 openat(AT_FDCWD, \"a\", O_RDWR|O_CREAT, 0600) = 3\n"
	      "1 1700000000.000001 --- SIGCHLD {si_signo=SIGCHLD} ---\n"
	      "1 1700000000.000002 write(3, \"\"..., 5) = ? ERESTARTSYS (To be restarted)\n"
	      "strace: Process 2 attached\n"
	      "1 1700000000.000003 warp_drive(9) = 0\n"
	      "1 1700000000.000004 write(3, \"\"..., 5)\n"
	      "1 1700000000.000005 exit_group(0) = ?\n"
	      "1 1700000000.000006 +++ exited with 0 +++\n"
	      "7 1700000000.000007 write(3, \"ab",
	      "open h1 /a rw flags=creat mode=0600\n"
	      "close h1\n");
	CHECK_INT(counts.unknown, 1);
	CHECK_INT(counts.failed, 1);
	CHECK_INT(counts.cut, 3);
}

TEST(halves_without_the_other_half_are_counted)
{
	check("1 1700000000.000000 <... write resumed>) = 5\n"
	      "1 1700000000.000001 openat(AT_FDCWD, \"a\", O_RDWR|O_CREAT, 0600 <unfinished ...>\n"
	      "1 1700000000.000002 mkdir(\"x\", 0755) = 0\n"
	      "1 1700000000.000003 <... openat resumed>) = 3\n"
	      "1 1700000000.000004 unlink(\"y\" <unfinished ...>\n",
	      "mkdir /x 0755\n");
	CHECK_INT(counts.unmatched, 3);
}

TEST(every_way_of_writing_the_time_is_read)
{
	const char *logs[] = {
	    "1 09:39:50.000001 sync() = 0\n1 09:39:50.000003 sync() = 0\n",
	    "[pid 1] 09:39:50.000001 sync() = 0\n[pid 1] 09:39:50.000003 sync() = 0\n",
	    "1 1796031590.000001 sync() = 0\n1 1796031590.000003 sync() = 0\n",
	    "1      0.000000 sync() = 0\n1      0.000002 sync() = 0\n",
	    "     0.000000 sync() = 0\n     0.000002 sync() = 0\n",
	    ("1 09:39:50.000001 (+ 0.000000) sync() = 0\n"
	     "1 09:39:50.000003 (+ 0.000002) sync() = 0\n"),
	    "1 23:59:59.999999 sync() = 0\n1 00:00:00.000001 sync() = 0\n",
	    "1796031590.000001000 sync() = 0\n1796031590.000003000 sync() = 0\n",
	};

	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
		char *whole = import_whole(logs[i], strlen(logs[i]), 0);

		if (!whole || !strstr(whole, "\n0 ") || !strstr(whole, "\n2000 "))
			TAP_FAIL("%s gave %s", logs[i], whole ? whole : diag.text);
		free(whole);
	}
}

TEST(shared_mappings_keep_their_file_and_place_msync)
{
	check_flags(
	    "1 1.0 openat(AT_FDCWD, \"a\", O_RDWR) = 3\n"
	    "1 1.1 mmap(NULL, 65536, PROT_READ|PROT_WRITE, MAP_SHARED, 3, 0x1000) = 0x7f0000\n"
	    "1 1.2 close(3) = 0\n"
	    "1 1.3 msync(0x7f2000, 4096, MS_SYNC) = 0\n"
	    "1 1.4 munmap(0x7f0000, 4096) = 0\n"
	    "1 1.5 munmap(0x7f1000, 61440) = 0\n",
	    IMPORT_GUESS,
	    "open h1 /a rw\n"
	    "mmap m1 h1 4096 65536 rw shared\n"
	    "mwrite h1 12288 4096 via=guess\n"
	    "msync h1 12288 4096 sync\n"
	    "munmap m1\n"
	    "close h1\n");
}

TEST(attributes_and_sizes_become_ops)
{
	check(
	    "1 1.0 openat(AT_FDCWD, \"a\", O_RDWR|O_CREAT|O_EXCL, 0600) = 3\n"
	    "1 1.1 fallocate(3, FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE, 0, 4096) = 0\n"
	    "1 1.1 fallocate(3, 0, 0, 8192) = 0\n"
	    "1 1.2 fchown(3, 5, -1) = 0\n"
	    "1 1.3 fchmodat(AT_FDCWD, \"a\", 0644) = 0\n"
	    "1 1.4 lchown(\"a\", 1, 2) = 0\n"
	    "1 1.5 setxattr(\"a\", \"user.k\", \"abc\", 3, 0) = 0\n"
	    "1 1.6 fremovexattr(3, \"user.k\") = 0\n"
	    "1 1.7 sync_file_range(3, 0, 8192, SYNC_FILE_RANGE_WAIT_BEFORE|SYNC_FILE_RANGE_WRITE) "
	    "= 0\n"
	    "1 1.8 fadvise64(3, 0, 0, POSIX_FADV_DONTNEED) = 0\n"
	    "1 1.9 ioctl(3, FS_IOC_SETFLAGS, [FS_APPEND_FL|FS_EXTENT_FL]) = 0\n"
	    "1 2.0 truncate(\"/t/a\", 7) = 0\n"
	    "1 2.1 mknod(\"p\", S_IFIFO|0644) = 0\n"
	    "1 2.2 mknodat(AT_FDCWD, \"n\", S_IFCHR|0600, makedev(0x1, 0x3)) = 0\n"
	    "1 2.3 syncfs(3) = 0\n",
	    "open h1 /a rw flags=creat,excl mode=0600 new\n"
	    "falloc h1 punch 0 4096\n"
	    "falloc h1 alloc 0 8192\n"
	    "chown h1 5 -1\n"
	    "chmod /a 0644\n"
	    "chown /a 1 2 nofollow\n"
	    "setxattr /a user.k 3 data=x:616263\n"
	    "removexattr h1 user.k\n"
	    "syncrange h1 0 8192 wb,w\n"
	    "advise h1 0 0 dontneed\n"
	    "setflags h1 =ae\n"
	    "truncate /a 7\n"
	    "mknod /p 10644\n"
	    "mknod /n 20600 1:3\n"
	    "syncfs\n");
}

static const char hostile[] =
    "1 99999999999999999999.5 openat(AT_FDCWD, \"../../../../etc/x\", O_RDWR) = 3\n"
    "1 1.0 openat(AT_FDCWD, \"a\\0b\", O_RDWR) = 4\n"
    "1 1.1 openat(AT_FDCWD, \"a\", O_RDWR) = 2147483647\n"
    "1 1.1 openat(AT_FDCWD, \"a\", O_RDWR) = 65535\n"
    "1 1.2 write(65535, \"\", 1000000000000000000) = 1000000000000000000\n"
    "1 1.2 write(65535, \"\", 1000000000000000000) = 9000000000000000000\n"
    "1 1.3 lseek(65535, 0, SEEK_END) = 9223372036854775807\n"
    "1 1.3 write(65535, \"\", 5) = 5\n"
    "1 1.4 close_range(0, 18446744073709551615, CLOSE_RANGE_UNSHARE) = 0\n"
    "1 1.5 clone(flags=CLONE_FILES) = 1\n"
    "1 1.6 clone(flags=0) = 4294967296\n"
    "1 1.7 mmap(0, 99999999999999999999, PROT_WRITE, MAP_SHARED, 5, -5) = 0xffffffffffffffff\n"
    "1 1.8 writev(3</t/a>, [{iov_base=\"x\", iov_len=-5}], 1) = 3\n"
    "1 1.9 rename(\"/t\", \"/t/a/b\") = 0\n"
    "1 2.0 rename(\"/\", \"/t/a/b\") = 0\n"
    "1 2.0 unlink(\"/\") = 0\n"
    "1 2.1 mkdir(\"/t/a/b\", 0777) = 0\n"
    "1 2.2 fcntl(3, F_DUPFD, 10) = -5\n"
    "1 2.3 dup2(3, 9) = 9\n"
    "1 2.4 utimensat(3</t/a>, NULL, [{tv_sec=99999999999999999999, tv_nsec=-1}], 0) = 0\n";

TEST(nonsense_is_survived)
{
	char *whole = import_whole(hostile, sizeof(hostile) - 1, 0);

	CHECK(whole != NULL || diag.code == -E2BIG);
	free(whole);
}

TEST(numbers_that_no_op_can_hold_are_counted)
{
	check("1 1.0 openat(AT_FDCWD, \"/t/a\", O_RDWR|O_CREAT, 0644) = 3\n"
	      "1 1.2 lseek(3, 9223372036854775807, SEEK_SET) = 9223372036854775807\n"
	      "1 1.3 write(3, \"abc\", 3) = 3\n"
	      "1 1.4 write(3, \"abc\", 3) = 3\n"
	      "1 1.5 pwrite64(3, \"\"..., 3, 0) = 9999999999999999999\n"
	      "1 1.6 ftruncate(3, -1) = 0\n"
	      "1 1.7 fallocate(3, 0, -4096, 9223372036854775807) = 0\n"
	      "99999999999999999999 1.8 fsync(3) = 0\n"
	      "[pid 4294967296] 1.9 fsync(3) = 0\n"
	      "1 2.0 fsync(3) = 0\n",
	      "open h1 /a rw flags=creat mode=0644\n"
	      "write h1 9223372036854775807 3 data=x:616263\n"
	      "fsync h1\n");
	CHECK_INT(counts.unplaced, 2);
	CHECK_INT(counts.cut, 2);
}

TEST(a_log_cut_at_any_byte_is_imported)
{
	for (size_t n = 0; n < sizeof(hostile); n++)
		free(import_whole(hostile, n, 0));
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

TEST(damaged_logs_never_crash)
{
	size_t n = sizeof(hostile) - 1;
	char *text = malloc(n);
	uint64_t seed = 1;
	double start = now();

	while (now() - start < 0.5) {
		memcpy(text, hostile, n);
		for (int hit = 0; hit < 6; hit++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			text[(seed >> 33) % n] = "\"<>(){}[],=\\0 19x-\n"[(seed >> 20) % 19];
		}
		free(import_whole(text, n, 0));
	}
	free(text);
}

/* Where the recordings are, from where this file is. */
static const char *data_path(const char *name)
{
	static char path[512];
	const char *slash = strrchr(__FILE__, '/');

	snprintf(path, sizeof(path), "%.*s/../data/traces/%s", slash ? (int)(slash - __FILE__) : 1,
		 slash ? __FILE__ : ".", name);
	return path;
}

static char *import_files(const char *const *names, unsigned n, unsigned flags)
{
	struct import_options opt = {.root = "/s", .cwd = "/s", .flags = flags};
	char *paths[4];
	struct op_source *s;
	char *text = NULL;

	for (unsigned i = 0; i < n; i++)
		paths[i] = strdup(data_path(names[i]));
	diag_clear(&diag);
	if (strace_import((const char *const *)paths, n, &opt, &diag, &s) == 0)
		text = write_text(s);
	for (unsigned i = 0; i < n; i++)
		free(paths[i]);
	return text;
}

/* Drops whole lines that hold a word, and segs= values. */
static void drop_line(char *text, const char *word)
{
	char *at;

	while ((at = strstr(text, word))) {
		char *lf = strchr(at, '\n');

		while (at > text && at[-1] != '\n')
			at--;
		memmove(at, lf + 1, strlen(lf + 1) + 1);
	}
}

TEST(all_recordings_of_one_program_agree)
{
	const char *const one[] = {"samples/strace-y.txt"};
	const char *const others[] = {"samples/strace-plain.txt", "samples/strace-r.txt",
				      "samples/strace-Xraw.txt", "samples/strace-xx.txt.zst"};
	const char *const threads[] = {"samples/strace-ff.1", "samples/strace-ff.2"};
	char *want, *got, *whole;

	if (access(data_path(one[0]), R_OK) != 0)
		SKIP("tests/data/traces is not here");
	whole = import_files(one, 1, IMPORT_SCRUB);
	want = strip(whole, false);
	free(whole);
	drop_line(want, "segs=");
	for (unsigned i = 0; i < 5; i++) {
		whole = i < 4 ? import_files(&others[i], 1, IMPORT_SCRUB)
			      : import_files(threads, 2, IMPORT_SCRUB);
		got = strip(whole, false);
		free(whole);
		/* The flavours differ in what they show of writev and whether msync is traced. */
		drop_line(got, "h1 4202 1024");
		drop_line(got, "msync");
		drop_line(got, "munmap");
		if (i == 0)
			drop_line(want, "munmap");
		/* The two threads may interleave differently: same lines, any order. */
		CHECK_INT(strlen(got), strlen(want));
		for (char *p = want; *p; p = strchr(p, '\n') + 1) {
			char line[256];

			snprintf(line, sizeof(line), "%.*s", (int)(strchr(p, '\n') + 1 - p), p);
			if (!strstr(got, line))
				TAP_FAIL("recording %u lacks %s", i, line);
		}
		free(got);
	}
	free(want);
}

int main(void)
{
	return tap_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The importer of strace logs, rule by rule, with logs of a few lines: who did it, to what. */
#include "strace_log.h"

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
	    "rename /a /b exchange\n"
	    "unlink /b\n");
	CHECK_INT(counts.crossing, 1);
	CHECK_INT(counts.outside, 1);
}

TEST(files_that_come_in_by_a_name_are_there_for_what_follows)
{
	check("1 1700000000.000000 link(\"/u/pack\", \"pack\") = 0\n"
	      "1 1700000000.000001 openat(AT_FDCWD, \"pack\", O_RDWR) = 3\n"
	      "1 1700000000.000002 close(3) = 0\n"
	      "1 1700000000.000003 rename(\"/u/other\", \"pack\") = 0\n"
	      "1 1700000000.000004 mkdir(\"/u/d\", 0700) = 0\n"
	      "1 1700000000.000005 rename(\"/u/d\", \"d\") = 0\n",
	      "mknod /pack 100644 inferred=crossing\n"
	      "open h1 /pack rw\n"
	      "close h1\n"
	      "unlink /pack\n"
	      "mknod /pack 100644 inferred=crossing\n"
	      "mkdir /d 0755 inferred=crossing\n");
	CHECK_INT(counts.crossing, 3);
}

TEST(the_folder_of_a_process_is_the_one_that_is_shown)
{
	check("1 1700000000.000000 openat(AT_FDCWD</t/a/b>, \"/u/x\", O_RDONLY) = 3</u/x>\n"
	      "1 1700000000.000001 mkdir(\"c\", 0700) = 0\n"
	      "1 1700000000.000002 chdir(\"c\") = 0\n"
	      "1 1700000000.000003 mkdir(\"d\", 0700) = 0\n"
	      "1 1700000000.000004 unlinkat(AT_FDCWD</t/a/b>, \"/u/y\", 0) = 0\n"
	      "1 1700000000.000005 rmdir(\"e\") = 0\n"
	      "1 1700000000.000006 getcwd(\"\\x2f\\x74\", 4096) = 3\n"
	      "1 1700000000.000007 rmdir(\"f\") = 0\n",
	      "mkdir /a/b/c 0700\n"
	      "mkdir /a/b/c/d 0700\n"
	      "rmdir /a/b/e\n"
	      "rmdir /f\n");
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

int main(void)
{
	return tap_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The importer of strace logs: bytes, lines that are cut or nonsense, and every way of writing
 * them. */
#include "strace_log.h"

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

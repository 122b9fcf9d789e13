// SPDX-License-Identifier: BSD-2-Clause
/* The importers of fio logs and of kernel events, and the manifest they share with strace. */
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/diag.h"
#include "readable.h"
#include "trace/import.h"
#include "trace/stream.h"
#include "trace/wtr.h"

static struct diag diag;
static struct import_counts counts;

enum what { FIO, EVENTS };

/* The items behind the header and sections, one per line. */
static char *import_text(enum what what, const char *log, size_t len, unsigned flags)
{
	struct import_options opt = {.root = "/t", .flags = flags};
	struct op_source *s;
	struct instream *in;
	struct outstream *out;
	struct op_sink *k;
	const void *p;
	char *text = NULL, *at;
	size_t n;

	diag_clear(&diag);
	if (instream_memory(log, len, "t", 0, &diag, &in) < 0 ||
	    (what == FIO ? fio_import(in, &opt, &diag, &s) : events_import(in, &opt, &diag, &s)) <
		0)
		return NULL;
	if (outstream_memory(&diag, &out) == 0 && wtr_write(out, &diag, &k) == 0) {
		if (op_copy(s, k) == 0) {
			p = outstream_bytes(out, &n);
			check_readable(p, n);
			at = memmem(p, n, "%ops\n", 5);
			text = at ? strndup(at + 5, n - (size_t)(at + 5 - (const char *)p))
				  : strdup("");
			at = strstr(text, "%end");
			if (at)
				*at = 0;
		}
		op_sink_close(k);
	}
	counts = *import_counts(s);
	op_source_close(s);
	return text;
}

static void check(enum what what, const char *log, unsigned flags, const char *want)
{
	char *got = import_text(what, log, strlen(log), flags);

	CHECK(got != NULL);
	CHECK_STR(got, want);
	free(got);
}

TEST(fio_version_3_has_times_and_torn_lines)
{
	check(FIO,
	      "fio version 3 iolog\n"
	      "4 /t/rand add\n"
	      "597 /t/rand open\n"
	      "602 /t/rand write 1064960 4096\n"
	      "603 /t/rand wri604 /t/rand write 1 2\n"
	      "605 /u/other write 0 1\n"
	      "606 rel write 0 512\n"
	      "607 /t/rand sync 3960832 0\n"
	      "608 /t/rand warp 1 2\n"
	      "609 /t/rand close\n"
	      "610 /t/ra",
	      0,
	      "597000 1 open h1 /rand rw flags=creat\n"
	      "602000 1 write h1 1064960 4096\n"
	      "606000 1 open h2 /rel rw flags=creat\n"
	      "606000 1 write h2 0 512\n"
	      "607000 1 fsync h1\n"
	      "609000 1 close h1\n");
	CHECK_INT(counts.cut, 2);
	CHECK_INT(counts.outside, 1);
	CHECK_INT(counts.unknown, 1);
}

TEST(fio_version_2_waits_until_a_time_or_for_a_time)
{
	const char *log = "fio version 2 iolog\n"
			  "/t/a add\n"
			  "/t/a open\n"
			  "/t/a wait 1000 0\n"
			  "/t/a write 0 4096\n"
			  "/t/a wait 1500 0\n"
			  "/t/a trim 0 4096\n"
			  "/t/a datasync 0 0\n";

	check(FIO, log, 0,
	      "0 1 open h1 /a rw flags=creat\n"
	      "1000000 1 write h1 0 4096\n"
	      "1500000 1 falloc h1 punch 0 4096\n"
	      "1500000 1 fdatasync h1\n");
	check(FIO, log, IMPORT_WAIT_RELATIVE,
	      "0 1 open h1 /a rw flags=creat\n"
	      "1000000 1 write h1 0 4096\n"
	      "2500000 1 falloc h1 punch 0 4096\n"
	      "2500000 1 fdatasync h1\n");
}

TEST(another_version_of_fio_is_refused)
{
	CHECK(import_text(FIO, "fio version 9 iolog\n", 20, 0) == NULL);
	CHECK_STR(diag.text, "t:1:1: expected \"fio version 2 iolog\" or 3");
}

TEST(one_event_in_three_spellings_is_one_event)
{
	const char *const logs[] = {
	    "a b-c-3032  [001] 100.000001: ext4_da_write_begin:  dev 7,1 ino 13 pos 0 len 96\n"
	    "a b-c-3032  [001] 100.000002: ext4_da_write_end:  dev 7,1 ino 13 pos 0 len 96 copied "
	    "96\n",
	    "a b 3032 [000]  100.000001:    ext4:ext4_da_write_begin: dev 7,1 ino 13 pos 0 len 96\n"
	    "a b 3032 [000]  100.000002:    ext4:ext4_da_write_end: dev 7,1 ino 13 pos 0 len 96 "
	    "copied 96\n",
	    "  dd-3032  [001] ..... 100.000001: ext4_da_write_begin: dev 7,1 ino 13 pos 0 len 96\n"
	    "  dd-3032  [001] ..... 100.000002: ext4_da_write_end: dev 7,1 ino 13 pos 0 len 96 "
	    "copied 96\n",
	    ("python3-3032 100.000001 ext4_da_write_begin: dev 7,1 ino 13 pos 0 len 96\n"
	     "python3-3032 100.000002 ext4_da_write_end: dev 7,1 ino 13 pos 0 len 96 copied 96\n"),
	};

	for (unsigned i = 0; i < 4; i++)
		check(EVENTS, logs[i], 0,
		      "0 3032 open h1 /i13 rw flags=creat\n"
		      "0 3032 write h1 0 96\n");
}

TEST(the_pieces_of_a_write_add_up)
{
	check(
	    EVENTS,
	    "x-9 [000] 1.000001: ext4_da_write_begin: dev 7,1 ino 13 pos 20000 len 5000\n"
	    "x-9 [000] 1.000002: ext4_da_write_end: dev 7,1 ino 13 pos 20000 len 480 copied 480\n"
	    "x-9 [000] 1.000003: writeback_dirty_folio: bdi 7:1: ino=13 index=4\n"
	    "x-9 [000] 1.000004: ext4_da_write_begin: dev 7,1 ino 13 pos 20480 len 4520\n"
	    "x-9 [000] 1.000005: ext4_da_write_end: dev 7,1 ino 13 pos 20480 len 4096 copied 4096\n"
	    "x-9 [000] 1.000006: ext4_da_write_begin: dev 7,1 ino 13 pos 24576 len 424\n"
	    "x-9 [000] 1.000007: ext4_da_write_end: dev 7,1 ino 13 pos 24576 len 424 copied 424\n"
	    "x-9 [000] 1.000008: ext4_da_write_begin: dev 7,1 ino 13 pos 25000 len 100\n"
	    "x-9 [000] 1.000009: ext4_da_write_end: dev 7,1 ino 13 pos 25000 len 100 copied 100\n",
	    0,
	    "0 9 open h1 /i13 rw flags=creat\n"
	    "0 9 write h1 20000 5000\n"
	    "7000 9 write h1 25000 100\n");
}

TEST(pages_dirty_without_a_write_are_stores)
{
	check(
	    EVENTS,
	    "x-9 [000] 1.000001: ext4_allocate_inode: dev 7,1 ino 13 dir 2 mode 0100644\n"
	    "x-9 [000] 1.000002: writeback_dirty_folio: bdi 7:1: ino=13 index=5\n"
	    "x-9 [000] 1.000003: writeback_dirty_folio: bdi 7:9: ino=13 index=6\n"
	    "kworker/u2-8 [000] 1.000004: writeback_dirty_folio: bdi 7:1: ino=13 index=7\n"
	    "x-9 [000] 1.000005: writeback_dirty_folio: bdi 7:1: ino=18446744073709551615 index=8\n"
	    "x-9 [000] 1.000006: ext4_truncate_enter: dev 7,1 ino 13 blocks 8\n"
	    "x-9 [000] 1.000007: writeback_dirty_folio: bdi 7:1: ino=13 index=1\n",
	    0,
	    "0 9 open h1 /i13 rw flags=creat,excl mode=0644 new\n"
	    "1000 9 mwrite h1 20480 4096 via=fault\n");
}

TEST(lost_events_become_gaps)
{
	check(EVENTS,
	      "# entries-in-buffer/entries-written: 90/100   #P:2\n"
	      "CPU:1 [LOST 7 EVENTS]\n"
	      "x-9 [000] 1.000001: ext4_sync_fs: dev 7,1 wait 1\n",
	      0,
	      "0 - gap lost=10\n"
	      "0 - gap lost=7\n"
	      "0 9 syncfs\n");
	CHECK_INT(counts.lost, 17);
}

TEST(observed_lines_keep_what_a_replay_needs)
{
	check(
	    EVENTS,
	    "x-9 [000] 1.000001: ext4_writepages: dev 7,1 ino 13 nr_to_write 9223372036854775807 "
	    "pages_skipped 0 range_start 0 range_end 9223372036854775807 sync_mode 1 for_kupdate 0 "
	    "range_cyclic 0 writeback_index 0\n"
	    "x-9 [000] 1.000002: block_bio_queue: 7,1 FWS 33064 + 8 [x]\n"
	    "x-9 [000] 1.000003: jbd2_start_commit: dev 7,1 transaction 9 sync 0\n",
	    IMPORT_EVENTS_ONLY,
	    "0 9 ~ writepages ino=13 start=0 end=max nr=max sync=1 kupdate=0 cyclic=0 index=0\n"
	    "1000 9 ~ bio rwbs=FWS sector=33064 n=8\n"
	    "2000 9 ~ commit tid=9 sync=0\n");
}

TEST(an_unlinked_inode_is_closed_when_the_kernel_lets_go)
{
	check(EVENTS,
	      "x-9 [000] 1.000001: ext4_allocate_inode: dev 7,1 ino 13 dir 2 mode 0100600\n"
	      "x-9 [000] 1.000002: ext4_unlink_enter: dev 7,1 ino 13 size 5 parent 2\n"
	      "x-9 [000] 1.000003: ext4_evict_inode: dev 7,1 ino 13 nlink 0\n"
	      "x-9 [000] 1.000004: ext4_begin_ordered_truncate: dev 7,1 ino 13 new_size 0\n"
	      "x-9 [000] 1.000005: ext4_allocate_inode: dev 7,1 ino 13 dir 2 mode 0100644\n"
	      "x-9 [000] 1.000006: ext4_fallocate_enter: dev 7,1 ino 13 offset 0 len 4096 mode "
	      "KEEP_SIZE\n",
	      0,
	      "0 9 open h1 /i13 rw flags=creat,excl mode=0600 new\n"
	      "1000 9 unlink /i13\n"
	      "2000 9 close h1\n"
	      "4000 9 open h2 /i13 rw flags=creat,excl mode=0644 new\n"
	      "5000 9 falloc h2 keep 0 4096\n");
}

TEST(folders_are_opened_as_folders_and_the_root_has_its_name)
{
	check(EVENTS,
	      "x-9 [000] 1.000001: ext4_allocate_inode: dev 7,1 ino 13 dir 2 mode 040755\n"
	      "x-9 [000] 1.000002: ext4_sync_file_enter: dev 7,1 ino 13 parent 2 datasync 0 \n"
	      "x-9 [000] 1.000003: ext4_sync_file_enter: dev 7,1 ino 2 parent 2 datasync 1 \n"
	      "x-9 [000] 1.000004: ext4_sync_file_enter: dev 7,1 ino 14 parent 2 datasync 1 \n",
	      0,
	      "0 9 mkdir /i13 0755\n"
	      "1000 9 open h1 /i13 r flags=directory\n"
	      "1000 9 fsync h1\n"
	      "2000 9 open h2 / r flags=directory\n"
	      "2000 9 fdatasync h2\n"
	      "3000 9 open h3 /i14 rw flags=creat\n"
	      "3000 9 fdatasync h3\n");
}

TEST(an_inode_that_dies_without_an_unlink_has_lost_its_name)
{
	check(EVENTS,
	      "x-9 [000] 1.000001: ext4_allocate_inode: dev 7,1 ino 13 dir 2 mode 0100600\n"
	      "x-9 [000] 1.000002: ext4_evict_inode: dev 7,1 ino 13 nlink 1\n"
	      "x-9 [000] 1.000003: ext4_evict_inode: dev 7,1 ino 13 nlink 0\n"
	      "x-9 [000] 1.000004: ext4_free_inode: dev 7,1 ino 13 mode 0100600 uid 0 gid 0 blocks "
	      "0\n"
	      "x-9 [000] 1.000005: ext4_allocate_inode: dev 7,1 ino 13 dir 2 mode 040755\n"
	      "x-9 [000] 1.000006: ext4_allocate_inode: dev 7,1 ino 13 dir 2 mode 0100644\n",
	      0,
	      "0 9 open h1 /i13 rw flags=creat,excl mode=0600 new\n"
	      "2000 9 unlink /i13\n"
	      "2000 9 close h1\n"
	      "4000 9 mkdir /i13 0755\n"
	      "5000 9 rmdir /i13\n"
	      "5000 9 open h2 /i13 rw flags=creat,excl mode=0644 new\n");
}

TEST(nonsense_events_and_logs_are_survived)
{
	static const char log[] =
	    "fio version 3 iolog\n"
	    "99999999999999999999 /t/x write 1 2\n"
	    "5 /t/x write 99999999999999999999 1\n"
	    "x-9 [000] 99999999999.000001: ext4_da_write_begin: dev 7,1 ino 13 pos -1 len -1\n"
	    "x-9 [000] 1.000002: ext4_da_write_end: dev 7,1 ino 0x copied 9223372036854775807 pos "
	    "1\n"
	    "x-9 [000] 1.000002: ext4_da_write_end:\n"
	    "x-9 [000] 1.000003: writeback_dirty_folio: bdi 7:1: ino=13 index=9223372036854775807\n"
	    "x-9 [000] 1.000002: block_bio_queue: 7,1\n"
	    "- [ 1.1: :\n"
	    "x-9 [000] 1.000004: ext4_fallocate_enter: dev 7,1 ino 1 offset 9999999999999999999 "
	    "len 1\n";
	size_t n = sizeof(log) - 1;
	char *text = malloc(n);
	uint64_t seed = 3;

	for (size_t cut = 0; cut <= n; cut++) {
		free(import_text(FIO, log, cut, 0));
		free(import_text(EVENTS, log, cut, IMPORT_OBSERVED));
	}
	for (int round = 0; round < 2000; round++) {
		memcpy(text, log, n);
		for (int hit = 0; hit < 5; hit++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			text[20 + (seed >> 33) % (n - 20)] = " :.,-[]09x=+\n"[(seed >> 20) % 13];
		}
		free(import_text(FIO, text, n, 0));
		free(import_text(EVENTS, text, n, IMPORT_OBSERVED));
	}
	free(text);
}

/* Writes text to a new file; the caller frees the name and unlinks. */
static char *temp_file(const char *text)
{
	char *name = strdup("/tmp/extkit-manifest-XXXXXX");
	int fd = mkstemp(name);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		TAP_FAIL("cannot write %s", name);
	close(fd);
	return name;
}

TEST(a_manifest_gives_sizes_kinds_and_extents)
{
	char *initial =
	    temp_file("path\ttype\tmode\tuid\tgid\tnlink\tsize\tblocks512\tino\tx\textents\n"
		      "/t/d\td\t0755\t0\t0\t2\t4096\t8\t11\t-\t0\n"
		      "/t/d/log\tf\t0644\t1\t2\t1\t5000\t16\t12\t-\t2\n"
		      "/t/cur\tl\t0777\t0\t0\t1\t5\t0\t13\td/log\t0\n"
		      "/u/other\tf\t0644\t1\t2\t1\t9\t8\t14\t-\t1\n");
	char *extents = temp_file("path\tlogical_block\tlength_blocks\tphysical_block\tflags\n"
				  "/t/d/log\t0\t1\t100\t-\n"
				  "/t/d/log\t1\t1\t300\tlast\n");
	struct import_options opt = {.root = "/t", .initial = initial, .extents = extents};
	const char *log = "1 1.0 openat(AT_FDCWD, \"/t/cur\", O_WRONLY|O_APPEND) = 3\n"
			  "1 1.1 write(3, \"\"..., 7) = 7\n"
			  "1 1.2 openat(AT_FDCWD, \"/t/d/new\", O_WRONLY|O_CREAT, 0600) = 4\n"
			  "1 1.3 chmod(\"/t/sock\", 0777) = 0\n";
	struct outstream *out;
	struct op_source *s;
	struct op_sink *k;
	const char *p;
	size_t n;

	diag_clear(&diag);
	CHECK_INT(strace_import_memory(log, strlen(log), &opt, &diag, &s), 0);
	CHECK_INT(outstream_memory(&diag, &out), 0);
	CHECK_INT(wtr_write(out, &diag, &k), 0);
	CHECK_INT(op_copy(s, k), 0);
	p = outstream_bytes(out, &n);
	CHECK(memmem(p, n, "%init manifest\nd 0755 0:0 /d ino=11\n", 36) != NULL);
	CHECK(memmem(p, n, "f 0644 1:2 5000 /d/log ino=12 extents=0:100:1,1:300:1\n", 54) != NULL);
	CHECK(memmem(p, n, "l 0777 0:0 /cur target=d/log ino=13\n", 36) != NULL);
	CHECK(memmem(p, n, "other", 5) == NULL);
	CHECK(memmem(p, n, "open h1 /d/log w flags=append\n", 30) != NULL);
	CHECK(memmem(p, n, "write h1 5000 7 append\n", 23) != NULL);
	CHECK(memmem(p, n, "open h2 /d/new w flags=creat mode=0600 new\n", 43) != NULL);
	CHECK(memmem(p, n, "mknod /sock 140777 inferred=bind\n", 33) != NULL);
	op_sink_close(k);
	op_source_close(s);
	unlink(initial);
	unlink(extents);
	free(initial);
	free(extents);
}

int main(void)
{
	return tap_main();
}

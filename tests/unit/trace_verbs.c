// SPDX-License-Identifier: BSD-2-Clause
/* The public verbs on traces, from file to file. */
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "extkit/ctx.h"
#include "extkit/trace.h"

static char dir[64];

static const char *in_dir(const char *name)
{
	static char path[4][128];
	static unsigned n;

	if (!dir[0]) {
		strcpy(dir, "/tmp/extkit-verbs-XXXXXX");
		if (!mkdtemp(dir))
			TAP_FAIL("cannot make %s", dir);
	}
	n = (n + 1) % 4;
	snprintf(path[n], sizeof(path[n]), "%s/%s", dir, name);
	return path[n];
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "w");

	CHECK(f != NULL);
	fputs(text, f);
	fclose(f);
}

static const char *get(const char *name)
{
	static char text[65536];
	FILE *f = fopen(in_dir(name), "r");
	size_t n;

	CHECK(f != NULL);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	fclose(f);
	return text;
}

/* The text between %ops and %end. */
static const char *ops(const char *name)
{
	char *text = (char *)(uintptr_t)get(name), *from = strstr(text, "%ops\n"), *end;

	if (!from)
		return "";
	end = strstr(from, "%end");
	if (end)
		*end = 0;
	return from + 5;
}

static uint64_t count_of(const struct ek_trace_report *r, const char *group, const char *name)
{
	const struct ek_trace_row *row;

	for (size_t i = 0; (row = ek_trace_report_row(r, i)); i++)
		if (strcmp(row->group, group) == 0 && strcmp(row->name, name) == 0)
			return row->count;
	return UINT64_MAX;
}

static const char trace[] = "#wtrace 1\n"
			    "#unit ns\n"
			    "%init manifest\n"
			    "d 0755 0:0 /d\n"
			    "%ops\n"
			    "1000 7 open h20 /d/a w flags=creat,trunc mode=0600 new\n"
			    "2000 7 write h20 0 100 data=x:616263\n"
			    "3000 7 open h30 /d/b rw flags=creat mode=0644 new\n"
			    "4000 7 mmap m5 h30 0 4096 rw shared\n"
			    "5000 8 rename /d /e\n"
			    "6000 8 unlink /e/b\n"
			    "7000 8 write h20 100 100 dur=50\n"
			    "8000 7 write h30 0 10\n"
			    "9000 7 close h20\n"
			    "9500 7 read h30 0 10\n"
			    "%expect\n"
			    "= counter x 1\n";

static struct ek_ctx *ctx;
static struct ek_trace_options opt;

static void set_up(void)
{
	if (!ctx)
		CHECK_INT(ek_ctx_new(&ctx), 0);
	opt = (struct ek_trace_options){.size = sizeof(opt)};
	put("a.wtr", trace);
}

TEST(a_conversion_there_and_back_loses_nothing)
{
	set_up();
	CHECK_INT(ek_trace_convert(ctx, in_dir("a.wtr"), in_dir("a.wtb"), &opt, NULL), 0);
	CHECK_INT(ek_trace_convert(ctx, in_dir("a.wtb"), in_dir("b.wtr.zst"), &opt, NULL), 0);
	CHECK_INT(ek_trace_convert(ctx, in_dir("b.wtr.zst"), in_dir("c.wtr"), NULL, NULL), 0);
	CHECK_STR(get("c.wtr"), trace);
	CHECK_INT(access(in_dir("c.wtr.part"), F_OK), -1);
}

TEST(a_cut_opens_what_is_open_where_it_begins)
{
	set_up();
	opt.from_ns = 7000;
	opt.to_ns = 9000;
	CHECK_INT(ek_trace_cut(ctx, in_dir("a.wtr"), in_dir("c.wtr"), &opt, NULL), 0);
	CHECK_STR(ops("c.wtr"), "7000 7 open h20 /e/a w\n"
				"7000 7 open h30 /e rw flags=tmpfile mode=0644\n"
				"7000 7 mmap m5 h30 0 4096 rw shared\n"
				"7000 8 write h20 100 100 dur=50\n"
				"8000 7 write h30 0 10\n");
	CHECK(strstr(get("c.wtr"), "%init") == NULL);
	CHECK(strstr(get("c.wtr"), "%expect") == NULL);
	opt.from_ns = opt.to_ns = 0;
	opt.first = 6;
	opt.last = 7;
	opt.flags = EK_TRACE_REBASE;
	CHECK_INT(ek_trace_cut(ctx, in_dir("a.wtr"), in_dir("c.wtr"), &opt, NULL), 0);
	CHECK(strstr(ops("c.wtr"), "0 8 write h20 100 100 dur=50\n") != NULL);
}

TEST(a_cut_of_everything_is_the_trace)
{
	set_up();
	CHECK_INT(ek_trace_cut(ctx, in_dir("a.wtr"), in_dir("c.wtr"), &opt, NULL), 0);
	CHECK_STR(get("c.wtr"), trace);
}

TEST(normalizing_numbers_by_first_use)
{
	set_up();
	opt.flags = EK_TRACE_NO_TIMES | EK_TRACE_NO_READS;
	CHECK_INT(ek_trace_normalize(ctx, in_dir("a.wtr"), in_dir("n.wtr"), &opt, NULL), 0);
	CHECK(strstr(get("n.wtr"), "0 1 open h1 /d/a w") != NULL);
	CHECK(strstr(get("n.wtr"), "0 1 mmap m1 h2 0 4096 rw shared\n0 2 rename /d /e\n") != NULL);
	CHECK(strstr(get("n.wtr"), "0 2 write h1 100 100\n") != NULL);
	CHECK(strstr(get("n.wtr"), "read") == NULL);
}

TEST(normalizing_sorts_what_is_not_in_order)
{
	set_up();
	put("u.wtr", "#wtrace 1\n%ops\n30 1 sync\n10 2 mark a\n10 1 mark b\n");
	opt.flags = EK_TRACE_SORT;
	CHECK_INT(ek_trace_normalize(ctx, in_dir("u.wtr"), in_dir("n.wtr"), &opt, NULL), 0);
	CHECK_STR(ops("n.wtr"), "0 1 mark b\n0 2 mark a\n20 1 sync\n");
}

TEST(stat_counts_ops_bytes_threads_and_handles)
{
	struct ek_trace_report *r;

	set_up();
	CHECK_INT(ek_trace_stat(ctx, in_dir("a.wtr"), &opt, &r), 0);
	CHECK_INT(count_of(r, "trace", "ops"), 10);
	CHECK_INT(count_of(r, "trace", "threads"), 2);
	CHECK_INT(count_of(r, "trace", "handles"), 2);
	CHECK_INT(count_of(r, "trace", "open at once"), 2);
	CHECK_INT(count_of(r, "trace", "left open"), 1);
	CHECK_INT(count_of(r, "trace", "whole"), 0);
	CHECK_INT(count_of(r, "op", "write"), 3);
	CHECK_INT(count_of(r, "thread", "7"), 7);
	CHECK_INT(count_of(r, "op", "fsync"), UINT64_MAX);
	ek_trace_report_free(r);
}

TEST(scrubbing_drops_recorded_bytes)
{
	set_up();
	opt.flags = EK_TRACE_SCRUB;
	CHECK_INT(ek_trace_convert(ctx, in_dir("a.wtr"), in_dir("s.wtr"), &opt, NULL), 0);
	CHECK(strstr(get("s.wtr"), "data=") == NULL);
	opt.flags = EK_TRACE_CHECKSUMS;
	CHECK_INT(ek_trace_convert(ctx, in_dir("a.wtr"), in_dir("s.wtr"), &opt, NULL), 0);
	CHECK(strstr(get("s.wtr"), "data=c:364b3fb7") != NULL);
}

TEST(export_writes_what_fio_reads)
{
	struct ek_trace_report *r;

	set_up();
	opt.output = EK_TRACE_FIO;
	CHECK_INT(ek_trace_convert(ctx, in_dir("a.wtr"), in_dir("a.iolog"), &opt, &r), 0);
	CHECK_STR(get("a.iolog"), "fio version 3 iolog\n"
				  "1 /d/a add\n"
				  "1 /d/a open\n"
				  "2 /d/a write 0 100\n"
				  "3 /d/b add\n"
				  "3 /d/b open\n"
				  "7 /d/a write 100 100\n"
				  "8 /d/b write 0 10\n"
				  "9 /d/a close\n"
				  "9 /d/b read 0 10\n");
	CHECK_INT(count_of(r, "trace", "ops left out"), 3);
	ek_trace_report_free(r);
	put("s.wtr", "#wtrace 1\n%ops\n1 1 open h1 /a%20b w\n");
	CHECK_INT(ek_trace_convert(ctx, in_dir("s.wtr"), in_dir("s.iolog"), &opt, NULL), -EINVAL);
	CHECK_INT(access(in_dir("s.iolog"), F_OK), -1);
	CHECK_INT(access(in_dir("s.iolog.part"), F_OK), -1);
}

TEST(import_finds_the_kind_of_log_itself)
{
	const char *const logs[][2] = {
	    {"l1", "1 1700000000.000000 mkdir(\"/t/x\", 0755) = 0\n"},
	    {"l2", "fio version 3 iolog\n5 /t/x open\n"},
	    {"l3", "# tracer: nop\nx-1 [000] ..... 5.000001: ext4_sync_fs: dev 7,1 wait 1\n"},
	    {"l4", "strace: Process 1 attached\n[pid 1] 10:00:00 mkdir(\"/t/x\", 0755) = 0\n"},
	};
	struct ek_trace_report *r;

	set_up();
	opt.root = "/t";
	for (unsigned i = 0; i < 4; i++) {
		const char *path;

		put(logs[i][0], logs[i][1]);
		path = in_dir(logs[i][0]);
		CHECK_INT(ek_trace_import(ctx, &path, 1, in_dir("i.wtr"), &opt, &r), 0);
		CHECK_INT(count_of(r, "import", "ops"), 1);
		ek_trace_report_free(r);
		CHECK_INT(ek_trace_stat(ctx, in_dir("i.wtr"), NULL, &r), 0);
		CHECK_INT(count_of(r, "trace", "whole"), 1);
		ek_trace_report_free(r);
	}
	put("l5", "nothing that is known\n");
	CHECK_INT(ek_trace_stat(ctx, in_dir("l5"), NULL, &r), -EINVAL);
	CHECK(strstr(ek_ctx_message(ctx), "neither a trace nor a log") != NULL);
}

TEST(repair_keeps_what_can_be_read_even_in_place)
{
	struct ek_trace_report *r;
	char line[64];
	FILE *f;

	set_up();
	f = fopen(in_dir("big.wtr"), "w");
	fputs("#wtrace 1\n%ops\n1 1 open h1 /a w\n", f);
	for (int i = 0; i < 200000; i++) {
		snprintf(line, sizeof(line), "%d 1 write h1 %d %d\n", i * 1000 + i % 7, i * 911,
			 1 + i % 999);
		fputs(line, f);
	}
	fclose(f);
	CHECK_INT(ek_trace_convert(ctx, in_dir("big.wtr"), in_dir("big.wtb"), &opt, NULL), 0);
	CHECK_INT(truncate(in_dir("big.wtb"), 600000), 0);
	CHECK_INT(ek_trace_repair(ctx, in_dir("big.wtb"), in_dir("big.wtb"), &opt, &r), 0);
	CHECK(count_of(r, "repair", "kept") > 50000);
	CHECK_INT(count_of(r, "trace", "whole"), 0);
	ek_trace_report_free(r);
	CHECK_INT(ek_trace_stat(ctx, in_dir("big.wtb"), NULL, &r), 0);
	CHECK(count_of(r, "op", "write") > 50000);
	ek_trace_report_free(r);
	put("bad.wtr", "#wtrace 1\n%ops\n1 1 sync\n2 1 wrong\n3 1 sync\n");
	CHECK_INT(ek_trace_repair(ctx, in_dir("bad.wtr"), in_dir("good.wtr"), &opt, &r), 0);
	CHECK_INT(count_of(r, "repair", "kept"), 1);
	CHECK_INT(ek_ctx_code(ctx), 0);
	ek_trace_report_free(r);
}

TEST(a_failure_leaves_the_old_output)
{
	set_up();
	put("old.wtr", "old");
	put("bad.wtr", "#wtrace 1\n%ops\n1 1 sync\n2 1 wrong\n");
	CHECK_INT(ek_trace_convert(ctx, in_dir("bad.wtr"), in_dir("old.wtr"), &opt, NULL), -EINVAL);
	CHECK_STR(get("old.wtr"), "old");
	CHECK(strstr(ek_ctx_message(ctx), "bad.wtr:4:5: unknown op") != NULL);
	CHECK_INT(ek_trace_convert(ctx, in_dir("none"), in_dir("old.wtr"), &opt, NULL), -ENOENT);
	opt.size = 1;
	CHECK_INT(ek_trace_convert(ctx, in_dir("a.wtr"), in_dir("old.wtr"), &opt, NULL), -EINVAL);
}

static void clean_up(void)
{
	char command[128];

	if (!dir[0])
		return;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command) != 0)
		printf("# could not remove %s\n", dir);
}

int main(void)
{
	int rc = tap_main();

	clean_up();
	ek_ctx_free(ctx);
	return rc;
}

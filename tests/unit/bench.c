// SPDX-License-Identifier: BSD-2-Clause
/* Loads of the studies on images of our own: what the kernel was seen to count for them. */
#include "tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ctx.h"
#include "trace/bench.h"

static struct ek_ctx *ctx;

static int load_beside(const char *spec, uint64_t background, struct bench_result *ret)
{
	struct ek_replay_options opt = {.size = sizeof(opt), .memory = (uint64_t)192 << 20};
	struct bench_cell cell = {.image_bytes = (uint64_t)1 << 30, .in_memory = true};
	struct bench_scratch s = {.made = false};
	int rc = bench_scratch_make(ctx, &cell, &s);

	opt.background_bytes = background != 0 ? background : opt.memory;
	opt.dirty_bytes = opt.memory;
	if (rc == 0)
		rc = bench_load(ctx, spec, s.path, &opt, background != 0, false, ret);
	bench_scratch_drop(&s);
	if (rc < 0)
		printf("# %s\n", ek_ctx_message(ctx));
	return rc;
}

static int load(const char *spec, struct bench_result *ret)
{
	return load_beside(spec, 0, ret);
}

/* Writes, reserved blocks, folios and extents as 6.18 counted them on a fresh filesystem.  The last
 * file is asked for twice: a window of 4 MiB is the most that its size allows. */
TEST(loads_count_what_the_kernel_counted_for_them)
{
	static const struct {
		const char *spec;
		uint64_t begins, reserves, folios, extents;
	} rows[] = {
	    {"dd:bs=8K,count=8192,end=sync", 8192, 16384, 8192, 8},
	    {"appenders:procs=1,size=64M,end=sync", 16384, 16384, 16384, 8},
	    {"fstime:buffer=256,blocks=500,end=sync", 40000, 125, 125, 1},
	    {"fstime:buffer=1024,blocks=2000,end=sync", 40000, 500, 500, 1},
	    {"fstime:buffer=4096,blocks=8000,end=sync", 40000, 2000, 2000, 2},
	};
	struct bench_result r;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK_INT(load(rows[i].spec, &r), 0);
		CHECK_INT(r.calls, rows[i].begins);
		CHECK_INT(r.calls_c.v[COUNTER_DA_WRITE_BEGIN], rows[i].begins);
		CHECK_INT(r.calls_c.v[COUNTER_DA_RESERVE_SPACE], rows[i].reserves);
		CHECK_INT(r.calls_c.v[COUNTER_FOLIOS_ADDED], rows[i].folios);
		CHECK_INT(r.calls_c.v[COUNTER_DA_WRITE_PAGES_EXTENT], 0);
		CHECK_INT(r.whole_c.v[COUNTER_DA_WRITE_PAGES_EXTENT], rows[i].extents);
	}
}

TEST(what_prepares_a_load_is_not_counted)
{
	struct bench_result r;

	CHECK_INT(load("folio:mode=read,from=disk,size=8M,bs=64K", &r), 0);
	CHECK_INT(r.calls, 128);
	CHECK_INT(r.bytes, 8 << 20);
	CHECK_INT(r.calls_c.v[COUNTER_DA_WRITE_BEGIN], 0);
	CHECK(r.calls_c.v[COUNTER_FOLIOS_ADDED] != 0); /* they were dropped before */
	CHECK_INT(load("folio:mode=read,from=memory,size=8M,bs=64K", &r), 0);
	CHECK_INT(r.calls_c.v[COUNTER_FOLIOS_ADDED], 0);
	CHECK_INT(load("folio:overwrite=yes,size=8M,bs=64K", &r), 0);
	CHECK_INT(r.calls_c.v[COUNTER_DA_RESERVE_SPACE], 0);
}

TEST(a_flusher_beside_the_calls_writes_while_they_run)
{
	const char *spec = "folio:bs=4K,size=64M,end=sync";
	struct bench_result alone, beside;

	CHECK_INT(load(spec, &alone), 0);
	CHECK_INT(load_beside(spec, 2 << 20, &beside), 0);
	CHECK_INT(alone.calls_c.v[COUNTER_BIO_W_SECT], 0);
	CHECK(beside.calls_c.v[COUNTER_BIO_W_SECT] != 0);
	CHECK_INT(beside.calls, alone.calls);
	CHECK_INT(beside.calls_c.v[COUNTER_WRITE_BYTES], 64 << 20);
	CHECK(beside.calls_c.v[COUNTER_THROTTLES] == 0);
}

TEST(a_folder_has_its_flusher_too_and_is_left_empty)
{
	struct ek_replay_options opt = {.size = sizeof(opt), .background_bytes = 1 << 20};
	char folder[] = "/tmp/extkit-bench-XXXXXX", target[64];
	struct bench_result r;

	CHECK(mkdtemp(folder) != NULL);
	snprintf(target, sizeof(target), "dir:%s", folder);
	CHECK_INT(bench_load(ctx, "folio:bs=64K,size=16M,procs=3,overwrite=yes,end=sync", target,
			     &opt, true, true, &r),
		  0);
	CHECK_INT(r.calls, 3 * 256);
	CHECK_INT(rmdir(folder), 0);
	CHECK_INT(bench_load(ctx, "folio:bs=64K,size=16M,end=sync", target, &opt, true, true, &r),
		  -2);
}

static int is_sparse(bool warm)
{
	struct bench_cell cell = {.image_bytes = (uint64_t)64 << 20, .warm = warm};
	struct bench_scratch s = {.made = false};
	struct stat st;

	CHECK_INT(bench_scratch_make(ctx, &cell, &s), 0);
	CHECK_INT(stat(s.path, &st), 0);
	bench_scratch_drop(&s);
	return st.st_blocks * 512 < st.st_size;
}

TEST(an_image_that_is_warm_has_all_its_blocks)
{
	CHECK_INT(is_sparse(false), 1);
	CHECK_INT(is_sparse(true), 0);
}

static uint64_t reports;

static int stop_at_once(void *arg, const struct ek_progress *progress)
{
	reports++;
	return 1;
}

TEST(a_run_that_is_stopped_says_so_and_leaves_nothing)
{
	struct ek_bench_options opt = {.size = sizeof(opt), .scale = 1, .runs = 1};
	struct ek_bench_report *rep;

	ek_ctx_on_progress(ctx, stop_at_once, NULL);
	CHECK_INT(ek_bench_run(ctx, 1, &opt, &rep), -125);
	ek_ctx_on_progress(ctx, NULL, NULL);
	CHECK_INT(reports, 1);
}

TEST(ratios_are_to_the_first_system_and_published_ones_too)
{
	struct ek_bench_options opt = {
	    .size = sizeof(opt), .scale = 1, .runs = 1, .only = "write cache"};
	const struct ek_bench_row *row;
	struct ek_bench_report *rep;
	unsigned published = 0;

	CHECK_INT(ek_bench_run(ctx, 3, &opt, &rep), 0);
	for (size_t i = 0; (row = ek_bench_row(rep, i)) != NULL; i++) {
		published += row->published[0] > 0;
		if (strcmp(row->system, "base") == 0)
			CHECK(row->published_ratio[0] == 1 &&
			      (row->why != NULL || row->ratio == 1));
	}
	CHECK_INT(published, 6 * 3);
	ek_bench_free(rep);
}

int main(void)
{
	int rc;

	if (ek_ctx_new(&ctx) < 0)
		return 1;
	rc = tap_main();
	ek_ctx_free(ctx);
	return rc;
}

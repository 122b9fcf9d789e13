/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of a region: their sizes and names, stores that fail, and knobs that cannot be. */
#include "region_memory.h"

/* ---- failures ---- */

static void fail_and_retry(const char *walk, const char *track, const char *stable)
{
	static uint8_t want[200000];
	uint64_t s = 3;
	unsigned tries = 0;

	old_file(sizeof(want));
	memcpy(want, mem.bytes, sizeof(want));
	mem.fail_every = 3;
	mem.fail_code = -EAGAIN;
	region_begin(0, "walk=%s,track=%s,stable=%s,block=512,max_store=9000,align=1,folio=8K",
		     walk, track, stable);
	for (unsigned i = 0; i < 400; i++) {
		uint64_t len = any(&s) % 3000 + 1, off = any(&s) % (sizeof(want) - len);
		uint8_t buf[3000];
		int rc;

		fill_pattern(buf, len, any(&s));
		while ((rc = ek_region_write(file, 0, off, buf, len)) == -EAGAIN)
			CHECK(++tries < 10000);
		CHECK_INT(rc, 0);
		memcpy(want + off, buf, len);
		if (i % 40 == 0)
			CHECK_INT(ek_region_flush(file, 0, 0, 0, EK_REGION_NOWAIT), 0);
	}
	while (ek_region_fsync(file, 0) < 0)
		CHECK(++tries < 10000);
	CHECK(tries > 0);
	region_end();
	CHECK(memcmp(mem.bytes, want, sizeof(want)) == 0);
	CHECK(!mem.overlapped);
}

TEST(stores_that_fail_now_and_then_lose_nothing_and_leave_nothing_old)
{
	each_combination(fail_and_retry);
}

TEST(a_store_that_fails_for_good_is_told_once_to_each_handle)
{
	struct ek_region_file *other, *late;
	uint8_t page[4096] = {1};

	old_file(65536);
	region_begin(0, "track=none");
	CHECK_INT(ek_region_file_open(region, "f", 0, &other), 0);
	mem.fail_every = 1;
	mem.fail_code = -EIO;
	CHECK_INT(ek_region_write(file, 0, 0, page, sizeof(page)), 0);
	CHECK_INT(ek_region_fsync(file, 0), -EIO);
	CHECK(strstr(ek_ctx_message(ctx), "cannot store: f") != NULL);
	CHECK_INT(region->dirty_pages, 0);
	CHECK_INT(ek_region_file_open(region, "f", 0, &late), 0);
	CHECK_INT(ek_region_fsync(file, 0), 0);
	CHECK_INT(ek_region_fsync(other, 0), -EIO);
	CHECK_INT(ek_region_fsync(other, 0), 0);
	CHECK_INT(ek_region_fsync(late, 0), 0);
	CHECK_INT(ek_region_sync(region, 0), -EIO);
	CHECK_INT(ek_region_sync(region, 0), 0);
	ek_region_file_close(other);
	ek_region_file_close(late);
	region_end();
}

/* ---- knobs ---- */

static const char *bad_knobs(const char *knobs)
{
	struct ek_region_options opt = {.size = sizeof(opt), .knobs = knobs};
	struct ek_region *r;

	if (ctx == NULL)
		CHECK_INT(ek_ctx_new(&ctx), 0);
	diag_clear(&ctx->diag);
	CHECK_INT(region_open_on(ctx, &mem.store, &opt, &r), -EINVAL);
	return ek_ctx_message(ctx);
}

TEST(knobs_that_cannot_be_are_refused_by_name)
{
	memory_fresh();
	CHECK_STR(bad_knobs("track=ranges"),
		  "region: track has no value 'ranges', only none range block bytes");
	CHECK_STR(bad_knobs("batch=32"), "region: batch has no value '32', only 1 to 31");
	CHECK_STR(bad_knobs("folio=12K"),
		  "region: folio has no value '12K', only auto 4096 to 2097152");
	CHECK(strstr(bad_knobs("walk"), "'walk' is not KEY=VALUE") != NULL);
	CHECK(strstr(bad_knobs("max_store=99999999999999999999"), "max_store has no") != NULL);
}

TEST(files_end_where_a_region_does)
{
	memory_fresh();
	region_begin(0, "walk=bitmap");
	CHECK_INT(ek_region_write(file, 0, REGION_MAX, "x", 1), -EFBIG);
	CHECK_INT(ek_region_write(file, 64, 0, "x", 1), -EINVAL);
	CHECK_INT(ek_region_write(file, 0, 0, "x", 0), 0);
	CHECK_INT(ek_region_file_size(file), 0);
	region_end();
}

TEST(a_size_that_the_store_refuses_is_not_the_file_s)
{
	memory_fresh();
	region_begin(0, "folio=4K");
	CHECK_INT(ek_region_write(file, 0, 0, "abc", 3), 0);
	CHECK_INT(ek_region_truncate(file, 0, ROOM + 1), -EFBIG);
	CHECK_INT(ek_region_file_size(file), 3);
	CHECK_INT(ek_region_zero(file, 0, 0, ROOM + 4096), -EFBIG);
	CHECK_INT(ek_region_file_size(file), 3);
	region_end();
}

/* What is dirty behind the new end must not be lost to a store that keeps the old one, nor what the
 * store has there come back later. */
TEST(a_file_that_the_store_does_not_cut_keeps_its_bytes)
{
	static uint8_t got[20000];

	old_file(16384);
	region_begin(0, "folio=4K");
	CHECK_INT(ek_region_write(file, 0, 12288, "dirty", 5), 0);
	mem.refuses = true;
	CHECK_INT(ek_region_truncate(file, 0, 100), -EFBIG);
	CHECK_INT(ek_region_file_size(file), 16384);
	CHECK_INT(ek_region_read(file, 0, 0, got, sizeof(got)), 0);
	CHECK(memcmp(got, mem.bytes, 12288) == 0 && memcmp(got + 12288, "dirty", 5) == 0);
	mem.refuses = false;
	CHECK_INT(ek_region_truncate(file, 0, 100), 0);
	CHECK_INT(ek_region_write(file, 0, 16000, "end", 3), 0);
	CHECK_INT(ek_region_read(file, 0, 0, got, sizeof(got)), 0);
	for (size_t i = 100; i < 16000; i++)
		CHECK_INT(got[i], 0);
	region_end();
}

TEST(a_store_hears_how_much_of_it_was_ever_written)
{
	uint8_t page[4096] = {1};

	memory_fresh();
	region_begin(0, "folio=4K");
	CHECK_INT(ek_region_truncate(file, 0, 0), 0);
	CHECK_INT(mem.resized, 0); /* it is empty and has nothing */
	CHECK_INT(ek_region_truncate(file, 0, 1 << 20), 0);
	CHECK_INT(mem.stored, 0);
	CHECK_INT(ek_region_write(file, 0, 4096, page, sizeof(page)), 0);
	CHECK_INT(ek_region_fsync(file, 0), 0);
	CHECK_INT(ek_region_truncate(file, 0, 100), 0);
	CHECK_INT(mem.stored, 8192);
	CHECK_INT(mem.resized, 2);
	region_end();
}

/* Names that nobody has open are forgotten when there are too many; a sync is of them too. */
TEST(a_sync_makes_forgotten_files_durable)
{
	memory_fresh();
	region_begin(0, "folio=4K");
	CHECK_INT(ek_region_sync(region, 0), 0);
	CHECK_INT(mem.flushed_all, 0);
	for (unsigned i = 0; i < 600; i++) {
		struct ek_region_file *one;
		char name[16];

		snprintf(name, sizeof(name), "n%u", i);
		CHECK_INT(ek_region_file_open(region, name, EK_REGION_CREATE, &one), 0);
		CHECK_INT(ek_region_write(one, 0, 0, name, 4), 0);
		ek_region_file_close(one);
	}
	CHECK_INT(ek_region_sync(region, 0), 0);
	CHECK_INT(mem.flushed_all, 1);
	CHECK_INT(ek_region_sync(region, 0), 0);
	CHECK_INT(mem.flushed_all, 1);
	region_end();
}

/* ---- files that go while others look ---- */

static void write_to_idle(void)
{
	struct ek_region_file *idle;

	CHECK_INT(ek_region_file_open(region, "n0", 0, &idle), 0);
	CHECK_INT(ek_region_write(idle, 0, 8192, "late", 4), 0);
	ek_region_file_close(idle);
}

static void open_and_close(const char *name)
{
	struct ek_region_file *one;

	CHECK_INT(ek_region_file_open(region, name, EK_REGION_CREATE, &one), 0);
	ek_region_file_close(one);
}

TEST(a_file_that_is_written_while_it_is_being_forgotten_is_not)
{
	char name[16];

	memory_fresh();
	region_begin(0, "folio=4K");
	open_and_close("n0");
	write_to_idle();
	for (unsigned i = 0; i < 600; i++) {
		snprintf(name, sizeof(name), "m%u", i);
		mem.meanwhile = write_to_idle;
		open_and_close(name);
	}
	mem.meanwhile = NULL;
	mem.bytes[8192] = 0;
	CHECK_INT(ek_region_sync(region, 0), 0);
	CHECK(memcmp(mem.bytes + 8192, "late", 4) == 0);
	region_end();
}

static void *close_file(void *arg)
{
	ek_region_file_close(file);
	return arg;
}

static void *sync_all(void *arg)
{
	return ek_region_sync(region, 1) == 0 ? arg : NULL;
}

/* The last handle of a file without a name is closed while its bytes are on their way, and a sync
 * of all files comes by. */
TEST(a_file_that_is_going_is_freed_once)
{
	pthread_t closer, syncer;
	void *done;

	memory_fresh();
	region_begin(EK_REGION_THREADS, "folio=4K");
	CHECK_INT(ek_region_write(file, 0, 0, "abc", 3), 0);
	atomic_store(&mem.held, true);
	CHECK_INT(ek_region_flush(file, 0, 0, 0, EK_REGION_NOWAIT), 0);
	CHECK_INT(ek_region_unlink(region, "f"), 0);
	CHECK_INT(pthread_create(&closer, NULL, close_file, NULL), 0);
	usleep(50000);
	CHECK_INT(pthread_create(&syncer, NULL, sync_all, region), 0);
	usleep(50000);
	atomic_store(&mem.held, false);
	CHECK_INT(pthread_join(closer, NULL), 0);
	CHECK_INT(pthread_join(syncer, &done), 0);
	CHECK(done == region);
	CHECK(region->files == NULL);
	ek_region_close(region);
}

int main(void)
{
	return tap_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Region writeback from one thread: what is stored, and how it was found. */
#include <stdarg.h>

#include "region_memory.h"

/* ---- every combination ---- */

/* A store of 64000 bytes ends in the middle of a folio: none may be forgotten there. */
static void store_odd(const char *walk, const char *track, const char *stable)
{
	static uint8_t want[65536];

	memory_fresh();
	fill_pattern(want, sizeof(want), 5);
	region_begin(0, "walk=%s,track=%s,stable=%s,max_store=64000,align=1", walk, track, stable);
	CHECK_INT(ek_region_write(file, 0, 0, want, sizeof(want)), 0);
	CHECK_INT(ek_region_fsync(file, 0), 0);
	CHECK_INT(counted("bytes_stored"), sizeof(want));
	CHECK_INT(counted("stores"), 2);
	region_end();
	CHECK_INT(mem.size, sizeof(want));
	CHECK(memcmp(mem.bytes, want, sizeof(want)) == 0);
	CHECK(!mem.overlapped);
}

TEST(a_store_limit_that_cuts_folios_loses_nothing)
{
	each_combination(store_odd);
}

/* The same with a pass that does not wait: what it leaves is stored by the next. */
static void store_nowait(const char *walk, const char *track, const char *stable)
{
	static uint8_t want[1 << 20];
	unsigned passes = 0;

	memory_fresh();
	fill_pattern(want, sizeof(want), 6);
	region_begin(0, "walk=%s,track=%s,stable=%s,folio=8K,nr_to_write=7,max_store=20000,align=1",
		     walk, track, stable);
	CHECK_INT(ek_region_write(file, 0, 0, want, sizeof(want)), 0);
	while (region->dirty_pages != 0) {
		uint64_t before = region->dirty_pages;

		CHECK_INT(ek_region_flush(file, 0, 0, 0, EK_REGION_NOWAIT), 0);
		CHECK(before - region->dirty_pages <= 7); /* never one more */
		CHECK(++passes < 1000);
	}
	CHECK_INT(ek_region_fsync(file, 0), 0);
	region_end();
	CHECK(memcmp(mem.bytes, want, sizeof(want)) == 0);
	CHECK(!mem.overlapped);
}

TEST(a_budget_is_kept_to_the_page_and_every_page_gets_its_turn)
{
	each_combination(store_nowait);
}

/* ---- random bytes against a model ---- */

#define MODEL ((uint64_t)5 << 20)
#define STEPS 10000u

static uint8_t *model;
static uint64_t model_size;

static void model_write(uint64_t *s)
{
	static uint8_t buf[70000];
	uint64_t len = any(s) % 50 == 0 ? any(s) % sizeof(buf) + 1 : any(s) % 600 + 1;
	uint64_t off = any(s) % (MODEL - len);

	if (any(s) % 8 == 0)
		memset(buf, 0, len);
	else
		fill_pattern(buf, len, any(s));
	CHECK_INT(ek_region_write(file, (unsigned)(any(s) % 4), off, buf, len), 0);
	memcpy(model + off, buf, len);
	model_size = MAX(model_size, off + len);
}

static void model_read(uint64_t *s)
{
	static uint8_t buf[9000];
	uint64_t len = any(s) % sizeof(buf) + 1, off = any(s) % (MODEL - len);

	CHECK_INT(ek_region_read(file, 0, off, buf, len), 0);
	CHECK(memcmp(buf, model + off, len) == 0);
}

static void model_truncate(uint64_t *s)
{
	uint64_t size = any(s) % MODEL;

	CHECK_INT(ek_region_truncate(file, 0, size), 0);
	if (size < model_size)
		memset(model + size, 0, model_size - size);
	model_size = size;
}

static void model_zero(uint64_t *s)
{
	uint64_t len = any(s) % (MODEL / 2) + 1, off = any(s) % (MODEL - len);

	CHECK_INT(ek_region_zero(file, 0, off, len), 0);
	memset(model + off, 0, len);
	model_size = MAX(model_size, off + len);
}

static void model_step(uint64_t *s)
{
	uint64_t off = any(s) % MODEL, len = any(s) % MODEL + 1;

	switch (any(s) % 400) {
	case 0:
	case 1:
		CHECK_INT(ek_region_flush(file, 0, off, len, EK_REGION_NOWAIT), 0);
		break;
	case 2:
		CHECK_INT(ek_region_flush(file, 0, off, len, EK_REGION_SYNC), 0);
		break;
	case 3:
	case 4:
		CHECK_INT(ek_region_drop(file, 0, off, len), 0);
		break;
	case 5:
		model_zero(s);
		break;
	case 6:
		if (any(s) % 4 == 0)
			model_truncate(s);
		break;
	default:
		if (any(s) % 8 == 0)
			model_read(s);
		else
			model_write(s);
	}
}

static void run_model(const char *folio, size_t walk, size_t track, size_t stable, unsigned steps)
{
	uint64_t s = 977 + walk * 1000 + track * 100 + stable;

	memory_fresh();
	memset(model, 0, MODEL);
	model_size = 0;
	region_begin(0,
		     "folio=%s,walk=%s,track=%s,stable=%s,block=1024,max_store=100000,dirty=2M,"
		     "zeros=%s",
		     folio, walk_words[walk], track_words[track], stable_words[stable],
		     track % 2 == 0 ? "zero" : "write");
	for (unsigned i = 0; i < steps; i++)
		model_step(&s);
	CHECK_INT(ek_region_file_size(file), model_size);
	CHECK_INT(ek_region_fsync(file, 0), 0);
	region_end();
	CHECK(memcmp(mem.bytes, model, MODEL) == 0);
	CHECK(!mem.overlapped);
	CHECK_INT(mem.size, model_size);
}

TEST(random_bytes_are_stored_as_plain_writes_would_store_them)
{
	static const char *const folios[] = {"4K", "64K", "2M", "auto"};

	tap_one_thread();
	model = malloc(MODEL);
	CHECK(model != NULL);
	for (size_t f = 0; f < ARRAY_SIZE(folios); f++)
		for (size_t t = 0; t < ARRAY_SIZE(track_words); t++)
			run_model(folios[f], (f + t) % 6, t, (f * 2 + t) % 3, STEPS);
	free(model);
}

TEST(every_combination_stores_what_plain_writes_would)
{
	tap_one_thread();
	model = malloc(MODEL);
	CHECK(model != NULL);
	for (size_t w = 0; w < ARRAY_SIZE(walk_words); w++)
		for (size_t t = 0; t < ARRAY_SIZE(track_words); t++)
			for (size_t s = 0; s < ARRAY_SIZE(stable_words); s++)
				run_model("16K", w, t, s, 1200);
	free(model);
}

TEST(a_cache_that_is_full_gives_up_what_is_clean)
{
	static uint8_t piece[1 << 20] = {1};

	memory_fresh();
	region_begin(0, "memory=8M");
	for (uint64_t at = 0; at < ROOM; at += sizeof(piece)) {
		CHECK_INT(ek_region_write(file, 0, at, piece, sizeof(piece)), 0);
		CHECK(region->pages * PAGE_BYTES <= (8u << 20) + sizeof(piece));
	}
	CHECK(counted("folios_dropped") != 0);
	region_end();
}

/* The cache's limit is one for bytes that are cached, not for what a call may hand over. */
TEST(a_call_may_move_more_than_the_cache_holds)
{
	uint8_t *want = malloc(ROOM), *got = malloc(ROOM);

	CHECK(want != NULL && got != NULL);
	memory_fresh();
	fill_pattern(want, ROOM, 8);
	region_begin(0, "memory=8M,dirty=1G");
	CHECK_INT(ek_region_write(file, 0, 0, want, ROOM), 0);
	CHECK(region->pages * PAGE_BYTES <= (8u << 20) + PAGE_BYTES);
	CHECK_INT(ek_region_fsync(file, 0), 0);
	CHECK_INT(ek_region_read(file, 0, 0, got, ROOM), 0);
	CHECK(region->pages * PAGE_BYTES <= (8u << 20) + PAGE_BYTES);
	region_end();
	CHECK(memcmp(mem.bytes, want, ROOM) == 0 && memcmp(got, want, ROOM) == 0);
	free(want);
	free(got);
}

/* ---- tracking ---- */

TEST(disjoint_writes_in_one_folio_flush_it_once_under_range)
{
	old_file(65536);
	region_begin(0, "track=range,walk=region");
	CHECK_INT(ek_region_write(file, 0, 100, "abc", 3), 0);
	CHECK_INT(counted("conflict_flushes"), 0);
	CHECK_INT(ek_region_write(file, 0, 200, "def", 3), 0);
	CHECK_INT(counted("conflict_flushes"), 1);
	CHECK_INT(counted("bytes_stored"), 3);
	CHECK_INT(ek_region_write(file, 0, 203, "ghi", 3), 0);
	CHECK_INT(ek_region_write(file, 0, 197, "xyz", 3), 0);
	CHECK_INT(ek_region_write(file, 0, 198, "XYZ", 3), 0);
	CHECK_INT(counted("conflict_flushes"), 1);
	CHECK_INT(ek_region_fsync(file, 0), 0);
	CHECK_INT(counted("bytes_stored"), 3 + 9);
	region_end();
	CHECK(memcmp(mem.bytes + 100, "abc", 3) == 0 &&
	      memcmp(mem.bytes + 197, "xXYZefghi", 9) == 0);
}

TEST(a_new_file_has_no_conflicts_under_range)
{
	memory_fresh();
	region_begin(0, "track=range,walk=region");
	CHECK_INT(ek_region_write(file, 0, 100, "abc", 3), 0);
	CHECK_INT(ek_region_write(file, 0, 200, "def", 3), 0);
	CHECK_INT(counted("conflict_flushes"), 0);
	CHECK_INT(ek_region_fsync(file, 0), 0);
	CHECK_INT(counted("bytes_stored"), 103);
	region_end();
}

static uint64_t stored_for_one_write(const char *track, const char *folio, uint64_t *filled)
{
	uint8_t page[4096] = {1};
	uint64_t n;

	old_file(1 << 20);
	region_begin(0, "track=%s,folio=%s,bridge=0", track, folio);
	CHECK_INT(ek_region_write(file, 0, 40960, page, sizeof(page)), 0);
	CHECK_INT(ek_region_fsync(file, 0), 0);
	n = counted("bytes_stored");
	*filled = counted("bytes_filled");
	region_end();
	return n;
}

TEST(what_is_not_tracked_is_stored_with_the_folio)
{
	uint64_t filled;

	CHECK_INT(stored_for_one_write("none", "64K", &filled), 65536);
	CHECK_INT(filled, 65536 - 4096);
	CHECK_INT(stored_for_one_write("none", "4K", &filled), 4096);
	CHECK_INT(filled, 0);
	CHECK_INT(stored_for_one_write("block", "64K", &filled), 4096);
	CHECK_INT(filled, 0);
	CHECK_INT(stored_for_one_write("bytes", "2M", &filled), 4096);
	CHECK_INT(filled, 0);
}

TEST(a_few_bytes_are_stored_without_reading_under_bytes)
{
	old_file(65536);
	region_begin(0, "track=bytes,bridge=0");
	CHECK_INT(ek_region_write(file, 0, 5000, "abc", 3), 0);
	CHECK_INT(ek_region_write(file, 0, 5003, "def", 3), 0);
	CHECK_INT(ek_region_fsync(file, 0), 0);
	CHECK_INT(counted("bytes_stored"), 6);
	CHECK_INT(counted("fills"), 0);
	/* a gap is filled, once */
	CHECK_INT(ek_region_write(file, 0, 6000, "ghi", 3), 0);
	CHECK_INT(counted("fills"), 1);
	CHECK_INT(ek_region_write(file, 0, 5500, "jkl", 3), 0);
	CHECK_INT(counted("fills"), 1);
	CHECK_INT(ek_region_fsync(file, 0), 0);
	region_end();
	CHECK(memcmp(mem.bytes + 5000, "abcdef", 6) == 0);
	CHECK(memcmp(mem.bytes + 6000, "ghi", 3) == 0);
}

TEST(clean_bytes_between_two_runs_save_a_store_when_they_may)
{
	for (unsigned bridge = 0; bridge < 2; bridge++) {
		uint8_t buf[1024] = {7};

		old_file(65536);
		region_begin(0, "track=block,block=1024,folio=64K,bridge=%u", bridge * 1024);
		CHECK_INT(ek_region_read(file, 0, 0, buf, 1), 0);
		CHECK_INT(ek_region_write(file, 0, 4096, buf, 1024), 0);
		CHECK_INT(ek_region_write(file, 0, 6144, buf, 1024), 0);
		CHECK_INT(ek_region_read(file, 0, 5120, buf, 1024), 0);
		CHECK_INT(ek_region_fsync(file, 0), 0);
		CHECK_INT(counted("stores"), bridge == 0 ? 2 : 1);
		CHECK_INT(counted("bytes_bridged"), bridge * 1024);
		region_end();
	}
}

TEST(zeros_are_stored_the_store_s_own_way_when_asked_for)
{
	static uint8_t zeros[65536];

	old_file(sizeof(zeros));
	region_begin(0, "zeros=zero");
	CHECK_INT(ek_region_write(file, 0, 0, zeros, 4096), 0);
	CHECK_INT(ek_region_write(file, 0, sizeof(zeros), zeros, 4096), 0);
	CHECK_INT(ek_region_fsync(file, 0), 0);
	CHECK_INT(counted("stores_zeroed"), 1); /* the other one makes the file longer */
	CHECK_INT(counted("stores"), 2);
	region_end();
	CHECK_INT(mem.size, sizeof(zeros) + 4096);
	CHECK(memcmp(mem.bytes, zeros, 4096) == 0 && memcmp(mem.bytes + 4096, zeros, 4096) != 0);
}

/* ---- walks ---- */

static void sixteen_dirty(const char *knobs)
{
	static uint8_t page[4096] = {1};

	old_file(1 << 20);
	region_begin(0, "track=none,%s", knobs);
	for (unsigned i = 0; i < 16; i++)
		CHECK_INT(ek_region_write(file, 0, i * 4096, page, sizeof(page)), 0);
	CHECK_INT(ek_region_flush(file, 0, 0, 0, EK_REGION_NOWAIT), 0);
}

TEST(a_batch_visits_again_what_its_first_folio_has_swallowed)
{
	sixteen_dirty("walk=batch,batch=15");
	CHECK_INT(counted("duplicate_visits"), 14);
	CHECK_INT(counted("stores"), 1);
	CHECK_INT(counted("pinned_most"), 16); /* the batch, and one that joins the store */
	CHECK_INT(counted("passes_ended_early"), 0);
	region_end();
	sixteen_dirty("walk=region");
	CHECK_INT(counted("duplicate_visits"), 0);
	CHECK_INT(counted("stores"), 1);
	CHECK_INT(counted("lookups"), 2);
	CHECK_INT(counted("pinned_most"), 2);
	region_end();
}

TEST(cifs_counts_what_was_swallowed_against_the_limit)
{
	sixteen_dirty("walk=batch,batch=15,skips=cifs");
	CHECK_INT(counted("duplicate_visits"), 6);
	CHECK_INT(counted("passes_ended_early"), 1);
	CHECK_INT(counted("stores"), 1);
	region_end();
}

TEST(the_other_walks_visit_each_folio_once)
{
	static const char *const others[] = {"generic", "inline", "iter", "bitmap"};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		char knobs[32];

		snprintf(knobs, sizeof(knobs), "walk=%s", others[i]);
		sixteen_dirty(knobs);
		CHECK_INT(counted("folios_visited"), 16);
		CHECK_INT(counted("duplicate_visits"), 0);
		CHECK_INT(counted("stores"), 1);
		region_end();
	}
}

/* ---- stable ---- */

static void write_while_stored(const char *stable)
{
	uint8_t page[4096] = {1};

	old_file(65536);
	region_begin(0, "stable=%s,track=none", stable);
	CHECK_INT(ek_region_write(file, 0, 0, page, sizeof(page)), 0);
	CHECK_INT(ek_region_flush(file, 0, 0, 0, EK_REGION_NOWAIT), 0);
	CHECK_INT(mem.queued, 1);
	page[0] = 2;
	CHECK_INT(ek_region_write(file, 3, 0, page, sizeof(page)), 0);
}

TEST(a_writer_waits_copies_or_gets_new_memory)
{
	write_while_stored("wait");
	CHECK_INT(counted("waits"), 1);
	CHECK_INT(mem.queued, 0);
	region_end();
	write_while_stored("copy");
	CHECK_INT(counted("waits"), 0);
	CHECK_INT(counted("bytes_copied"), 4096);
	CHECK_INT(ek_region_flush(file, 0, 0, 4096, EK_REGION_SYNC), 0);
	CHECK_INT(mem.bytes[0], 2);
	region_end();
	write_while_stored("cow");
	CHECK_INT(counted("waits"), 0);
	CHECK_INT(counted("folios_replaced"), 1);
	mem.store.ops->reap(&mem.store, 1);
	CHECK_INT(mem.bytes[0], 1); /* the store had the old memory */
	CHECK_INT(ek_region_fsync(file, 0), 0);
	CHECK_INT(mem.bytes[0], 2);
	region_end();
	CHECK(!mem.overlapped);
}

int main(void)
{
	return tap_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Cached writes against a plain buffer: whatever is dropped, flushed or short of memory meanwhile,
 * a file reads as it was written, before and after the image is opened again. */
#include "cached_file.h"

#include <malloc.h>

static void one_step(void)
{
	uint64_t pos = dice(FILE_BYTES - 300000), len = 1 + dice(dice(4) == 0 ? 300000 : 9000);
	uint64_t grown;

	switch (dice(12)) {
	case 0:
	case 1:
	case 2:
	case 3:
		write_some(pos, len, false);
		break;
	case 4: /* appends */
		write_some(MIN(model_size, (uint64_t)FILE_BYTES - 300000), len, false);
		break;
	case 5:
		write_some(ROUND_DOWN(pos, (uint64_t)4096), 4096u * (1 + dice(16)), true);
		break;
	case 6:
		store_some(pos, len);
		break;
	case 7:
		grown = model_size + dice(50000);
		set_size(dice(3) == 0 ? pos : MIN(grown, (uint64_t)FILE_BYTES));
		break;
	case 8:
		falloc_some(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, pos, len);
		break;
	case 9:
		if (inode_has_pointers(file))
			break;
		falloc_some(dice(2) == 0 ? 0 : FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, pos,
			    len);
		break;
	case 10:
		OK(dice(3) == 0 ? pc_sync(&task) : pc_fsync(&task, file, dice(2) == 0));
		break;
	default:
		OK(pc_dont_need(&task, file, pos, len));
		break;
	}
	img->now.sec += dice(20) == 0 ? 7 : 0;
	OK(pc_tick(&task));
}

static void play(uint32_t block_size, const struct image_opts *opts, const struct pc_config *cfg)
{
	start(block_size, opts, cfg);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 150; i++)
			one_step();
		compare();
		compare_direct();
		OK(pc_closed(&task, file, true));
		inode_put(&task, file);
		unmount_image();
		mount_image(opts, cfg);
		find_file();
		compare();
	}
	stop();
}

TEST(a_file_reads_as_written_with_4k_blocks)
{
	struct pc_config cfg = {.memory = 64u << 20};

	play(4096, &usual, &cfg);
}

TEST(a_file_reads_as_written_with_1k_blocks)
{
	struct pc_config cfg = {.memory = 64u << 20};

	play(1024, &usual, &cfg);
}

TEST(a_cache_smaller_than_the_file_makes_no_difference)
{
	struct pc_config cfg = {.memory = 2u << 20};

	play(4096, &usual, &cfg);
}

TEST(low_thresholds_make_no_difference)
{
	struct pc_config cfg = {.memory = 64u << 20, .background_pages = 40, .dirty_pages = 80};

	play(4096, &usual, &cfg);
}

TEST(clean_folios_without_memory_make_no_difference)
{
	struct pc_config cfg = {
	    .memory = 64u << 20, .backed = 1, .background_pages = 40, .dirty_pages = 80};

	play(4096, &usual, &cfg);
	play(1024, &usual, &cfg);
}

TEST(a_stream_goes_round_in_a_little_memory_and_is_still_cached)
{
	struct pc_config cfg = {.memory = 64u << 20, .backed = 1};
	uint64_t reads;

	start(4096, &usual, &cfg);
	for (uint64_t at = 0; at + 65536 <= FILE_BYTES; at += 65536) {
		write_some(at, 65536, false);
		OK(pc_fsync(&task, file, true));
	}
	CHECK(pc->resident * PAGE_BYTES > FILE_BYTES / 2);
	CHECK(fpool_pages(pc->pool) * PAGE_BYTES <= 2 * CHUNK_BYTES);
	reads = img->counters.v[COUNTER_DISK_RD_IOS];
	compare();
	CHECK_INT(img->counters.v[COUNTER_DISK_RD_IOS], reads);
	CHECK(fpool_pages(pc->pool) >= pc->resident);
	stop();
}

/* Blocks that a write was to fill must not show what their new memory held before. */
TEST(a_failed_overwrite_of_a_folio_without_memory_leaves_its_contents)
{
	struct pc_config cfg = {.memory = 64u << 20, .backed = 1};
	struct pc_source src = {payload, 0};
	struct folio *f;

	start(4096, &usual, &cfg);
	set_size(FILE_BYTES);
	CHECK_INT(pc_read(&task, file, 0, 65536, back, NULL), 65536); /* holes */
	OK(pc_sync(&task));
	f = mapping_find(file->mapping, 0);
	f->flags &= (uint8_t)~FOLIO_ACTIVE;
	for (uint64_t at = CHUNK_BYTES; f->data != NULL && at + 65536 <= FILE_BYTES; at += 65536) {
		write_some(at, 65536, false);
		OK(pc_fsync(&task, file, true));
	}
	CHECK(f->data == NULL);
	img->groups.space.reserved += img->groups.space.free;
	CHECK_INT(pc_write(&task, file, 0, folio_bytes(f), &src, 0), -ENOSPC);
	img->groups.space.reserved -= img->groups.space.free;
	diag_clear(&img->diag);
	compare();
	stop();
}

static void play_policy(const char *setting)
{
	struct image_opts opts = usual;
	struct pc_config cfg = {.memory = 8u << 20};
	struct policy policy;

	OK(policy_choose(NULL, &setting, 1, NULL, &policy));
	opts.policy = &policy;
	play(4096, &opts, &cfg);
	play(1024, &opts, &cfg);
}

TEST(without_delayed_allocation_a_file_reads_as_written)
{
	play_policy("allocation=nodelalloc");
}

TEST(with_written_extents_at_once_a_file_reads_as_written)
{
	play_policy("completion=written");
}

TEST(with_an_extent_for_each_write_a_file_reads_as_written)
{
	play_policy("allocation=nodelalloc-nomerge");
}

TEST(with_data_that_commits_do_not_wait_for_a_file_reads_as_written)
{
	play_policy("data=writeback");
}

TEST(with_data_in_the_journal_a_file_reads_as_written)
{
	play_policy("data=journal");
}

TEST(beside_a_journal_that_is_left_alone_a_file_reads_as_written)
{
	play_policy("data=none");
}

TEST(with_lazy_inodes_a_file_reads_as_written)
{
	play_policy("inode=lazy");
}

TEST(with_pointers_a_file_reads_as_written)
{
	play_policy("mapping=indirect");
}

TEST(by_the_rules_of_ext3_a_file_reads_as_written)
{
	play_policy("allocation=ext3");
	play_policy("allocation=ext3-patched");
}

TEST(by_pages_a_file_reads_as_written)
{
	play_policy("folio=s0");
}

TEST(by_ranges_a_file_reads_as_written)
{
	play_policy("folio=s2");
}

TEST(by_chunks_a_file_reads_as_written)
{
	play_policy("folio=s3");
}

/* Every write is in flight or clean after a flush: what is being written must not count as room. */
TEST(small_random_writes_pass_through_a_cache_of_one_chunk)
{
	struct pc_config cfg = {.memory = 1};

	start(4096, &usual, &cfg);
	for (unsigned i = 0; i < 96; i++)
		write_some(i * 65536ull, 65536, false);
	for (unsigned i = 0; i < 1500; i++)
		write_some((uint64_t)dice(FILE_BYTES / 4096 - 1) * 4096, 4096, false);
	compare();
	stop();
}

/* The run [0, 27) is collected as one extent up to the end of the file, but block 20 has a place
 * already: what comes after the folio that holds it must not be forgotten. */
TEST(an_extent_that_is_mapped_in_part_is_written_to_its_end)
{
	struct pc_config cfg = {.memory = 64u << 20};

	start(1024, &usual, &cfg);
	write_some(2 * 1024, 20 * 1024 + 189, false);
	OK(inode_fallocate(&task, file, FALLOC_FL_ZERO_RANGE, 22 * 1024 + 552, 123));
	model_size = 22 * 1024 + 675;
	write_some(model_size, 5784, false);
	OK(pc_fsync(&task, file, false));
	CHECK_INT(pc->dirty_total, 0);
	compare();
	stop();
}

/* A commit may write the file's data before writeback comes to it: the size has to follow all the
 * same. */
TEST(what_a_commit_writes_of_a_file_by_ranges_counts_for_its_size)
{
	struct image_opts opts = usual;
	struct pc_config cfg = {.memory = 8u << 20};
	const char *setting = "folio=s3";
	struct policy policy;

	OK(policy_choose(NULL, &setting, 1, NULL, &policy));
	opts.policy = &policy;
	start(4096, &opts, &cfg);
	write_some(0, 1000, false);
	OK(pc_sync(&task));
	write_some(1000, 1000, false);
	falloc_some(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 100, 200);
	OK(jnl_commit_running(img->jnl));
	OK(pc_sync(&task));
	CHECK_INT(file->rec.size, model_size);
	compare();
	stop();
}

/* Multigrain timestamps: a change in the tick that stat showed takes the exact time, and no file is
 * given a time before that any more. */
TEST(a_tick_that_commits_says_no_more_than_one_that_does_not)
{
	struct pc_config cfg = {.memory = 8u << 20};
	uint64_t commits;

	start(4096, &usual, &cfg);
	write_some(0, 100, false);
	commits = img->counters.v[COUNTER_END_COMMIT];
	img->now.sec += 3; /* the flusher comes, and next at 8 */
	CHECK_INT(pc_tick(&task), 0);
	CHECK_INT(img->counters.v[COUNTER_END_COMMIT], commits);
	img->now.sec += 2; /* the transaction is old */
	CHECK_INT(pc_tick(&task), 0);
	CHECK_INT(img->counters.v[COUNTER_END_COMMIT], commits + 1);
	stop();
}

TEST(a_write_after_stat_takes_an_exact_time)
{
	struct image_opts opts = usual;
	struct pc_config cfg = {.memory = 8u << 20};
	struct ek_inode *root, *other;
	uint64_t updates;

	opts.tick_ns = 4000000;
	start(4096, &opts, &cfg);
	OK(inode_get(img, (ek_inum){INUM_ROOT}, &root));
	OK(fs_create(&task, root, "other", 5, 0644, &other));
	img->now.nsec = 9000000;
	write_some(0, 100, false);
	CHECK_INT(file->rec.mtime.nsec, 8000000);
	updates = img->counters.v[COUNTER_TS_UPDATES];
	img->now.nsec = 9000001;
	write_some(0, 100, false);
	CHECK_INT(img->counters.v[COUNTER_TS_UPDATES], updates);
	inode_times_shown(file);
	img->now.nsec = 9000002;
	write_some(0, 100, false);
	CHECK_INT(file->rec.mtime.nsec, 9000002);
	CHECK_INT(file->rec.ctime.nsec, 9000002);
	img->now.nsec = 9000003;
	write_some(0, 100, false);
	CHECK_INT(img->counters.v[COUNTER_TS_UPDATES], updates + 1);
	OK(inode_touch_modify(&task, other));
	CHECK_INT(other->rec.mtime.nsec, 9000002);
	inode_times_shown(file);
	img->now.nsec = 12000001;
	write_some(0, 100, false);
	CHECK_INT(file->rec.mtime.nsec, 12000000);
	inode_put(&task, other);
	inode_put(&task, root);
	stop();
}

TEST(an_overwrite_of_cached_data_allocates_nothing)
{
	struct pc_config cfg = {.memory = 64u << 20};
	struct mallinfo2 before, after;

	start(4096, &usual, &cfg);
	write_some(0, 4u << 20, false);
	before = mallinfo2();
	for (unsigned i = 0; i < 10000; i++)
		write_some((uint64_t)dice(1000) * 4096 + dice(100), 1 + dice(3000), false);
	after = mallinfo2();
	CHECK_INT(after.uordblks, before.uordblks);
	CHECK_INT(after.hblks, before.hblks);
	compare();
	stop();
}

/* A file is written by one call, then overwritten by small ones until its folio needs no more than
 * a copy. */
static void settle_folio(uint64_t len)
{
	uint32_t last;

	write_some(0, len, false);
	CHECK(model_size >= len - 4096);
	last = (uint32_t)((model_size - 1) / 4096);
	for (uint64_t pos = 0; pos + 100 <= model_size; pos += 1000)
		write_some(pos, 100, false);
	CHECK((mapping_find(file->mapping, last)->flags & FOLIO_SETTLED) != 0);
	CHECK((mapping_find(file->mapping, 0)->flags & FOLIO_SETTLED) != 0);
}

/* Overwrites all over the file, where the last one found everything settled. */
static void write_again(void)
{
	for (uint64_t pos = 50; pos + 100 <= model_size; pos += 3001)
		write_some(pos, 100, false);
	OK(pc_fsync(&task, file, false));
	compare();
	compare_direct();
}

static void settle_and_change(uint32_t block_size, const char *preset, uint64_t len)
{
	struct pc_config cfg = {.memory = 64u << 20};
	struct image_opts opts = usual;
	struct policy policy;

	OK(policy_find(preset, &diag, &policy));
	opts.policy = &policy;
	start(block_size, &opts, &cfg);
	settle_folio(len);
	OK(pc_fsync(&task, file, false)); /* clean */
	write_again();
	settle_folio(len);
	falloc_some(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192, 16384);
	write_again();
	settle_folio(len);
	set_size(len / 2 + 100); /* and beyond it again */
	write_some(len / 2, 300, false);
	write_again();
	settle_folio(len);
	set_size(model_size - 50); /* in the last block */
	write_some(model_size - 20, 60, false);
	write_again();
	settle_folio(len);
	OK(pc_dont_need(&task, file, 0, len));
	write_again();
	stop();
}

TEST(what_changes_between_small_overwrites_is_seen)
{
	settle_and_change(4096, "linux-6.18", 65536);
	settle_and_change(1024, "linux-6.18", 65536);
	settle_and_change(4096, "native", 65536);
}

TEST(what_changes_between_small_overwrites_of_large_folios_is_seen)
{
	settle_and_change(4096, "linux-6.18", 1u << 20);
	settle_and_change(1024, "linux-6.18", 1u << 20);
	settle_and_change(4096, "native", 1u << 20);
}

int main(void)
{
	return tap_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the journal does for file data, by policy: with data in the journal a power cut leaves each
 * write whole or not at all, size and bytes together; a journal that is left alone stays as it is;
 * the inode's own flag is heard.
 */
#include "cached_file.h"

#include "base/crc.h"
#include "fs/data.h"
#include "fs/file.h"
#include "io/recorder.h"

#define FILE_MOST  (160u << 10)
#define STEPS_MOST 400u

static uint32_t digests[STEPS_MOST + 1]; /* of size and bytes after each step */
static unsigned steps;
static struct policy policy;

static void choose(const char *setting, const char *other)
{
	const char *set[] = {setting, other};

	OK(policy_choose(NULL, set, other != NULL ? 2 : 1, &diag, &policy));
}

static uint32_t digest(uint64_t size, const uint8_t *bytes)
{
	return crc32c(crc32c(~0u, &size, sizeof(size)), bytes, (size_t)size);
}

/* A step that takes one handle, or several that make no difference to who reads the file. */
static void one_step(uint32_t page)
{
	uint64_t pos = dice(FILE_MOST - 2 * page), len = 1 + dice(page);

	switch (dice(10)) {
	case 0:
		set_size(pos);
		break;
	case 1:
		if (!inode_has_pointers(file) || model_size > pos)
			falloc_some(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, pos, 5 * len);
		break;
	case 2:
		store_some(pos, MIN(len, page - pos % page));
		break;
	case 3: /* behind the end */
		write_some(model_size, MIN(len, page - model_size % page), false);
		break;
	default:
		write_some(pos, MIN(len, page - pos % page), false);
		break;
	}
	if (model_size > FILE_MOST)
		set_size(FILE_MOST);
}

static void record_steps(struct dev *recorder, unsigned n, unsigned every)
{
	digests[0] = digest(model_size, model);
	for (steps = 1; steps <= n; steps++) {
		one_step(PAGE_BYTES);
		digests[steps] = digest(model_size, model);
		if (dice(12) == 0)
			OK(dice(2) == 0 ? pc_sync(&task) : pc_fsync(&task, file, true));
		else if (steps % every == 0)
			OK(image_sync(&task));
		else
			continue;
		OK(recorder_mark(recorder, steps));
	}
	steps = n;
}

static bool is_known(uint32_t found, uint64_t from)
{
	for (uint64_t k = from; k <= steps; k++) {
		if (digests[k] == found)
			return true;
	}
	return false;
}

static void check_state(struct dev *cut, const struct state *s, bool thorough)
{
	struct image_opts opts = {.flags = IMAGE_WRITE, .now = {1700000200, 0}};
	struct ek_image *now;
	struct ek_inode *f;
	struct task t;
	size_t got = 0;

	OK(image_open(cut, &opts, &diag, &now));
	task_init(&t, now);
	OK(path_walk(&t, "/file", 0, &f));
	CHECK(f->size <= FILE_BYTES);
	OK(file_read(&t, f, 0, back, (size_t)f->size, &got));
	if (!is_known(digest(f->size, back), s->last_mark))
		TAP_FAIL("no state of the file (epoch %llu, %s, %zu writes, step %llu), size %llu",
			 (unsigned long long)s->epoch, s->how, s->writes,
			 (unsigned long long)s->last_mark, (unsigned long long)f->size);
	inode_put(&t, f);
	OK(image_close(now));
	if (thorough && have_e2fsck())
		CHECK_INT(fs_e2fsck(cut), 0);
}

static void check_states(struct dev *recorder, unsigned stride)
{
	struct states_opts o = {.seed = 1, .full = 3, .random = 4};
	struct dev *cut;
	struct states *st;
	struct state s;
	unsigned n = 0;
	int rc;

	OK(states_open(recorder, &o, &st));
	while ((rc = states_next(st, &cut, &s)) == 1) {
		if (n++ % stride == 0)
			check_state(cut, &s, n % (stride * 60) == 1);
	}
	CHECK_INT(rc, 0);
	printf("# %u states of %u steps\n", n, steps);
	states_close(st);
}

/* The steps on a recorder, and what any cut of power leaves. */
static void cut_everywhere(uint32_t block_size, unsigned n, unsigned every, unsigned stride)
{
	struct image_opts opts = usual;
	struct pc_config cfg = {.memory = 8u << 20};
	struct dev *base, *recorder;

	opts.policy = &policy;
	start(block_size, &opts, &cfg);
	inode_put(&task, file);
	unmount_image();
	base = dev;
	OK(recorder_open(base, &recorder));
	dev = recorder;
	mount_image(&opts, &cfg);
	find_file();
	record_steps(recorder, n, every);
	inode_put(&task, file);
	unmount_image();
	OK(recorder_mark(recorder, steps));
	check_states(recorder, getenv("EXTKIT_SLOW") != NULL ? 1 : stride);
	dev_close(recorder);
	dev_close(base);
	free(model);
	free(back);
	free(payload);
}

TEST(data_in_the_journal_survive_every_power_cut_with_their_size)
{
	choose("data=journal", NULL);
	cut_everywhere(1024, 120, 1, 5);
	cut_everywhere(4096, 120, 1, 7);
}

TEST(steps_of_one_transaction_come_back_together)
{
	choose("data=journal", NULL);
	cut_everywhere(1024, 300, 9, 7);
}

TEST(data_in_the_journal_of_files_with_pointers_survive_too)
{
	choose("data=journal", "mapping=indirect");
	cut_everywhere(1024, 120, 2, 7);
}

TEST(an_inode_may_ask_for_the_journal_by_itself)
{
	struct image_opts opts = usual;
	struct pc_config cfg = {.memory = 8u << 20};

	choose("allocation=nodelalloc", NULL);
	opts.policy = &policy;
	start(4096, &opts, &cfg);
	CHECK(!inode_logs_data(file));
	file->rec.flags |= INODE_JOURNAL_DATA;
	CHECK(inode_logs_data(file));
	write_some(0, 100000, false);
	CHECK_INT(img->counters.v[COUNTER_JOURNALLED_WRITE_END], 25);
	CHECK_INT(img->counters.v[COUNTER_SUBMIT_INODE_DATA], 0);
	compare();
	stop();
	choose("allocation=delalloc", NULL);
	start(4096, &opts, &cfg);
	file->rec.flags |= INODE_JOURNAL_DATA;
	CHECK(!inode_logs_data(file));
	stop();
}

TEST(the_flag_may_come_and_go)
{
	struct image_opts opts = usual;
	struct pc_config cfg = {.memory = 8u << 20};
	struct attr a = {.mask = ATTR_FLAGS};

	choose("allocation=nodelalloc", NULL);
	opts.policy = &policy;
	start(1024, &opts, &cfg);
	for (unsigned i = 0; i < 30; i++) {
		for (unsigned k = 0; k < 20; k++)
			one_step(PAGE_BYTES);
		a.flags = file->rec.flags ^ INODE_JOURNAL_DATA;
		OK(fs_setattr(&task, file, &a));
		compare();
	}
	stop();
}

TEST(commits_wait_for_data_in_ordered_mode_only)
{
	static const char *const modes[] = {"data=ordered", "data=writeback"};

	for (unsigned i = 0; i < 2; i++) {
		struct image_opts opts = usual;
		struct pc_config cfg = {.memory = 8u << 20};
		uint64_t ordered;

		choose(modes[i], "allocation=nodelalloc");
		opts.policy = &policy;
		start(4096, &opts, &cfg);
		write_some(0, 100000, false);
		OK(jnl_commit_running(img->jnl));
		ordered = img->counters.v[COUNTER_SUBMIT_INODE_DATA];
		CHECK_INT(ordered != 0, i == 0);
		CHECK_INT(pc->dirty_total, i == 0 ? 0 : 25);
		stop();
	}
}

/* The log's superblock and blocks: what the journal's inode maps. */
static uint32_t log_digest(void)
{
	uint32_t crc = ~0u;
	struct ek_inode *log;
	size_t got;

	OK(inode_get(img, (ek_inum){INUM_JOURNAL}, &log));
	for (uint64_t at = 0; at < log->size; at += got) {
		OK(file_read(&task, log, at, back, 1u << 20, &got));
		crc = crc32c(crc, back, got);
	}
	inode_put(&task, log);
	return crc;
}

TEST(a_journal_that_is_left_alone_stays_as_it_is)
{
	struct image_opts opts = usual;
	struct pc_config cfg = {.memory = 8u << 20};
	uint32_t before;

	start(4096, &opts, &cfg);
	inode_put(&task, file);
	unmount_image();
	choose("data=none", NULL);
	opts.policy = &policy;
	mount_image(&opts, &cfg);
	find_file();
	before = log_digest();
	write_some(0, 1u << 20, false);
	OK(pc_fsync(&task, file, false));
	set_size(5000);
	OK(pc_sync(&task));
	CHECK_INT(log_digest(), before);
	CHECK_INT(img->counters.v[COUNTER_HANDLE_START], 0);
	CHECK(img->counters.v[COUNTER_MARK_INODE_DIRTY] != 0);
	compare();
	stop();
}

TEST(a_journal_that_wants_recovery_is_not_left_alone)
{
	struct image_opts opts = usual;
	struct pc_config cfg = {.memory = 8u << 20};
	struct ek_image *again;

	start(4096, &opts, &cfg);
	write_some(0, 50000, false);
	OK(pc_fsync(&task, file, false));
	pc_close(pc);
	image_kill(img);
	choose("data=none", NULL);
	opts.policy = &policy;
	CHECK_INT(image_open(dev, &opts, &diag, &again), -EROFS);
	CHECK(strstr(diag.text, "recovery") != NULL);
	diag_clear(&diag);
	dev_close(dev);
	free(model);
	free(back);
	free(payload);
}

/* Pages that were read ahead lie together in a folio; a fault takes one of them. */
TEST(a_store_into_a_large_folio_has_credits_for_all_of_it)
{
	static const char *const maps[] = {"mapping=extents", "mapping=indirect"};

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		struct image_opts opts = usual;
		struct pc_config cfg = {.memory = 16u << 20};
		struct attr a = {.mask = ATTR_FLAGS};
		struct readahead ra = {0};

		choose("allocation=nodelalloc", maps[i]);
		opts.policy = &policy;
		start(1024, &opts, &cfg);
		write_some(0, 4u << 20, false);
		a.flags = file->rec.flags | INODE_JOURNAL_DATA;
		OK(fs_setattr(&task, file, &a));
		for (uint64_t at = 0; at < model_size; at += 65536)
			OK(pc_read(&task, file, at, 65536, back, &ra));
		CHECK(mapping_find(file->mapping, 700)->order > 4);
		for (uint64_t at = 1u << 20; at < 3u << 20; at += 300000)
			store_some(at, 100);
		compare();
		stop();
	}
}

int main(void)
{
	return tap_main();
}

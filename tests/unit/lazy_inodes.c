/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lazy inodes against eager ones: after each commit the two devices are equal in every byte, log
 * included, though the one encodes an inode at each mark and the other once a transaction.
 */
#include "fs_small_day.h"

#include "base/crc.h"
#include "cached_file.h"

static struct scenario sc;
static uint32_t after[2][STEPS_MAX + 1]; /* the device, after each commit: eager, lazy */
static unsigned commits[2], every;
static struct policy policies[2];

static void choose_policies(const char *other)
{
	const char *set[] = {"inode=eager", other};

	OK(policy_choose(NULL, set, other != NULL ? 2 : 1, &diag, &policies[0]));
	set[0] = "inode=lazy";
	OK(policy_choose(NULL, set, other != NULL ? 2 : 1, &diag, &policies[1]));
}

static uint32_t device_digest(struct dev *d)
{
	static uint8_t chunk[1 << 16];
	uint32_t crc = ~0u;

	for (uint64_t at = 0; at < d->size; at += sizeof(chunk)) {
		size_t n = (size_t)MIN((uint64_t)sizeof(chunk), d->size - at);

		OK(dev_read(d, at, chunk, n));
		crc = crc32c(crc, chunk, n);
	}
	return crc;
}

static int commit_and_note(struct scenario *s, void *ctx)
{
	unsigned which = *(unsigned *)ctx;
	int rc = 0;

	if (s->steps % every == 0) {
		rc = image_sync(&s->t);
		after[which][commits[which]++] = device_digest(s->img->dev);
	}
	return rc;
}

static void run_day(const struct shape *shape, unsigned which, uint64_t *ret_written)
{
	struct image_opts o = {
	    .flags = IMAGE_WRITE, .now = {1700000100, 0}, .policy = &policies[which]};
	struct ek_image *day;
	struct dev *d;
	int rc;

	fs_make(shape, &d);
	OK(image_open(d, &o, &diag, &day));
	commits[which] = 0;
	sc.after = commit_and_note;
	sc.ctx = &which;
	sc.blind = true;
	rc = sc_run(&sc, day);
	if (rc < 0)
		TAP_FAIL("step %u: %d: %s", sc.steps, rc, day->diag.text);
	*ret_written = day->counters.v[COUNTER_INODE_SERIALISE];
	CHECK(*ret_written <= day->counters.v[COUNTER_MARK_REQUESTS]);
	CHECK_INT(day->counters.v[COUNTER_INODE_CSUM], geom_csum(&day->geom) ? *ret_written : 0);
	if (which == 0)
		CHECK_INT(*ret_written, day->counters.v[COUNTER_MARK_REQUESTS]);
	OK(image_close(day));
	after[which][commits[which]++] = device_digest(d);
	dev_close(d);
}

static void compare_days(const struct shape *shape, unsigned steps)
{
	uint64_t eager, lazy;

	every = steps;
	choose_policies(NULL);
	run_day(shape, 0, &eager);
	run_day(shape, 1, &lazy);
	CHECK_INT(commits[0], commits[1]);
	for (unsigned i = 0; i < commits[0]; i++) {
		if (after[0][i] != after[1][i])
			TAP_FAIL("commit %u of %u left other bytes", i + 1, commits[0]);
	}
	printf("# %u commits, inodes encoded %llu times, %llu times when lazy\n", commits[0],
	       (unsigned long long)eager, (unsigned long long)lazy);
	CHECK(lazy < eager);
}

TEST(a_day_leaves_equal_bytes_after_each_commit)
{
	static const struct shape s = {.size = 6 << 20, .block_size = 1024};

	compare_days(&s, 1);
	compare_days(&s, 7);
}

TEST(without_checksums_and_with_pointers_too)
{
	static const struct shape s = {.size = 6 << 20,
				       .block_size = 1024,
				       .compat_off = COMPAT_ORPHAN_FILE,
				       .ro_compat_off = RO_COMPAT_METADATA_CSUM,
				       .incompat_off = INCOMPAT_EXTENTS | INCOMPAT_64BIT |
						       INCOMPAT_FLEX_BG | INCOMPAT_CSUM_SEED};

	compare_days(&s, 3);
}

TEST(with_the_orphan_file_and_without_a_journal_too)
{
	static const struct shape orphans = {
	    .size = 6 << 20, .block_size = 1024, .compat_on = COMPAT_ORPHAN_FILE};
	static const struct shape none = {
	    .size = 6 << 20, .block_size = 1024, .compat_off = COMPAT_HAS_JOURNAL};

	compare_days(&orphans, 3);
	compare_days(&none, 3);
}

TEST(what_lies_in_inodes_is_equal_too)
{
	static const struct shape s = {.size = 8 << 20,
				       .block_size = 1024,
				       .incompat_on = INCOMPAT_INLINE_DATA | INCOMPAT_EA_INODE};

	sc.script = small_day_apart;
	compare_days(&s, 1);
	compare_days(&s, 5);
	sc.script = NULL;
}

/* ---- data through the page cache ---- */

static void write_and_note(unsigned which)
{
	struct image_opts opts = usual;
	struct pc_config cfg = {.memory = 16u << 20};

	opts.policy = &policies[which];
	start(4096, &opts, &cfg);
	commits[which] = 0;
	for (unsigned i = 0; i < 120; i++) {
		uint64_t pos = dice(FILE_BYTES - 300000), len = 1 + dice(60000);

		if (dice(9) == 0)
			set_size(pos);
		else
			write_some(dice(2) == 0 ? pos : MIN(model_size, FILE_BYTES - 300000u), len,
				   false);
		if (i % 5 == 0)
			OK(dice(2) == 0 ? pc_sync(&task) : pc_fsync(&task, file, false));
		if (i % 5 == 0)
			after[which][commits[which]++] = device_digest(dev);
	}
	compare();
	stop();
}

TEST(cached_writes_leave_equal_bytes_after_each_commit)
{
	static const char *const modes[] = {"data=ordered", "data=journal", "allocation=ext3",
					    "allocation=nodelalloc"};

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		choose_policies(modes[i]);
		write_and_note(0);
		write_and_note(1);
		CHECK_INT(commits[0], commits[1]);
		for (unsigned k = 0; k < commits[0]; k++) {
			if (after[0][k] != after[1][k])
				TAP_FAIL("%s: commit %u left other bytes", modes[i], k + 1);
		}
	}
}

/* One encoding for an inode in a transaction, however often it is marked. */
TEST(a_transaction_encodes_an_inode_once)
{
	struct image_opts opts = usual;
	struct pc_config cfg = {.memory = 16u << 20};
	uint64_t *v;

	choose_policies("allocation=nodelalloc");
	opts.policy = &policies[1];
	start(4096, &opts, &cfg);
	v = img->counters.v;
	OK(image_sync(&task));
	v[COUNTER_INODE_SERIALISE] = v[COUNTER_MARK_REQUESTS] = v[COUNTER_FIRST_DIRTY_IN_TID] = 0;
	for (unsigned i = 0; i < 100; i++)
		write_some(i * 4096ull, 4096, false);
	CHECK_INT(v[COUNTER_INODE_SERIALISE], 0);
	CHECK(v[COUNTER_MARK_REQUESTS] >= 200);
	OK(image_sync(&task));
	CHECK_INT(v[COUNTER_INODE_SERIALISE], 1);
	CHECK_INT(v[COUNTER_FIRST_DIRTY_IN_TID], 1);
	stop();
}

int main(void)
{
	return tap_main();
}

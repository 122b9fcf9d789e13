/* SPDX-License-Identifier: BSD-2-Clause */
/* The n-th read, write or flush of a day's work on an image fails. */
#include "fs_faults.h"

#include "io/fault.h"

static int code = EIO; /* of what fails */

static void fail_nth(unsigned calls, bool for_good, const char *name)
{
	/* of reads there are few: most of what is needed is in memory */
	unsigned stride = getenv("EXTKIT_SLOW") != NULL || calls == FAULT_READ ? 1 : 5;
	unsigned fired = 0, silent = 0;
	struct dev *base;

	learn_model(&base);
	for (unsigned n = 1;; n += stride) {
		struct dev *copy, *dev;
		struct outcome o;
		uint64_t hits;

		CHECK_INT(dev_open_overlay(base, &copy), 0);
		CHECK_INT(fault_open(copy, &dev), 0);
		fault_arm(dev, &(struct fault){
				   .calls = calls, .nth = n, .for_good = for_good, .error = code});
		work(dev, &o);
		hits = fault_fired(dev);
		dev_close(dev);
		silent += hits != 0 && o.error == 0;
		check_outcome(copy, &o, name, n);
		if (hits != 0 && n % (7 * stride) == 1 && have_e2fsck())
			CHECK_INT(fs_e2fsck(copy), 0);
		dev_close(copy);
		if (hits == 0)
			break;
		fired++;
	}
	dev_close(base);
	printf("# %u points, %u of them without an error\n", fired, silent);
	CHECK(fired >= 10);
	if (calls != FAULT_READ) /* an allocator that cannot read a bitmap looks elsewhere */
		CHECK_INT(silent, 0);
}

TEST(a_write_that_fails_once_is_told_and_leaves_a_whole_image)
{
	fail_nth(FAULT_WRITE, false, "write");
}

TEST(a_device_that_stops_taking_writes_is_told_and_leaves_a_whole_image)
{
	fail_nth(FAULT_WRITE, true, "writes from");
}

TEST(a_failed_flush_is_told_and_leaves_a_whole_image)
{
	fail_nth(FAULT_FLUSH, false, "flush");
}

TEST(a_read_that_fails_leaves_a_whole_image)
{
	fs_cache_bytes = 1; /* the least: more reads */
	fail_nth(FAULT_READ, false, "read");
	fs_cache_bytes = 0;
}

TEST(a_read_that_fails_while_old_files_change_leaves_a_whole_image)
{
	fs_cache_bytes = 1;
	two_days = true;
	fail_nth(FAULT_READ, false, "read");
	two_days = false;
	fs_cache_bytes = 0;
}

TEST(a_write_that_fails_once_leaves_files_with_pointers_whole)
{
	shape = &with_pointers;
	fail_nth(FAULT_WRITE, false, "write");
	shape = &with_extents;
}

TEST(a_read_that_fails_leaves_files_with_pointers_whole)
{
	shape = &with_pointers;
	fs_cache_bytes = 1;
	two_days = true;
	fail_nth(FAULT_READ, false, "read");
	two_days = false;
	fs_cache_bytes = 0;
	shape = &with_extents;
}

TEST(failures_leave_files_in_clusters_whole)
{
	shape = &with_clusters;
	fail_nth(FAULT_WRITE, false, "write");
	fs_cache_bytes = 1;
	two_days = true;
	fail_nth(FAULT_READ, false, "read");
	two_days = false;
	fs_cache_bytes = 0;
	shape = &with_extents;
}

TEST(a_device_that_vanishes_leaves_a_whole_image)
{
	fail_nth(FAULT_ALL, true, "all from");
}

TEST(failures_while_data_lie_in_inodes_leave_a_whole_image)
{
	begin_small();
	fail_nth(FAULT_WRITE, false, "write");
	fail_nth(FAULT_ALL, true, "all from");
	fs_cache_bytes = 1;
	fail_nth(FAULT_READ, false, "read");
	fs_cache_bytes = 0;
	end_small();
}

/* -ENOSPC of a filesystem is taken back by whoever asked, that of its device by nobody. */
TEST(a_device_without_room_is_no_full_filesystem)
{
	code = ENOSPC;
	begin_small();
	fail_nth(FAULT_WRITE, false, "write without room");
	fs_cache_bytes = 1;
	fail_nth(FAULT_READ, false, "read without room");
	fs_cache_bytes = 0;
	end_small();
	code = EIO;
}

int main(void)
{
	return tap_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing by ext3's rules: marks of inodes, handles, ordered data, and windows that keep files
 * apart.
 */
#include "cached_file.h"

#include "fs/map.h"

#define STREAMS 16u
#define PAGES   200u

static struct policy policy;
static struct ek_inode *streams[STREAMS];

static void begin(const char *allocation)
{
	struct image_opts opts = usual;
	struct pc_config cfg = {.memory = 32u << 20};
	struct ek_inode *root;
	char name[] = "a";

	OK(policy_choose(NULL, &allocation, 1, &diag, &policy));
	opts.policy = &policy;
	start(4096, &opts, &cfg);
	OK(inode_get(img, (ek_inum){INUM_ROOT}, &root));
	for (unsigned i = 0; i < STREAMS; i++, name[0]++) {
		OK(fs_create(&task, root, name, 1, 0644, &streams[i]));
		OK(pc_opened(&task, streams[i], true));
		CHECK(inode_has_pointers(streams[i]));
	}
	inode_put(&task, root);
	memset(img->counters.marks, 0, sizeof(img->counters.marks));
	img->counters.v[COUNTER_HANDLE_START] = 0;
	img->counters.v[COUNTER_MARK_INODE_DIRTY] = 0;
}

/* A page to each stream in turn. */
static void append(void)
{
	struct pc_source src = {payload, 0};

	for (uint64_t at = 0; at < PAGES * 4096ull; at += 4096) {
		for (unsigned i = 0; i < STREAMS; i++)
			CHECK_INT(pc_write(&task, streams[i], at, 4096, &src, 0), 4096);
	}
}

static void end(void)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		OK(pc_closed(&task, streams[i], true));
		inode_put(&task, streams[i]);
	}
	stop();
}

static void check_marks(const char *allocation, uint64_t each, uint64_t splices)
{
	const uint64_t *m, n = (uint64_t)PAGES * STREAMS;

	begin(allocation);
	m = img->counters.marks;
	append();
	CHECK_INT(img->counters.v[COUNTER_HANDLE_START], n);
	CHECK_INT(m[MARK_QUOTA_CLAIM], n);
	CHECK_INT(m[MARK_QUOTA_GIVE_BACK], each == 4 ? n : 0);
	CHECK_INT(m[MARK_IND_SPLICE], splices);
	CHECK_INT(m[MARK_WRITE_END], n);
	CHECK_INT(img->counters.v[COUNTER_MARK_INODE_DIRTY], each * n + (each == 2 ? splices : 0));
	end();
}

TEST(an_appended_page_marks_the_inode_four_times)
{
	check_marks("allocation=ext3", 4, (uint64_t)PAGES * STREAMS);
}

TEST(the_first_patch_leaves_three_marks)
{
	check_marks("allocation=ext3-patch1", 3, (uint64_t)PAGES * STREAMS);
}

TEST(both_patches_leave_two_and_those_for_pointers_in_the_inode)
{
	check_marks("allocation=ext3-patched", 2, 13ull * STREAMS);
}

TEST(a_new_second_is_worth_a_mark)
{
	struct pc_source src = {0};

	begin("allocation=ext3-patched");
	src.ptr = payload;
	CHECK_INT(pc_write(&task, streams[0], 0, 20 * 4096, &src, 0), 20 * 4096);
	img->counters.marks[MARK_IND_SPLICE] = 0;
	CHECK_INT(pc_write(&task, streams[0], 20 * 4096, 4096, &src, 0), 4096);
	CHECK_INT(img->counters.marks[MARK_IND_SPLICE], 0);
	streams[0]->rec.mtime.sec++; /* so that the times of the write are not what moves ctime */
	streams[0]->rec.ctime.sec--;
	img->counters.marks[MARK_TIMESTAMP] = 0;
	CHECK_INT(pc_write(&task, streams[0], 21 * 4096, 4096, &src, 0), 4096);
	CHECK_INT(img->counters.marks[MARK_TIMESTAMP], 1);
	end();
}

TEST(overwrites_open_a_handle_for_each_page_and_are_ordered)
{
	struct pc_source src = {0};
	uint64_t handles, ordered;

	begin("allocation=ext3");
	src.ptr = payload;
	CHECK_INT(pc_write(&task, streams[0], 0, 8 * 4096, &src, 0), 8 * 4096);
	OK(pc_fsync(&task, streams[0], false));
	handles = img->counters.v[COUNTER_HANDLE_START];
	ordered = img->counters.v[COUNTER_SUBMIT_INODE_DATA];
	CHECK_INT(pc_write(&task, streams[0], 0, 8 * 4096, &src, 0), 8 * 4096);
	CHECK_INT(img->counters.v[COUNTER_HANDLE_START], handles + 8);
	CHECK(pc->dirty_total != 0);
	OK(jnl_commit_running(img->jnl));
	CHECK_INT(pc->dirty_total, 0);
	CHECK_INT(img->counters.v[COUNTER_SUBMIT_INODE_DATA], ordered + 1);
	end();
}

static unsigned runs_of(struct ek_inode *inode)
{
	unsigned n = 0;
	uint64_t next = 0;
	struct map m;

	for (uint32_t at = 0; map_next(&task, inode, (ek_lblk){at}, &m) == 1; n++) {
		/* the block of pointers lies between data */
		if (m.pblk.v == next + 1)
			n--;
		next = m.pblk.v + m.len;
		at = m.lblk.v + m.len;
	}
	return n;
}

TEST(windows_keep_streams_apart)
{
	begin("allocation=ext3");
	append();
	/* windows of 8, 16, 32, 64 and 128 blocks */
	for (unsigned i = 0; i < STREAMS; i++)
		CHECK(runs_of(streams[i]) <= 6);
	CHECK(img->mb != NULL);
	end();
}

TEST(a_full_image_gives_up_windows_before_it_is_full)
{
	struct pc_source src = {0};
	uint64_t at[STREAMS] = {0}, before;
	unsigned full = 0;

	begin("allocation=ext3-patched");
	src.ptr = payload;
	before = img->groups.space.free;
	while (full < STREAMS) {
		full = 0;
		for (unsigned i = 0; i < STREAMS; i++) {
			int64_t n = pc_write(&task, streams[i], at[i], 65536, &src, 0);

			diag_clear(&img->diag);
			if (n <= 0)
				CHECK_INT(n, -ENOSPC);
			at[i] += n > 0 ? (uint64_t)n : 0;
			full += n <= 0;
		}
	}
	CHECK(img->groups.space.free < before / 30);
	OK(pc_sync(&task));
	for (unsigned i = 0; i < STREAMS; i++)
		OK(inode_set_size(&task, streams[i], 0));
	OK(pc_sync(&task));
	CHECK_INT(img->groups.space.free, before);
	end();
}

int main(void)
{
	return tap_main();
}

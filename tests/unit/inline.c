/* SPDX-License-Identifier: BSD-2-Clause */
/* Files and folders that lie in their inodes: around every size at which something changes, and
 * through everything that makes them leave. */
#include "cached_file.h"

#include "fs/dir.h"
#include "fs/inline.h"
#include "fs/xattr.h"

static const struct pc_config cache = {.memory = 16u << 20};
static const uint32_t inode_sizes[] = {256, 512, 1024};

static void begin(uint32_t block_size, uint32_t size)
{
	incompat_on = size > 128 ? INCOMPAT_INLINE_DATA : 0;
	inode_size = size;
	start(block_size, &usual, &cache);
	incompat_on = 0;
	inode_size = 0;
}

static void again(void)
{
	OK(pc_closed(&task, file, true));
	inode_put(&task, file);
	unmount_image();
	mount_image(&usual, &cache);
	find_file();
}

static uint32_t capacity(void)
{
	uint32_t n;

	OK(inline_capacity(file, &n));
	return n;
}

/* What 6.18 has room for: all that is left of the inode but headers, rounded. */
TEST(an_inode_has_room_for_what_the_kernel_puts_there)
{
	static const uint32_t want[] = {128, 384, 896};

	for (size_t i = 0; i < ARRAY_SIZE(inode_sizes); i++) {
		begin(4096, inode_sizes[i]);
		CHECK_INT(capacity(), want[i]);
		stop();
	}
	begin(1024, 256);
	write_some(0, 10, false);
	CHECK_INT(capacity(), 128);
	OK(xattr_change(&task, file, "user.a", "0123456789", 10));
	CHECK_INT(capacity(), 128 - 20 - 12);
	OK(xattr_change(&task, file, "user.a", NULL, 0));
	CHECK_INT(capacity(), 128);
	stop();
}

TEST(inodes_of_128_bytes_have_no_room)
{
	begin(1024, 128);
	CHECK_INT(capacity(), 0);
	write_some(0, 10, false);
	CHECK(!inode_is_inline(file) && !inode_may_inline(file));
	OK(pc_sync(&task));
	compare();
	stop();
}

static void one_size(uint32_t block_size, uint32_t inode_bytes, uint32_t len, bool fits)
{
	begin(block_size, inode_bytes);
	write_some(0, len, false);
	CHECK_INT(inode_is_inline(file), len != 0 && fits);
	CHECK_INT(file->reserved != 0, !fits);
	compare();
	OK(pc_sync(&task));
	CHECK_INT(inode_sectors(file) == 0, fits);
	compare();
	again();
	CHECK_INT(inode_is_inline(file), len != 0 && fits);
	compare();
	compare_direct();
	stop();
}

TEST(a_file_lies_in_its_inode_up_to_its_capacity)
{
	for (size_t i = 0; i < ARRAY_SIZE(inode_sizes); i++) {
		uint32_t room = inode_sizes[i] - 128;
		const uint32_t lens[] = {0, 1, 59, 60, 61, room - 1, room, room + 1, 2000};

		for (size_t k = 0; k < ARRAY_SIZE(lens); k++) {
			one_size(1024, inode_sizes[i], lens[k], lens[k] <= room);
			one_size(4096, inode_sizes[i], lens[k], lens[k] <= room);
		}
	}
}

TEST(a_file_grows_byte_by_byte_through_its_capacity)
{
	for (uint32_t block_size = 1024; block_size <= 4096; block_size *= 4) {
		begin(block_size, 256);
		for (uint32_t at = 0; at < 140; at++) {
			write_some(at, 1, false);
			CHECK_INT(inode_is_inline(file), 1); /* the old bytes wait for writeback */
			CHECK_INT(inode_may_inline(file), at < 128);
			compare();
		}
		OK(pc_sync(&task));
		CHECK(!inode_is_inline(file));
		again();
		compare();
		stop();
	}
}

TEST(truncation_cuts_both_parts_and_growing_shows_zeros)
{
	static const uint64_t sizes[] = {120, 61, 60, 59, 1, 0};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		begin(1024, 256);
		write_some(0, 128, false);
		set_size(sizes[i]);
		CHECK(inode_is_inline(file));
		compare();
		write_some(MIN(sizes[i] + 5, (uint64_t)127), 1, false);
		CHECK(inode_is_inline(file));
		compare();
		set_size(60);
		compare();
		set_size(3000);
		CHECK(!inode_is_inline(file));
		compare();
		again();
		compare();
		stop();
	}
}

static void leave_by_store(void)
{
	store_some(0, 50);
}

static void leave_by_allocation(void)
{
	falloc_some(0, 0, 3000);
}

static void leave_by_hole(void)
{
	falloc_some(FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 10, 20);
}

static void leave_by_growing(void)
{
	set_size(9000);
}

static void leave_by_write(void)
{
	write_some(90, 500, false);
}

TEST(what_needs_a_block_takes_the_bytes_along)
{
	static void (*const ways[])(void) = {leave_by_store, leave_by_allocation, leave_by_hole,
					     leave_by_growing, leave_by_write};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		for (unsigned opened = 0; opened < 2; opened++) {
			begin(4096, 256);
			write_some(0, 100, false);
			if (opened == 1)
				again(); /* nothing is cached */
			ways[i]();
			compare();
			write_some(3, 40, false);
			compare();
			OK(pc_fsync(&task, file, false));
			CHECK(!inode_is_inline(file) && !inode_may_inline(file));
			again();
			compare();
			stop();
		}
	}
}

TEST(a_direct_write_to_an_inline_file_goes_through_the_cache)
{
	begin(1024, 256);
	write_some(0, 100, false);
	write_some(0, 4096, true);
	compare();
	OK(pc_sync(&task));
	compare_direct();
	stop();
	begin(1024, 256);
	write_some(0, 1024, true); /* and one to an empty file has blocks */
	CHECK(!inode_is_inline(file) && !inode_may_inline(file));
	write_some(0, 10, false);
	compare();
	stop();
}

TEST(attributes_leave_inline_data_where_they_are)
{
	static const char value[300] = "a value";

	begin(1024, 256);
	write_some(0, 120, false);
	OK(xattr_change(&task, file, "user.one", value, 100));
	CHECK(inode_is_inline(file) && file->rec.file_acl != 0);
	compare();
	set_size(20);
	OK(xattr_change(&task, file, "user.two", value, 20));
	write_some(20, 50, false);
	again();
	compare();
	stop();
}

TEST(what_a_full_image_refuses_stays_inline)
{
	struct pc_source src = {payload, 0};

	begin(1024, 256);
	write_some(0, 100, false);
	OK(pc_sync(&task));
	task.privileged = false;
	img->groups.space.dirty = img->groups.space.free;
	CHECK_INT(inode_fallocate(&task, file, 0, 0, 4000), -ENOSPC);
	CHECK(inode_is_inline(file));
	src.ptr = payload;
	CHECK_INT(pc_write(&task, file, 50, 2000, &src, 0), -ENOSPC);
	img->groups.space.dirty = 0;
	diag_clear(&img->diag);
	compare();
	stop();
}

static void one_step(void)
{
	uint64_t pos = dice(dice(6) == 0 ? 3000 : 160), len = 1 + dice(dice(8) == 0 ? 4000 : 60);

	switch (dice(14)) {
	case 0:
		store_some(pos, len);
		break;
	case 1:
		write_some(pos / 1024 * 1024, 1024, true);
		break;
	case 2:
	case 3:
	case 4:
		set_size(dice(3) == 0 ? dice(6000) : dice(140));
		break;
	case 5:
		if (dice(4) == 0)
			falloc_some(dice(2) == 0 ? 0 : FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				    pos, len);
		break;
	case 6:
		OK(dice(2) == 0 ? pc_sync(&task) : pc_fsync(&task, file, false));
		break;
	case 7:
		OK(pc_dont_need(&task, file, 0, 0));
		break;
	case 8:
		again();
		break;
	default:
		write_some(pos, len, false);
	}
}

TEST(a_file_reads_as_written_whatever_its_place)
{
	for (uint32_t round = 0; round < 60; round++) {
		begin(round % 2 == 0 ? 1024 : 4096, inode_sizes[round % 3]);
		state = round + 1;
		for (unsigned i = 0; i < 1 + round; i++) {
			one_step();
			compare();
		}
		OK(pc_sync(&task));
		again();
		compare();
		stop();
	}
}

/* ---- folders ---- */

static struct ek_inode *folder;

static void make_folder(const char *name)
{
	struct ek_inode *root;

	OK(inode_get(img, (ek_inum){INUM_ROOT}, &root));
	OK(fs_mkdir(&task, root, name, (uint32_t)strlen(name), 0755, &folder));
	inode_put(&task, root);
}

static void find_folder(const char *path)
{
	OK(path_walk(&task, path, 0, &folder));
}

static uint64_t names_in(struct ek_inode *dir)
{
	struct dir_iter it = {0};
	struct dirent e;
	uint64_t sum = 0;
	int rc;

	while ((rc = dir_next(&task, dir, &it, &e)) == 1)
		sum += e.name_len > 2 ? 1 : 0;
	dir_iter_end(&it);
	OK(rc);
	return sum;
}

static void name(char *to, unsigned i)
{
	snprintf(to, 32, "name-%0*u", (int)(1 + i % 9), i);
}

TEST(a_folder_fills_its_inode_and_then_a_block)
{
	char text[32];
	unsigned inline_names = 0;

	for (size_t k = 0; k < ARRAY_SIZE(inode_sizes); k++) {
		begin(1024, inode_sizes[k]);
		make_folder("dir");
		CHECK_INT(folder->size, 60);
		for (unsigned i = 0; i < 80; i++) {
			name(text, i);
			OK(fs_link(&task, file, folder, text, (uint32_t)strlen(text)));
			CHECK_INT(fs_link(&task, file, folder, text, (uint32_t)strlen(text)),
				  -EEXIST);
			inline_names += inode_is_inline(folder) ? 1 : 0;
			CHECK_INT(names_in(folder), i + 1);
		}
		CHECK(!inode_is_inline(folder));
		inode_put(&task, folder);
		again();
		find_folder("/dir");
		CHECK_INT(names_in(folder), 80);
		inode_put(&task, folder);
		stop();
	}
	CHECK(inline_names > 40);
}

TEST(names_go_from_both_rows_and_leave_room_for_others)
{
	char text[32];

	begin(4096, 256);
	make_folder("dir");
	for (unsigned i = 0; i < 5; i++) {
		name(text, i);
		OK(fs_link(&task, file, folder, text, (uint32_t)strlen(text)));
	}
	CHECK(inode_is_inline(folder) && folder->size == 128);
	for (unsigned i = 0; i < 5; i++) {
		name(text, i);
		OK(fs_unlink(&task, folder, text, (uint32_t)strlen(text)));
		CHECK_INT(fs_unlink(&task, folder, text, (uint32_t)strlen(text)), -ENOENT);
		OK(fs_link(&task, file, folder, text, (uint32_t)strlen(text)));
		CHECK_INT(names_in(folder), 5);
	}
	CHECK(inode_is_inline(folder));
	for (unsigned i = 0; i < 5; i++) {
		name(text, i);
		CHECK_INT(dir_empty(&task, folder), 0);
		OK(fs_unlink(&task, folder, text, (uint32_t)strlen(text)));
	}
	CHECK_INT(dir_empty(&task, folder), 1);
	inode_put(&task, folder);
	again();
	stop();
}

TEST(a_folder_that_moves_knows_its_new_parent)
{
	struct ek_inode *to, *root;
	ek_inum up;

	begin(1024, 256);
	make_folder("to");
	to = folder;
	make_folder("dir");
	OK(inode_get(img, (ek_inum){INUM_ROOT}, &root));
	OK(fs_rename(&task, root, "dir", 3, to, "sub", 3, 0));
	OK(dir_lookup(&task, folder, "..", 2, &up));
	CHECK_INT(up.v, to->ino.v);
	CHECK_INT(to->rec.links, 3);
	CHECK_INT(fs_rmdir(&task, root, "to", 2), -ENOTEMPTY);
	inode_put(&task, root);
	inode_put(&task, to);
	inode_put(&task, folder);
	again();
	find_folder("/to/sub");
	OK(dir_lookup(&task, folder, "..", 2, &up));
	inode_put(&task, folder);
	find_folder("/to");
	CHECK_INT(up.v, folder->ino.v);
	OK(fs_rmdir(&task, folder, "sub", 3));
	inode_put(&task, folder);
	stop();
}

int main(void)
{
	return tap_main();
}

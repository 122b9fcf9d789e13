/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole images in memory: made, filled, emptied; e2fsck is the judge where it is installed. */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "fs/create.h"
#include "fs/dir.h"
#include "fs/image.h"
#include "fs/inode.h"
#include "fs/map.h"
#include "fs/namei.h"
#include "fs/xattr.h"
#include "io/dev.h"

static struct diag diag;
static struct dev *dev;
static struct ek_image *img;
static struct task task;

#define OK(call)                                                          \
	do {                                                              \
		int ok_rc = (call);                                       \
		if (ok_rc < 0)                                            \
			TAP_FAIL("%s: %d: %s%s", #call, ok_rc, diag.text, \
				 img != NULL ? img->diag.text : "");      \
	} while (0)

static void make(uint64_t size, uint32_t bs, uint32_t off, uint32_t on)
{
	struct create_opts o;
	struct layout l;

	diag_clear(&diag);
	img = NULL;
	create_opts_default(&o);
	o.size = size;
	o.block_size = bs;
	o.compat &= ~off;
	o.compat |= on;
	o.fresh = true;
	o.now.sec = 1700000000;
	memcpy(o.uuid, "0123456789abcdef", 16);
	OK(dev_open_memory(size, &diag, &dev));
	OK(layout_plan(&o, &diag, &l));
	OK(layout_write(&l, &o, dev, &diag));
	layout_free(&l);
}

static void open_image(void)
{
	struct image_opts o = {.flags = IMAGE_WRITE, .now = {1700000100, 0}};

	OK(image_open(dev, &o, &diag, &img));
	task_init(&task, img);
}

/* The image as a file that other programs read. */
static int fsck(void)
{
	char path[] = "/tmp/extkit-unit-XXXXXX", command[128];
	static uint8_t chunk[1 << 20];
	int fd = mkstemp(path), rc;

	for (uint64_t at = 0; at < dev->size; at += sizeof(chunk)) {
		size_t n = (size_t)MIN((uint64_t)sizeof(chunk), dev->size - at);

		dev_read(dev, at, chunk, n);
		if (chunk[0] != 0 || memcmp(chunk, chunk + 1, n - 1) != 0) {
			if (pwrite(fd, chunk, n, (off_t)at) != (ssize_t)n)
				return -1;
		}
	}
	if (ftruncate(fd, (off_t)dev->size) < 0)
		return -1;
	close(fd);
	snprintf(command, sizeof(command),
		 "e2fsck -fn %s 2>&1 | sed 's/^/# /'; exit ${PIPESTATUS[0]}", path);
	(void)command;
	snprintf(command, sizeof(command),
		 "e2fsck -fn %s >%s.log 2>&1 || { sed 's/^/# /' %s.log; false; }", path, path,
		 path);
	rc = system(command);
	snprintf(command, sizeof(command), "%s.log", path);
	unlink(command);
	if (getenv("KEEP") == NULL)
		unlink(path);
	return rc;
}

static void have_fsck(void)
{
	if (system("command -v e2fsck >/dev/null") != 0)
		SKIP("e2fsck is not installed");
}

static void close_clean(void)
{
	OK(image_close(img));
	img = NULL;
	CHECK_INT(fsck(), 0);
	dev_close(dev);
}

TEST(empty_images_of_many_shapes_are_clean)
{
	static const struct {
		uint64_t size;
		uint32_t bs, off, on;
	} rows[] = {
	    {64 << 20, 4096, 0, 0},   {256 << 20, 4096, 0, 0},        {256 << 20, 1024, 0, 0},
	    {512 << 20, 2048, 0, 0},  {8 << 20, 1024, 0, 0},          {1 << 20, 1024, 4, 0},
	    {3ull << 30, 4096, 0, 0}, {64 << 20, 4096, 0x10, 0x1000},
	};

	have_fsck();
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		make(rows[i].size, rows[i].bs, rows[i].off, rows[i].on);
		CHECK_INT(fsck(), 0);
		dev_close(dev);
	}
}

static struct ek_inode *root(void)
{
	struct ek_inode *r;

	OK(inode_get(img, (ek_inum){INUM_ROOT}, &r));
	return r;
}

TEST(opening_and_closing_changes_nothing_that_matters)
{
	have_fsck();
	make(64 << 20, 4096, 0, 0);
	open_image();
	close_clean();
}

TEST(files_folders_and_links_are_made_and_removed)
{
	struct ek_inode *r, *f, *d;
	char name[32];

	have_fsck();
	make(64 << 20, 4096, 0, 0);
	open_image();
	r = root();
	for (int i = 0; i < 300; i++) {
		int n = snprintf(name, sizeof(name), "file%d", i);

		OK(fs_create(&task, r, name, (uint32_t)n, 0644, &f));
		inode_put(&task, f);
	}
	OK(fs_mkdir(&task, r, "sub", 3, 0755, &d));
	OK(fs_symlink(&task, d, "short", 5, "../file1", 8, NULL));
	OK(fs_symlink(&task, d, "long", 4,
		      "/a/very/long/target/that/does/not/fit/into/the/inode/of/sixty/bytes/at/all",
		      74, NULL));
	OK(fs_mknod(&task, d, "null", 4, S_IFCHR | 0666, 300, 70000, NULL));
	OK(path_walk(&task, "/sub/short", 0, &f));
	OK(fs_link(&task, f, d, "hard", 4));
	CHECK_INT(f->rec.links, 2);
	inode_put(&task, f);
	for (int i = 0; i < 300; i += 2) {
		int n = snprintf(name, sizeof(name), "file%d", i);

		OK(fs_unlink(&task, r, name, (uint32_t)n));
	}
	OK(fs_rename(&task, r, "file1", 5, d, "moved", 5, 0));
	OK(fs_rename(&task, r, "file3", 5, r, "file5", 5, 0));
	CHECK_INT(fs_rmdir(&task, r, "sub", 3), -ENOTEMPTY);
	inode_put(&task, d);
	inode_put(&task, r);
	close_clean();
}

TEST(a_folder_of_thousands_of_names_is_indexed_and_found)
{
	struct ek_inode *r, *d, *f;
	char name[64];

	have_fsck();
	make(128 << 20, 1024, 0, 0);
	open_image();
	r = root();
	OK(fs_mkdir(&task, r, "big", 3, 0755, &d));
	for (int i = 0; i < 9000; i++) {
		int n = snprintf(name, sizeof(name), "a-name-of-some-length-%d", i * 7919);

		OK(fs_create(&task, d, name, (uint32_t)n, 0644, &f));
		inode_put(&task, f);
	}
	CHECK((d->rec.flags & INODE_INDEX) != 0);
	for (int i = 0; i < 9000; i += 3) {
		ek_inum ino;
		int n = snprintf(name, sizeof(name), "a-name-of-some-length-%d", i * 7919);

		OK(dir_lookup(&task, d, name, (uint32_t)n, &ino));
		OK(fs_unlink(&task, d, name, (uint32_t)n));
		CHECK_INT(dir_lookup(&task, d, name, (uint32_t)n, &ino), -ENOENT);
	}
	inode_put(&task, d);
	inode_put(&task, r);
	close_clean();
}

TEST(extents_split_grow_and_go_again)
{
	struct ek_inode *r, *f;

	have_fsck();
	make(256 << 20, 1024, 0, 0);
	open_image();
	r = root();
	OK(fs_create(&task, r, "holes", 5, 0644, &f));
	for (uint32_t i = 0; i < 3000; i++)
		OK(inode_fallocate(&task, f, 0, (uint64_t)((i * 1237) % 3000) * 4096, 1024));
	CHECK(f->size > 2999u * 4096);
	OK(inode_fallocate(&task, f, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1 << 20, 1 << 20));
	OK(inode_fallocate(&task, f, FALLOC_FL_COLLAPSE_RANGE, 4096, 64 << 10));
	OK(inode_fallocate(&task, f, FALLOC_FL_INSERT_RANGE, 8192, 128 << 10));
	OK(inode_fallocate(&task, f, FALLOC_FL_ZERO_RANGE, 300000, 500000));
	OK(inode_set_size(&task, f, 5000000));
	OK(inode_set_size(&task, f, 123456));
	inode_put(&task, f);
	OK(fs_unlink(&task, r, "holes", 5));
	inode_put(&task, r);
	close_clean();
}

TEST(a_hole_leaves_what_is_preallocated_behind_the_last_page)
{
	struct ek_inode *r, *f;

	have_fsck();
	make(16 << 20, 1024, 0, 0);
	open_image();
	r = root();
	OK(fs_create(&task, r, "f", 1, 0644, &f));
	OK(inode_set_size(&task, f, 5000));
	OK(inode_fallocate(&task, f, FALLOC_FL_KEEP_SIZE, 0, 64 << 10));
	CHECK_INT(f->rec.blocks, 128);
	OK(inode_fallocate(&task, f, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2048, 40000));
	CHECK_INT(f->rec.blocks, 128 - 12); /* [2048, 8192) */
	OK(inode_fallocate(&task, f, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 5000, 40000));
	CHECK_INT(f->rec.blocks, 128 - 12); /* at the end of the file and behind: nothing */
	OK(inode_set_size(&task, f, 9000));
	OK(inode_fallocate(&task, f, FALLOC_FL_KEEP_SIZE, 0, 64 << 10));
	OK(inode_fallocate(&task, f, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192, 809));
	CHECK_INT(f->rec.blocks, 128 - 8); /* one byte behind the end takes the whole page */
	inode_put(&task, f);
	inode_put(&task, r);
	close_clean();
}

TEST(attributes_live_in_the_inode_and_then_in_a_block)
{
	struct ek_inode *r, *f;
	struct handle *h;
	char value[2000], got[2000];

	have_fsck();
	make(64 << 20, 4096, 0, 0);
	open_image();
	r = root();
	OK(fs_create(&task, r, "f", 1, 0644, &f));
	memset(value, 'v', sizeof(value));
	OK(task_start_inode(&task, f, HANDLE_XATTR, 30, 0, &h));
	OK(xattr_set(&task, f, "user.small", "x", 1, 0));
	OK(xattr_set(&task, f, "user.big", value, sizeof(value), 0));
	OK(xattr_set(&task, f, "security.selinux", "label", 5, 0));
	OK(xattr_remove(&task, f, "user.small"));
	OK(handle_stop(h));
	CHECK_INT(xattr_get(&task, f, "user.big", got, sizeof(got)), 2000);
	CHECK(memcmp(value, got, 2000) == 0);
	CHECK_INT(xattr_get(&task, f, "user.small", got, sizeof(got)), -ENODATA);
	inode_put(&task, f);
	inode_put(&task, r);
	close_clean();
}

int main(void)
{
	return tap_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* When records of inodes reach their table. */
#include "tap.h"

#include <stdio.h>

#include "fs/dir.h"
#include "fs/inode_cache.h"
#include "fs/namei.h"
#include "fs_image.h"
#include "io/dev.h"

static const struct shape shape = {.size = 64 << 20, .block_size = 4096};
static struct dev *dev;
static struct ek_image *img;
static struct task task;

static void open_image(void)
{
	struct diag d = {0};

	CHECK_INT(fs_open(dev, IMAGE_WRITE, &d, &img), 0);
	task_init(&task, img);
}

static struct ek_inode *root(void)
{
	struct ek_inode *r = NULL;

	CHECK_INT(inode_get(img, (ek_inum){INUM_ROOT}, &r), 0);
	return r;
}

static void close_whole(void)
{
	CHECK_INT(image_close(img), 0);
	if (have_e2fsck())
		CHECK_INT(fs_e2fsck(dev), 0);
	dev_close(dev);
}

static struct ek_inode *file(const char *name)
{
	struct ek_inode *r = root(), *f = NULL;

	CHECK_INT(fs_create(&task, r, name, (uint32_t)strlen(name), 0644, &f), 0);
	inode_put(&task, r);
	return f;
}

/* What the table says of the inode now. */
static uint32_t stored_uid(struct ek_inode *f)
{
	struct inode_rec rec = {0};
	const void *raw;
	struct buf *b;

	CHECK_INT(inode_raw_view(f, &b, &raw), 0);
	CHECK_INT(inode_decode(&img->geom, f->ino, raw, &img->diag, &rec), 0);
	buf_put(b);
	return rec.uid;
}

static void set_uid(struct ek_inode *f, uint32_t uid)
{
	f->rec.uid = uid;
	CHECK_INT(inode_mark_dirty(&task, f, MARK_SETATTR), 0);
}

TEST(whoever_looks_at_the_slot_of_a_marked_inode_sees_its_record)
{
	struct ek_inode *f;

	fs_make(&shape, &dev);
	open_image();
	f = file("f");
	for (uint32_t uid = 1; uid < 4; uid++) {
		set_uid(f, uid);
		CHECK_INT(stored_uid(f), uid);
	}
	CHECK_INT(image_sync(&task), 0);
	set_uid(f, 70000);
	CHECK_INT(stored_uid(f), 70000);
	inode_put(&task, f);
	close_whole();
}

TEST(a_transaction_has_the_last_record_that_was_marked_in_it)
{
	struct ek_inode *f, *r;
	ek_inum ino;

	fs_make(&shape, &dev);
	open_image();
	f = file("f");
	for (uint32_t uid = 1; uid < 100; uid++)
		set_uid(f, uid);
	CHECK_INT(image_sync(&task), 0);
	set_uid(f, 200);
	image_kill(img); /* without the second transaction */
	open_image();
	r = root();
	CHECK_INT(dir_lookup(&task, r, "f", 1, &ino), 0);
	inode_put(&task, r);
	CHECK_INT(inode_get(img, ino, &f), 0);
	CHECK_INT(f->rec.uid, 99);
	inode_put(&task, f);
	close_whole();
}

TEST(inodes_that_leave_memory_before_their_block_does_are_stored)
{
	/* Without a log nothing is written before the end, and the cache keeps fewer than so many.
	 */
	static const struct shape no_log = {
	    .size = 256 << 20, .block_size = 4096, .compat_off = COMPAT_HAS_JOURNAL};
	enum { MANY = 9000 };
	struct ek_inode *f, *r;
	char name[16];
	ek_inum ino;

	fs_make(&no_log, &dev);
	open_image();
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "%u", i);
		f = file(name);
		set_uid(f, i);
		inode_put(&task, f);
	}
	r = root();
	for (uint32_t i = 0; i < MANY; i += 97) {
		snprintf(name, sizeof(name), "%u", i);
		CHECK_INT(dir_lookup(&task, r, name, (uint32_t)strlen(name), &ino), 0);
		CHECK_INT(inode_get(img, ino, &f), 0);
		CHECK_INT(f->rec.uid, i);
		inode_put(&task, f);
	}
	inode_put(&task, r);
	close_whole();
}

int main(void)
{
	return tap_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Attribute values that lie in inodes: where they go, who shares them, and that they go again. */
#include "fs_image.h"

#include "fs/namei.h"
#include "fs/xattr.h"
#include "fs/xattr_format.h"

static struct diag diag;
static struct dev *dev;
static struct ek_image *img;
static struct task task;
static struct ek_inode *root, *a, *b;
static bool small; /* inodes of 128 bytes */
static uint8_t value[65536], back[65536];

#define OK(call)                                                                                \
	do {                                                                                    \
		int64_t ok_rc = (call);                                                         \
		if (ok_rc < 0)                                                                  \
			TAP_FAIL("%s: %d: %s%s", #call, (int)ok_rc, diag.text, img->diag.text); \
	} while (0)

static void mount_image(void)
{
	CHECK_INT(fs_open(dev, IMAGE_WRITE, &diag, &img), 0);
	task_init(&task, img);
	OK(inode_get(img, (ek_inum){INUM_ROOT}, &root));
}

static void unmount_image(void)
{
	inode_put(&task, a);
	inode_put(&task, b);
	inode_put(&task, root);
	OK(image_close(img));
	if (have_e2fsck())
		CHECK_INT(fs_e2fsck(dev), 0);
}

static void begin_as(uint32_t block_size, uint32_t features)
{
	struct shape s = {.size = 16u << 20,
			  .block_size = block_size,
			  .ro_compat_off = small ? RO_COMPAT_EXTRA_ISIZE : 0,
			  .incompat_on = features,
			  .inode_size = small ? 128 : 0};

	for (uint32_t i = 0; i < sizeof(value); i++)
		value[i] = (uint8_t)(i * 7 + i / 251);
	diag_clear(&diag);
	fs_make(&s, &dev);
	mount_image();
	OK(fs_create(&task, root, "a", 1, 0644, &a));
	OK(fs_create(&task, root, "b", 1, 0644, &b));
}

static void begin(uint32_t block_size)
{
	begin_as(block_size, INCOMPAT_EA_INODE);
}

static void again(void)
{
	unmount_image();
	mount_image();
	OK(path_walk(&task, "/a", 0, &a));
	OK(path_walk(&task, "/b", 0, &b));
}

static void end(void)
{
	unmount_image();
	dev_close(dev);
}

static void set(struct ek_inode *inode, const char *name, size_t len)
{
	OK(xattr_change(&task, inode, name, value, len));
}

static void check(struct ek_inode *inode, const char *name, size_t len)
{
	memset(back, 0, sizeof(back));
	CHECK_INT(xattr_get(&task, inode, name, back, sizeof(back)), len);
	CHECK(memcmp(back, value, len) == 0);
}

static uint32_t used_inodes(void)
{
	return img->geom.inodes - (uint32_t)img->groups.free_inodes;
}

TEST(values_of_every_size_read_as_they_were_set)
{
	static const size_t sizes[] = {0,    1,    100,  967,  968,  969,  1024,  1025,
				       4039, 4040, 4041, 4096, 4097, 9000, 65535, 65536};

	for (uint32_t bs = 1024; bs <= 4096; bs *= 2) {
		begin(bs);
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			set(a, "user.value", sizes[i]);
			check(a, "user.value", sizes[i]);
			if (i % 4 == 3)
				again();
			check(a, "user.value", sizes[i]);
		}
		CHECK_INT(xattr_change(&task, a, "user.value", value, 65537), -E2BIG);
		check(a, "user.value", 65536);
		end();
	}
}

TEST(small_inodes_keep_all_of_a_checksum)
{
	small = true;
	begin(1024);
	for (size_t len = 3000; len < 3020; len++) {
		set(a, "user.value", len);
		again();
		check(a, "user.value", len);
	}
	end();
	small = false;
}

TEST(without_the_feature_large_values_have_no_room)
{
	begin_as(1024, 0);
	CHECK_INT(xattr_change(&task, a, "user.value", value, 2000), -ENOSPC);
	diag_clear(&img->diag);
	set(a, "user.value", 900);
	check(a, "user.value", 900);
	end();
}

/* Behind the fields of an inode lies nothing, as of one whose attributes never were there. */
static void empty_body(struct ek_inode *inode)
{
	size_t fields = 128u + inode->rec.extra_isize;
	struct handle *h;
	struct buf *buf;
	void *raw;

	OK(task_start(&task, HANDLE_MISC, 8, &h));
	OK(inode_raw_write(&task, inode, &buf, &raw));
	memset((uint8_t *)raw + fields, 0, 256 - fields);
	inode_seal(&img->geom, inode->ino, raw);
	OK(handle_dirty(h, buf));
	buf_put(buf);
	OK(handle_stop(h));
}

/* A neighbour that changes afterwards takes the block with both inodes to disk. */
TEST(an_attribute_that_is_refused_leaves_the_inode_as_it_was)
{
	struct ek_inode *c;

	begin_as(1024, 0);
	OK(fs_create(&task, root, "c", 1, 0644, &c));
	CHECK_INT((b->ino.v - 1) / img->geom.inodes_per_block,
		  (c->ino.v - 1) / img->geom.inodes_per_block);
	inode_put(&task, c);
	set(b, "user.value", 900);
	empty_body(b);
	again();
	CHECK_INT(xattr_change(&task, b, "user.more", value, 300), -ENOSPC);
	diag_clear(&img->diag);
	OK(path_walk(&task, "/c", 0, &c));
	set(c, "user.value", 10);
	inode_put(&task, c);
	again();
	check(b, "user.value", 900);
	end();
}

TEST(equal_values_share_an_inode_until_the_last_user_leaves)
{
	uint32_t before;

	begin(1024);
	before = used_inodes();
	set(a, "user.one", 5000);
	CHECK_INT(used_inodes(), before + 1);
	set(a, "user.two", 5000);
	set(b, "user.one", 5000);
	CHECK_INT(used_inodes(), before + 1);
	CHECK_INT(inode_sectors(a), 20);
	CHECK_INT(inode_sectors(b), 10);
	again();
	check(b, "user.one", 5000);
	set(b, "user.two", 5000); /* known again, because it was read */
	CHECK_INT(used_inodes(), before + 1);
	OK(xattr_change(&task, a, "user.one", NULL, 0));
	OK(xattr_change(&task, b, "user.one", NULL, 0));
	set(b, "user.two", 10);
	CHECK_INT(used_inodes(), before + 1);
	set(a, "user.two", 5001);
	CHECK_INT(used_inodes(), before + 1); /* one made, one gone */
	OK(xattr_change(&task, a, "user.two", NULL, 0));
	CHECK_INT(used_inodes(), before);
	CHECK_INT(inode_sectors(a), 0);
	end();
}

TEST(the_value_that_is_there_already_changes_nothing)
{
	struct ek_time before;

	begin(1024);
	set(a, "user.small", 20);
	before = a->rec.ctime;
	img->now.sec += 10;
	set(a, "user.small", 20);
	CHECK_INT(a->rec.ctime.sec, before.sec);
	set(a, "user.small", 21);
	CHECK_INT(a->rec.ctime.sec, before.sec + 10);
	end();
}

TEST(a_file_takes_its_values_along)
{
	uint32_t before;
	char name[16];

	begin(1024);
	before = used_inodes();
	for (unsigned i = 0; i < 25; i++) { /* more than the inode has room for */
		snprintf(name, sizeof(name), "user.v%u", i);
		set(a, name, 2000 + i);
	}
	set(b, "user.v3", 2003);
	CHECK_INT(used_inodes(), before + 25);
	CHECK(a->rec.file_acl != 0);
	again();
	inode_put(&task, a);
	OK(fs_unlink(&task, root, "a", 1));
	CHECK_INT(used_inodes(), before); /* and a's own, which b's value has */
	check(b, "user.v3", 2003);
	OK(fs_create(&task, root, "a", 1, 0644, &a));
	end();
}

TEST(a_value_without_room_for_its_entry_leaves_nothing)
{
	uint32_t before;
	char name[256];
	unsigned n = 0;
	int rc = 0;

	begin(1024);
	while (rc == 0) { /* entries of long names fill the inode and the block */
		memset(name, 'n', sizeof(name));
		memcpy(name, "user.", 5);
		snprintf(name + 200, sizeof(name) - 200, "%u", n++);
		before = used_inodes();
		rc = xattr_change(&task, a, name, value, 3000 + n);
	}
	CHECK_INT(rc, -ENOSPC);
	CHECK(n > 3);
	CHECK_INT(used_inodes(), before);
	diag_clear(&img->diag);
	again();
	end();
}

TEST(an_inode_that_is_no_store_of_values_is_refused)
{
	struct xattr_entry *e;
	struct xattr_area area;
	struct buf *buf;
	void *raw;
	struct handle *h;

	begin(1024);
	set(a, "user.v", 3000);
	OK(task_start(&task, HANDLE_MISC, 8, &h));
	OK(inode_raw_write(&task, a, &buf, &raw));
	area = (struct xattr_area){(uint8_t *)raw + 128 + a->rec.extra_isize + 4, 0, 92};
	e = xattr_area_find(&area, 1, "v", 1);
	CHECK(e != NULL && le32_get(e->e_value_inum) != 0);
	for (unsigned i = 0; i < 3; i++) {
		uint32_t there = le32_get(e->e_value_inum), bad[] = {b->ino.v, a->ino.v, 5000000};

		e->e_value_inum = le32_make(bad[i]);
		CHECK(xattr_get(&task, a, "user.v", back, sizeof(back)) < 0);
		diag_clear(&img->diag);
		e->e_value_inum = le32_make(there);
	}
	check(a, "user.v", 3000);
	buf_put(buf);
	OK(handle_stop(h));
	end();
}

int main(void)
{
	return tap_main();
}

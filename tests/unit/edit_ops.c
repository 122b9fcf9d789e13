/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each edit of names and inodes through the public API: whenever the power goes, and whichever call
 * of the device fails, what comes back is the tree before it or after it, with every block
 * accounted for.
 */
#include "fs_walk.h"

#include "extkit/edit.h"
#include "extkit/inode.h"
#include "fs/session.h"
#include "io/fault.h"
#include "io/recorder.h"

static struct ek_ctx *ctx;
static struct session session;

#define OK(call)                                                              \
	do {                                                                  \
		int ok_rc = (call);                                           \
		if (ok_rc < 0)                                                \
			TAP_FAIL("%s: %d: %s", #call, ok_rc, ctx->diag.text); \
	} while (0)

static int attach(struct dev *dev, unsigned flags, struct ek_image **ret)
{
	struct image_opts o = {.flags = flags, .now = {1700000100, 0}};
	int rc;

	if (ctx == NULL && ek_ctx_new(&ctx) < 0)
		abort();
	diag_clear(&ctx->diag);
	rc = image_open(dev, &o, &ctx->diag, ret);
	if (rc < 0)
		return rc;
	session = (struct session){.ctx = ctx, .file = dev};
	task_init(&session.task, *ret);
	pthread_mutex_init(&session.lock, NULL);
	(*ret)->session = &session;
	return 0;
}

/* ---- edits, each on an image that prepare() has filled ---- */

static int prepare(struct ek_image *img)
{
	static uint8_t bytes[20000];
	struct ek_xattr x = {"user.a", "value", 5};
	struct ek_attr a = {.size = sizeof(a), .xattrs = &x, .nxattrs = 1};
	int rc = ek_mkdir(img, "/d/sub", EK_PUT_PARENTS, NULL);

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	if (rc == 0)
		rc = ek_mkdir(img, "/empty", 0, &a);
	if (rc == 0)
		rc = ek_put_bytes(img, "/d/file", bytes, sizeof(bytes), 0, &a);
	if (rc == 0)
		rc = ek_put_bytes(img, "/d/other", bytes, 5000, 0, NULL);
	if (rc == 0)
		rc = ek_put_bytes(img, "/d/tiny", "tiny", 4, 0, NULL);
	if (rc == 0)
		rc = ek_link(img, "/d/other", "/twin", 0);
	return rc < 0 ? rc : ek_symlink(img, "file", "/d/link", 0, NULL);
}

static int edit_rename(struct ek_image *img)
{
	return ek_rename(img, "/d/tiny", "/d/file", 0);
}

static int edit_move_folder(struct ek_image *img)
{
	return ek_rename(img, "/d/sub", "/empty", 0);
}

static int edit_swap(struct ek_image *img)
{
	return ek_rename(img, "/d/sub", "/d/file", EK_RENAME_SWAP);
}

static int edit_link(struct ek_image *img)
{
	return ek_link(img, "/d/other", "/d/file", EK_PUT_REPLACE);
}

static int edit_symlink(struct ek_image *img)
{
	char target[301];
	struct ek_xattr x = {"security.selinux", "a label of some length", 22};
	struct ek_attr a = {.size = sizeof(a), .xattrs = &x, .nxattrs = 1};

	memset(target, 'x', 300);
	target[300] = '\0';
	return ek_symlink(img, target, "/d/file", EK_PUT_REPLACE, &a);
}

static int edit_mknod(struct ek_image *img)
{
	struct ek_attr a = {.size = sizeof(a),
			    .mask = EK_ATTR_MODE | EK_ATTR_UID | EK_ATTR_FLAGS,
			    .mode = 0600,
			    .uid = 70000,
			    .flags = 0x40};

	return ek_mknod(img, "/d/tiny", S_IFCHR, 300, 70000, EK_PUT_REPLACE, &a);
}

static int edit_mkdir(struct ek_image *img)
{
	char value[400];
	struct ek_xattr x[] = {{"user.long", value, sizeof(value)}, {"user.b", "c", 1}};
	struct ek_attr a = {
	    .size = sizeof(a), .mask = EK_ATTR_MODE, .mode = 01777, .xattrs = x, .nxattrs = 2};

	memset(value, 'v', sizeof(value));
	return ek_mkdir(img, "/d/new", 0, &a);
}

static int edit_remove(struct ek_image *img)
{
	return ek_remove(img, "/d/file", 0, NULL);
}

static int on_inode(struct ek_image *img, const char *path, int (*fn)(struct ek_inode *inode))
{
	struct ek_inode *inode;
	int rc = ek_inode_open(img, path, 0, &inode);

	if (rc < 0)
		return rc;
	rc = fn(inode);
	ek_inode_close(inode);
	return rc;
}

static int set_all(struct ek_inode *inode)
{
	struct ek_xattr x[] = {{"user.a", "another value", 13}, {"user.b", "", 0}};
	struct ek_attr a = {.size = sizeof(a),
			    .mask = EK_ATTR_MODE | EK_ATTR_UID | EK_ATTR_MTIME,
			    .mode = 04711,
			    .uid = 5,
			    .mtime = {-5, 7},
			    .xattrs = x,
			    .nxattrs = 2};

	return ek_inode_set(inode, &a);
}

static int edit_set(struct ek_image *img)
{
	return on_inode(img, "/d/file", set_all);
}

static int set_acl(struct ek_inode *inode)
{
	static const uint8_t acl[] = {2,    0,   0, 0, 1,   0,   7,   0,   255, 255,
				      255,  255, 4, 0, 5,   0,   255, 255, 255, 255,
				      0x20, 0,   0, 0, 255, 255, 255, 255};

	return ek_inode_set_xattr(inode, "system.posix_acl_access", acl, sizeof(acl), 0);
}

static int edit_acl(struct ek_image *img)
{
	return on_inode(img, "/d/other", set_acl);
}

static int edit_copy(struct ek_image *img)
{
	return ek_copy(img, "/d/file", img, "/twin", 0, NULL);
}

static int edit_copy_link(struct ek_image *img)
{
	return ek_copy(img, "/d/link", img, "/d/file", 0, NULL);
}

static const struct edit {
	const char *name;
	int (*run)(struct ek_image *img);
} edits[] = {
    {"rename over a file", edit_rename},
    {"move a folder onto an empty one", edit_move_folder},
    {"swap", edit_swap},
    {"link over a file", edit_link},
    {"symlink over a file", edit_symlink},
    {"node over a file", edit_mknod},
    {"mkdir with attributes", edit_mkdir},
    {"remove", edit_remove},
    {"set everything", edit_set},
    {"set an ACL", edit_acl},
    {"copy over a file", edit_copy},
    {"copy a link over a file", edit_copy_link},
};

static const struct shape shapes[] = {
    {.size = 8 << 20, .block_size = 1024},
    {.size = 8 << 20, .block_size = 1024, .compat_on = COMPAT_ORPHAN_FILE},
    {.size = 8 << 20, .block_size = 1024, .incompat_on = INCOMPAT_INLINE_DATA | INCOMPAT_EA_INODE},
    {.size = 8 << 20,
     .block_size = 1024,
     .ro_compat_off = RO_COMPAT_METADATA_CSUM,
     .incompat_off = INCOMPAT_EXTENTS | INCOMPAT_64BIT | INCOMPAT_FLEX_BG | INCOMPAT_CSUM_SEED},
};

/* ---- what may come back ---- */

struct seen {
	uint64_t digest, free_blocks, free_inodes;
};

static struct seen look(struct ek_image *img)
{
	struct seen s;
	struct walk w;

	walk_tree(img, &w);
	if (w.errors != 0)
		TAP_FAIL("damaged: %s", w.first);
	s = (struct seen){w.digest, img->groups.space.free, img->groups.free_inodes};
	return s;
}

static bool same(const struct seen *a, const struct seen *b)
{
	return a->digest == b->digest && a->free_blocks == b->free_blocks &&
	       a->free_inodes == b->free_inodes;
}

/* The image as a writer finds it, orphans gone. */
static struct seen look_at(struct dev *dev)
{
	struct ek_image *img;
	struct seen s;

	OK(attach(dev, IMAGE_WRITE, &img));
	s = look(img);
	OK(image_close(img));
	return s;
}

struct trial {
	const struct edit *edit;
	struct dev *base;
	struct seen before, after;
};

static void begin(struct trial *t, const struct shape *shape, const struct edit *edit)
{
	struct ek_image *img;
	struct dev *copy;

	t->edit = edit;
	fs_make(shape, &t->base);
	OK(attach(t->base, IMAGE_WRITE, &img));
	OK(prepare(img));
	OK(image_close(img));
	t->before = look_at(t->base);
	fs_copy(t->base, &copy);
	OK(attach(copy, IMAGE_WRITE, &img));
	OK(edit->run(img));
	OK(image_close(img));
	t->after = look_at(copy);
	CHECK(!same(&t->before, &t->after));
	if (have_e2fsck())
		CHECK_INT(fs_e2fsck(copy), 0);
	dev_close(copy);
}

static void check(const struct trial *t, struct dev *dev, const char *how, bool must_be_after)
{
	struct seen s = look_at(dev);

	if (same(&s, &t->after) || (!must_be_after && same(&s, &t->before)))
		return;
	TAP_FAIL("%s: %s: neither before nor after: %llu blocks free, %llu inodes", t->edit->name,
		 how, (unsigned long long)s.free_blocks, (unsigned long long)s.free_inodes);
}

static unsigned cut_power(struct trial *t)
{
	struct states_opts o = {.seed = 3, .sector = 4096, .full = 6, .random = 12};
	struct states *st;
	struct state s;
	struct ek_image *img;
	struct dev *rec, *dev, *copy;
	unsigned n = 0;
	int rc;

	fs_copy(t->base, &copy);
	OK(recorder_open(copy, &rec));
	OK(attach(rec, IMAGE_WRITE, &img));
	OK(t->edit->run(img));
	OK(image_close(img));
	OK(recorder_mark(rec, 1));
	OK(states_open(rec, &o, &st));
	for (; (rc = states_next(st, &dev, &s)) == 1; n++)
		check(t, dev, s.how, s.marks != 0);
	OK(rc);
	CHECK(n > 2);
	states_close(st);
	dev_close(rec);
	dev_close(copy);
	return n;
}

TEST(a_power_cut_leaves_every_edit_done_or_not_done)
{
	unsigned states = 0;

	for (size_t k = 0; k < ARRAY_SIZE(shapes); k++) {
		for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
			struct trial t;

			begin(&t, &shapes[k], &edits[i]);
			states += cut_power(&t);
			dev_close(t.base);
		}
	}
	printf("# %u states\n", states);
}

/* The n-th call fails; the image is closed as well as it can be, and opened on a sound device. */
static bool fail_nth(struct trial *t, uint64_t nth, bool for_good)
{
	struct fault plan = {.calls = FAULT_ALL, .nth = nth, .for_good = for_good, .error = EIO};
	struct ek_image *img;
	struct dev *copy, *dev;
	bool fired;

	fs_copy(t->base, &copy);
	OK(fault_open(copy, &dev));
	fault_arm(dev, &plan);
	if (attach(dev, IMAGE_WRITE, &img) == 0) {
		int rc = t->edit->run(img), end = image_close(img);

		/* groups whose bitmaps cannot be read are passed over */
		if (rc != 0 && rc != -EIO && rc != -EROFS && rc != -ENOSPC)
			TAP_FAIL("%s: call %llu: %d: %s", t->edit->name, (unsigned long long)nth,
				 rc, ctx->diag.text);
		if (rc == 0 && end == 0)
			check(t, copy, "no error told", true);
	}
	fired = fault_fired(dev) != 0;
	dev_close(dev);
	check(t, copy, "failed call", false);
	dev_close(copy);
	return fired;
}

TEST(a_device_that_fails_leaves_every_edit_done_or_not_done)
{
	uint64_t tried = 0;

	for (size_t i = 0; i < ARRAY_SIZE(edits); i++) {
		struct trial t;

		begin(&t, &shapes[0], &edits[i]);
		uint64_t n = 1;

		while (fail_nth(&t, n, true))
			n++;
		CHECK(n > 10);
		tried += n - 1;
		dev_close(t.base);
	}
	printf("# %llu failures\n", (unsigned long long)tried);
}

/* ---- no room ---- */

static void take_inodes(struct ek_image *img)
{
	char name[32];
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < 20000; i++) {
		snprintf(name, sizeof(name), "/fill%u", i);
		rc = ek_put_bytes(img, name, "", 0, 0, NULL);
	}
	CHECK_INT(rc, -ENOSPC);
}

/* In pieces that halve, until not even one block is left. */
static void take_blocks(struct ek_image *img)
{
	struct ek_inode *inode;
	uint64_t off = 0;

	OK(ek_put_bytes(img, "/fill", "", 0, 0, NULL));
	OK(ek_inode_open(img, "/fill", 0, &inode));
	for (uint64_t len = 4 << 20; len >= 1024; len /= 2)
		while (ek_inode_fallocate(inode, EK_FALLOC_ALLOCATE, off, len) == 0)
			off += len;
	ek_inode_close(inode);
}

TEST(an_edit_without_room_leaves_what_it_would_have_replaced)
{
	for (int inodes = 0; inodes < 2; inodes++) {
		struct ek_image *img;
		struct dev *dev;
		struct seen s, now;

		fs_make(&shapes[0], &dev);
		OK(attach(dev, IMAGE_WRITE, &img));
		OK(prepare(img));
		if (inodes != 0)
			take_inodes(img);
		else
			take_blocks(img);
		OK(image_sync(&session.task));
		s = look(img);
		CHECK_INT(edit_symlink(img), -ENOSPC);
		CHECK(inodes == 0 || edit_mknod(img) == -ENOSPC);
		CHECK_INT(ek_copy(img, "/d/file", img, "/twin", 0, NULL), -ENOSPC);
		now = look(img);
		CHECK(s.digest == now.digest);
		OK(image_close(img));
		now = look_at(dev);
		CHECK(s.digest == now.digest && s.free_inodes == now.free_inodes);
		if (have_e2fsck())
			CHECK_INT(fs_e2fsck(dev), 0);
		dev_close(dev);
	}
}

/* ---- edges ---- */

TEST(edits_refuse_what_makes_no_sense)
{
	struct ek_attr bad = {.size = sizeof(bad), .mask = EK_ATTR_MTIME, .mtime = {1LL << 40, 0}};
	struct ek_image *img;
	struct ek_inode *inode;
	struct dev *dev;

	fs_make(&shapes[0], &dev);
	OK(attach(dev, IMAGE_WRITE, &img));
	OK(prepare(img));
	CHECK_INT(ek_remove(img, "/", EK_REMOVE_TREE, NULL), -EISDIR);
	CHECK_INT(ek_remove(img, "/d/..", EK_REMOVE_TREE, NULL), -EISDIR);
	CHECK_INT(ek_remove(img, "/d", 0, NULL), -EISDIR);
	CHECK_INT(ek_remove(img, "/d", EK_REMOVE_EMPTY, NULL), -ENOTEMPTY);
	CHECK_INT(ek_remove(img, "/d/link/x", 0, NULL), -ENOTDIR);
	CHECK_INT(ek_rename(img, "/d", "/d/sub/x", 0), -ELOOP);
	CHECK_INT(ek_rename(img, "/d/file", "/d/file", 0), -EEXIST);
	CHECK_INT(ek_rename(img, "/twin", "/d/other", EK_RENAME_NO_REPLACE), -EEXIST);
	CHECK_INT(ek_link(img, "/d", "/e", 0), -EISDIR);
	CHECK_INT(ek_link(img, "/d/file", "/d/file", EK_PUT_REPLACE), -EEXIST);
	CHECK_INT(ek_mknod(img, "/n", S_IFREG, 0, 0, 0, NULL), -EINVAL);
	CHECK_INT(ek_mknod(img, "/n", S_IFCHR, 4096, 0, 0, NULL), -EINVAL);
	CHECK_INT(ek_mknod(img, "/n", S_IFIFO, 0, 0, 0, &bad), -EINVAL);
	CHECK_INT(ek_inode_open(img, "/n", 0, &inode), -ENOENT);
	CHECK_INT(ek_mkdir(img, "/n", 0, &bad), -EINVAL);
	CHECK_INT(ek_inode_open(img, "/n", 0, &inode), -ENOENT);
	CHECK_INT(ek_copy(img, "/d", img, "/d/sub/x", EK_COPY_TREE, NULL), -ELOOP);
	CHECK_INT(ek_copy(img, "/d", img, "/x", 0, NULL), -EISDIR);
	CHECK_INT(ek_copy(img, "/d/file", img, "/d", 0, NULL), -EISDIR);
	CHECK_INT(ek_copy(img, "/d", img, "/twin", EK_COPY_TREE, NULL), -ENOTDIR);
	OK(ek_inode_open(img, "/d/file", 0, &inode));
	CHECK_INT(ek_inode_set(inode, &bad), -EINVAL);
	CHECK_INT(ek_inode_set_size(inode, UINT64_MAX), -EFBIG);
	CHECK_INT(ek_inode_fallocate(inode, (enum ek_falloc)77, 0, 1), -EINVAL);
	CHECK_INT(ek_inode_set_xattr(inode, "system.data", "x", 1, 0), -EOPNOTSUPP);
	CHECK_INT(ek_inode_set_xattr(inode, "system.posix_acl_access", "x", 1, 0), -EINVAL);
	CHECK_INT(ek_inode_remove_xattr(inode, "user.none"), -ENODATA);
	ek_inode_close(inode);
	OK(image_close(img));
	if (have_e2fsck())
		CHECK_INT(fs_e2fsck(dev), 0);
	dev_close(dev);
}

TEST(readers_may_not_edit)
{
	struct ek_image *img;
	struct ek_inode *inode;
	struct dev *dev;

	fs_make(&shapes[0], &dev);
	OK(attach(dev, IMAGE_WRITE, &img));
	OK(prepare(img));
	OK(image_close(img));
	OK(attach(dev, 0, &img));
	for (size_t i = 0; i < ARRAY_SIZE(edits); i++)
		CHECK_INT(edits[i].run(img), -EROFS);
	CHECK_INT(ek_remove(img, "/d", EK_REMOVE_TREE, NULL), -EROFS);
	OK(ek_inode_open(img, "/d/file", 0, &inode));
	CHECK_INT(ek_inode_set_size(inode, 0), -EROFS);
	CHECK_INT(ek_inode_fallocate(inode, EK_FALLOC_ALLOCATE, 0, 1), -EROFS);
	CHECK_INT(ek_inode_remove_xattr(inode, "user.a"), -EROFS);
	ek_inode_close(inode);
	OK(image_close(img));
	dev_close(dev);
}

TEST(a_tree_that_was_removed_gives_everything_back)
{
	for (size_t k = 0; k < ARRAY_SIZE(shapes); k++) {
		struct ek_copied copied = {.size = sizeof(copied)};
		struct ek_image *img;
		struct dev *dev;
		struct seen empty, s;
		uint64_t n = 0;

		fs_make(&shapes[k], &dev);
		empty = look_at(dev);
		OK(attach(dev, IMAGE_WRITE, &img));
		OK(prepare(img));
		OK(ek_copy(img, "/d", img, "/copy", EK_COPY_TREE, &copied));
		CHECK_INT(copied.names, 6);
		OK(ek_remove(img, "/copy", EK_REMOVE_TREE, &n));
		CHECK_INT(n, 6);
		OK(ek_remove(img, "/d", EK_REMOVE_TREE, &n));
		OK(ek_remove(img, "/twin", 0, NULL));
		OK(ek_remove(img, "/empty", EK_REMOVE_EMPTY, NULL));
		OK(image_close(img));
		s = look_at(dev);
		CHECK(same(&s, &empty));
		dev_close(dev);
	}
}

int main(void)
{
	return tap_main();
}

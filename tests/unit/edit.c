/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes through the public API, and every state that a power cut in the middle could leave. */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "extkit/edit.h"
#include "extkit/image.h"
#include "extkit/inode.h"
#include "fs/create.h"
#include "fs/session.h"
#include "io/dev.h"
#include "io/recorder.h"

#define FILE_SIZE 300000u

static struct ek_ctx *ctx;
static struct session session;
static uint8_t old_bytes[FILE_SIZE], new_bytes[FILE_SIZE], got[FILE_SIZE + 1];

#define OK(call)                                                              \
	do {                                                                  \
		int ok_rc = (call);                                           \
		if (ok_rc < 0)                                                \
			TAP_FAIL("%s: %d: %s", #call, ok_rc, ctx->diag.text); \
	} while (0)

static void fill_bytes(uint8_t *p, uint32_t seed)
{
	for (uint32_t i = 0; i < FILE_SIZE; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = (uint8_t)(seed >> 24);
	}
}

static struct dev *make(uint64_t size, uint32_t bs, uint32_t without, uint32_t with)
{
	struct create_opts o;
	struct layout l;
	struct dev *dev;

	if (ctx == NULL)
		OK(ek_ctx_new(&ctx));
	create_opts_default(&o);
	o.size = size;
	o.block_size = bs;
	o.compat = (o.compat & ~without) | with;
	o.fresh = true;
	o.now.sec = 1700000000;
	OK(dev_open_memory(size, &ctx->diag, &dev));
	OK(layout_plan(&o, &ctx->diag, &l));
	OK(layout_write(&l, &o, dev, &ctx->diag));
	layout_free(&l);
	return dev;
}

/* An image of the public API over a device that has no path. */
static int attach(struct dev *dev, unsigned flags, struct ek_image **ret)
{
	struct image_opts o = {.flags = flags, .now = {1700000100, 0}};
	int rc;

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

static uint64_t free_blocks(struct ek_image *img)
{
	struct ek_space s = {.size = sizeof(s)};

	OK(ek_image_space(img, &s));
	return s.free_blocks;
}

static bool file_is(struct ek_image *img, const char *path, const uint8_t *bytes)
{
	struct ek_inode *inode;
	size_t n = 0;
	int rc = ek_inode_open(img, path, 0, &inode);

	if (rc < 0)
		return false;
	rc = ek_inode_read(inode, 0, got, sizeof(got), &n);
	ek_inode_close(inode);
	return rc == 0 && n == FILE_SIZE && memcmp(got, bytes, n) == 0;
}

/* A recorder over an image in which /file holds old_bytes; *ret_free is what a whole image has. */
static struct dev *begin(struct dev *base, uint64_t *ret_free)
{
	struct ek_image *img;
	struct dev *rec;

	fill_bytes(old_bytes, 1);
	fill_bytes(new_bytes, 2);
	OK(attach(base, IMAGE_WRITE, &img));
	OK(ek_put_bytes(img, "/file", old_bytes, FILE_SIZE, 0, NULL));
	*ret_free = free_blocks(img);
	OK(image_close(img));
	OK(recorder_open(base, &rec));
	return rec;
}

/* Each state opens, holds the old file or the new one, and has lost no block. */
static unsigned check_states(struct dev *rec, uint64_t want_free, bool must_exist)
{
	struct states_opts o = {.seed = 7, .sector = 4096, .full = 8, .random = 40};
	struct states *st;
	struct state s;
	struct dev *dev;
	unsigned n = 0, news = 0;

	OK(states_open(rec, &o, &st));
	while (states_next(st, &dev, &s) == 1) {
		struct ek_image *img;
		bool is_old, is_new;

		n++;
		if (attach(dev, IMAGE_WRITE, &img) < 0) {
			TAP_FAIL("epoch %llu, %zu writes, %s: %s", (unsigned long long)s.epoch,
				 s.writes, s.how, ctx->diag.text);
			continue;
		}
		is_old = file_is(img, "/file", old_bytes);
		is_new = !is_old && file_is(img, "/file", new_bytes);
		news += is_new ? 1 : 0;
		CHECK(is_old || is_new || !must_exist);
		if (s.marks != 0)
			CHECK(is_new);
		CHECK_INT(free_blocks(img), want_free);
		OK(image_close(img));
	}
	states_close(st);
	CHECK(news > 0 && news < n);
	return n;
}

TEST(a_file_that_is_replaced_is_the_old_or_the_new_one_after_any_power_cut)
{
	uint64_t free_before;
	struct dev *base = make(8 << 20, 1024, 0, 0), *rec = begin(base, &free_before);
	struct ek_image *img;

	OK(attach(rec, IMAGE_WRITE, &img));
	OK(ek_put_bytes(img, "/file", new_bytes, FILE_SIZE, EK_PUT_REPLACE, NULL));
	CHECK(file_is(img, "/file", new_bytes));
	OK(image_close(img));
	OK(recorder_mark(rec, 1));
	printf("# %u states\n", check_states(rec, free_before, true));
	dev_close(rec);
	dev_close(base);
}

TEST(the_orphan_file_keeps_the_same_promise)
{
	uint64_t free_before;
	struct dev *base = make(8 << 20, 1024, 0, COMPAT_ORPHAN_FILE);
	struct dev *rec = begin(base, &free_before);
	struct ek_image *img;

	OK(attach(rec, IMAGE_WRITE, &img));
	OK(ek_put_bytes(img, "/file", new_bytes, FILE_SIZE, EK_PUT_REPLACE, NULL));
	OK(image_close(img));
	OK(recorder_mark(rec, 1));
	printf("# %u states\n", check_states(rec, free_before, true));
	dev_close(rec);
	dev_close(base);
}

TEST(a_put_that_fails_leaves_no_name_and_takes_no_block)
{
	struct dev *base = make(8 << 20, 1024, 0, 0);
	struct ek_image *img;
	struct ek_inode *inode;
	uint64_t before;
	static uint8_t big[7 << 20];

	fill_bytes(old_bytes, 1);
	OK(attach(base, IMAGE_WRITE, &img));
	before = free_blocks(img);
	CHECK_INT(ek_put_bytes(img, "/big", big, sizeof(big), 0, NULL), -ENOSPC);
	CHECK(ek_ctx_missing_blocks(ctx) > 0);
	CHECK_INT(ek_inode_open(img, "/big", 0, &inode), -ENOENT);
	CHECK_INT(ek_put_bytes(img, "/none/x", "x", 1, 0, NULL), -ENOENT);
	CHECK_INT(ek_put_bytes(img, "/lost+found", "x", 1, EK_PUT_REPLACE, NULL), -EISDIR);
	CHECK_INT(ek_put_bytes(img, "/", "x", 1, EK_PUT_REPLACE, NULL), -EISDIR);
	OK(image_sync(&session.task));
	CHECK_INT(free_blocks(img), before);
	OK(image_close(img));
	dev_close(base);
}

TEST(readers_may_not_change_an_image)
{
	struct dev *base = make(8 << 20, 1024, 0, 0);
	struct ek_image *img;

	OK(attach(base, 0, &img));
	CHECK_INT(ek_put_bytes(img, "/x", "x", 1, 0, NULL), -EROFS);
	CHECK_INT(ek_mkdir(img, "/x", 0, NULL), -EROFS);
	OK(image_close(img));
	dev_close(base);
}

TEST(structs_of_older_callers_are_filled_up_to_their_size)
{
	struct dev *base = make(8 << 20, 1024, 0, 0);
	struct ek_space s = {.size = offsetof(struct ek_space, inodes), .inodes = 12345};
	struct ek_image *img;

	OK(attach(base, 0, &img));
	OK(ek_image_space(img, &s));
	CHECK_INT(s.block_size, 1024);
	CHECK_INT(s.inodes, 12345);
	CHECK_INT(s.size, offsetof(struct ek_space, inodes));
	OK(image_close(img));
	dev_close(base);
}

TEST(holes_are_found_from_both_sides)
{
	struct dev *base = make(8 << 20, 1024, 0, 0);
	char path[] = "/tmp/extkit-edit-XXXXXX";
	struct ek_image *img;
	struct ek_inode *inode;
	uint64_t at;
	int fd = mkstemp(path);

	CHECK(fd >= 0 && ftruncate(fd, 1 << 20) == 0);
	CHECK_INT(pwrite(fd, "data", 4, 500000), 4);
	OK(attach(base, IMAGE_WRITE, &img));
	OK(ek_put_fd(img, "/holes", fd, 0, NULL, &at));
	CHECK_INT(at, 1 << 20);
	OK(ek_inode_open(img, "/holes", 0, &inode));
	OK(ek_inode_next_data(inode, 0, &at));
	CHECK(at <= 500000 && at > 480000);
	OK(ek_inode_next_hole(inode, 500000, &at));
	CHECK(at >= 500004 && at < 520000);
	OK(ek_inode_next_data(inode, 600000, &at));
	CHECK_INT(at, 1 << 20);
	ek_inode_close(inode);
	OK(image_close(img));
	close(fd);
	unlink(path);
	dev_close(base);
}

TEST(a_walk_is_sorted_and_can_be_pruned)
{
	struct dev *base = make(8 << 20, 1024, 0, 0);
	struct ek_image *img;
	struct ek_inode *root;
	struct ek_walk *walk;
	struct ek_found f;
	char all[256] = "";

	OK(attach(base, IMAGE_WRITE, &img));
	OK(ek_mkdir(img, "/b/inner", EK_PUT_PARENTS, NULL));
	OK(ek_mkdir(img, "/a/inner", EK_PUT_PARENTS, NULL));
	OK(ek_put_bytes(img, "/c", "x", 1, 0, NULL));
	OK(ek_inode_open(img, "/", 0, &root));
	OK(ek_walk_open(root, EK_WALK_SORTED, &walk));
	while (ek_walk_next(walk, &f) == 1) {
		CHECK_INT(f.error, 0);
		strcat(strcat(all, f.path), " ");
		if (strcmp(f.path, "b") == 0)
			ek_walk_prune(walk);
	}
	CHECK_STR(all, " a a/inner b c lost+found ");
	ek_walk_close(walk);
	ek_inode_close(root);
	OK(image_close(img));
	dev_close(base);
}

int main(void)
{
	return tap_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is done to an image that cannot be trusted: all of it is read, then all kinds of changes are
 * tried.  Any of it may fail; none may crash, hang, leak or, when reading, write.
 */
#ifndef FS_HOSTILE_H
#define FS_HOSTILE_H

#include "fs_walk.h"

#include <linux/falloc.h>
#include <time.h>

#include "fs/credits.h"
#include "journal/journal.h"

#define EDITS_MAX 60u /* inodes that one round of changes touches */

static struct {
	unsigned images, read, written; /* given, opened for reading, opened for writing */
} hostile_count;

static inline double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Reads everything there is; the result of opening. */
static inline int hostile_read(struct dev *dev, unsigned flags)
{
	uint64_t writes = dev->stats.writes;
	struct diag d = {0};
	struct ek_image *img;
	struct walk w;
	int rc = fs_open(dev, flags, &d, &img);

	if (rc < 0) {
		CHECK(d.text[0] != '\0');
	} else {
		walk_tree(img, &w);
		walk_tables(img, &w);
		image_close(img);
	}
	CHECK_INT(dev->stats.writes, writes);
	return rc;
}

static inline void edit_attribute(struct task *t, struct ek_inode *inode, size_t len)
{
	static const uint8_t value[512];
	struct handle *h;

	if (task_start_inode(t, inode, HANDLE_XATTR, 30, 0, &h) < 0)
		return;
	xattr_set(t, inode, "user.hostile", value, len, 0);
	xattr_set(t, inode, "user.more", value, 8, 0);
	xattr_remove(t, inode, "user.hostile");
	handle_stop(h);
}

static inline void edit_file(struct task *t, struct ek_inode *f)
{
	uint64_t bs = f->img->geom.block_size;

	inode_fallocate(t, f, FALLOC_FL_KEEP_SIZE, 4 * bs, 4 * bs);
	inode_fallocate(t, f, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, bs, 3 * bs);
	inode_fallocate(t, f, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, bs / 2, 2 * bs);
	inode_fallocate(t, f, FALLOC_FL_INSERT_RANGE, bs, bs);
	inode_fallocate(t, f, FALLOC_FL_COLLAPSE_RANGE, bs, bs);
	inode_set_size(t, f, f->size / 2 + 3);
	inode_set_size(t, f, 0);
	inode_fallocate(t, f, 0, 0, 3 * bs);
}

static inline void edit_folder(struct task *t, struct ek_inode *dir)
{
	static const char *const names[] = {"zz-new", "zz-other", "zz-sub", "zz-link"};
	struct dir_iter it = {0};
	char gone[3][256];
	uint32_t len[3], n = 0;
	struct dirent e;

	while (n < 3 && dir_next(t, dir, &it, &e) == 1) {
		memcpy(gone[n], e.name, e.name_len);
		len[n] = e.name_len;
		n += !(e.name_len <= 2 && memcmp(e.name, "..", e.name_len) == 0);
	}
	dir_iter_end(&it);
	fs_create(t, dir, names[0], 6, 0644, NULL);
	fs_rename(t, dir, names[0], 6, dir, names[1], 8, 0);
	fs_mkdir(t, dir, names[2], 6, 0755, NULL);
	fs_symlink(t, dir, names[3], 7, "somewhere", 9, NULL);
	if (n > 0)
		fs_rename(t, dir, gone[0], len[0], dir, names[2], 6, RENAME_SWAP);
	if (n > 1)
		fs_unlink(t, dir, gone[1], len[1]);
	if (n > 2)
		fs_rmdir(t, dir, gone[2], len[2]);
	fs_unlink(t, dir, names[1], 8);
	fs_rmdir(t, dir, names[2], 6);
}

/* Tries to change everything; the result of opening. */
static inline int hostile_write(struct dev *dev)
{
	struct diag d = {0};
	struct ek_image *img;
	struct task t;
	unsigned done = 0;
	int rc = fs_open(dev, IMAGE_WRITE, &d, &img);

	if (rc < 0)
		return rc;
	task_init(&t, img);
	for (uint32_t i = INUM_ROOT; i <= img->geom.inodes && done < EDITS_MAX; i++) {
		struct ek_inode *inode;

		if (i > INUM_ROOT && i < img->geom.first_ino)
			continue;
		if (inode_get(img, (ek_inum){i}, &inode) < 0)
			continue;
		done++;
		edit_attribute(&t, inode, i % 2 == 0 ? 40 : 400);
		if (inode_is_dir(inode))
			edit_folder(&t, inode);
		else if (inode_is_file(inode))
			edit_file(&t, inode);
		inode_put(&t, inode);
		if (done % 16 == 0)
			image_sync(&t);
	}
	image_close(img);
	return 0;
}

/* Reads a device, then changes a copy of it, and reads what came of it. */
static inline void hostile_all(struct dev *dev, const char *name)
{
	double start = seconds();
	struct dev *copy;

	hostile_count.images++;
	hostile_count.read += hostile_read(dev, 0) == 0;
	hostile_read(dev, IMAGE_NO_RECOVERY);
	CHECK_INT(dev_open_overlay(dev, &copy), 0);
	if (hostile_write(copy) == 0) {
		hostile_count.written++;
		hostile_read(copy, 0);
	}
	dev_close(copy);
	if (seconds() - start > 20)
		TAP_FAIL("%s took %.1f s", name, seconds() - start);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of the page cache: one file of an image in memory, and a plain buffer with the bytes
 * that it should have. */
#ifndef CACHED_FILE_TEST_H
#define CACHED_FILE_TEST_H

#include "fs_image.h"

#include <fcntl.h>
#include <linux/falloc.h>

#include "fs/namei.h"
#include "pagecache/pagecache.h"

#define FILE_BYTES (6u << 20)

static struct diag diag;
static struct dev *dev;
static struct ek_image *img;
static struct task task;
static struct pagecache *pc;
static struct ek_inode *file;
static uint8_t *model, *back, *payload;
static uint64_t model_size;
static uint64_t state;
static uint32_t incompat_on, inode_size, cluster; /* of the image that start makes; 0: as usual */
static uint64_t image_size;                       /* the same */

static const struct image_opts usual = {.flags = IMAGE_WRITE, .now = {1700000100, 0}};

static inline uint32_t dice(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % n);
}

#define OK(call)                                                                                \
	do {                                                                                    \
		int64_t ok_rc = (call);                                                         \
		if (ok_rc < 0)                                                                  \
			TAP_FAIL("%s: %d: %s%s", #call, (int)ok_rc, diag.text, img->diag.text); \
	} while (0)

static inline void mount_image(const struct image_opts *opts, const struct pc_config *cfg)
{
	OK(image_open(dev, opts, &diag, &img));
	task_init(&task, img);
	OK(pc_open(img, &task, cfg, &diag, &pc));
}

static inline void unmount_image(void)
{
	OK(pc_sync(&task));
	pc_close(pc);
	OK(image_close(img));
}

static inline void find_file(void)
{
	OK(path_walk(&task, "/file", 0, &file));
	OK(pc_opened(&task, file, true));
}

static inline void start(uint32_t block_size, const struct image_opts *opts,
			 const struct pc_config *cfg)
{
	struct shape s = {.size = image_size != 0 ? image_size : 48u << 20,
			  .block_size = block_size,
			  .ro_compat_off = inode_size == 128 ? RO_COMPAT_EXTRA_ISIZE : 0,
			  .incompat_on = incompat_on,
			  .inode_size = inode_size,
			  .cluster = cluster};
	struct ek_inode *root, *f;

	diag_clear(&diag);
	state = 1;
	model_size = 0;
	model = calloc(1, FILE_BYTES);
	back = calloc(1, FILE_BYTES);
	payload = malloc(FILE_BYTES);
	CHECK(model != NULL && back != NULL && payload != NULL);
	for (uint32_t i = 0; i < FILE_BYTES; i++)
		payload[i] = (uint8_t)dice(256);
	fs_make(&s, &dev);
	mount_image(opts, cfg);
	OK(inode_get(img, (ek_inum){INUM_ROOT}, &root));
	OK(fs_create(&task, root, "file", 4, 0644, &f));
	inode_put(&task, f);
	inode_put(&task, root);
	find_file();
}

/* The device without the filesystem on it. */
static inline void stop_device(void)
{
	if (have_e2fsck())
		CHECK_INT(fs_e2fsck(dev), 0);
	dev_close(dev);
	free(model);
	free(back);
	free(payload);
}

static inline void stop(void)
{
	inode_put(&task, file);
	unmount_image();
	stop_device();
}

static inline void compare(void)
{
	CHECK_INT(file->size, model_size);
	CHECK_INT(pc_read(&task, file, 0, FILE_BYTES, back, NULL), (int64_t)model_size);
	for (uint64_t i = 0; i < model_size; i++) {
		if (back[i] != model[i])
			TAP_FAIL("byte %llu is 0x%02x, not 0x%02x", (unsigned long long)i, back[i],
				 model[i]);
	}
}

static inline void compare_direct(void)
{
	memset(back, 0x55, FILE_BYTES);
	CHECK_INT(pc_direct_read(&task, file, 0, FILE_BYTES, back), (int64_t)model_size);
	CHECK(memcmp(back, model, model_size) == 0);
}

/* ---- operations on both ---- */

static inline void write_some(uint64_t pos, uint64_t len, bool direct)
{
	uint32_t from = dice(4096);
	struct pc_source src = {payload + from, 0};

	len = MIN(len, FILE_BYTES - MAX(pos, (uint64_t)from));
	if (direct)
		CHECK_INT(pc_direct_write(&task, file, pos, len, &src, 0), (int64_t)len);
	else
		CHECK_INT(pc_write(&task, file, pos, len, &src, 0), (int64_t)len);
	memcpy(model + pos, payload + from, len);
	model_size = MAX(model_size, pos + len);
}

static inline void store_some(uint64_t pos, uint64_t len)
{
	struct pc_source src = {payload, 0};

	OK(pc_mmap_write(&task, file, pos, len, &src, NULL));
	if (pos < model_size)
		memcpy(model + pos, payload, MIN(len, model_size - pos));
}

static inline void set_size(uint64_t size)
{
	OK(inode_set_size(&task, file, size));
	if (size < model_size)
		memset(model + size, 0, model_size - size);
	model_size = size;
}

static inline void falloc_some(int mode, uint64_t pos, uint64_t len)
{
	OK(inode_fallocate(&task, file, mode, pos, len));
	if (mode == 0)
		model_size = MAX(model_size, pos + len);
	else if (pos < model_size && mode != FALLOC_FL_KEEP_SIZE)
		memset(model + pos, 0, MIN(len, model_size - pos));
}

#endif

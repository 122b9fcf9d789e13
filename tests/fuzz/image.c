/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small image with damage: everything that reads it, then changes.
 *
 * The first byte chooses what is done.  The rest are patches over a sound image without checksums:
 * a block (one byte), an offset in it (two bytes), a length of 1 to 16 (one byte), the bytes.  So a
 * seed of ten bytes damages one field, and mutants stay past the superblock.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "extkit/edit.h"
#include "extkit/image.h"
#include "extkit/inode.h"
#include "fs/create.h"
#include "fs/inode.h"
#include "fs/namei.h"
#include "fs/session.h"
#include "io/dev.h"

#define IMAGE_SIZE  (256u << 10)
#define READS_LIMIT 64u /* pieces of one file, which may claim any size */

enum { DO_WRITE = 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ek_ctx *ctx;
static struct session session;

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

static void need(int rc)
{
	if (rc < 0)
		abort();
}

/* Folders, an indexed one too, files with extents and holes, links, attributes in both places. */
static void furnish(struct ek_image *img)
{
	static const uint8_t bytes[20000] = {1};
	char value[600] = "", path[64];
	struct ek_xattr xattrs[] = {{"user.small", "x", 1}, {"user.large", value, sizeof(value)}};
	struct ek_attr attr = {.size = sizeof(attr), .xattrs = xattrs, .nxattrs = 2};
	struct ek_inode *dir;
	struct task *t = &session.task;

	need(ek_put_bytes(img, "/file", bytes, sizeof(bytes), 0, &attr));
	need(ek_mkdir(img, "/many", 0, NULL));
	for (int i = 0; i < 30; i++) {
		snprintf(path, sizeof(path), "/many/a-name-that-is-rather-long-for-a-file-%d", i);
		need(ek_put_bytes(img, path, bytes, (size_t)i, 0, NULL));
	}
	need(path_walk(t, "/many", 0, &dir));
	need(fs_symlink(t, dir, "link", 4, "../file", 7, NULL));
	memset(value, 'l', 300);
	need(fs_symlink(t, dir, "slow", 4, value, 300, NULL));
	inode_put(t, dir);
}

static uint8_t *base_image(void)
{
	uint8_t *base = malloc(IMAGE_SIZE);
	struct create_opts o;
	struct layout l;
	struct dev *dev;
	struct ek_image *img;
	struct diag d = {0};

	create_opts_default(&o);
	o.size = IMAGE_SIZE;
	o.inodes = 64;
	o.compat &= ~(COMPAT_HAS_JOURNAL | COMPAT_RESIZE_INODE);
	o.ro_compat &= ~RO_COMPAT_METADATA_CSUM;
	o.fresh = true;
	need(base != NULL ? 0 : -1);
	need(dev_open_memory(IMAGE_SIZE, &d, &dev));
	need(layout_plan(&o, &d, &l));
	need(layout_write(&l, &o, dev, &d));
	layout_free(&l);
	need(attach(dev, IMAGE_WRITE, &img));
	furnish(img);
	need(image_close(img));
	need(dev_read(dev, 0, base, IMAGE_SIZE));
	dev_close(dev);
	return base;
}

static void patch(uint8_t *image, const uint8_t *p, size_t n)
{
	while (n >= 5) {
		size_t at = (size_t)p[0] * 1024 + (((size_t)p[1] << 8 | p[2]) & 1023);
		size_t len = (size_t)(p[3] & 15) + 1;

		len = MIN(MIN(len, n - 4), (size_t)IMAGE_SIZE - at);
		memcpy(image + at, p + 4, len);
		p += 4 + len;
		n -= 4 + len;
	}
}

/* ---- what is done ---- */

static void read_inode(struct ek_inode *inode)
{
	static uint8_t buf[65537];
	struct ek_stat st = {.size = sizeof(st)};
	struct ek_extent e;
	struct ek_xattrs *xattrs;
	uint64_t at = 0;
	size_t n = 1;
	int rc;

	rc = ek_inode_stat(inode, &st);
	rc = ek_inode_readlink(inode, (char *)buf, sizeof(buf));
	for (unsigned i = 0; i < READS_LIMIT && n != 0; i++, at += n)
		if (ek_inode_read(inode, at, buf, sizeof(buf), &n) < 0)
			break;
	rc = ek_inode_next_data(inode, 5000, &at);
	rc = ek_inode_next_hole(inode, 0, &at);
	for (uint32_t lblk = 0; ek_inode_extent(inode, (ek_lblk){lblk}, &e) == 1;) {
		if (e.len == 0)
			abort();
		if (e.lblk.v > UINT32_MAX - e.len)
			break;
		lblk = e.lblk.v + e.len;
	}
	if (ek_inode_xattrs(inode, &xattrs) == 0)
		ek_xattrs_free(xattrs);
	(void)rc;
}

static void read_all(struct ek_image *img)
{
	struct ek_facts f = {.size = sizeof(f)};
	struct ek_space s = {.size = sizeof(s)};
	struct ek_inode *root;
	struct ek_walk *walk;
	struct ek_found found;

	need(ek_image_facts(img, &f));
	need(ek_image_space(img, &s));
	if (ek_inode_open(img, "/many/link", 0, &root) == 0)
		ek_inode_close(root);
	if (ek_inode_open(img, "/", 0, &root) < 0)
		return;
	need(ek_walk_open(root, EK_WALK_SORTED, &walk));
	while (ek_walk_next(walk, &found) == 1)
		if (found.inode != NULL)
			read_inode(found.inode);
	ek_walk_close(walk);
	ek_inode_close(root);
}

static void change(struct ek_image *img)
{
	static const uint8_t bytes[9000] = {2};
	int rc;

	rc = ek_put_bytes(img, "/file", bytes, sizeof(bytes), EK_PUT_REPLACE, NULL);
	rc = ek_put_bytes(img, "/many/new", bytes, sizeof(bytes), EK_PUT_PARENTS, NULL);
	rc = ek_mkdir(img, "/many/folder/deeper", EK_PUT_PARENTS, NULL);
	(void)rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t *base;
	static uint8_t image[IMAGE_SIZE];
	struct ek_image *img;
	struct dev *dev;
	struct diag d = {0};

	if (ctx == NULL)
		need(ek_ctx_new(&ctx));
	if (base == NULL)
		base = base_image();
	if (size == 0 || dev_open_memory(IMAGE_SIZE, &d, &dev) < 0)
		return 0;
	memcpy(image, base, IMAGE_SIZE);
	patch(image, data + 1, size - 1);
	need(dev_write(dev, 0, image, IMAGE_SIZE));
	if (attach(dev, (data[0] & DO_WRITE) != 0 ? IMAGE_WRITE : 0, &img) == 0) {
		read_all(img);
		if ((data[0] & DO_WRITE) != 0)
			change(img);
		image_close(img);
	}
	dev_close(dev);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests on whole images in memory: makes one, opens it, unpacks one, asks e2fsck. */
#ifndef FS_IMAGE_TEST_H
#define FS_IMAGE_TEST_H

#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "fs/create.h"
#include "fs/image.h"
#include "fs/inode.h"
#include "io/dev.h"

struct shape {
	uint64_t size;
	uint32_t block_size, blocks_per_group;
	uint32_t compat_off, compat_on, ro_compat_off, incompat_off, incompat_on;
	uint32_t inode_size; /* 0: as usual */
	uint32_t cluster;    /* blocks, with bigalloc; 0: without */
};

static inline void fs_make(const struct shape *s, struct dev **ret)
{
	static struct diag d; /* the device tells it of failures as long as it lives */
	struct create_opts o;
	struct layout l;

	create_opts_default(&o);
	o.size = s->size;
	o.block_size = s->block_size;
	o.blocks_per_group = s->blocks_per_group;
	o.compat = (o.compat & ~s->compat_off) | s->compat_on;
	o.ro_compat &= ~s->ro_compat_off;
	o.incompat = (o.incompat & ~s->incompat_off) | s->incompat_on;
	o.inode_size = s->inode_size;
	if (s->cluster != 0) {
		o.ro_compat |= RO_COMPAT_BIGALLOC;
		o.compat &= ~(uint32_t)COMPAT_RESIZE_INODE;
		o.cluster_size = s->cluster * s->block_size;
	}
	o.inode_ratio = 16384;
	o.journal_blocks = (o.compat & COMPAT_HAS_JOURNAL) != 0 ? 1024 : 0;
	o.fresh = true;
	o.now.sec = 1700000000;
	memcpy(o.uuid, "0123456789abcdef", 16);
	memcpy(o.hash_seed, "fedcba9876543210", 16);
	CHECK_INT(dev_open_memory(s->size, &d, ret), 0);
	if (layout_plan(&o, &d, &l) < 0)
		TAP_FAIL("layout: %s", d.text);
	CHECK_INT(layout_write(&l, &o, *ret, &d), 0);
	layout_free(&l);
}

static size_t fs_cache_bytes; /* of images opened from here on; 0: as usual */

static inline int fs_open(struct dev *dev, unsigned flags, struct diag *d, struct ek_image **ret)
{
	struct image_opts o = {
	    .flags = flags, .now = {1700000100, 0}, .cache_bytes = fs_cache_bytes};

	return image_open(dev, &o, d, ret);
}

/* A copy of the device in memory; untouched parts stay untouched. */
static inline void fs_copy(struct dev *from, struct dev **ret)
{
	static uint8_t chunk[1 << 16];

	CHECK_INT(dev_open_memory(from->size, NULL, ret), 0);
	for (uint64_t at = 0; at < from->size; at += sizeof(chunk)) {
		size_t n = (size_t)MIN((uint64_t)sizeof(chunk), from->size - at);

		CHECK_INT(dev_read(from, at, chunk, n), 0);
		if (chunk[0] != 0 || memcmp(chunk, chunk + 1, n - 1) != 0)
			CHECK_INT(dev_write(*ret, at, chunk, n), 0);
	}
}

static inline bool have_e2fsck(void)
{
	static int have = -1;

	if (have < 0)
		have = system("command -v e2fsck >/dev/null") == 0;
	return have > 0;
}

/* What e2fsck -fn says of an image: its exit code; its words become TAP comments when it is not
 * content. */
static inline int fs_e2fsck_file(const char *path)
{
	char log[] = "/tmp/extkit-unit-XXXXXX", command[160];
	int fd = mkstemp(log), rc;

	CHECK(fd >= 0);
	close(fd);
	snprintf(command, sizeof(command), "e2fsck -fn %s >%s 2>&1 || { sed 's/^/# /' %s; false; }",
		 path, log, log);
	rc = system(command);
	unlink(log);
	return rc;
}

/* The same of a device; with KEEP in the environment a copy of a bad one stays. */
static inline int fs_e2fsck(struct dev *dev)
{
	char path[] = "/tmp/extkit-unit-XXXXXX";
	static uint8_t chunk[1 << 16];
	int fd = mkstemp(path), rc;

	CHECK(fd >= 0);
	for (uint64_t at = 0; at < dev->size; at += sizeof(chunk)) {
		size_t n = (size_t)MIN((uint64_t)sizeof(chunk), dev->size - at);

		CHECK_INT(dev_read(dev, at, chunk, n), 0);
		if (chunk[0] != 0 || memcmp(chunk, chunk + 1, n - 1) != 0)
			CHECK_INT(pwrite(fd, chunk, n, (off_t)at), (ssize_t)n);
	}
	CHECK_INT(ftruncate(fd, (off_t)dev->size), 0);
	close(fd);
	rc = fs_e2fsck_file(path);
	if (rc == 0 || getenv("KEEP") == NULL)
		unlink(path);
	return rc;
}

#endif

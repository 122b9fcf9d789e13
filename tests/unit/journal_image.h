/* SPDX-License-Identifier: BSD-2-Clause */
/* For journal tests on whole images: unpacks one into memory and finds its log. */
#ifndef JOURNAL_IMAGE_H
#define JOURNAL_IMAGE_H

#include "tap.h"

#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "base/diag.h"
#include "io/dev.h"
#include "journal/journal.h"
#include "ondisk/group.h"
#include "ondisk/inode.h"
#include "ondisk/super.h"

#define MAX_RUNS 4096u

static struct image {
	struct diag diag;
	uint8_t *bytes; /* as unpacked */
	size_t size;
	struct dev *dev; /* a copy, in memory */
	struct geom geom;
	struct buf_cache *cache;
	struct jnl_run runs[MAX_RUNS];
	struct jnl_config cfg;
} im;

static inline const char *data_path(const char *name)
{
	static char path[500];
	const char *src = getenv("SRC");

	snprintf(path, sizeof(path), "%s/tests/data/%s.img.zst", src != NULL ? src : ".", name);
	return path;
}

/* Skips when the file is not there: tests run from the top of the tree or with SRC set. */
static inline void unpack(const char *name)
{
	static uint8_t packed[1 << 20];
	FILE *f = fopen(data_path(name), "rb");
	size_t n;

	if (f == NULL)
		SKIP("tests/data is not here: set SRC");
	n = fread(packed, 1, sizeof(packed), f);
	fclose(f);
	im.size = (size_t)ZSTD_getFrameContentSize(packed, n);
	CHECK(im.size < (size_t)1 << 30);
	im.bytes = malloc(im.size);
	CHECK(im.bytes != NULL);
	CHECK_INT(ZSTD_decompress(im.bytes, im.size, packed, n), im.size);
}

static inline void add_run(uint32_t lblk, uint64_t pblk, uint32_t len)
{
	struct jnl_run *last = im.cfg.run_count > 0 ? &im.runs[im.cfg.run_count - 1] : NULL;

	if (last != NULL && last->lblk + last->len == lblk && last->pblk + last->len == pblk) {
		last->len += len;
		return;
	}
	if (im.cfg.run_count < MAX_RUNS)
		im.runs[im.cfg.run_count++] = (struct jnl_run){lblk, len, pblk};
}

static inline uint32_t get32(const uint8_t *p)
{
	le32 v;

	memcpy(&v, p, 4);
	return le32_get(v);
}

/* Leaves of an extent tree of depth 0 (all that these images have). */
static inline void walk_extents(const uint8_t *root)
{
	unsigned n = root[2], depth = root[6];

	for (unsigned i = 0; i < n && depth == 0 && i < 4; i++) {
		const uint8_t *e = root + 12 + 12 * i;

		add_run(get32(e), get32(e + 8) | (uint64_t)e[6] << 32, get32(e + 4) & 0x7fff);
	}
}

static inline void walk_pointers(const uint8_t *p, unsigned n, unsigned level, uint32_t *lblk,
				 uint32_t blocks)
{
	for (unsigned i = 0; i < n && *lblk < blocks; i++) {
		uint32_t at = get32(p + 4 * (size_t)i), per = im.geom.block_size / 4;
		uint8_t *deeper;

		if (level == 0) {
			if (at != 0)
				add_run(*lblk, at, 1);
			++*lblk;
			continue;
		}
		deeper = malloc(im.geom.block_size);
		if (at < im.geom.blocks && dev_read(im.dev, (uint64_t)at << im.geom.block_bits,
						    deeper, im.geom.block_size) == 0)
			walk_pointers(deeper, per, level - 1, lblk, blocks);
		free(deeper);
	}
}

static inline void find_log(void)
{
	uint8_t raw[1024], gd[64];
	struct group_desc desc;
	struct inode_rec ino;
	uint32_t lblk = 0;
	uint64_t at;

	CHECK_INT(dev_read(im.dev, geom_gdt_block(&im.geom, 0).v << im.geom.block_bits, gd,
			   im.geom.desc_size),
		  0);
	CHECK_INT(group_decode(&im.geom, 0, gd, &im.diag, &desc), 0);
	at = (desc.inode_table.v << im.geom.block_bits) + 7u * im.geom.inode_size;
	CHECK_INT(dev_read(im.dev, at, raw, im.geom.inode_size), 0);
	CHECK_INT(inode_decode(&im.geom, (ek_inum){INUM_JOURNAL}, raw, &im.diag, &ino), 0);
	im.cfg.blocks = (uint32_t)(ino.size >> im.geom.block_bits);
	if ((ino.flags & INODE_EXTENTS) != 0) {
		walk_extents(ino.block);
		return;
	}
	walk_pointers(ino.block, 12, 0, &lblk, im.cfg.blocks);
	for (unsigned level = 1; level <= 3; level++)
		walk_pointers(ino.block + 44 + 4 * level, 1, level, &lblk, im.cfg.blocks);
}

/* The image name (below tests/data) on a memory device, its cache open, im.cfg ready. */
static inline void load(const char *name)
{
	struct super_raw sb;

	memset(&im, 0, sizeof(im));
	unpack(name);
	CHECK_INT(dev_open_memory(im.size, &im.diag, &im.dev), 0);
	CHECK_INT(dev_write(im.dev, 0, im.bytes, im.size), 0);
	memcpy(&sb, im.bytes + SUPER_OFFSET, sizeof(sb));
	CHECK_INT(super_verify(&sb, im.size, "superblock", &im.diag), 0);
	geom_from_super(&sb, &im.geom);
	CHECK_INT(buf_cache_open(im.dev, &im.geom, 1 << 20, &im.diag, &im.cache), 0);
	im.cfg.cache = im.cache;
	im.cfg.diag = &im.diag;
	im.cfg.runs = im.runs;
	im.cfg.read_only = true;
	find_log();
}

static inline void unload(void)
{
	buf_cache_close(im.cache);
	geom_free(&im.geom);
	dev_close(im.dev);
	free(im.bytes);
}

#endif

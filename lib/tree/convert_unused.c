/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes that no file and no metadata use, by the block bitmaps: a walk from run to run of equal
 * bits, group by group. */
#include "base/bitmap.h"
#include "base/check.h"
#include "fs/image.h"
#include "tree/convert.h"

#include <string.h>

/* A run of blocks that are all used or all not. */
struct stretch {
	uint64_t end; /* bytes */
	bool used;
};

/* The stretch that begins at the block, which is inside of the filesystem and no boot block. */
static int stretch_in_group(struct ek_image *img, uint64_t block, struct stretch *ret)
{
	const struct geom *g = &img->geom;
	uint64_t rel = block - g->first_data_block;
	uint32_t group = (uint32_t)(rel / g->blocks_per_group);
	uint64_t start = g->first_data_block + (uint64_t)group * g->blocks_per_group, next;
	uint64_t blocks = MIN((uint64_t)g->blocks_per_group, g->blocks - start);
	size_t bits = (size_t)((blocks + (1u << g->cluster_bits) - 1) >> g->cluster_bits), bit;
	struct buf *b;
	int rc = groups_block_bitmap(&img->groups, group, &b);

	if (rc < 0)
		return rc;
	bit = (size_t)((block - start) >> g->cluster_bits);
	ret->used = bitmap_test(b->data, bit);
	bit = ret->used ? bitmap_find_next_zero(b->data, bits, bit)
			: bitmap_find_next_set(b->data, bits, bit);
	buf_put(b);
	next = MIN(start + ((uint64_t)bit << g->cluster_bits), start + blocks);
	ret->end = next << g->block_bits;
	return 0;
}

static int stretch_at(struct ek_image *img, uint64_t off, struct stretch *ret)
{
	const struct geom *g = &img->geom;
	uint64_t block = off >> g->block_bits;

	if (block >= g->blocks) {
		*ret = (struct stretch){UINT64_MAX, true};
		return 0;
	}
	if (block < g->first_data_block) {
		*ret = (struct stretch){(uint64_t)g->first_data_block << g->block_bits, true};
		return 0;
	}
	return stretch_in_group(img, block, ret);
}

int unused_end(struct ek_image *img, uint64_t off, uint64_t end, uint64_t *ret)
{
	struct stretch s = {.used = false};
	int rc = 0;

	while (off < end) {
		rc = stretch_at(img, off, &s);
		if (rc < 0)
			return rc;
		if (s.used)
			break;
		off = s.end;
	}
	*ret = MIN(off, end);
	return 0;
}

int unused_zero(struct ek_image *img, uint64_t off, uint8_t *buf, size_t len)
{
	uint64_t end = off + len;
	struct stretch s;

	while (off < end) {
		int rc = stretch_at(img, off, &s);
		size_t n;

		if (rc < 0)
			return rc;
		n = (size_t)(MIN(s.end, end) - off);
		if (!s.used)
			memset(buf, 0, n);
		buf += n;
		off += n;
	}
	return 0;
}

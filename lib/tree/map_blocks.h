/* SPDX-License-Identifier: BSD-2-Clause */
/* The blocks that the maps of an image's inodes consist of: nodes of extents, and of pointers. */
#ifndef TREE_MAP_BLOCKS_H
#define TREE_MAP_BLOCKS_H

#include <stdint.h>

struct ek_image;
struct ek_inode;

struct map_blocks {
	struct ek_image *img;
	uint32_t left; /* how many may still be read */
	uint8_t *node; /* a block for each level */
};

typedef int map_block_fn(void *arg, uint64_t block);

/* For all maps of one image; -ENOMEM. */
int map_blocks_open(struct ek_image *img, struct map_blocks *ret);
void map_blocks_close(struct map_blocks *m);

/* Calls fn for each block of the inode's map, from the root down; its errors are errors here.
 * What lies outside the filesystem or cannot be read is passed over; so is all that comes after
 * 2^22 blocks in all, which is more than a sound image has. */
int map_blocks_each(struct map_blocks *m, const struct ek_inode *inode, map_block_fn *fn,
		    void *arg);

#endif

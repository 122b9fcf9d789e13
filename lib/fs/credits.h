/* SPDX-License-Identifier: BSD-2-Clause */
/* Journal credits of operations on names and sizes, in blocks (delalloc-facts 4.8, event traces).
 */
#ifndef FS_CREDITS_H
#define FS_CREDITS_H

#include "fs/data.h"
#include "fs/inode.h"
#include "fs/map.h"

/* One data block with the metadata it can touch, an xattr change included. */
static inline unsigned credits_data(const struct ek_image *img)
{
	return geom_incompat(&img->geom, INCOMPAT_EXTENTS) ? 24 : 12;
}

/* Splitting hashed folder blocks. */
#define CREDITS_INDEX_EXTRA 12u

static inline unsigned credits_create(const struct ek_image *img)
{
	return credits_data(img) + CREDITS_INDEX_EXTRA + 3 + 7;
}

static inline unsigned credits_link(const struct ek_image *img)
{
	return credits_data(img) + CREDITS_INDEX_EXTRA + 1;
}

static inline unsigned credits_unlink(const struct ek_image *img)
{
	return credits_data(img);
}

static inline unsigned credits_rename(const struct ek_image *img)
{
	return 2 * credits_data(img) + CREDITS_INDEX_EXTRA + 2;
}

#define CREDITS_SET_SIZE 3u
#define CREDITS_ATTR     2u

/* Freeing a file in a transaction, or as much of it as one can spare: as many blocks as it has, and
 * one data block's metadata. */
static inline unsigned credits_removal(const struct ek_inode *inode)
{
	uint64_t blocks = inode_sectors(inode) >> (inode->img->geom.block_bits - 9u);

	return credits_data(inode->img) + (unsigned)(blocks < 2 ? 2 : blocks > 64 ? 64 : blocks);
}

/* Data that go through the log: the blocks at the two ends of a range. */
static inline unsigned credits_truncate(const struct ek_inode *inode)
{
	unsigned n =
	    inode_has_pointers(inode) ? credits_removal(inode) : map_writepage_credits(inode);

	return inode_logs_data(inode) ? n + 2 : n;
}

static inline unsigned credits_evict(const struct ek_inode *inode)
{
	return credits_removal(inode) + 3;
}

#endif

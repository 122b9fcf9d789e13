/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of the buffer cache: buf.c finds and proves buffers, buf_home.c brings them home. */
#ifndef ONDISK_BUF_IMPL_H
#define ONDISK_BUF_IMPL_H

#include "ondisk/buf.h"

#define DIRTY_LISTS 64u /* power of two */

struct slab {
	struct slab *next;
	uint8_t *data;
	struct buf bufs[];
};

struct buf_cache {
	struct dev *dev;
	const struct geom *geom;
	struct diag *diag;
	struct buf **hash;
	uint32_t hash_size;  /* power of two */
	size_t count, limit; /* buffers in the hash; how many may stay when clean */
	struct list lru;
	struct list dirty[DIRTY_LISTS]; /* by the owner's number */
	size_t dirty_count;
	uint32_t page_round; /* counts syncs of the device */
	struct buf *free;    /* through hash_next */
	struct slab *slabs;
};

/* Off the dirty lists. */
void buf_undirty(struct buf *b);

#endif

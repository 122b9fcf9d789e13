/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The groups of a filesystem: descriptors as native numbers, bitmaps on demand, free counts.
 *
 * Descriptors are decoded once at open.  Whenever a count changes their table block is filed with
 * the handle's transaction; they are encoded, and the checksums of changed bitmaps taken, when that
 * block leaves.  A bitmap whose group is still uninitialised is made up in memory from the
 * geometry and becomes real the first time it is written.
 */
#ifndef ALLOC_GROUPS_H
#define ALLOC_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/counters.h"
#include "journal/journal.h"
#include "ondisk/buf.h"
#include "ondisk/geom.h"
#include "ondisk/group.h"

/* Space accounting in clusters; the letters are those of delalloc-facts 2.4. */
struct space {
	uint64_t free;      /* F: clear bits in the bitmaps, preallocated blocks included */
	uint64_t dirty;     /* D: reserved by delayed allocation, not allocated yet */
	uint64_t reserved;  /* s_resv_clusters: pool for metadata at writeback */
	uint64_t root;      /* for root and the reserved user and group */
	uint64_t watermark; /* WM */
};

#define LAGGING_BATCH 32

/* A counter that the kernel keeps per CPU: what a cheap read sees follows the truth only in steps
 * of a batch.  Orlov decides by such reads, so they are modelled. */
struct lagging {
	int64_t seen, pending;
};

static inline void lagging_add(struct lagging *c, int64_t n)
{
	c->pending += n;
	if (c->pending >= LAGGING_BATCH || c->pending <= -LAGGING_BATCH) {
		c->seen += c->pending;
		c->pending = 0;
	}
}

enum group_stale {
	STALE_DESC = 1 << 0, /* the table block is behind the descriptor */
	STALE_BLOCKS = 1 << 1,
	STALE_INODES = 1 << 2 /* the descriptor's checksum is behind the bitmap */
};

struct groups {
	struct buf_cache *cache;
	struct geom *geom;
	struct counters *counters;
	struct diag *diag;
	struct group_desc *desc; /* geom->groups of them */
	struct space space;
	uint64_t free_inodes;
	struct lagging seen_inodes, seen_clusters; /* as Orlov reads them */
	uint32_t dirs;
	uint8_t *damaged; /* one bit a group: refused by writers, skipped by searches */
	uint8_t *stale;   /* a byte of enum group_stale for each group */
};

/* Reads all descriptors and adds their metadata to the geometry's zones.  A damaged descriptor
 * fails the whole with its story. */
int groups_load(struct buf_cache *cache, struct geom *g, struct counters *c, struct diag *d,
		struct groups *ret);
void groups_free(struct groups *gs);

/* Files the table block of group's descriptor, which is encoded when the block leaves. */
int groups_update(struct groups *gs, struct handle *h, uint32_t group);

/* The block bitmap of a group, verified against its checksum (EBADMSG) and against the metadata it
 * must cover (EUCLEAN); made up when the group is uninitialised. */
int groups_block_bitmap(struct groups *gs, uint32_t group, struct buf **ret);
int groups_inode_bitmap(struct groups *gs, uint32_t group, struct buf **ret);

/* The bitmap was changed: its checksum in the descriptor follows with groups_update. */
void groups_block_bitmap_changed(struct groups *gs, uint32_t group);
void groups_inode_bitmap_changed(struct groups *gs, uint32_t group);

/* The delayed-allocation test: true when writes should allocate at once (delalloc-facts 2.4). */
static inline bool space_is_tight(const struct space *s)
{
	return 2 * s->free < 3 * s->dirty || s->free < s->dirty + s->watermark;
}

enum space_flag {
	SPACE_ROOT = 1 << 0,   /* caller may use root's reserve */
	SPACE_RESERVE = 1 << 1 /* metadata at writeback may use the pool */
};

/* 0 when n more clusters may be claimed, else -ENOSPC with the shortage in d (may be NULL). */
int space_check(const struct space *s, uint64_t n, unsigned flags, struct diag *d);

#endif

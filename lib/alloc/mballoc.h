/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The multi-block allocator: buddy bitmaps, preallocation per inode and per locality group, and the
 * search order of Linux 6.18 (delalloc-facts 7).
 */
#ifndef ALLOC_MBALLOC_H
#define ALLOC_MBALLOC_H

#include <stdbool.h>
#include <stdint.h>

#include <extkit/types.h>

#include "alloc/groups.h"
#include "base/rb.h"

struct mb;

/* ext3's reservation window: blocks near the end of a file that grows, which other files' windows
 * do not overlap.  In memory only. */
struct mb_window {
	struct rb_node node; /* in mb.windows by start */
	uint64_t start;
	uint32_t len;        /* 0: none */
	uint32_t want, hits; /* blocks that the next one should have; taken from this one */
};

/* The allocator's part of an in-core inode. */
struct mb_inode {
	struct rb_root pas; /* preallocations by logical start */
	struct mb_window window;
	uint32_t last_lblk; /* of what was taken last by ext3's rules, */
	uint64_t last_pblk; /* and where; 0: nothing yet */
};

/* Flags as ext4_request_blocks prints them. */
enum mb_flag {
	MB_MERGE = 0x1,
	MB_FIRST = 0x8,
	MB_DATA = 0x20,
	MB_NOPREALLOC = 0x40,
	MB_GROUP_ALLOC = 0x80,
	MB_GOAL_ONLY = 0x100,
	MB_TRY_GOAL = 0x200,
	MB_DELALLOC_RESERVED = 0x400,
	MB_STREAM = 0x800,
	MB_ROOT = 0x1000,
	MB_USE_RESERVED = 0x2000,
	MB_STRICT = 0x4000
};

/*
 * One request: len blocks for logical block lblk, as near goal as can be.  A neighbour with length
 * 0 is absent.
 *
 * What is allocated are whole clusters: those that the file blocks from lblk on touch, with lblk as
 * far into the first of them as it is into its own.  The caller asks for no cluster of the file
 * that has a place already.
 */
struct mb_request {
	uint32_t ino;
	struct mb_inode *inode; /* NULL for blocks that belong to no file (xattr blocks) */
	ek_lblk lblk;
	uint32_t len;
	ek_pblk goal;
	struct {
		ek_lblk lblk;
		ek_pblk pblk;
		uint32_t len;
	} left, right; /* nearest mapped neighbours */
	uint64_t size; /* i_size in bytes */
	unsigned flags;
	bool low;            /* block numbers must fit 32 bits */
	bool open_for_write; /* somebody has the file open for writing */
	unsigned cpu;        /* picks the locality group and the stream slot */
};

struct mb_config {
	unsigned cpus; /* locality groups and stream slots; 1 is deterministic */
	unsigned min_to_scan, max_to_scan;
	unsigned stream_request; /* blocks: files up to this use group preallocation */
	unsigned group_prealloc; /* blocks */
	unsigned stripe;
	bool optimize_scan;
};

void mb_config_default(const struct geom *g, struct mb_config *ret);

int mb_open(struct groups *gs, struct jnl *j, const struct mb_config *cfg, struct diag *d,
	    struct mb **ret);
/* Releases every preallocation and frees. */
void mb_close(struct mb *mb);

void mb_inode_init(struct mb_inode *mi);

/* Allocates up to req->len blocks; *len gets what was granted, at least 1: geom_clusters of it are
 * the inode's now.  Accounting: with MB_DELALLOC_RESERVED the clusters were reserved at write time
 * and whoever claims the reservation lowers D; else they are checked against the free space now.
 * -ENOSPC after discarding preallocations and retrying; d tells how many blocks are missing. */
int mb_new_blocks(struct mb *mb, struct handle *h, const struct mb_request *req, ek_pblk *ret,
		  uint32_t *len);

/* The same by ext3's rules (alloc/window.c): a run from the goal on, or in the window of
 * req->inode, or from the first free block after it.  Fewer blocks than asked for are no failure.
 * Without clusters only; what was asked for is checked against the free space, preallocation is not
 * used. */
int mb_window_blocks(struct mb *mb, struct handle *h, const struct mb_request *req, ek_pblk *ret,
		     uint32_t *len);

/* Frees the clusters that a run touches.  They become usable for new requests when the handle's
 * transaction commits (at once for a journal of kind none).  metadata: extent, index, folder and
 * xattr blocks; the caller has revoked them with handle_forget. */
int mb_free_blocks(struct mb *mb, struct handle *h, ek_pblk pblk, uint32_t len, bool metadata);

/* Last writer closed, truncate, unlink: gives back what the inode has preallocated. */
void mb_discard_inode(struct mb *mb, struct mb_inode *mi);
/* ENOSPC: gives back every preallocation. */
void mb_discard_all(struct mb *mb);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Inode allocation: Orlov for folders, near the parent for files, bitmaps and counts. */
#ifndef ALLOC_IALLOC_H
#define ALLOC_IALLOC_H

#include <stdbool.h>
#include <stdint.h>

#include <extkit/types.h>

#include "alloc/groups.h"

struct ialloc_request {
	ek_inum parent;
	bool parent_is_top; /* the parent is the root or has the TOPDIR flag: spread folders */
	uint16_t mode;
	uint32_t name_hash; /* half MD4 of a folder's name: seeds the spread of top folders */
	uint32_t goal;      /* 0, or the inode number to start from */
};

/* Orlov's memory of the last group used under each parent group; zeroed at open. */
struct ialloc {
	struct groups *gs;
	uint32_t last_alloc_group; /* group hint of the parent, ~0 for none */
};

/* Takes a free inode: sets its bit, updates counts, the used-folders count for folders,
 * itable_unused and UNINIT flags.  The inode's table slot is left for the caller.  -ENOSPC when
 * none is free. */
int ialloc_new(struct ialloc *ia, struct handle *h, const struct ialloc_request *req, ek_inum *ret);

/* Frees an inode: clears its bit and updates counts. */
int ialloc_free(struct ialloc *ia, struct handle *h, ek_inum ino, bool is_dir);

/* True when the inode's bit is set. */
int ialloc_in_use(struct ialloc *ia, ek_inum ino, bool *ret);

/* True when no other inode of this one's block of the table is in use. */
int ialloc_alone(struct ialloc *ia, ek_inum ino, bool *ret);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Generations of the delayed-allocation write: where a write to a folio opens handles and marks the
 * inode (delalloc-facts 2.5, 2.6).
 */
#ifndef PAGECACHE_GENERATION_H
#define PAGECACHE_GENERATION_H

#include <stdint.h>

#include "fs/policy.h"
#include "pagecache/pagecache.h"

struct generation {
	/* Opens the handle that lies over the copy, for a write that ends at end; NULL: there is
	 * none, and a write to a folio that is ready for it changes nothing but bytes. */
	int (*begin)(struct task *t, struct ek_inode *inode, uint64_t end, struct handle **ret);
	/* [pos, pos + len) was copied: the sizes follow. */
	int (*end)(struct task *t, struct folio *f, uint64_t pos, uint64_t len);
	unsigned lookups; /* of the status tree for each block that a write reserves */
};

const struct generation *generation_of(enum write_generation g);

/* A mark by the generic end of a write: in a handle of its own, or nested in the one that runs. */
int generic_mark(struct task *t, struct ek_inode *inode);

#endif

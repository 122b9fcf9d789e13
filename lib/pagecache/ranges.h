/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that are cached by ranges (s2, s3; delalloc-facts 5.3): a write maps or reserves what it
 * covers in one step, writeback asks for a place when it leaves the run it knows, and the status
 * tree alone says where blocks are.  Of a folio's states only "dirty" and "up to date" are used.
 */
#ifndef PAGECACHE_RANGES_H
#define PAGECACHE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

struct mapping;
struct pc_source;
struct task;
struct wbc;

/* Pointers, data in the inode and data in the log are left to folios with blocks. */
bool mapping_by_ranges(const struct mapping *m);

/* Writes as much of [pos, pos + *len) as one mapping covers. */
int range_write(struct task *t, struct mapping *m, uint64_t pos, uint64_t *len,
		const struct pc_source *src, uint64_t done);

int range_writepages(struct task *t, struct mapping *m, struct wbc *wbc);

#endif

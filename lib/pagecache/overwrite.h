/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes into folios that are dirty already, for the thread that has the image; those of workers
 * are pc_overwrite. */
#ifndef PAGECACHE_OVERWRITE_H
#define PAGECACHE_OVERWRITE_H

#include <stdbool.h>
#include <stdint.h>

struct ek_inode;
struct mapping;
struct pc_source;

/* A call that is nothing but an overwrite, at a time that the file shows already: what was asked of
 * the file when its folio became dirty is not asked again.  False: nothing was done. */
bool overwrite_whole(struct ek_inode *inode, uint64_t pos, uint64_t len,
		     const struct pc_source *src);

/* The same of bytes of a call that was checked and whose times are right. */
bool overwrite_part(struct mapping *m, uint64_t pos, uint64_t len, const struct pc_source *src);

#endif

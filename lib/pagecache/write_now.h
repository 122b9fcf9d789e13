/* SPDX-License-Identifier: BSD-2-Clause */
/* Buffered writes whose blocks are allocated at once. */
#ifndef PAGECACHE_WRITE_NOW_H
#define PAGECACHE_WRITE_NOW_H

#include <stdbool.h>
#include <stdint.h>

struct ek_inode;
struct folio;
struct mapping;
struct pc_source;
struct task;

/* One piece of a write at pos, under one handle; *len is cut to its folio.  It allocates, copies
 * and stores the size as the policy's allocation and data mode want it. */
int write_chunk_now(struct task *t, struct mapping *m, uint64_t pos, uint64_t *len,
		    const struct pc_source *src, uint64_t done);

/* A store through a mapping into [pos, pos + len) of one page: all of its folio, by rules of single
 * pages all of the page, gets its place up to the end of the file, as the fault would give it; then
 * the bytes (none when len is 0). */
int store_now(struct task *t, struct mapping *m, uint64_t pos, uint64_t len,
	      const struct pc_source *src, uint64_t done);

#endif

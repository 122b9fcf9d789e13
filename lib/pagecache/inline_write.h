/* SPDX-License-Identifier: BSD-2-Clause */
/* Buffered writes to files that may be inline. */
#ifndef PAGECACHE_INLINE_WRITE_H
#define PAGECACHE_INLINE_WRITE_H

#include <stdint.h>

struct folio;
struct mapping;
struct pc_source;
struct task;

/* The begin and the end of a write of len bytes into the inode: 1 when they went there; 0 when the
 * file has no inline data that a write to folios would have to mind, so that one may follow. */
int inline_write_delayed(struct task *t, struct mapping *m, uint64_t pos, uint64_t *len,
			 const struct pc_source *src, uint64_t done);
/* The same without delayed allocation. */
int inline_write_now(struct task *t, struct mapping *m, uint64_t pos, uint64_t *len,
		     const struct pc_source *src, uint64_t done);

/* ---- write.c's, used there too ---- */

/* n bytes of the source, from done on, to pos of the file. */
void write_copy(struct folio *f, uint64_t pos, const struct pc_source *src, uint64_t done,
		uint64_t n);
/* The bytes of [pos, pos + len) are in the folio. */
void write_note_copied(struct folio *f, uint64_t pos, uint64_t len);
void write_tell(const struct folio *f, uint64_t pos, uint64_t len);

#endif

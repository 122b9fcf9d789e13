/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes into folios that are dirty already, for the thread that has the image; those of workers
 * are pc_overwrite. */
#ifndef PAGECACHE_OVERWRITE_H
#define PAGECACHE_OVERWRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/copy.h"
#include "fs/image.h"
#include "fs/inode.h"
#include "pagecache/folio.h"
#include "pagecache/hooks.h"
#include "pagecache/pagecache.h"

#define WARM_PAGES \
	4096u /* a file as large is still in the processor's cache when it is written again */

/* Where a write into the file's dirty folios should store. */
static inline void overwrite_bytes(const struct mapping *m, uint8_t *to, const uint8_t *from,
				   uint64_t n)
{
	if (m->pages <= WARM_PAGES)
		memcpy(to, from, n);
	else
		copy_past_cache(to, from, n);
}

/* What an overwrite counts. */
static inline void overwrite_count(const struct pagecache *pc, struct counters *c)
{
	if (pc->policy->folio != FOLIO_S3) {
		count(c, COUNTER_DA_WRITE_BEGIN, 1);
		count(c, COUNTER_DA_WRITE_END, 1);
	}
	count(c, COUNTER_PAGE_LOCKS, 1);
}

/* True when src has len bytes in a row. */
static inline bool source_is_flat(const struct pc_source *src, uint64_t len)
{
	return src->ptr != NULL && (src->period == 0 || len <= src->period);
}

/* The same as overwrite_whole and balance_dirty where nothing has to be looked up: into the folio
 * that was written last, all of which was overwritten before. */
static inline bool overwrite_again(struct ek_inode *inode, uint64_t pos, uint64_t len,
				   const struct pc_source *src)
{
	struct mapping *m = inode->mapping;
	struct counters *c;
	struct folio *f;
	uint64_t at;

	if (m == NULL || (f = m->last) == NULL || (f->flags & FOLIO_SETTLED) == 0)
		return false;
	at = pos - folio_pos(f);
	if (len - 1 >= folio_bytes(f) || at > folio_bytes(f) - len || pos + len > inode->size)
		return false;
	if (!source_is_flat(src, len) || space_is_tight(&inode->img->groups.space) ||
	    !inode_is_touched(inode) || inode->img->tap.stage == STAGE_FOLIO ||
	    !balance_is_far(m->pc, pages_of(len)))
		return false;
	m->pc->uncharged += pages_of(len);
	c = m->pc->counters;
	overwrite_count(m->pc, c);
	count(c, COUNTER_WRITE_CALLS, 1);
	count(c, COUNTER_WRITE_BYTES, len);
	m->write_end = pos + len;
	overwrite_bytes(m, f->data + at, src->ptr, len);
	return true;
}

/* A call that is nothing but an overwrite, at a time that the file shows already: what was asked of
 * the file when its folio became dirty is not asked again.  False: nothing was done. */
bool overwrite_whole(struct ek_inode *inode, uint64_t pos, uint64_t len,
		     const struct pc_source *src);

/* The same of bytes of a call that was checked and whose times are right. */
bool overwrite_part(struct mapping *m, uint64_t pos, uint64_t len, const struct pc_source *src);

#endif

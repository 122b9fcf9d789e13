/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes into folios that are dirty already, the most frequent of all: everything that could have
 * to be done for them was done when the folio became dirty.
 */
#include "pagecache/overwrite.h"

#include "base/copy.h"
#include "fs/data.h"
#include "pagecache/inline_write.h"
#include "pagecache/pagecache.h"

/* The common write: into one folio that is dirty and whole, within the size.  Nothing has to be
 * mapped, read, reserved or tagged, only the bytes and the marks of their blocks change. */
static inline bool overwrite(struct mapping *m, uint64_t pos, uint64_t len,
			     const struct pc_source *src, struct counters *c)
{
	const enum block_state ready =
	    m->pc->policy->folio == FOLIO_S3 ? BLOCK_DIRTY : BLOCK_MAPPED;
	struct folio *f = mapping_find(m, (uint32_t)(pos >> PAGE_BITS));
	uint32_t first, n;
	uint64_t at;

	if (f == NULL || (f->flags & FOLIO_DIRTY) == 0)
		return false;
	/* What is dirty is whole; what has a place need not be. */
	if (ready == BLOCK_MAPPED && (f->flags & FOLIO_UPTODATE) == 0)
		return false;
	at = pos - folio_pos(f);
	if (len > folio_bytes(f) - at)
		return false;
	first = (uint32_t)(at >> pc_block_bits(m->pc));
	n = (uint32_t)((at + len - 1) >> pc_block_bits(m->pc)) - first + 1;
	if (!folio_all(f, ready, first, n))
		return false;
	if (ready == BLOCK_MAPPED) {
		count(c, COUNTER_DA_WRITE_BEGIN, 1);
		count(c, COUNTER_DA_WRITE_END, 1);
	}
	count(c, COUNTER_PAGE_LOCKS, 1);
	write_copy(f, pos, src, 0, len);
	folio_set(f, BLOCK_DIRTY, first, n);
	tap_send(&m->pc->img->tap, STAGE_FOLIO, "", m->inode->ino.v, pos, len, f->index);
	return true;
}

static bool can_overwrite(const struct mapping *m, uint64_t pos, uint64_t len)
{
	unsigned bits = PAGE_BITS + m->pc->max_order;

	return m->pc->overwrites && policy_delays(m->pc->policy) && pos + len <= m->inode->size &&
	       pos >> bits == (pos + len - 1) >> bits;
}

bool pc_overwrites_begin(struct ek_inode *inode)
{
	struct mapping *m = inode->mapping;

	if (m == NULL)
		return false;
	mapping_lock(m);
	if (!inode_logs_data(inode))
		return true;
	mapping_unlock(m);
	return false;
}

void pc_overwrites_end(struct ek_inode *inode)
{
	copy_settle();
	mapping_unlock(inode->mapping);
}

bool pc_overwrite(struct ek_inode *inode, uint64_t pos, uint64_t len, const struct pc_source *src,
		  struct ek_time now, struct counters *counters)
{
	struct mapping *m = inode->mapping;

	if (len == 0 || len > UINT64_MAX - pos || !can_overwrite(m, pos, len) ||
	    !inode_shows_time(inode, now) || !overwrite(m, pos, len, src, counters))
		return false;
	m->write_end = pos + len;
	count(counters, COUNTER_WRITE_CALLS, 1);
	count(counters, COUNTER_WRITE_BYTES, len);
	return true;
}

bool overwrite_whole(struct ek_inode *inode, uint64_t pos, uint64_t len,
		     const struct pc_source *src)
{
	struct mapping *m = inode->mapping;

	if (m == NULL || len == 0 || len > UINT64_MAX - pos || !can_overwrite(m, pos, len) ||
	    space_is_tight(&inode->img->groups.space) || !inode_is_touched(inode) ||
	    !overwrite(m, pos, len, src, m->pc->counters))
		return false;
	m->write_end = pos + len;
	count(m->pc->counters, COUNTER_WRITE_CALLS, 1);
	count(m->pc->counters, COUNTER_WRITE_BYTES, len);
	return true;
}

bool overwrite_part(struct mapping *m, uint64_t pos, uint64_t len, const struct pc_source *src)
{
	return can_overwrite(m, pos, len) && !space_is_tight(&m->pc->img->groups.space) &&
	       overwrite(m, pos, len, src, m->pc->counters);
}

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

/* True when every block of a folio is whole, dirty and has its place.  Of many blocks the last one
 * is asked first: when a file is written again from its beginning, that one becomes dirty last. */
static bool all_settled(struct folio *f, enum block_state ready)
{
	if ((f->flags & FOLIO_HUGE_STATE) != 0 && !folio_test(f, BLOCK_DIRTY, f->blocks - 1u))
		return false;
	return folio_all(f, BLOCK_DIRTY, 0, f->blocks) && folio_all(f, ready, 0, f->blocks);
}

/* Makes the blocks of a write dirty when they are whole and have their places.  What is dirty is
 * whole in native; elsewhere what has a place need not be. */
static bool settle(struct mapping *m, struct folio *f, uint64_t at, uint64_t len)
{
	const enum block_state ready =
	    m->pc->policy->folio == FOLIO_S3 ? BLOCK_DIRTY : BLOCK_MAPPED;
	unsigned bits = pc_block_bits(m->pc);
	uint32_t first = (uint32_t)(at >> bits);
	uint32_t n = (uint32_t)((at + len - 1) >> bits) - first + 1;

	if (ready == BLOCK_MAPPED && (f->flags & FOLIO_UPTODATE) == 0)
		return false;
	if (!folio_all(f, ready, first, n))
		return false;
	folio_set(f, BLOCK_DIRTY, first, n);
	if (all_settled(f, ready))
		f->flags |= FOLIO_SETTLED;
	return true;
}

/* The common write: into one folio that is dirty and whole, within the size.  Nothing has to be
 * mapped, read, reserved or tagged, only the bytes and the marks of their blocks change. */
static inline bool overwrite(struct mapping *m, uint64_t pos, uint64_t len,
			     const struct pc_source *src, struct counters *c)
{
	struct folio *f = mapping_find(m, (uint32_t)(pos >> PAGE_BITS));
	uint64_t at;

	if (f == NULL || (f->flags & FOLIO_DIRTY) == 0)
		return false;
	at = pos - folio_pos(f);
	if (len > folio_bytes(f) - at)
		return false;
	if ((f->flags & FOLIO_SETTLED) == 0 && !settle(m, f, at, len))
		return false;
	overwrite_count(m->pc, c);
	tap_send(&m->pc->img->tap, STAGE_FOLIO, "", m->inode->ino.v, pos, len, f->index);
	write_copy(f, pos, src, 0, len);
	return true;
}

static inline bool can_overwrite(const struct mapping *m, uint64_t pos, uint64_t len)
{
	return m->pc->overwrites && pos + len <= m->inode->size;
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

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffered writes whose blocks are allocated at once: by the policy, or since the filesystem is
 * nearly full.  One handle covers the allocation, the copy and the size (delalloc-facts 6).
 *
 * What differs with the policy is a row of rules: how many credits the handle asks for, whether a
 * step is one page, and what happens to the bytes before the handle stops.
 */
#include "pagecache/write_now.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "fs/data.h"
#include "fs/indirect.h"
#include "fs/map.h"
#include "pagecache/hooks.h"
#include "pagecache/inline_write.h"
#include "pagecache/journalled.h"
#include "pagecache/pagecache.h"
#include "pagecache/prepare.h"

struct now_rules {
	bool pages;       /* a step is one page, never more */
	enum counter end; /* what its end is counted as */
	unsigned (*credits)(const struct mapping *m);
	/* Blocks [first, first + n) of the folio have their places and bytes.  May be NULL. */
	int (*finish)(struct task *t, struct folio *f, uint32_t first, uint32_t n);
};

/* ---- the rules ---- */

static unsigned page_blocks(const struct mapping *m)
{
	return 1u << m->pc->page_blocks_bits;
}

static unsigned credits_folio(const struct mapping *m)
{
	return map_credits(m->inode, 1u << m->pc->max_order, 1) + 1;
}

/* The page's blocks are metadata of the transaction too. */
static unsigned credits_logged(const struct mapping *m)
{
	return map_credits(m->inode, page_blocks(m), 1) + 1 + page_blocks(m);
}

/* For each block its pointers on three levels where they may differ, a bitmap and a descriptor, and
 * the same for the data. */
static unsigned credits_ext3(const struct mapping *m)
{
	unsigned bpp = page_blocks(m), ind = IND_DIRECT % bpp == 0 ? 3 : 5;

	return 2 * (bpp + ind) + ind + 2 + 1;
}

/* What was written is ordered, whether it has new blocks or old ones. */
static int order_blocks(struct task *t, struct folio *f, uint32_t first, uint32_t n)
{
	struct ek_inode *inode = f->map->inode;
	unsigned bits = pc_block_bits(f->map->pc);
	uint64_t from = folio_pos(f) + ((uint64_t)first << bits);

	if (inode_data_mode(inode) != DATA_MODE_ORDERED)
		return 0;
	return handle_order(t->user.current, &inode->jinode, from, from + ((uint64_t)n << bits),
			    false);
}

static const struct now_rules rules_ext4 = {false, COUNTER_WRITE_END, credits_folio, NULL};
static const struct now_rules rules_logged = {true, COUNTER_JOURNALLED_WRITE_END, credits_logged,
					      log_blocks};

static const struct now_rules rules_ext3 = {true, COUNTER_WRITE_END, credits_ext3, order_blocks};

static const struct now_rules *rules_of(const struct mapping *m)
{
	if (inode_logs_data(m->inode))
		return &rules_logged;
	return ind_by_ext3(m->pc->img) ? &rules_ext3 : &rules_ext4;
}

/* ---- begin ---- */

/* Blocks that were just allocated written hold what was there before: what the write leaves of them
 * must be zeros. */
static void clean_fresh(struct folio *f, uint32_t at, uint32_t n)
{
	unsigned bits = pc_block_bits(f->map->pc);

	folio_set(f, BLOCK_DIRTY, at, n); /* even if the write fails */
	folio_mark_dirty(f);
	if ((f->flags & FOLIO_UPTODATE) != 0)
		return;
	for (uint32_t end = at + n; at < end; at++) {
		if (!folio_test(f, BLOCK_UPTODATE, at))
			memset(f->data + ((size_t)at << bits), 0, (size_t)1 << bits);
		folio_set(f, BLOCK_UPTODATE, at, 1);
	}
}

static unsigned map_flags(const struct ek_inode *inode)
{
	unsigned flags = MAP_CREATE | (map_writes_unwritten(inode) ? MAP_UNWRITTEN : 0);

	return inode->img->opts.policy->allocation == ALLOC_NODELALLOC_NOMERGE
		   ? flags | MAP_NO_MERGE
		   : flags;
}

/* A block that may be written into: it has a place, and one that is unwritten only where writeback
 * converts it. */
static bool is_placed(struct folio *f, uint32_t at, unsigned flags)
{
	return folio_test(f, BLOCK_MAPPED, at) &&
	       ((flags & MAP_UNWRITTEN) != 0 || !folio_test(f, BLOCK_UNWRITTEN, at));
}

/* Blocks from at on, at most n, that are like it. */
static uint32_t like(struct folio *f, uint32_t at, uint32_t n)
{
	n = MIN(n, folio_run(f, BLOCK_MAPPED, at));
	return MIN(n, folio_run(f, BLOCK_UNWRITTEN, at));
}

static void note_place(struct folio *f, uint32_t at, const struct map *map)
{
	folio_set(f, BLOCK_MAPPED, at, map->len);
	if (map->state == MAP_IS_UNWRITTEN)
		folio_set(f, BLOCK_UNWRITTEN, at, map->len);
	else
		folio_clear(f, BLOCK_UNWRITTEN, at, map->len);
	if (map->fresh && map->state == MAP_MAPPED)
		clean_fresh(f, at, map->len);
}

/* Places for blocks [first, last] of the folio: one by one, as Linux asks for them, since each is a
 * request of its own to the allocator and to the quota. */
static int place_blocks(struct task *t, struct folio *f, uint32_t first, uint32_t last)
{
	struct ek_inode *inode = f->map->inode;
	unsigned bits = pc_block_bits(f->map->pc), flags = map_flags(inode);

	for (uint32_t at = first; at <= last;) {
		struct map map = {.lblk = {folio_lblk(f, bits) + at}, .len = 1};
		int rc;

		if (is_placed(f, at, flags)) {
			at += like(f, at, last - at + 1);
			continue;
		}
		rc = map_blocks(t, inode, &map, flags);
		if (rc < 0)
			return rc;
		note_place(f, at++, &map);
	}
	return 0;
}

/* ---- end ---- */

/* The size on disk covers what was written, since no writeback will raise it. */
static int grow_now(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t end)
{
	uint64_t old = inode->size;
	int rc = 0;

	if (end <= inode->rec.size)
		return 0;
	inode->size = MAX(old, end);
	inode->rec.size = end;
	if (pos > old)
		rc = data_zero_edges(t, inode, old, pos);
	return rc < 0 ? rc : inode_mark_dirty(t, inode, MARK_WRITE_END);
}

/* Written blocks behind the end of the file, which a write that failed leaves, would show. */
static int cut_failed(struct task *t, struct mapping *m, uint64_t end, int rc)
{
	struct ek_inode *inode = m->inode;
	struct diag why = inode->img->diag;

	if (end <= inode->size || map_writes_unwritten(inode))
		return rc;
	mapping_discard(m, inode->size, UINT64_MAX);
	if (jnl_error(inode->img->jnl) == 0 && inode_truncate_blocks(t, inode) == 0)
		inode->img->diag = why;
	return rc;
}

/* A failure leaves zeros in what it allocated, and those have to be seen to like any bytes. */
static int finish_failed(struct task *t, const struct now_rules *r, struct folio *f, uint32_t first,
			 uint32_t n, int rc)
{
	for (uint32_t at = first; r->finish != NULL && at < first + n; at++) {
		int end = 0;

		if (folio_test(f, BLOCK_MAPPED, at) && folio_test(f, BLOCK_DIRTY, at))
			end = r->finish(t, f, at, 1);
		if (end < 0)
			return end;
	}
	return rc;
}

/* ---- a write ---- */

static int write_page(struct task *t, struct mapping *m, const struct now_rules *r, uint64_t pos,
		      uint64_t *len, const struct pc_source *src, uint64_t done)
{
	uint32_t first, last;
	struct folio *f;
	int rc = 0;

	if (r->pages)
		*len = MIN(*len, PAGE_BYTES - (pos & (PAGE_BYTES - 1)));
	f = prepare_folio(t, m, pos, *len, &rc);
	if (f == NULL)
		return rc;
	*len = MIN(*len, folio_pos(f) + folio_bytes(f) - pos);
	folio_span(f, pc_block_bits(m->pc), pos, *len, &first, &last);
	rc = place_blocks(t, f, first, last);
	if (rc == 0)
		rc = prepare_edges(t, f, pos, *len, EDGE_STATES);
	if (rc < 0)
		return finish_failed(t, r, f, first, last - first + 1, rc);
	write_copy(f, pos, src, done, *len);
	write_note_copied(f, pos, *len);
	if (r->finish != NULL)
		rc = r->finish(t, f, first, last - first + 1);
	return rc < 0 ? rc : grow_now(t, m->inode, pos, pos + *len);
}

int write_chunk_now(struct task *t, struct mapping *m, uint64_t pos, uint64_t *len,
		    const struct pc_source *src, uint64_t done)
{
	const struct now_rules *r;
	struct handle *h;
	int rc = inline_write_now(t, m, pos, len, src, done);

	if (rc != 0)
		return MIN(rc, 0);
	r = rules_of(m);
	rc = task_start_inode(t, m->inode, HANDLE_WRITE_PAGE, r->credits(m), 0, &h);
	if (rc < 0)
		return rc;
	count(m->pc->counters, COUNTER_WRITE_BEGIN, 1);
	rc = write_page(t, m, r, pos, len, src, done);
	if (rc == 0)
		count(m->pc->counters, r->end, 1);
	rc = handle_end(h, rc);
	return rc < 0 ? cut_failed(t, m, pos + *len, rc) : rc;
}

/* ---- a store through a mapping ---- */

static int store_page(struct task *t, struct mapping *m, const struct now_rules *r, uint64_t pos,
		      uint64_t len, const struct pc_source *src, uint64_t done)
{
	unsigned bits = pc_block_bits(m->pc);
	uint64_t from = pos & ~(uint64_t)(PAGE_BYTES - 1), end = from + PAGE_BYTES;
	uint32_t first, last;
	struct folio *f;
	int rc = 0;

	f = prepare_folio(t, m, from, PAGE_BYTES, &rc);
	if (f == NULL)
		return rc;
	if (!r->pages) {
		from = folio_pos(f);
		end = from + folio_bytes(f);
	}
	folio_span(f, bits, from, MIN(m->inode->size, end) - from, &first, &last);
	rc = folio_read(t, f, 0, f->blocks);
	if (rc == 0)
		rc = place_blocks(t, f, first, last);
	if (rc < 0)
		return finish_failed(t, r, f, first, last - first + 1, rc);
	if (len != 0) {
		write_copy(f, pos, src, done, len);
		write_tell(f, pos, len);
	}
	folio_set(f, BLOCK_DIRTY, first, last - first + 1);
	folio_mark_dirty(f);
	return r->finish != NULL ? r->finish(t, f, first, last - first + 1) : 0;
}

int store_now(struct task *t, struct mapping *m, uint64_t pos, uint64_t len,
	      const struct pc_source *src, uint64_t done)
{
	const struct now_rules *r = rules_of(m);
	struct handle *h;
	int rc = task_start_inode(t, m->inode, HANDLE_WRITE_PAGE, r->credits(m), 0, &h);

	return rc < 0 ? rc : handle_end(h, store_page(t, m, r, pos, len, src, done));
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffered writes, generation g5 on folios with blocks (s1), as Linux 6.18 does them
 * (delalloc-facts 2.1 to 2.7, 5.2).
 *
 * Per call: times, then per folio: begin - find or make the folio, map or reserve its blocks, read
 * what the write leaves of a block; copy; end - dirty, size, and a handle only when the size must
 * be stored here because writeback will not do it.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/copy.h"
#include "fs/blocks.h"
#include "fs/credits.h"
#include "fs/map.h"
#include "pagecache/hooks.h"
#include "pagecache/pagecache.h"

#define STREAM_BYTES 65536u

/* ---- begin ---- */

/* Order for a write of len bytes at page: the largest power of two in len, made to fit. */
static unsigned choose_order(struct mapping *m, uint32_t page, uint64_t len)
{
	struct pagecache *pc = m->pc;
	unsigned order = len > PAGE_BYTES ? ilog2(len) - PAGE_BITS : 0;

	order = MIN(order, pc->max_order);
	return MAX(mapping_free_order(m, page, order), pc->min_order);
}

static struct folio *get_folio(struct task *t, struct mapping *m, uint64_t pos, uint64_t len,
			       int *rc)
{
	uint32_t page = (uint32_t)(pos >> PAGE_BITS);
	struct folio *f = mapping_find(m, page);

	if (f == NULL) {
		page &= ~((1u << m->pc->min_order) - 1);
		return folio_make(m, page, choose_order(m, page, len), rc);
	}
	*rc = folio_back(t, f, pos != folio_pos(f) || len < folio_bytes(f));
	return *rc < 0 ? NULL : f;
}

/* New delayed blocks [from, from + n) of the folio: the kernel asks the status tree twice per
 * block, reserves and inserts one by one; the same is counted here for the run. */
static int reserve_run(struct task *t, struct folio *f, uint32_t from, uint32_t n)
{
	struct ek_inode *inode = f->map->inode;
	uint32_t lblk = folio_lblk(f, pc_block_bits(f->map->pc)) + from;
	struct counters *c = f->map->pc->counters;
	int rc = inode_reserve(t, inode, n);

	if (rc < 0)
		return rc;
	rc = es_insert_delayed(&inode->es, (ek_lblk){lblk}, n);
	if (rc < 0) {
		inode_release(t, inode, n);
		return rc;
	}
	count(c, COUNTER_DA_RESERVE_SPACE, n - 1);
	count(c, COUNTER_ES_INSERT_DELAYED, n - 1);
	count(c, COUNTER_ES_LOOKUP, 2 * (uint64_t)n - 1); /* one was counted by the lookup */
	folio_set(f, BLOCK_MAPPED, from, n);
	folio_set(f, BLOCK_DELAY, from, n);
	tap_send(&inode->img->tap, STAGE_DELAYED, "", inode->ino.v, lblk, n, 0);
	return 0;
}

/* The space left may be enough for some of the run only. */
static int reserve_some(struct task *t, struct folio *f, uint32_t from, uint32_t n)
{
	int rc = reserve_run(t, f, from, n);

	while (rc == -ENOSPC && n > 1) {
		n /= 2;
		diag_clear(&f->map->pc->img->diag);
		rc = reserve_run(t, f, from, n);
	}
	return rc < 0 ? rc : (int)n;
}

/* Maps or reserves the run of unmapped blocks at from, at most n: how many. */
static int map_run(struct task *t, struct folio *f, uint32_t from, uint32_t n)
{
	struct ek_inode *inode = f->map->inode;
	uint32_t base = folio_lblk(f, pc_block_bits(f->map->pc));
	struct map m = {.lblk = {base + from}, .len = n};
	int rc = map_lookup(t, inode, &m);

	if (rc < 0)
		return rc;
	switch (m.state) {
	case MAP_HOLE:
		return reserve_some(t, f, from, m.len);
	case MAP_IS_DELAYED:
		folio_set(f, BLOCK_DELAY, from, m.len);
		break;
	case MAP_IS_UNWRITTEN:
		folio_set(f, BLOCK_UNWRITTEN, from, m.len);
		break;
	case MAP_MAPPED:
		break;
	}
	folio_set(f, BLOCK_MAPPED, from, m.len);
	count(f->map->pc->counters, COUNTER_ES_LOOKUP, m.len - 1);
	return (int)m.len;
}

int folio_reserve(struct task *t, struct folio *f, uint32_t from, uint32_t n)
{
	uint32_t at = from, end = from + n;

	count(f->map->pc->counters, COUNTER_BUFFERS_WALKED, f->blocks);
	while (at < end) {
		uint32_t run;
		int rc;

		if (folio_test(f, BLOCK_MAPPED, at)) {
			at += folio_run(f, BLOCK_MAPPED, at);
			continue;
		}
		run = MIN(folio_run(f, BLOCK_MAPPED, at), end - at);
		rc = map_run(t, f, at, run);
		if (rc < 0)
			return rc;
		at += (uint32_t)rc;
	}
	return 0;
}

/* Blocks that the write covers only partly must be whole before it: zeros when new, read when old.
 */
static int prepare_edge(struct task *t, struct folio *f, uint32_t block, uint64_t from, uint64_t to)
{
	unsigned bits = pc_block_bits(f->map->pc);
	uint8_t *at = f->data + ((size_t)block << bits);
	uint64_t start = folio_pos(f) + ((uint64_t)block << bits), end = start + (1u << bits);

	if (folio_test(f, BLOCK_UPTODATE, block) || (f->flags & FOLIO_UPTODATE) != 0)
		return 0;
	if (!folio_test(f, BLOCK_DELAY, block) && !folio_test(f, BLOCK_UNWRITTEN, block))
		return folio_read(t, f, block, 1);
	if (from > start)
		memset(at, 0, from - start);
	if (to < end)
		memset(at + (to - start), 0, end - to);
	folio_set(f, BLOCK_UPTODATE, block, 1);
	return 0;
}

static int prepare_edges(struct task *t, struct folio *f, uint64_t pos, uint64_t len)
{
	unsigned bits = pc_block_bits(f->map->pc);
	uint64_t mask = (1u << bits) - 1, end = pos + len;
	uint32_t first = (uint32_t)((pos - folio_pos(f)) >> bits);
	uint32_t last = (uint32_t)((end - 1 - folio_pos(f)) >> bits);
	int rc = 0;

	if ((pos & mask) != 0 || (first == last && (end & mask) != 0))
		rc = prepare_edge(t, f, first, pos, end);
	if (rc == 0 && first != last && (end & mask) != 0)
		rc = prepare_edge(t, f, last, pos, end);
	return rc;
}

/* The folio for the write, ready to be copied into; *len is cut to its end. */
static int write_begin(struct task *t, struct mapping *m, uint64_t pos, uint64_t *len,
		       struct folio **ret)
{
	unsigned bits = pc_block_bits(m->pc);
	struct folio *f;
	uint32_t first, last;
	int rc = 0;

	f = get_folio(t, m, pos, *len, &rc);
	if (f == NULL)
		return rc;
	*len = MIN(*len, folio_pos(f) + folio_bytes(f) - pos);
	first = (uint32_t)((pos - folio_pos(f)) >> bits);
	last = (uint32_t)((pos + *len - 1 - folio_pos(f)) >> bits);
	count(m->pc->counters, COUNTER_PAGE_LOCKS, 1);
	if (!folio_all(f, BLOCK_MAPPED, first, last - first + 1)) {
		rc = folio_reserve(t, f, first, last - first + 1);
		if (rc < 0)
			return rc;
	}
	rc = prepare_edges(t, f, pos, *len);
	*ret = f;
	return rc;
}

/* ---- copy ---- */

/* A long or sequential write is not read again soon; a short one at random meets warm lines. */
static void copy_bytes(struct mapping *m, uint8_t *to, const uint8_t *from, uint64_t n)
{
	if (m->streaming || n >= STREAM_BYTES)
		copy_past_cache(to, from, n);
	else
		memcpy(to, from, n);
}

static void copy_in(struct folio *f, uint64_t pos, const struct pc_source *src, uint64_t done,
		    uint64_t n)
{
	uint8_t *to = f->data + (pos - folio_pos(f));

	if (src->ptr == NULL) {
		memset(to, 0, n);
		return;
	}
	if (src->period == 0) {
		copy_bytes(f->map, to, src->ptr + done, n);
		return;
	}
	while (n != 0) {
		uint64_t at = done % src->period, piece = MIN(n, src->period - at);

		copy_bytes(f->map, to, src->ptr + at, piece);
		to += piece;
		done += piece;
		n -= piece;
	}
}

/* ---- end ---- */

/* True when writeback will not move the size on disk past this byte: its block has a written place.
 */
static bool tail_mapped(struct folio *f, uint64_t end)
{
	uint32_t block = (uint32_t)((end - 1 - folio_pos(f)) >> pc_block_bits(f->map->pc));

	return folio_test(f, BLOCK_MAPPED, block) && !folio_test(f, BLOCK_DELAY, block) &&
	       !folio_test(f, BLOCK_UNWRITTEN, block);
}

/* The file grew: what must be stored now, under a handle of its own. */
static int store_growth(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t old_size,
			bool tail, uint64_t end)
{
	uint32_t bs = inode->img->geom.block_size;
	uint64_t edge = ROUND_UP(old_size, (uint64_t)bs);
	struct handle *h;
	int rc;

	rc = task_start_inode(t, inode, HANDLE_INODE, 2, 0, &h);
	if (rc < 0)
		return rc;
	if (pos > old_size && (old_size & (bs - 1)) != 0)
		rc = inode->img->data.zero_partial(inode->img->data.ctx, inode, old_size,
						   MIN(edge, pos));
	if (rc == 0 && tail)
		inode->rec.size = end;
	if (rc == 0)
		rc = inode_mark_dirty(t, inode, MARK_WRITE_END);
	return handle_end(h, rc);
}

static void tell_folio(const struct folio *f, uint64_t pos, uint64_t len)
{
	const struct mapping *m = f->map;

	tap_send(&m->pc->img->tap, STAGE_FOLIO, "", m->inode->ino.v, pos, len, f->index);
}

static int write_end(struct task *t, struct folio *f, uint64_t pos, uint64_t len)
{
	struct mapping *m = f->map;
	struct ek_inode *inode = m->inode;
	unsigned bits = pc_block_bits(m->pc);
	uint32_t first = (uint32_t)((pos - folio_pos(f)) >> bits);
	uint32_t last = (uint32_t)((pos + len - 1 - folio_pos(f)) >> bits);
	uint64_t old = inode->size, end = pos + len;
	bool tail;

	folio_set(f, BLOCK_DIRTY, first, last - first + 1);
	folio_set(f, BLOCK_UPTODATE, first, last - first + 1);
	if ((f->flags & FOLIO_UPTODATE) == 0 &&
	    (f->blocks == 1 || folio_all(f, BLOCK_UPTODATE, 0, f->blocks)))
		f->flags |= FOLIO_UPTODATE;
	folio_mark_dirty(f);
	tell_folio(f, pos, len);
	if (end <= old)
		return 0;
	inode->size = end;
	tail = tail_mapped(f, end);
	if (!tail && pos <= old)
		return 0;
	return store_growth(t, inode, pos, old, tail, end);
}

/* ---- without delayed allocation: the filesystem is nearly full ---- */

/* Allocates what the write needs at once, under one handle with the size. */
static int write_now(struct task *t, struct mapping *m, uint64_t pos, uint64_t *len,
		     struct folio **ret)
{
	struct ek_inode *inode = m->inode;
	unsigned bits = pc_block_bits(m->pc);
	struct folio *f;
	uint32_t first, last;
	int rc = 0;

	f = get_folio(t, m, pos, *len, &rc);
	if (f == NULL)
		return rc;
	*len = MIN(*len, folio_pos(f) + folio_bytes(f) - pos);
	first = (uint32_t)((pos - folio_pos(f)) >> bits);
	last = (uint32_t)((pos + *len - 1 - folio_pos(f)) >> bits);
	for (uint32_t at = first; at <= last && rc == 0;) {
		struct map map = {.lblk = {folio_lblk(f, bits) + at}, .len = last - at + 1};

		if (folio_test(f, BLOCK_MAPPED, at)) {
			at += folio_run(f, BLOCK_MAPPED, at);
			continue;
		}
		map.len = MIN(map.len, folio_run(f, BLOCK_MAPPED, at));
		rc = map_blocks(t, inode, &map, MAP_CREATE | MAP_UNWRITTEN);
		if (rc < 0)
			break;
		folio_set(f, BLOCK_MAPPED, at, map.len);
		if (map.state == MAP_IS_UNWRITTEN)
			folio_set(f, BLOCK_UNWRITTEN, at, map.len);
		at += map.len;
	}
	if (rc == 0)
		rc = prepare_edges(t, f, pos, *len);
	*ret = f;
	return rc;
}

static int write_chunk_now(struct task *t, struct mapping *m, uint64_t pos, uint64_t *len,
			   const struct pc_source *src, uint64_t done)
{
	struct ek_inode *inode = m->inode;
	struct folio *f = NULL;
	struct handle *h;
	uint64_t old = inode->size;
	int rc = task_start_inode(t, inode, HANDLE_WRITE_PAGE,
				  map_credits(inode, 1u << m->pc->max_order, 1) + 1, 0, &h);

	if (rc < 0)
		return rc;
	count(m->pc->counters, COUNTER_WRITE_BEGIN, 1);
	rc = write_now(t, m, pos, len, &f);
	if (rc == 0) {
		copy_in(f, pos, src, done, *len);
		rc = write_end(t, f, pos, *len);
		count(m->pc->counters, COUNTER_WRITE_END, 1);
		if (rc == 0 && inode->size > old) {
			inode->rec.size = inode->size;
			rc = inode_mark_dirty(t, inode, MARK_WRITE_END);
		}
	}
	return handle_end(h, rc);
}

/* ---- overwrites ---- */

/* The common write: into one folio that is dirty and whole, within the size.  Nothing has to be
 * mapped, read, reserved or tagged, only the bytes and the marks of their blocks change. */
static bool overwrite(struct mapping *m, uint64_t pos, uint64_t len, const struct pc_source *src)
{
	struct folio *f = mapping_find(m, (uint32_t)(pos >> PAGE_BITS));
	struct counters *c = m->pc->counters;
	uint32_t first, n;
	uint64_t at;

	if (f == NULL || (f->flags & FOLIO_UPTODATE) == 0 || (f->flags & FOLIO_DIRTY) == 0)
		return false;
	at = pos - folio_pos(f);
	if (len > folio_bytes(f) - at)
		return false;
	first = (uint32_t)(at >> pc_block_bits(m->pc));
	n = (uint32_t)((at + len - 1) >> pc_block_bits(m->pc)) - first + 1;
	if (!folio_all(f, BLOCK_MAPPED, first, n))
		return false;
	count(c, COUNTER_DA_WRITE_BEGIN, 1);
	count(c, COUNTER_DA_WRITE_END, 1);
	count(c, COUNTER_PAGE_LOCKS, 1);
	copy_in(f, pos, src, 0, len);
	folio_set(f, BLOCK_DIRTY, first, n);
	tell_folio(f, pos, len);
	return true;
}

/* ---- the loop ---- */

static int write_chunk(struct task *t, struct mapping *m, uint64_t pos, uint64_t *len,
		       const struct pc_source *src, uint64_t done)
{
	struct folio *f = NULL;
	int rc;

	if (space_is_tight(&m->pc->img->groups.space))
		return write_chunk_now(t, m, pos, len, src, done);
	count(m->pc->counters, COUNTER_DA_WRITE_BEGIN, 1);
	rc = write_begin(t, m, pos, len, &f);
	if (rc < 0)
		return rc;
	copy_in(f, pos, src, done, *len);
	count(m->pc->counters, COUNTER_DA_WRITE_END, 1);
	return write_end(t, f, pos, *len);
}

/* Freed blocks come back with a commit: worth one try before giving up. */
static int retry_space(struct task *t, unsigned tries)
{
	int rc;

	if (tries >= 3)
		return -ENOSPC;
	rc = jnl_commit_running(t->img->jnl);
	if (rc == 1)
		diag_clear(&t->img->diag);
	return rc == 1 ? 0 : -ENOSPC;
}

static int check_write(struct ek_inode *inode, uint64_t pos, uint64_t *len)
{
	uint64_t limit = (uint64_t)(UINT32_MAX - 1) << inode->img->geom.block_bits;

	limit = MIN(limit, (uint64_t)UINT32_MAX << PAGE_BITS);
	if (!inode_is_file(inode))
		return inode_is_dir(inode) ? -EISDIR : -EINVAL;
	if ((inode->rec.flags & INODE_EXTENTS) == 0)
		return diag_set(&inode->img->diag, -EOPNOTSUPP,
				"unsupported: inode %u is not mapped by extents", inode->ino.v);
	if (pos >= limit)
		return -EFBIG;
	*len = MIN(*len, limit - pos);
	return 0;
}

static int sync_written(struct task *t, struct ek_inode *inode, unsigned flags)
{
	if ((flags & (PC_SYNC | PC_DSYNC)) == 0)
		return 0;
	return pc_fsync(t, inode, (flags & PC_SYNC) == 0);
}

int64_t pc_write(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len,
		 const struct pc_source *src, unsigned flags)
{
	struct mapping *m = mapping_of(inode);
	uint64_t done = 0, chunk;
	unsigned tries = 0;
	int rc = m == NULL ? -ENOMEM : check_write(inode, pos, &len);

	if (rc < 0 || len == 0)
		return rc;
	chunk = (uint64_t)PAGE_BYTES << m->pc->max_order;
	m->streaming = pos == m->write_end;
	m->write_end = pos + len;
	count(m->pc->counters, COUNTER_WRITE_CALLS, 1);
	rc = inode_touch_modify(t, inode);
	if (rc == 0 && pos + len <= inode->size && !space_is_tight(&m->pc->img->groups.space) &&
	    (pos & ~(chunk - 1)) == ((pos + len - 1) & ~(chunk - 1)) &&
	    overwrite(m, pos, len, src)) {
		done = len;
		rc = balance_dirty(t, m->pc, (uint32_t)((len + PAGE_BYTES - 1) >> PAGE_BITS));
	}
	while (rc == 0 && done < len) {
		uint64_t at = pos + done, n = MIN(chunk - (at & (chunk - 1)), len - done);

		rc = write_chunk(t, m, at, &n, src, done);
		if (rc == -ENOSPC) {
			rc = retry_space(t, tries++);
			continue;
		}
		if (rc < 0)
			break;
		done += n;
		rc = balance_dirty(t, m->pc, (uint32_t)((n + PAGE_BYTES - 1) >> PAGE_BITS));
	}
	count(m->pc->counters, COUNTER_WRITE_BYTES, done);
	if (done == 0)
		return rc;
	rc = sync_written(t, inode, flags);
	return rc < 0 ? rc : (int64_t)done;
}

/* Makes the page at pos writable, as a fault does: all blocks of its folio up to the end of the
 * file get a place, wherever in it the store goes. */
static struct folio *fault_page(struct task *t, struct mapping *m, uint64_t pos, int *rc)
{
	struct folio *f = get_folio(t, m, pos, PAGE_BYTES, rc);
	unsigned bits = pc_block_bits(m->pc);
	uint32_t blocks;

	if (f == NULL)
		return NULL;
	blocks =
	    (uint32_t)((MIN(m->inode->size - folio_pos(f), folio_bytes(f)) + (1u << bits) - 1) >>
		       bits);
	*rc = folio_read(t, f, 0, f->blocks);
	if (*rc == 0)
		*rc = folio_reserve(t, f, 0, blocks);
	if (*rc < 0)
		return NULL;
	folio_set(f, BLOCK_DIRTY, 0, blocks);
	folio_mark_dirty(f);
	return f;
}

int pc_mmap_write(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len,
		  const struct pc_source *src, struct readahead *ra)
{
	const uint64_t mask = PAGE_BYTES - 1;
	struct mapping *m = mapping_of(inode);
	struct readahead own = {0};
	uint64_t done = 0, end = (inode->size + mask) & ~mask;
	int rc = m == NULL ? -ENOMEM : check_write(inode, pos, &len);

	/* A store past the page in which the file ends would have been a signal; one between the
	 * end of the file and that of its page is a fault like any other, and its bytes are lost.
	 */
	len = pos < end ? MIN(len, end - pos) : 0;
	if (rc == 0 && len != 0)
		rc = inode_touch_modify(t, inode);
	while (rc == 0 && done < len) {
		uint64_t at = pos + done, n = MIN(len - done, PAGE_BYTES - (at & mask));
		uint64_t kept = at < inode->size ? MIN(n, inode->size - at) : 0;
		struct folio *f;

		rc = readahead_fault(t, m, ra != NULL ? ra : &own, (uint32_t)(at >> PAGE_BITS));
		if (rc < 0)
			break;
		f = fault_page(t, m, at & ~mask, &rc);
		if (f != NULL && kept != 0) {
			copy_in(f, at, src, done, kept);
			tell_folio(f, at, kept);
		}
		done += n;
	}
	return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffered writes on folios with blocks (s0, s1), as Linux does them (delalloc-facts 2.1 to 2.7,
 * 5.2).
 *
 * Per call: times, then per folio: begin - find or make the folio, map or reserve its blocks, read
 * what the write leaves of a block; copy; end - dirty, size.  Where in it handles are opened is the
 * generation's business.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/copy.h"
#include "base/diag.h"
#include "fs/data.h"
#include "fs/inline.h"
#include "fs/map.h"
#include "pagecache/generation.h"
#include "pagecache/hooks.h"
#include "pagecache/inline_write.h"
#include "pagecache/overwrite.h"
#include "pagecache/pagecache.h"
#include "pagecache/prepare.h"
#include "pagecache/ranges.h"
#include "pagecache/write_now.h"

#define RETRIES_MAX 1000u /* of an end that copies nothing: Linux has no limit */

/* ---- copy ---- */

static void copy_bytes(const struct folio *f, uint8_t *to, const uint8_t *from, uint64_t n)
{
	if ((f->flags & FOLIO_DIRTY) != 0)
		overwrite_bytes(f->map, to, from, n);
	else
		copy_past_cache(to, from, n);
}

void write_copy(struct folio *f, uint64_t pos, const struct pc_source *src, uint64_t done,
		uint64_t n)
{
	uint8_t *to = f->data + (pos - folio_pos(f));

	if (src->ptr == NULL) {
		memset(to, 0, n);
		return;
	}
	if (src->period == 0 || done + n <= src->period) {
		copy_bytes(f, to, src->ptr + done, n);
		return;
	}
	while (n != 0) {
		uint64_t at = done % src->period, piece = MIN(n, src->period - at);

		copy_bytes(f, to, src->ptr + at, piece);
		to += piece;
		done += piece;
		n -= piece;
	}
}

/* ---- end ---- */

void write_tell(const struct folio *f, uint64_t pos, uint64_t len)
{
	const struct mapping *m = f->map;

	tap_send(&m->pc->img->tap, STAGE_FOLIO, "", m->inode->ino.v, pos, len, f->index);
}

void write_note_copied(struct folio *f, uint64_t pos, uint64_t len)
{
	unsigned bits = pc_block_bits(f->map->pc);
	uint32_t first = (uint32_t)((pos - folio_pos(f)) >> bits);
	uint32_t last = (uint32_t)((pos + len - 1 - folio_pos(f)) >> bits);

	folio_set(f, BLOCK_DIRTY, first, last - first + 1);
	folio_set(f, BLOCK_UPTODATE, first, last - first + 1);
	if ((f->flags & FOLIO_UPTODATE) == 0 &&
	    (f->blocks == 1 || folio_all(f, BLOCK_UPTODATE, 0, f->blocks)))
		f->flags |= FOLIO_UPTODATE;
	folio_mark_dirty(f);
	write_tell(f, pos, len);
}

/* ---- the loop ---- */

/* One folio: begin, copy, end, under the generation's handle if it has one.  Whoever opens it lets
 * go of the folio meanwhile, which is a second lock. */
static int write_delayed(struct task *t, struct folio *f, uint64_t pos, uint64_t len,
			 const struct pc_source *src, uint64_t done)
{
	struct mapping *m = f->map;
	const struct generation *g = m->pc->generation;
	struct handle *h = NULL;
	int rc = 0;

	if (g->begin != NULL) {
		count(m->pc->counters, COUNTER_PAGE_LOCKS, 1);
		rc = g->begin(t, m->inode, pos + len, &h);
	}
	if (rc == 0)
		rc = prepare_blocks(t, f, pos, len);
	if (rc == 0) {
		write_copy(f, pos, src, done, len);
		count(m->pc->counters, COUNTER_DA_WRITE_END, 1);
		write_note_copied(f, pos, len);
		rc = g->end(t, f, pos, len);
	}
	return h != NULL ? handle_end(h, rc) : rc;
}

static int write_chunk(struct task *t, struct mapping *m, uint64_t pos, uint64_t *len,
		       const struct pc_source *src, uint64_t done)
{
	struct folio *f = NULL;
	int rc;

	if (!policy_delays(m->pc->policy) || space_is_tight(&m->pc->img->groups.space))
		return write_chunk_now(t, m, pos, len, src, done);
	if (mapping_by_ranges(m))
		return range_write(t, m, pos, len, src, done);
	count(m->pc->counters, COUNTER_DA_WRITE_BEGIN, 1);
	rc = inline_write_delayed(t, m, pos, len, src, done);
	if (rc != 0)
		return MIN(rc, 0);
	f = prepare_folio(t, m, pos, *len, &rc);
	if (f == NULL)
		return rc;
	*len = MIN(*len, folio_pos(f) + folio_bytes(f) - pos);
	return write_delayed(t, f, pos, *len, src, done);
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
	uint64_t limit = MIN(map_size_limit(inode), (uint64_t)UINT32_MAX << PAGE_BITS);

	if (!inode_is_file(inode))
		return inode_is_dir(inode) ? -EISDIR : -EINVAL;
	if (pos >= limit)
		return -EFBIG;
	*len = MIN(*len, limit - pos);
	return inode_check_contents(inode);
}

static int sync_written(struct task *t, struct ek_inode *inode, unsigned flags)
{
	if ((flags & (PC_SYNC | PC_DSYNC)) == 0)
		return 0;
	return pc_fsync(t, inode, (flags & PC_SYNC) == 0);
}

/* Folio by folio; *done is how far it came. */
static int write_folios(struct task *t, struct mapping *m, uint64_t pos, uint64_t len,
			const struct pc_source *src, uint64_t *ret)
{
	uint64_t chunk = (uint64_t)PAGE_BYTES << m->pc->max_order, done = 0;
	bool ranges = mapping_by_ranges(m);
	unsigned tries = 0;
	int rc = 0;

	if (overwrite_part(m, pos, len, src)) {
		done = len;
		rc = balance_dirty(t, m->pc, pages_of(len));
	}
	while (rc == 0 && done < len) {
		uint64_t at = pos + done, n = len - done;

		if (!ranges)
			n = MIN(n, chunk - (at & (chunk - 1)));
		rc = write_chunk(t, m, at, &n, src, done);
		if (rc == -ENOSPC) {
			rc = retry_space(t, tries++);
			continue;
		}
		if (rc == 0 && n == 0 && ++tries == RETRIES_MAX)
			rc = diag_set(&m->pc->img->diag, -ELOOP,
				      "write: inode %u: %u times nothing was copied",
				      m->inode->ino.v, tries);
		if (rc < 0)
			break;
		done += n;
		if (m->pc->faults.short_copy) {
			m->pc->faults.short_copy = false;
			rc = -EFAULT;
			break;
		}
		rc = balance_dirty(t, m->pc, pages_of(n));
	}
	count(m->pc->counters, COUNTER_WRITE_BYTES, done);
	*ret = done;
	return rc;
}

/* What is not only an overwrite: the bytes that were written, or an error when there are none. */
static int64_t write_anew(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len,
			  const struct pc_source *src)
{
	struct mapping *m = mapping_of(inode);
	uint64_t done = 0;
	int rc = m == NULL ? -ENOMEM : check_write(inode, pos, &len);

	if (rc < 0 || len == 0)
		return rc;
	m->streaming = pos == m->write_end;
	m->write_end = pos + len;
	count(m->pc->counters, COUNTER_WRITE_CALLS, 1);
	rc = inode_touch_modify(t, inode);
	if (rc == 0)
		rc = write_folios(t, m, pos, len, src, &done);
	return done != 0 ? (int64_t)done : rc;
}

static __attribute__((noinline)) int64_t write_any(struct task *t, struct ek_inode *inode,
						   uint64_t pos, uint64_t len,
						   const struct pc_source *src, unsigned flags)
{
	int64_t done;
	int rc;

	if (overwrite_whole(inode, pos, len, src)) {
		done = (int64_t)len;
		/* what it cannot write fsync will tell */
		(void)balance_dirty(t, t->img->data.ctx, pages_of(len));
	} else {
		done = write_anew(t, inode, pos, len, src);
	}
	if (done <= 0)
		return done;
	rc = sync_written(t, inode, flags);
	return rc < 0 ? rc : done;
}

/* The common call is answered here, with nothing to be done behind the copy: what needs more is out
 * of line, or room for all of it would be made before each small write. */
int64_t pc_write(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len,
		 const struct pc_source *src, unsigned flags)
{
	if (flags == 0 && overwrite_again(inode, pos, len, src))
		return (int64_t)len;
	return write_any(t, inode, pos, len, src, flags);
}

/* Makes the page at pos writable, as a fault does: all blocks of its folio up to the end of the
 * file get a place, wherever in it the store goes. */
static struct folio *fault_page(struct task *t, struct mapping *m, uint64_t pos, int *rc)
{
	struct folio *f = prepare_folio(t, m, pos, PAGE_BYTES, rc);
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
	if (rc == 0 && len != 0)
		rc = inline_to_blocks(t, inode);
	while (rc == 0 && done < len) {
		uint64_t at = pos + done, n = MIN(len - done, PAGE_BYTES - (at & mask));
		uint64_t kept = at < inode->size ? MIN(n, inode->size - at) : 0;
		struct folio *f;

		rc = readahead_fault(t, m, ra != NULL ? ra : &own, (uint32_t)(at >> PAGE_BITS));
		if (rc < 0)
			break;
		if (!policy_delays(m->pc->policy)) {
			rc = store_now(t, m, at, kept, src, done);
			done += n;
			continue;
		}
		f = fault_page(t, m, at & ~mask, &rc);
		if (f != NULL && kept != 0) {
			write_copy(f, at, src, done, kept);
			write_tell(f, at, kept);
		}
		done += n;
	}
	return rc;
}

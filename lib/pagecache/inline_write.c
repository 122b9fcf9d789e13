/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Buffered writes to inline files, as Linux 6.18 does them (delalloc-facts 3.2, 3.3).
 *
 * The handle that makes room in the inode stays open over the copy into the folio and the copy from
 * there into the inode; the folio is clean afterwards.  A write that finds no room makes block 0
 * delayed and its folio dirty, and the inode keeps the old bytes until writeback; without delayed
 * allocation the block takes over at once.
 */
#include "pagecache/inline_write.h"

#include <errno.h>

#include "base/check.h"
#include "base/diag.h"
#include "fs/data.h"
#include "fs/inline.h"
#include "fs/map.h"
#include "pagecache/generation.h"
#include "pagecache/hooks.h"
#include "pagecache/journalled.h"
#include "pagecache/pagecache.h"
#include "pagecache/prepare.h"

/* The first folio, with the bytes that the inode has. */
static struct folio *first_folio(struct task *t, struct mapping *m, int *rc)
{
	struct folio *f = prepare_folio(t, m, 0, 1, rc);

	if (f == NULL)
		return NULL;
	count(m->pc->counters, COUNTER_PAGE_LOCKS, 1);
	if (inode_is_inline(m->inode))
		*rc = folio_read(t, f, 0, f->blocks);
	return *rc < 0 ? NULL : f;
}

/* ---- the two ends ---- */

/* A write in progress: what was promised to the inode, and how much of it the program brought. */
struct inline_call {
	struct mapping *m;
	struct folio *f;
	uint64_t pos, len, copied;
	bool trim; /* the inode holds room that nothing filled */
};

/* Times, size and the dirty list are the generic part's, in a nested handle. */
static int mark(struct task *t, struct ek_inode *inode)
{
	struct handle *h;
	int rc;

	data_dirtied(inode);
	rc = task_start_inode(t, inode, HANDLE_INODE, 2, 0, &h);
	return rc < 0 ? rc : handle_end(h, inode_mark_dirty(t, inode, MARK_WRITE_END));
}

/* To 5.14 (i0).  Its defects are kept (2.8): when the inode's block cannot be had it says that
 * nothing was copied, and the caller tries again; it stores what was promised instead of what was
 * brought; and it leaves room that nothing filled. */
static int end_i0(struct task *t, struct inline_call *c)
{
	struct ek_inode *inode = c->m->inode;
	uint64_t end = c->pos + c->copied;
	int rc;

	if (pc_fault_due(&c->m->pc->faults.locate)) {
		c->copied = 0;
		return 0;
	}
	rc = inline_write(t, inode, c->pos, c->f->data + c->pos, c->len);
	if (rc == 0)
		rc = generic_mark(t, inode);
	if (rc == 0 && c->m->pc->policy->write == WRITE_G0 && end > inode->rec.size)
		rc = inode_mark_dirty(t, inode, MARK_WRITE_END);
	if (rc < 0)
		return rc;
	inode->size = MAX(inode->size, end);
	inode->rec.size = MAX(inode->rec.size, end);
	return generic_mark(t, inode);
}

/* From 5.15 on (i3). */
static int end_i3(struct task *t, struct inline_call *c)
{
	struct ek_inode *inode = c->m->inode;
	uint64_t end = c->pos + c->copied;
	int rc;

	if (pc_fault_due(&c->m->pc->faults.locate))
		return diag_set(&inode->img->diag, -EIO, "injected: the block of inode %u is lost",
				inode->ino.v);
	rc = inline_write(t, inode, c->pos, c->f->data + c->pos, c->copied);
	if (rc < 0)
		return rc;
	if (end > inode->size) {
		inode->size = end;
		inode->rec.size = end;
	}
	c->trim = c->copied < c->len && c->pos + c->len > inode->size;
	if (c->trim)
		rc = orphan_add(t, inode);
	return rc < 0 ? rc : mark(t, inode);
}

typedef int inline_end_fn(struct task *t, struct inline_call *c);

static inline_end_fn *const ends[] = {[INLINE_I0] = end_i0, [INLINE_I3] = end_i3};

/* ---- a write to the inode ---- */

/* Into the folio, and from there into the room that was made. */
static int store(struct task *t, struct inline_call *c, const struct pc_source *src, uint64_t done)
{
	struct pagecache *pc = c->m->pc;
	int rc = 0;

	c->f = first_folio(t, c->m, &rc);
	if (c->f == NULL)
		return rc;
	if (c->len > 1 && pc_fault_due(&pc->faults.copy)) {
		c->copied = c->len / 2;
		pc->faults.short_copy = true;
	}
	write_copy(c->f, c->pos, src, done, c->copied);
	rc = ends[pc->policy->inlined](t, c);
	if (rc == 0 && c->copied != 0)
		write_tell(c->f, c->pos, c->copied);
	return rc;
}

/* Room that was promised to bytes that never came goes back, in a transaction of its own. */
static int trim(struct task *t, struct inline_call *c)
{
	return c->trim ? inline_truncate(t, c->m->inode) : 0;
}

/* 1 when *len bytes, perhaps none, are in the inode, 0 when there is no room for them. */
static int write_inode(struct task *t, struct mapping *m, uint64_t pos, uint64_t *len,
		       const struct pc_source *src, uint64_t done)
{
	struct inline_call c = {.m = m, .pos = pos, .len = *len, .copied = *len};
	struct handle *h;
	int rc = task_start_inode(t, m->inode, HANDLE_INODE, 1, 0, &h), end;

	if (rc < 0)
		return rc;
	rc = inline_prepare(t, m->inode, pos + *len);
	if (rc == -ENOSPC) {
		end = handle_end(h, 0);
		return MIN(end, 0);
	}
	if (rc == 0)
		rc = store(t, &c, src, done);
	end = handle_end(h, rc);
	if (rc == 0 && end < 0 && m->pc->policy->inlined != INLINE_I0) /* i0 hides it: 2.8 (d) */
		rc = end;
	if (rc == 0)
		rc = trim(t, &c);
	*len = c.copied;
	return rc < 0 ? rc : 1;
}

/* The old bytes wait in block 0 of the cache, beside those in the inode. */
static int delay(struct task *t, struct mapping *m)
{
	int rc = 0;
	struct folio *f = first_folio(t, m, &rc);

	if (f == NULL)
		return rc;
	if (inode_is_inline(m->inode)) {
		if (!folio_test(f, BLOCK_MAPPED, 0))
			rc = folio_reserve(t, f, 0, 1);
		if (rc < 0)
			return rc;
		folio_set(f, BLOCK_DIRTY, 0, 1);
		folio_mark_dirty(f);
	}
	m->inode->state &= ~(unsigned)INODE_STATE_MAY_INLINE;
	return 0;
}

int inline_write_delayed(struct task *t, struct mapping *m, uint64_t pos, uint64_t *len,
			 const struct pc_source *src, uint64_t done)
{
	int rc;

	if (!inode_may_inline(m->inode))
		return 0;
	rc = write_inode(t, m, pos, len, src, done);
	if (rc == 1)
		count(m->pc->counters, COUNTER_DA_WRITE_END, 1);
	return rc != 0 ? rc : delay(t, m);
}

/* Block 0 takes over what the inode has: one transaction ends the one and begins the other. */
static int take_over(struct task *t, struct mapping *m, struct folio *f)
{
	struct map map = {.lblk = {0}, .len = 1};
	unsigned flags = MAP_CREATE;
	struct inline_copy c;
	int rc = inline_save(m->inode, &c);

	if (rc < 0)
		return rc;
	rc = inline_destroy(t, m->inode);
	if (map_writes_unwritten(m->inode)) /* it has extents now */
		flags |= MAP_UNWRITTEN;
	if (rc == 0)
		rc = map_blocks(t, m->inode, &map, flags);
	if (rc == -ENOSPC) {
		int undone = inline_restore(t, m->inode, &c);

		if (undone == 0)
			undone = inode_mark_dirty(t, m->inode, MARK_EXT_INSERT);
		rc = undone < 0 ? undone : rc;
	}
	inline_copy_free(&c);
	if (rc < 0)
		return rc;
	folio_set(f, BLOCK_MAPPED, 0, 1);
	if (map.state == MAP_IS_UNWRITTEN)
		folio_set(f, BLOCK_UNWRITTEN, 0, 1);
	folio_set(f, BLOCK_DIRTY, 0, 1);
	folio_mark_dirty(f);
	return inode_logs_data(m->inode) ? log_blocks(t, f, 0, 1) : 0;
}

static int leave_inode(struct task *t, struct mapping *m)
{
	struct ek_inode *inode = m->inode;
	struct folio *f;
	struct handle *h;
	int rc = 0;

	if (!inode_may_inline(inode)) /* a delayed write has begun it */
		rc = data_write_out(inode, 0, UINT64_MAX);
	if (rc < 0 || !inode_is_inline(inode))
		return rc;
	rc = task_start_inode(t, inode, HANDLE_WRITE_PAGE,
			      map_credits(inode, 1, 1) + inode_logs_data(inode), 0, &h);
	if (rc < 0)
		return rc;
	f = first_folio(t, m, &rc);
	return handle_end(h, f != NULL ? take_over(t, m, f) : rc);
}

int inline_write_now(struct task *t, struct mapping *m, uint64_t pos, uint64_t *len,
		     const struct pc_source *src, uint64_t done)
{
	struct ek_inode *inode = m->inode;
	uint32_t room = 0;
	int rc = inode_may_inline(inode) ? inline_capacity(inode, &room) : 0;

	/* Unlike a delayed one, this asks for the room before it opens a handle. */
	if (rc == 0 && pos + *len <= room)
		rc = write_inode(t, m, pos, len, src, done);
	if (rc == 1) {
		count(m->pc->counters, COUNTER_WRITE_BEGIN, 1);
		count(m->pc->counters, COUNTER_WRITE_END, 1);
	}
	if (rc != 0)
		return rc;
	if (inode_is_inline(inode))
		rc = leave_inode(t, m);
	if (rc == 0)
		inode->state &= ~(unsigned)INODE_STATE_MAY_INLINE;
	return rc;
}

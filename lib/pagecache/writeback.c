/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writeback of one file on folios with blocks: ordered data, unwritten then convert (delalloc-facts
 * 4.2 to 4.6).
 *
 * 1. From 4.16 on a pass without a handle writes folios that need no mapping.
 * 2. Then, per step: a handle, and an I/O-end with its reserved handle; prepare collects one extent
 * of dirty blocks that need places, submitting fully mapped folios on the way; map gives the extent
 * places and submits its folios; the size on disk follows.
 * 3. A cyclic pass that began in the middle goes round once, if its budget lasts.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "fs/data.h"
#include "fs/inline.h"
#include "fs/map.h"
#include "io/bio.h"
#include "pagecache/hooks.h"
#include "pagecache/journalled.h"
#include "pagecache/pass.h"
#include "pagecache/ranges.h"

/* ---- mapping ---- */

/* Blocks of the folio that the map covers have places now. */
static void settle(struct folio *f, uint32_t from, uint32_t n)
{
	folio_clear(f, BLOCK_DELAY, from, n);
	folio_clear(f, BLOCK_UNWRITTEN, from, n);
}

/* Goes over the folios of a mapped run: settles their blocks and submits those that are complete.
 */
static int submit_mapped(struct pass *p, const struct map *m)
{
	unsigned bits = pc_block_bits(p->pc);
	uint32_t at = m->lblk.v, end = m->lblk.v + m->len;
	bool convert = m->state == MAP_IS_UNWRITTEN;

	p->len = 0;
	while (at < end) {
		struct folio *f =
		    mapping_find(p->m, (uint32_t)(((uint64_t)at << bits) >> PAGE_BITS));
		uint32_t from, n;
		int rc = 0;

		if (f == NULL)
			return diag_set(&p->pc->img->diag, -EIO,
					"page cache: inode %u: the folio of block %u is gone",
					p->m->inode->ino.v, at);
		from = at - folio_lblk(f, bits);
		n = MIN(end - at, f->blocks - from);
		settle(f, from, n);
		if (convert)
			rc = ioend_add(&p->end, at, n);
		at += n;
		if (rc == 0)
			rc = pass_collect_rest(p, f, from + n);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static unsigned map_flags(const struct pass *p)
{
	unsigned flags = MAP_CREATE | MAP_METADATA_NOFAIL | MAP_IO_SUBMIT;

	if (map_writes_unwritten(p->m->inode))
		flags |= MAP_UNWRITTEN | MAP_PRE_IO;
	return flags;
}

/* The size on disk may follow as far as folios were submitted. */
static int store_size(struct pass *p)
{
	struct ek_inode *inode = p->m->inode;
	uint64_t size = MIN(p->start_pos, inode->size);

	if (size <= inode->rec.size)
		return 0;
	inode->rec.size = size;
	return inode_mark_dirty(p->t, inode, MARK_DISKSIZE);
}

static int more_credits(struct pass *p)
{
	unsigned need = map_writepage_credits(p->m->inode);
	struct handle *h = p->t->user.current;

	if (handle_has_credits(h, need))
		return 0;
	return handle_extend(h, need, 8) == 0 ? 0 : -EAGAIN;
}

static int map_and_submit(struct pass *p)
{
	bool first = true;
	int rc = 0, end;

	while (p->len != 0 && rc == 0) {
		struct map m = {.lblk = {p->lblk}, .len = p->len};

		count(p->pc->counters, COUNTER_DA_WRITE_PAGES_EXTENT, 1);
		count(p->pc->counters, COUNTER_WP_EXTENT_BLOCKS, p->len);
		tap_send(&p->pc->img->tap, STAGE_WRITEBACK, "", p->m->inode->ino.v, p->lblk, p->len,
			 0);
		p->pc->counters->extent_lengths[MIN(ilog2(p->len), 15u)]++;

		if (!first)
			rc = more_credits(p);
		if (rc == 0)
			rc = map_blocks(p->t, p->m->inode, &m, map_flags(p));
		if (rc < 0)
			break;
		first = false;
		/* The rest of the extent is collected again, by the next step if whole folios were
		 * mapped. */
		if (m.len < p->len)
			p->done = false;
		rc = submit_mapped(p, &m);
	}
	end = store_size(p);
	return rc < 0 ? rc : end;
}

/* ---- steps ---- */

static unsigned reserved_credits(const struct pass *p)
{
	unsigned blocks = (unsigned)((PAGE_BYTES << p->pc->max_order) >> pc_block_bits(p->pc));

	return 1 + 15 + DIV_UP(blocks, (p->pc->img->geom.block_size - 12) / 12);
}

/* Without a plug nothing waits: data are written at once, and so they are when a plug ends. */
static bool is_held(struct pagecache *pc)
{
	uint64_t round = bioq_round(pc->img->bioq);

	if (pc->held.round != round) {
		memset(&pc->held, 0, sizeof(pc->held));
		pc->held.round = round;
	}
	return round != 0;
}

/*
 * All conversions that wait for their data may reserve half of a transaction together (jbd2).  Who
 * wants more sleeps, which sends what the plug holds, and is woken by the first that gives credits
 * back.  How long data take is the device's: here what left at one sleep is written at the next,
 * and of what leaves now the first request, if that is not enough, is waited for.
 */
static void wait_for_reserved(struct pagecache *pc, unsigned credits)
{
	unsigned most = jnl_max_credits(pc->img->jnl) / 2;
	unsigned left = pc->held.first + pc->held.others;

	if (!is_held(pc) || pc->held.before + left + credits <= most)
		return;
	bioq_sleep(pc->img->bioq);
	if (left + credits > most)
		left = pc->held.others;
	pc->held.before = left + credits > most ? 0 : left;
	pc->held.first = pc->held.others = 0;
}

static void hold_reserved(struct pagecache *pc, unsigned credits)
{
	uint64_t request = bioq_requests(pc->img->bioq);

	if (!is_held(pc))
		return;
	if (pc->held.first == 0)
		pc->held.request = request;
	if (pc->held.request == request)
		pc->held.first += credits;
	else
		pc->held.others += credits;
}

/* One handle, at most one extent. */
static int map_step(struct pass *p)
{
	struct ek_inode *inode = p->m->inode;
	unsigned rsv = map_writes_unwritten(inode) ? reserved_credits(p) : 0;
	struct ioend *end = &p->end;
	struct handle *h;
	bool found;
	int rc, stop;

	if (rsv != 0 && !jnl_is_none(p->pc->img->jnl))
		wait_for_reserved(p->pc, rsv);
	rc =
	    task_start_inode(p->t, inode, HANDLE_WRITE_PAGE, map_writepage_credits(inode), rsv, &h);
	if (rc < 0)
		return rc;
	*end = (struct ioend){.inode = inode};
	end->reserved = rsv != 0 ? handle_take_reserved(h) : NULL;
	count(p->pc->counters, COUNTER_DA_WRITE_FOLIOS, 1);
	rc = pass_collect(p);
	found = p->len != 0;
	if (rc == 0 && found)
		rc = map_and_submit(p);
	if (p->pc->policy->pass == PASS_P0) /* ends with a step that found nothing to map */
		p->done = !found;
	/* -EAGAIN: the handle could not be made longer, what was mapped stays mapped. */
	rc = handle_end(h, rc);
	stop = data_bio_submit(&p->bio);
	if (stop < 0) /* what did not leave must not show what its blocks held before */
		rc = stop;
	if (end->count == 0 || stop < 0) {
		ioend_cancel(end);
		return rc;
	}
	hold_reserved(p->pc, rsv);
	stop = ioend_finish(p->t, end);
	return rc < 0 ? rc : stop;
}

/* A step, tried again with what a commit gives back. */
static int map_once(struct pass *p)
{
	int rc;

	if (p->paced)
		bioq_plug(p->pc->img->bioq);
	rc = map_step(p);
	if (rc == -ENOSPC && p->retries++ < 3 && jnl_commit_running(p->pc->img->jnl) == 1) {
		/* Freed blocks came back with the commit. */
		diag_clear(&p->pc->img->diag);
		rc = -EAGAIN;
	}
	if (p->paced) {
		int end = bioq_unplug(p->pc->img->bioq);

		rc = rc == 0 ? end : rc;
	}
	if (rc == -EAGAIN) {
		p->done = false;
		rc = 0;
	}
	return rc;
}

/* ---- calls ---- */

void pass_start(struct pass *p, struct task *t, struct mapping *m, struct wbc *wbc)
{
	p->t = t;
	p->pc = m->pc;
	p->m = m;
	p->wbc = wbc;
	p->budget = budget_of(m->pc->policy->budget);
	p->bio.pc = m->pc;
	p->bio.flags = wbc->sync_all ? BIO_SYNC : 0;
	p->bio.count = 0;
	p->bio.len = 0;
	p->bio.error = 0;
	p->scanning = false;
	p->wrapped = false;
	p->paced = false;
	p->start_pos = 0;
}

/* Folios of the range that need no place are sent first, without a handle. */
static int send_mapped(struct pass *p)
{
	int rc, end;

	p->do_map = false;
	rc = pass_collect(p);
	end = data_bio_submit(&p->bio);
	return rc < 0 ? rc : end;
}

static int begin_scan(struct pass *p, uint32_t first, uint32_t last)
{
	int rc = 0;

	p->done = false;
	p->scanning = true;
	p->retries = 0;
	p->next = first;
	p->last = last;
	p->start_pos = (uint64_t)first << PAGE_BITS;
	if (p->tag == TAG_TOWRITE)
		mapping_tag_towrite(p->m, p->next, p->last);
	bioq_plug(p->pc->img->bioq);
	if (p->pc->policy->pass == PASS_P1)
		rc = send_mapped(p);
	p->do_map = true;
	if (p->paced) {
		int end = bioq_unplug(p->pc->img->bioq);

		rc = rc < 0 ? rc : end;
	}
	return rc;
}

static int end_scan(struct pass *p)
{
	bool plugged = p->scanning && !p->paced;

	p->scanning = false;
	return plugged ? bioq_unplug(p->pc->img->bioq) : 0;
}

/* Folios of an inline file are dirty only when a write found no room in the inode. */
static int leave_inode(struct task *t, struct ek_inode *inode)
{
	struct handle *h;
	int rc;

	if (!inode_is_inline(inode))
		return 0;
	rc = task_start_inode(t, inode, HANDLE_INODE, 1, 0, &h);
	return rc < 0 ? rc : handle_end(h, inline_destroy(t, inode));
}

int pass_open(struct pass *p, struct task *t, struct mapping *m, struct wbc *wbc)
{
	int rc = leave_inode(t, m->inode);

	count(m->pc->counters, COUNTER_WRITEPAGES, 1);
	count(m->pc->counters, COUNTER_WRITEPAGES_RESULT, 1);
	pass_start(p, t, m, wbc);
	p->tag = wbc->sync_all || wbc->tagged ? TAG_TOWRITE : TAG_DIRTY;
	p->begin = mapping_head(m, wbc->cyclic ? m->writeback_index : page_of(wbc->start));
	return rc;
}

/* With a first pass an empty budget ends the steps; without one a step that finds nothing does. */
static bool has_steps(const struct pass *p)
{
	return !p->done && (p->pc->policy->pass == PASS_P0 || p->wbc->nr_to_write > 0);
}

static bool may_wrap(const struct pass *p)
{
	return p->wbc->cyclic && p->begin != 0 && !p->wrapped &&
	       (p->pc->policy->wrap == WRAP_W0 || p->wbc->nr_to_write > 0);
}

int pass_next(struct pass *p)
{
	int rc = 0;

	if (!p->scanning)
		rc = begin_scan(p, p->begin, p->wbc->cyclic ? UINT32_MAX : page_of(p->wbc->end));
	if (rc == 0 && has_steps(p)) {
		rc = map_once(p);
		return rc < 0 ? rc : 1;
	}
	if (rc < 0)
		return rc;
	rc = end_scan(p);
	if (rc < 0 || !may_wrap(p))
		return rc;
	p->wrapped = true;
	rc = begin_scan(p, 0, p->begin - 1);
	return rc < 0 ? rc : 1;
}

int pass_close(struct pass *p, int rc)
{
	const struct wbc *wbc = p->wbc;
	int end = end_scan(p);

	if (wbc->cyclic || (wbc->start == 0 && wbc->end == UINT64_MAX && wbc->nr_to_write > 0))
		p->m->writeback_index = page_of(p->start_pos);
	return rc < 0 ? rc : end;
}

static int writepages(struct task *t, struct mapping *m, struct wbc *wbc)
{
	struct pass p;
	int rc;

	if (m->dirty_pages == 0 || inode_logs_data(m->inode)) {
		count(m->pc->counters, COUNTER_WRITEPAGES, 1);
		count(m->pc->counters, COUNTER_WRITEPAGES_RESULT, 1);
	}
	if (m->dirty_pages == 0)
		return 0;
	if (inode_logs_data(m->inode)) {
		rc = leave_inode(t, m->inode);
		return rc < 0 ? rc : journalled_writepages(t, m, wbc);
	}
	if (mapping_by_ranges(m)) {
		count(m->pc->counters, COUNTER_WRITEPAGES, 1);
		count(m->pc->counters, COUNTER_WRITEPAGES_RESULT, 1);
		return range_writepages(t, m, wbc);
	}
	rc = pass_open(&p, t, m, wbc);
	if (rc < 0)
		return rc;
	do
		rc = pass_next(&p);
	while (rc == 1);
	return pass_close(&p, rc);
}

int pc_writepages(struct task *t, struct mapping *m, struct wbc *wbc)
{
	int rc;

	mapping_lock(m);
	rc = writepages(t, m, wbc);
	mapping_unlock(m);
	return rc;
}

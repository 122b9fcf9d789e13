/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writeback by ranges (delalloc-facts 5.3).
 *
 * Dirty folios are walked in order, and of each the runs of dirty blocks.  While they lie in the
 * run whose place is known nothing is asked; outside of it delayed blocks get a place, unwritten
 * always, as far ahead as they are delayed, under a handle of their own that is over before
 * anything is sent.  What was sent is converted when it is done, under ordinary handles, and only
 * then does the size on disk follow: a power cut shows neither zeros nor what was there before.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/diag.h"
#include "fs/map.h"
#include "io/bio.h"
#include "pagecache/pass.h"
#include "pagecache/ranges.h"

#define IOEND_FOLIOS 4096u /* after so many completions are waited for */

struct range_pass {
	struct task *t;
	struct pagecache *pc;
	struct mapping *m;
	struct wbc *wbc;
	struct data_bio bio;
	struct ioend end;
	enum folio_tag tag;
	struct map known; /* len 0: nothing */
	uint64_t sent;    /* bytes of the file up to which data are on their way */
	uint32_t next;    /* page where the walk is */
	unsigned folios, retries;
};

/* ---- places ---- */

/* How far what is delayed at the block goes on, within a step and the range. */
static uint32_t delayed_ahead(const struct range_pass *p, uint32_t lblk)
{
	uint64_t end = p->wbc->cyclic || p->wbc->end == UINT64_MAX
			   ? UINT32_MAX
			   : (p->wbc->end >> pc_block_bits(p->pc)) + 1;
	struct es_extent e;

	if (!es_find(&p->m->inode->es, ES_DELAYED, (ek_lblk){lblk}, &e) || e.lblk.v > lblk)
		return 1;
	return (uint32_t)MIN(MIN((uint64_t)e.lblk.v + e.len, MAX(end, lblk + 1ull)) - lblk,
			     (uint64_t)EXTENT_BLOCKS);
}

static int allocate(struct range_pass *p, struct map *m)
{
	const unsigned flags = MAP_CREATE | MAP_METADATA_NOFAIL | MAP_IO_SUBMIT | MAP_UNWRITTEN;
	struct ek_inode *inode = p->m->inode;
	struct handle *h;
	int rc =
	    task_start_inode(p->t, inode, HANDLE_WRITE_PAGE, map_writepage_credits(inode), 0, &h);

	if (rc < 0)
		return rc;
	count(p->pc->counters, COUNTER_DA_WRITE_PAGES_EXTENT, 1);
	count(p->pc->counters, COUNTER_WP_EXTENT_BLOCKS, m->len);
	p->pc->counters->extent_lengths[MIN(ilog2(m->len), 15u)]++;
	tap_send(&p->pc->img->tap, STAGE_WRITEBACK, "", inode->ino.v, m->lblk.v, m->len, 0);
	return handle_end(h, map_blocks(p->t, inode, m, flags));
}

/* Blocks that were freed come back with a commit. */
static int allocate_or_wait(struct range_pass *p, struct map *m)
{
	int rc;

	do {
		rc = allocate(p, m);
		if (rc != -ENOSPC || p->retries++ >= 3 || jnl_commit_running(p->pc->img->jnl) != 1)
			return rc;
		diag_clear(&p->pc->img->diag);
	} while (true);
}

/* The run that holds the block becomes known. */
static int find_place(struct range_pass *p, uint32_t lblk)
{
	struct map m = {.lblk = {lblk}, .len = EXTENT_BLOCKS};
	int rc;

	if (lblk - p->known.lblk.v < p->known.len)
		return 0;
	count(p->pc->counters, COUNTER_RANGE_MAPS, 1);
	rc = map_lookup(p->t, p->m->inode, &m);
	if (rc == 0 && (m.state == MAP_IS_DELAYED || m.state == MAP_HOLE)) {
		m.len = delayed_ahead(p, lblk);
		rc = allocate_or_wait(p, &m);
	}
	if (rc < 0)
		return rc;
	p->known = m;
	return 0;
}

/* ---- sending ---- */

static int send_run(struct range_pass *p, struct folio *f, uint32_t from, uint32_t n)
{
	uint32_t base = folio_lblk(f, pc_block_bits(p->pc));

	while (n != 0) {
		uint32_t at = base + from, run, skip;
		int rc = find_place(p, at);

		if (rc < 0)
			return rc;
		skip = at - p->known.lblk.v;
		run = MIN(n, p->known.len - skip);
		rc = data_bio_add(&p->bio, f, from, run, (ek_pblk){p->known.pblk.v + skip});
		if (rc == 0 && p->known.state == MAP_IS_UNWRITTEN)
			rc = ioend_add(&p->end, at, run);
		if (rc < 0)
			return rc;
		folio_clear(f, BLOCK_DELAY, from, run);
		folio_clear(f, BLOCK_UNWRITTEN, from, run);
		from += run;
		n -= run;
	}
	return 0;
}

static int send_folio(struct range_pass *p, struct folio *f)
{
	unsigned bits = pc_block_bits(p->pc);
	uint64_t size = p->m->inode->size, pos = folio_pos(f);
	uint64_t wanted = size <= pos ? 0 : (size - pos + (1u << bits) - 1) >> bits;
	uint32_t blocks = (uint32_t)MIN(wanted, (uint64_t)f->blocks);
	int rc = 0;

	folio_zero_tail(f, size);
	for (uint32_t at = 0, run; at < blocks && rc == 0; at += run) {
		run = MIN(folio_run(f, BLOCK_DIRTY, at), blocks - at);
		if (folio_test(f, BLOCK_DIRTY, at))
			rc = send_run(p, f, at, run);
	}
	if (rc < 0)
		return rc;
	folio_clear(f, BLOCK_DIRTY, 0, f->blocks);
	mapping_untag(p->m, f, TAG_TOWRITE);
	folio_clear_dirty(f);
	p->wbc->nr_to_write -= folio_pages(f);
	p->sent = MAX(p->sent, MIN(size, pos + folio_bytes(f)));
	p->folios++;
	return 0;
}

/* ---- completion ---- */

/* The blocks of a run are on disk: one handle for it, and the size with it. */
static int complete_run(struct range_pass *p, const struct byte_run *r)
{
	struct ek_inode *inode = p->m->inode;
	uint64_t end = ((uint64_t)r->lblk + r->len) << pc_block_bits(p->pc);
	struct handle *h;
	int rc =
	    task_start_inode(p->t, inode, HANDLE_EXT_CONVERT, map_credits(inode, r->len, 1), 0, &h);

	if (rc < 0)
		return rc;
	inode->rec.size = MAX(inode->rec.size, MIN(end, inode->size));
	return handle_end(h, ioend_convert(p->t, inode, r));
}

/* Data that went to places that were written already may have made the file longer. */
static int complete_size(struct range_pass *p)
{
	struct ek_inode *inode = p->m->inode;
	uint64_t size = MIN(p->sent, inode->size);
	struct handle *h;
	int rc;

	if (size <= inode->rec.size)
		return 0;
	rc = task_start_inode(p->t, inode, HANDLE_INODE, 2, 0, &h);
	if (rc < 0)
		return rc;
	inode->rec.size = size;
	return handle_end(h, inode_mark_dirty(p->t, inode, MARK_DISKSIZE));
}

static int complete(struct range_pass *p)
{
	int rc = data_bio_submit(&p->bio);

	for (size_t i = 0; i < p->end.count && rc == 0; i++)
		rc = complete_run(p, &p->end.runs[i]);
	if (rc == 0)
		rc = complete_size(p);
	p->end.count = 0;
	p->folios = 0;
	p->known.len = 0; /* it became written */
	return rc;
}

/* ---- walks ---- */

static int walk(struct range_pass *p, uint32_t first, uint32_t last)
{
	struct folio *f;
	int rc = 0, end;

	if (p->tag == TAG_TOWRITE)
		mapping_tag_towrite(p->m, first, last);
	p->next = first;
	while (rc == 0 && p->next <= last && (p->wbc->sync_all || p->wbc->nr_to_write > 0) &&
	       (f = mapping_next(p->m, p->tag, p->next, last)) != NULL) {
		p->next = f->index + folio_pages(f);
		count(p->pc->counters, COUNTER_PAGE_LOCKS, 1);
		rc = send_folio(p, f);
		if (rc == 0 && p->folios >= IOEND_FOLIOS)
			rc = complete(p);
		if (p->next == 0)
			break;
	}
	end = complete(p);
	return rc < 0 ? rc : end;
}

int range_writepages(struct task *t, struct mapping *m, struct wbc *wbc)
{
	struct range_pass p = {.t = t, .pc = m->pc, .m = m, .wbc = wbc};
	uint32_t first = mapping_head(m, wbc->cyclic ? m->writeback_index : page_of(wbc->start));
	uint32_t last = wbc->cyclic ? UINT32_MAX : page_of(wbc->end);
	int rc, end;

	p.bio.pc = m->pc;
	p.bio.flags = wbc->sync_all ? BIO_SYNC : 0;
	p.end.inode = m->inode;
	p.tag = wbc->sync_all || wbc->tagged ? TAG_TOWRITE : TAG_DIRTY;
	bioq_plug(m->pc->img->bioq);
	rc = walk(&p, first, last);
	if (rc == 0 && wbc->cyclic && first != 0 && wbc->nr_to_write > 0)
		rc = walk(&p, 0, first - 1);
	if (wbc->cyclic || (wbc->start == 0 && wbc->end == UINT64_MAX && wbc->nr_to_write > 0))
		m->writeback_index = p.next;
	end = bioq_unplug(m->pc->img->bioq);
	free(p.end.runs);
	return rc < 0 ? rc : end;
}

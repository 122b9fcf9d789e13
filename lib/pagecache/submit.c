/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folios on their way out: the dirty blocks of one, which all have places, in runs that are
 * neighbours on disk, joined with those of the folio before where they follow it.  A commit sends
 * the ordered data of a file the same way, but opens no handle, so what has no place yet stays.
 */
#include <errno.h>

#include "base/check.h"
#include "fs/map.h"
#include "pagecache/hooks.h"
#include "pagecache/pass.h"
#include "pagecache/ranges.h"

/* ---- one folio ---- */

/* Writes the dirty blocks of a folio that have written places, the run [from, from + n). */
static int send_blocks(struct pass *p, struct folio *f, uint32_t from, uint32_t n)
{
	uint32_t base = folio_lblk(f, pc_block_bits(p->pc));

	while (n != 0) {
		struct es_extent e;
		uint32_t skip, run;
		int rc;

		/* The kernel keeps the place beside each block; the status tree knows it too. */
		if (!es_next(&p->m->inode->es, (ek_lblk){base + from}, &e) ||
		    e.lblk.v > base + from || e.type > ES_UNWRITTEN) {
			struct map m = {.lblk = {base + from}, .len = n};

			rc = map_lookup(p->t, p->m->inode, &m);
			if (rc < 0)
				return rc;
			if (m.state != MAP_MAPPED && m.state != MAP_IS_UNWRITTEN)
				return diag_set(&p->pc->img->diag, -EUCLEAN,
						"page cache: inode %u block %u has no place",
						p->m->inode->ino.v, base + from);
			e = (struct es_extent){m.lblk, m.len, m.pblk, ES_WRITTEN};
		}
		skip = base + from - e.lblk.v;
		run = MIN(n, e.len - skip);
		rc = data_bio_add(&p->bio, f, from, run, (ek_pblk){e.pblk.v + skip});
		if (rc < 0)
			return rc;
		from += run;
		n -= run;
	}
	return 0;
}

static void spend_budget(struct pass *p, uint32_t pages)
{
	int64_t left = p->wbc->nr_to_write;

	p->wbc->nr_to_write = left - pages;
	if (left >= pages)
		return;
	count(p->pc->counters, COUNTER_BUDGET_OVERRUNS, left >= 0);
	count(p->pc->counters, COUNTER_BUDGET_OVERRUN_PAGES, (uint64_t)(pages - MAX(left, 0)));
}

/* Sends the dirty blocks of a folio below the end of the file, which all have places. */
static int send_folio(struct pass *p, struct folio *f)
{
	unsigned bits = pc_block_bits(p->pc);
	uint64_t size = p->m->inode->size, pos = folio_pos(f);
	uint32_t blocks = size <= pos ? 0
				      : (uint32_t)MIN((size - pos + (1u << bits) - 1) >> bits,
						      (uint64_t)f->blocks);
	uint32_t at = 0;
	int rc = 0;

	folio_zero_tail(f, size);
	while (at < blocks && rc == 0) {
		uint32_t run = MIN(folio_run(f, BLOCK_DIRTY, at), blocks - at);

		if (folio_test(f, BLOCK_DIRTY, at))
			rc = send_blocks(p, f, at, run);
		at += run;
	}
	return rc;
}

int pass_submit_folio(struct pass *p, struct folio *f)
{
	int rc = send_folio(p, f);

	folio_clear(f, BLOCK_DIRTY, 0, f->blocks);
	mapping_untag(p->m, f, TAG_TOWRITE);
	folio_clear_dirty(f);
	spend_budget(p, folio_pages(f));
	p->start_pos = MAX(p->start_pos, folio_pos(f) + folio_bytes(f));
	return rc;
}

/* ---- for a commit ---- */

/* Of files by ranges the status tree alone knows. */
static int has_written_places(struct pass *p, struct folio *f)
{
	uint32_t base = folio_lblk(f, pc_block_bits(p->pc));

	for (uint32_t at = 0, run; at < f->blocks; at += run) {
		struct map m = {.lblk = {base + at}};
		int rc;

		run = folio_run(f, BLOCK_DIRTY, at);
		if (!folio_test(f, BLOCK_DIRTY, at))
			continue;
		m.len = run;
		rc = map_lookup(p->t, p->m->inode, &m);
		if (rc < 0 || m.state != MAP_MAPPED)
			return rc;
		run = m.len;
	}
	return 1;
}

/* 1 when no dirty block of the folio waits for a place or for its conversion. */
static int has_places(struct pass *p, struct folio *f)
{
	if (mapping_by_ranges(p->m))
		return has_written_places(p, f);
	return !folio_any(f, BLOCK_DELAY, 0, f->blocks) &&
	       !folio_any(f, BLOCK_UNWRITTEN, 0, f->blocks);
}

/* The size on disk of a file by ranges follows its writeback, and a commit can open no handle for
 * it: a folio that the size waits for is sent, and sent again by writeback. */
static bool holds_size(const struct pass *p, const struct folio *f)
{
	const struct ek_inode *inode = p->m->inode;

	return mapping_by_ranges(p->m) &&
	       MIN(inode->size, folio_pos(f) + folio_bytes(f)) > inode->rec.size;
}

/* A folio with a block that needs a place is left alone: the transaction that gives it one comes
 * later. */
int write_mapped(struct task *t, struct mapping *m, uint64_t from, uint64_t to)
{
	struct wbc wbc = {.sync_all = true, .nr_to_write = WB_ALL_PAGES, .start = from, .end = to};
	struct pass p;
	uint32_t page = mapping_head(m, page_of(from)), last = page_of(to - 1);
	struct folio *f;
	int rc = 0, end;

	mapping_lock(m);
	pass_start(&p, t, m, &wbc);
	count(m->pc->counters, COUNTER_WRITEPAGES, 1);
	while (rc == 0 && (f = mapping_next(m, TAG_DIRTY, page, last)) != NULL) {
		page = f->index + folio_pages(f);
		rc = has_places(&p, f);
		if (rc == 1)
			rc = holds_size(&p, f) ? send_folio(&p, f) : pass_submit_folio(&p, f);
		if (page == 0)
			break;
	}
	end = data_bio_submit(&p.bio);
	mapping_unlock(m);
	return rc < 0 ? rc : end;
}

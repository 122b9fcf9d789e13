/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * data=journal: blocks of files in the log, and their way home.
 *
 * Writeback of such a file maps nothing.  It submits the folios whose blocks are committed, waits
 * for them, and only then tells the journal that they are home: a block must not change on its way,
 * since what would reach the device is not committed yet.
 */
#include "pagecache/journalled.h"

#include <errno.h>

#include "base/check.h"
#include "fs/inode_cache.h"
#include "fs/map.h"
#include "io/bio.h"
#include "pagecache/pass.h"

/* ---- places ---- */

/* Where block lblk lies; *run gets how many of the next n follow it there. */
static int place_of(struct task *t, struct ek_inode *inode, uint32_t lblk, uint32_t n, ek_pblk *ret,
		    uint32_t *run)
{
	struct es_extent e;
	struct map m = {.lblk = {lblk}, .len = n};
	int rc;

	if (es_next(&inode->es, (ek_lblk){lblk}, &e) && e.lblk.v <= lblk && e.type == ES_WRITTEN) {
		*ret = (ek_pblk){e.pblk.v + (lblk - e.lblk.v)};
		*run = MIN(n, e.len - (lblk - e.lblk.v));
		return 0;
	}
	rc = map_lookup(t, inode, &m);
	if (rc == 0 && m.state != MAP_MAPPED)
		rc = diag_set(&inode->img->diag, -EUCLEAN,
			      "page cache: inode %u block %u is to be logged and has no place",
			      inode->ino.v, lblk);
	*ret = m.pblk;
	*run = m.len;
	return rc;
}

int log_blocks(struct task *t, struct folio *f, uint32_t from, uint32_t n)
{
	struct ek_inode *inode = f->map->inode;
	unsigned bits = pc_block_bits(f->map->pc);
	uint32_t base = folio_lblk(f, bits);

	folio_set(f, BLOCK_DIRTY, from, n);
	folio_mark_dirty(f);
	inode_note_datasync(t, inode);
	while (n > 0) {
		ek_pblk at;
		uint32_t run;
		int rc = place_of(t, inode, base + from, n, &at, &run);

		for (uint32_t i = 0; rc == 0 && i < run; i++)
			rc = handle_log_data(t->user.current, inode_owner(inode),
					     (ek_pblk){at.v + i},
					     f->data + ((size_t)(from + i) << bits));
		if (rc < 0)
			return rc;
		from += run;
		n -= run;
	}
	return 0;
}

/* ---- writeback ---- */

struct going_home {
	struct task *t;
	struct mapping *m;
	struct data_bio bio;
	uint64_t settled; /* folios that are clean now */
};

/* What is done with a run of blocks, neighbours on disk, that are all in one place. */
typedef int run_fn(struct going_home *g, struct folio *f, uint32_t from, uint32_t n, ek_pblk at);

static int submit_run(struct going_home *g, struct folio *f, uint32_t from, uint32_t n, ek_pblk at)
{
	return data_bio_add(&g->bio, f, from, n, at);
}

static int settle_run(struct going_home *g, struct folio *f, uint32_t from, uint32_t n, ek_pblk at)
{
	struct jnl *j = g->m->pc->img->jnl;

	for (uint32_t i = 0; i < n; i++)
		jnl_data_home(j, (ek_pblk){at.v + i});
	folio_clear(f, BLOCK_DIRTY, from, n);
	return 0;
}

/* Those of [from, from + n), which lie at at, that are only in the log. */
static int each_logged(struct going_home *g, struct folio *f, uint32_t from, uint32_t n, ek_pblk at,
		       run_fn *fn)
{
	struct jnl *j = g->m->pc->img->jnl;
	int rc = 0;

	for (uint32_t i = 0, run; i < n && rc == 0; i += run) {
		enum jnl_place place = jnl_data_place(j, (ek_pblk){at.v + i});

		for (run = 1; i + run < n; run++) {
			if (jnl_data_place(j, (ek_pblk){at.v + i + run}) != place)
				break;
		}
		if (place == JNL_LOGGED)
			rc = fn(g, f, from + i, run, (ek_pblk){at.v + i});
		else if (place == JNL_HOME && fn == settle_run)
			folio_clear(f, BLOCK_DIRTY, from + i, run);
	}
	return rc;
}

static int each_dirty(struct going_home *g, struct folio *f, run_fn *fn)
{
	uint32_t base = folio_lblk(f, pc_block_bits(g->m->pc)), at = 0;
	int rc = 0;

	while (at < f->blocks && rc == 0) {
		uint32_t n = folio_run(f, BLOCK_DIRTY, at), run = n;
		ek_pblk place;

		if (folio_test(f, BLOCK_DIRTY, at)) {
			rc = place_of(g->t, g->m->inode, base + at, n, &place, &run);
			if (rc == 0)
				rc = each_logged(g, f, at, run, place, fn);
		}
		at += run;
	}
	return rc;
}

static int submit_folio(struct going_home *g, struct folio *f)
{
	return each_dirty(g, f, submit_run);
}

static int settle_folio(struct going_home *g, struct folio *f)
{
	int rc = each_dirty(g, f, settle_run);

	if (rc == 0 && !folio_any(f, BLOCK_DIRTY, 0, f->blocks)) {
		folio_clear_dirty(f);
		g->settled++;
	}
	return rc;
}

/* The dirty folios of pages [first, last], as many as the budget has pages for. */
static int walk(struct going_home *g, uint32_t first, uint32_t last, int64_t budget,
		int (*fn)(struct going_home *g, struct folio *f))
{
	struct folio *f;
	int rc = 0;

	while (rc == 0 && budget > 0 && (f = mapping_next(g->m, TAG_DIRTY, first, last)) != NULL) {
		first = f->index + folio_pages(f);
		budget -= folio_pages(f);
		rc = fn(g, f);
		if (first == 0)
			break;
	}
	return rc;
}

/* Linux opens a handle for pages that something else made dirty meanwhile; there are none here, but
 * the handle is counted all the same. */
static int pass(struct going_home *g, struct wbc *wbc)
{
	struct pagecache *pc = g->m->pc;
	uint32_t first = page_of(wbc->start), last = page_of(wbc->end);
	struct handle *h;
	int rc = task_start_inode(g->t, g->m->inode, HANDLE_WRITE_PAGE, 1u << pc->page_blocks_bits,
				  0, &h);
	int end;

	if (rc < 0)
		return rc;
	bioq_plug(pc->img->bioq);
	rc = walk(g, first, last, wbc->nr_to_write, submit_folio);
	end = data_bio_submit(&g->bio);
	rc = rc < 0 ? rc : end;
	end = bioq_unplug(pc->img->bioq);
	rc = rc < 0 ? rc : end;
	rc = handle_end(h, rc);
	end = pc_wait(pc);
	rc = rc < 0 ? rc : end;
	if (rc == 0 && pc->error == 0) /* else the log has the only good copy */
		rc = walk(g, first, last, wbc->nr_to_write, settle_folio);
	return rc;
}

static bool has_budget(const struct wbc *wbc)
{
	return !wbc->sync_all && wbc->cyclic;
}

int journalled_writepages(struct task *t, struct mapping *m, struct wbc *wbc)
{
	struct going_home g = {.t = t, .m = m};
	struct jnl *j = m->pc->img->jnl;
	int rc = 0;

	g.bio.pc = m->pc;
	g.bio.flags = wbc->sync_all ? BIO_SYNC : 0;
	if (wbc->sync_all && m->inode->datasync_tid != 0)
		rc = jnl_commit(j, m->inode->datasync_tid);
	if (rc == 0)
		rc = pass(&g, wbc);
	if (rc < 0 || g.settled != 0 || !has_budget(wbc))
		return rc;
	rc = jnl_commit_running(j);
	return rc < 0 ? rc : pass(&g, wbc);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* What the layers below ask of the cache: zeroing in a block, dropping, writing out, ordered data.
 */
#include "pagecache/hooks.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "fs/data.h"
#include "fs/map.h"
#include "pagecache/journalled.h"

/* A block that was zeroed in part goes into the log, under a handle of its own when none runs. */
static int log_zeroed(struct task *t, struct folio *f, uint32_t block)
{
	struct handle *h;
	int rc;

	if (folio_test(f, BLOCK_UNWRITTEN, block))
		return 0;
	if (t->user.current != NULL)
		return log_blocks(t, f, block, 1);
	rc = task_start_inode(t, f->map->inode, HANDLE_INODE, 1, 0, &h);
	return rc < 0 ? rc : handle_end(h, log_blocks(t, f, block, 1));
}

/* The kernel reads the block, zeroes in memory and lets the data be ordered with the transaction.
 */
static int zero_partial(void *ctx, struct ek_inode *inode, uint64_t from, uint64_t to)
{
	struct pagecache *pc = ctx;
	unsigned bits = pc_block_bits(pc);
	struct map map = {.lblk = {(uint32_t)(from >> bits)}, .len = 1};
	struct mapping *m = mapping_of(inode);
	struct folio *f;
	uint32_t block;
	int rc;

	if (m == NULL)
		return -ENOMEM;
	f = mapping_find(m, (uint32_t)(from >> PAGE_BITS));
	if (f == NULL) {
		rc = map_lookup(pc->task, inode, &map);
		if (rc < 0 || map.state != MAP_MAPPED)
			return rc;
		f = folio_make(m, (uint32_t)(from >> PAGE_BITS) & ~((1u << pc->min_order) - 1),
			       pc->min_order, &rc);
		if (f == NULL)
			return rc;
	}
	block = (uint32_t)((from - folio_pos(f)) >> bits);
	rc = folio_back(pc->task, f, true);
	if (rc == 0)
		rc = folio_read(pc->task, f, block, 1);
	if (rc < 0)
		return rc;
	memset(f->data + (from - folio_pos(f)), 0, to - from);
	if (!folio_test(f, BLOCK_MAPPED, block)) {
		rc = map_lookup(pc->task, inode, &map);
		if (rc < 0 || map.state != MAP_MAPPED)
			return rc; /* a hole reads as zeros already */
		folio_set(f, BLOCK_MAPPED, block, 1);
	}
	if (inode_logs_data(inode))
		return log_zeroed(pc->task, f, block);
	folio_set(f, BLOCK_DIRTY, block, 1);
	folio_mark_dirty(f);
	if (pc->task->user.current == NULL || inode_data_mode(inode) != DATA_MODE_ORDERED)
		return 0;
	/* Blocks without a place, or whose contents nobody sees yet, have nothing to be ordered;
	 * Linux 6.18 does it for them too, and its commits look at the file then. */
	return handle_order(pc->task->user.current, &inode->jinode, from, to, false);
}

static int invalidate(void *ctx, struct ek_inode *inode, uint64_t from, uint64_t to)
{
	(void)ctx;
	if (inode->mapping != NULL && from < to)
		mapping_discard(inode->mapping, from, to);
	return 0;
}

static int write_range(struct pagecache *pc, struct ek_inode *inode, uint64_t from, uint64_t to,
		       bool sync_all)
{
	struct wbc wbc = {
	    .sync_all = sync_all, .nr_to_write = WB_ALL_PAGES, .start = from, .end = to};

	if (inode->mapping == NULL || ((struct mapping *)inode->mapping)->dirty_pages == 0)
		return 0;
	return pc_writepages(pc->task, inode->mapping, &wbc);
}

static int write_out(void *ctx, struct ek_inode *inode, uint64_t from, uint64_t to)
{
	struct pagecache *pc = ctx;
	int rc = write_range(pc, inode, from, to - 1, true);

	return rc < 0 ? rc : pc_wait(pc);
}

static int alloc_delayed(void *ctx, struct ek_inode *inode)
{
	return write_range(ctx, inode, 0, UINT64_MAX, false);
}

/* Data that a commit must find on disk: only blocks that have places, no mapping of delayed ones.
 */
static int ordered(void *ctx, struct ek_inode *inode, uint64_t from, uint64_t to, bool wait_only)
{
	struct pagecache *pc = ctx;

	if (wait_only || inode->mapping == NULL)
		return 0;
	return write_mapped(pc->task, inode->mapping, from, to);
}

static void dirtied(void *ctx, struct ek_inode *inode)
{
	struct mapping *m = inode_is_file(inode) ? mapping_of(inode) : NULL;

	(void)ctx;
	if (m != NULL)
		mapping_note_dirty(m, WB_SYNC);
}

static bool is_dirty(void *ctx, const struct ek_inode *inode)
{
	const struct mapping *m = inode->mapping;

	(void)ctx;
	return m != NULL && m->dirty_pages != 0;
}

static void evict(void *ctx, struct ek_inode *inode)
{
	(void)ctx;
	mapping_evict(inode);
}

void hooks_install(struct pagecache *pc)
{
	pc->img->data = (struct data_ops){.zero_partial = zero_partial,
					  .invalidate = invalidate,
					  .write_out = write_out,
					  .alloc_delayed = alloc_delayed,
					  .ordered = ordered,
					  .dirtied = dirtied,
					  .is_dirty = is_dirty,
					  .evict = evict,
					  .ctx = pc};
}

void hooks_remove(struct pagecache *pc)
{
	memset(&pc->img->data, 0, sizeof(pc->img->data));
}

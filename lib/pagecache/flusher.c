/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When dirty folios are written without anybody waiting for them (delalloc-facts 4.1): in the
 * background above a threshold, periodically when they are old, and in step with the writer above a
 * second threshold. All of it runs on the image's clock, in the thread of the writer; with a pace
 * the background takes time, and writers go on between its steps.
 */
#include <errno.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "fs/data.h"
#include "io/bio.h"
#include "pagecache/hooks.h"
#include "pagecache/pass.h"
#include "pagecache/ranges.h"

#define CHUNK_BUDGET 1024 /* pages: the kernel's smallest budget, 4 MiB */

static uint64_t now_ns(const struct pagecache *pc)
{
	return (uint64_t)pc->img->now.sec * 1000000000u + pc->img->now.nsec;
}

/* After its turn. */
static void requeue(struct mapping *m)
{
	struct pagecache *pc = m->pc;

	m->wb_state = 0;
	list_remove(&m->wb);
	if (m->dirty_pages != 0) {
		m->dirtied_when = now_ns(pc);
		m->wb_state = WB_PAGES;
		list_append(&pc->dirty, &m->wb);
	}
}

/* One inode's turn; it leaves the list when it is clean, and goes to the end when it is not. */
static int write_inode(struct task *t, struct mapping *m, struct wbc *wbc)
{
	struct pagecache *pc = m->pc;
	int rc;

	count(pc->counters, COUNTER_WRITEBACK_SINGLE_INODE, 1);
	rc = pc_writepages(t, m, wbc);
	requeue(m);
	return rc;
}

/* Background work ends as soon as the threshold is met again. */
static int background(struct task *t, struct pagecache *pc, uint64_t target)
{
	int rc = 0;

	while (rc == 0 && pc->dirty_total > target && !list_empty(&pc->dirty)) {
		struct mapping *m = list_first(&pc->dirty, struct mapping, wb);
		struct wbc wbc = {.cyclic = true, .nr_to_write = CHUNK_BUDGET, .end = UINT64_MAX};

		rc = write_inode(t, m, &wbc);
	}
	return rc;
}

/* The device's own dirty blocks, which Linux has in one inode: all of them when the first is old.
 */
static int write_old_blocks(struct pagecache *pc)
{
	struct ek_time since = jnl_home_since(pc->img->jnl);
	uint64_t ns = (uint64_t)since.sec * 1000000000u + since.nsec;

	if (ns == 0 || ns + pc->expire_ns > now_ns(pc))
		return 0;
	return jnl_write_home(pc->img->jnl, false);
}

static int periodic(struct task *t, struct pagecache *pc)
{
	uint64_t now = now_ns(pc);
	int rc = 0;

	while (rc == 0 && !list_empty(&pc->dirty)) {
		struct mapping *m = list_first(&pc->dirty, struct mapping, wb);
		struct wbc wbc = {.cyclic = true,
				  .for_kupdate = true,
				  .nr_to_write = CHUNK_BUDGET,
				  .end = UINT64_MAX};

		if (m->dirtied_when + pc->expire_ns > now)
			break;
		rc = write_inode(t, m, &wbc);
	}
	return rc < 0 ? rc : write_old_blocks(pc);
}

/* ---- the flusher in its own time ---- */

/* Background work as a thread of its own would do it: each step takes the time that the device
 * needs for it, and writers go on meanwhile.  Without that what is dirty at the beginning of a call
 * is all there is, and what study 2 mended cannot be seen (delalloc-facts 4.9). */
struct flush_run {
	struct pass pass;
	struct wbc wbc;
	uint64_t until; /* ns: when the step that was sent is done */
	bool active;
};

int flusher_open(struct pagecache *pc, struct diag *d)
{
	pc->run = mem_zero(sizeof(*pc->run));
	return pc->run != NULL ? 0 : diag_set(d, -ENOMEM, "out of memory for the flusher");
}

/* The call that runs is about this mapping no more. */
void flusher_forget(struct mapping *m)
{
	struct flush_run *r = m->pc->run;

	if (!r->active || r->pass.m != m)
		return;
	r->active = false;
	pass_close(&r->pass, 0);
}

static int run_begin(struct task *t, struct pagecache *pc)
{
	struct flush_run *r = pc->run;
	struct mapping *m = list_first(&pc->dirty, struct mapping, wb);
	int rc;

	r->wbc = (struct wbc){.cyclic = true, .nr_to_write = CHUNK_BUDGET, .end = UINT64_MAX};
	if (mapping_by_ranges(m) || inode_logs_data(m->inode)) /* in one go */
		return write_inode(t, m, &r->wbc);
	count(pc->counters, COUNTER_WRITEBACK_SINGLE_INODE, 1);
	r->until = now_ns(pc);
	mapping_lock(m);
	rc = pass_open(&r->pass, t, m, &r->wbc);
	mapping_unlock(m);
	r->pass.paced = true;
	r->active = rc == 0;
	return rc;
}

static int run_step(struct pagecache *pc)
{
	struct flush_run *r = pc->run;
	int64_t before = r->wbc.nr_to_write;
	int rc;

	mapping_lock(r->pass.m);
	rc = pass_next(&r->pass);
	mapping_unlock(r->pass.m);
	r->until += pc->pace.extent_ns + (uint64_t)(before - r->wbc.nr_to_write) * pc->pace.page_ns;
	if (rc == 1)
		return 0;
	r->active = false;
	rc = pass_close(&r->pass, rc);
	requeue(r->pass.m);
	return rc;
}

/* The background is due: a call runs, or there is more to do than the threshold allows. */
static bool is_due(const struct pagecache *pc)
{
	return pc->run->active ||
	       (pc->dirty_total > pc->background_pages && !list_empty(&pc->dirty));
}

/* What the flusher has done by now; all that lies above target at once when the writer waits. */
static int run_to_now(struct task *t, struct pagecache *pc, uint64_t target)
{
	int rc = 0;

	while (rc == 0 && is_due(pc)) {
		if (!pc->run->active)
			rc = run_begin(t, pc);
		else if (pc->run->until <= now_ns(pc) || pc->dirty_total > target)
			rc = run_step(pc);
		else
			break;
	}
	return rc;
}

int pc_background_step(struct task *t)
{
	struct pagecache *pc = t->img->data.ctx;
	int rc = 0;

	if (!is_due(pc))
		return 0;
	rc = pc->run->active ? run_step(pc) : run_begin(t, pc);
	return rc < 0 ? rc : is_due(pc);
}

int balance_now(struct task *t, struct pagecache *pc)
{
	if (pc->threaded) /* the background has a thread of its own */
		return pc->dirty_total > pc->dirty_pages ? background(t, pc, pc->dirty_pages) : 0;
	if (pc->paced && pc->run->active)
		return run_to_now(t, pc, pc->dirty_pages);
	if (pc->uncharged < CHECK_PAGES)
		return 0;
	pc->uncharged = 0;
	if (pc->dirty_total <= pc->background_pages)
		return 0;
	if (pc->dirty_total > pc->dirty_pages)
		count(pc->counters, COUNTER_THROTTLES, 1);
	return pc->paced ? run_to_now(t, pc, pc->dirty_pages)
			 : background(t, pc, pc->background_pages);
}

int flush_some(struct pagecache *pc)
{
	uint64_t target =
	    pc->dirty_total > 4 * CHUNK_BUDGET ? pc->dirty_total - 4 * CHUNK_BUDGET : 0;
	int rc;

	if (pc->dirty_total == 0 || pc->task->user.current != NULL)
		return -ENOMEM;
	rc = background(pc->task, pc, target);
	return rc < 0 ? rc : pc_wait(pc);
}

int pc_tick(struct task *t)
{
	struct pagecache *pc = t->img->data.ctx;
	int rc = MIN(jnl_tick(t->img->jnl), 0);

	if (rc == 0 && pc->paced && pc->run->active)
		rc = run_to_now(t, pc, pc->dirty_pages);
	if (rc < 0 || now_ns(pc) < pc->next_periodic)
		return rc;
	pc->next_periodic = now_ns(pc) + pc->periodic_ns;
	return periodic(t, pc);
}

/* ---- syncs ---- */

/* Every inode that is dirty now, once. */
static int write_all(struct task *t, struct pagecache *pc, bool sync_all)
{
	struct list work;
	int rc = 0;

	list_init(&work);
	bioq_plug(pc->img->bioq);
	while (!list_empty(&pc->dirty)) {
		struct list *l = pc->dirty.next;

		list_remove(l);
		list_append(&work, l);
	}
	while (!list_empty(&work)) {
		struct mapping *m = list_first(&work, struct mapping, wb);
		struct wbc wbc = {.sync_all = sync_all,
				  .tagged = true,
				  .nr_to_write = WB_ALL_PAGES,
				  .end = UINT64_MAX};
		int one = write_inode(t, m, &wbc);

		rc = rc < 0 ? rc : one;
	}
	bioq_unplug(pc->img->bioq);
	return rc;
}

static int take_error(struct pagecache *pc)
{
	int rc = pc->error;

	pc->error = 0;
	return rc;
}

/* syncfs begins to write the device's own dirty blocks before it waits and commits; sync does that
 * for all devices at its end. */
static int sync_image(struct task *t, bool device_early)
{
	struct pagecache *pc = t->img->data.ctx;
	int rc = write_all(t, pc, false), end;

	count(pc->counters, COUNTER_SYNC_FS, 1); /* the pass that does not wait */
	end = device_early ? jnl_write_home(t->img->jnl, false) : 0;
	rc = rc < 0 ? rc : end;
	end = write_all(t, pc, true);
	rc = rc < 0 ? rc : end;
	end = pc_wait(pc);
	rc = rc < 0 ? rc : end;
	end = image_sync(t);
	rc = rc < 0 ? rc : end;
	end = jnl_write_home(t->img->jnl, true);
	rc = rc < 0 ? rc : end;
	end = take_error(pc);
	return rc < 0 ? rc : end;
}

int pc_sync(struct task *t)
{
	return sync_image(t, true);
}

int pc_sync_all(struct task *t)
{
	return sync_image(t, false);
}

/* Without a journal fsync writes the inode itself too, and the flusher need not come for that. */
static int fsync_none(struct task *t, struct ek_inode *inode)
{
	struct mapping *m = inode->mapping;
	int rc = pc_wait(pc_of(inode));

	if (rc == 0)
		rc = inode_write_home(t, inode);
	if (rc == 0 && m != NULL && m->dirty_pages == 0)
		requeue(m);
	return rc < 0 ? rc : bioq_flush(t->img->bioq);
}

/* Commits what the inode changed last, or at least makes data durable. */
static int fsync_journal(struct task *t, struct ek_inode *inode, bool datasync)
{
	struct jnl *j = t->img->jnl;
	uint32_t tid = datasync ? inode->datasync_tid : inode->sync_tid;
	bool barrier;
	int rc;

	if (jnl_is_none(j))
		return fsync_none(t, inode);
	if (!inode_is_file(inode)) /* folders and special files: all that runs is committed */
		return MIN(jnl_commit_running(j), 0);
	barrier = !jnl_will_send_barrier(j, tid);
	rc = tid != 0 ? jnl_commit(j, tid) : 0;
	if (rc < 0 || !barrier)
		return rc;
	rc = pc_wait(pc_of(inode));
	return rc < 0 ? rc : bioq_flush(t->img->bioq);
}

int pc_fsync(struct task *t, struct ek_inode *inode, bool datasync)
{
	struct pagecache *pc = t->img->data.ctx;
	struct mapping *m = inode->mapping;
	int rc = 0, end;

	count(pc->counters, COUNTER_SYNC_FILE, 1);
	if (m != NULL && m->dirty_pages != 0) {
		struct wbc wbc = {.sync_all = true, .nr_to_write = WB_ALL_PAGES, .end = UINT64_MAX};

		rc = pc_writepages(t, m, &wbc);
	}
	end = fsync_journal(t, inode, datasync);
	rc = rc < 0 ? rc : end;
	end = take_error(pc);
	return rc < 0 ? rc : end;
}

#define RANGE_WAIT_BEFORE 1u
#define RANGE_WRITE       2u
#define RANGE_WAIT_AFTER  4u

int pc_sync_range(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len,
		  unsigned flags)
{
	struct pagecache *pc = t->img->data.ctx;
	struct mapping *m = inode->mapping;
	struct wbc wbc = {.nr_to_write = WB_ALL_PAGES, .start = pos, .end = pos + len - 1};
	int rc = 0;

	if (len == 0 || len > UINT64_MAX - pos)
		wbc.end = UINT64_MAX;
	wbc.sync_all = (flags & (RANGE_WAIT_BEFORE | RANGE_WAIT_AFTER)) ==
		       (RANGE_WAIT_BEFORE | RANGE_WAIT_AFTER);
	if ((flags & RANGE_WAIT_BEFORE) != 0)
		rc = pc_wait(pc);
	if (rc == 0 && (flags & RANGE_WRITE) != 0 && m != NULL && m->dirty_pages != 0)
		rc = pc_writepages(t, m, &wbc);
	if (rc == 0 && (flags & RANGE_WAIT_AFTER) != 0)
		rc = pc_wait(pc);
	return rc;
}

/* What is dirty stays: Linux begins to write it, and does not drop what is being written. */
int pc_dont_need(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len)
{
	pc_drop(inode, pos, len != 0 ? len : UINT64_MAX - pos);
	return pc_sync_range(t, inode, pos, len, RANGE_WRITE);
}

/* ---- open and close ---- */

int pc_opened(struct task *t, struct ek_inode *inode, bool writer)
{
	struct handle *h;
	int rc;

	inode->opens++;
	inode->writers += writer;
	if (t->img->sampled_open || !inode_is_file(inode))
		return 0;
	/* Linux notes the mount point in the superblock at the first open. */
	t->img->sampled_open = true;
	rc = task_start(t, HANDLE_MISC, 1, &h);
	if (rc < 0)
		return rc;
	rc = image_note_mount(t->img, h);
	return handle_end(h, rc);
}

int pc_closed(struct task *t, struct ek_inode *inode, bool writer)
{
	struct pagecache *pc = t->img->data.ctx;
	int rc = 0;

	if ((inode->state & INODE_STATE_DA_ALLOC_CLOSE) != 0) {
		inode->state &= ~(unsigned)INODE_STATE_DA_ALLOC_CLOSE;
		if (!t->img->opts.noauto_da_alloc)
			rc = data_alloc_delayed(inode);
	}
	if (writer && inode->writers == 1 && inode->reserved == 0) {
		count(pc->counters, COUNTER_DISCARD_PREALLOCATIONS, 1);
		mb_discard_inode(t->img->mb, &inode->mb);
	}
	inode->opens--;
	inode->writers -= writer;
	return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A commit, from the last handle's stop to the callbacks.
 *
 *  1. locked: ordered data is written, completions may still join;
 *  2. buffers are proven and sealed;
 *  3. the superblock says where the log begins, if it said that the log is empty;
 *  4. revoke blocks, then groups of a descriptor and the blocks it names;
 *  5. when all of that is written, the commit block with a flush before and after;
 *  6. the buffers wait for their checkpoint, callbacks run, the tail may move.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "io/bio.h"
#include "journal/logger.h"
#include "journal/tx.h"

/* ---- 1: ordered data ---- */

static int write_ordered(struct jnl *j, struct tx *tx)
{
	struct jnl_hooks *hooks = &j->cfg.hooks;
	int rc = 0;

	do {
		while (!list_empty(&tx->inodes)) {
			struct jnl_inode *ji = list_first(&tx->inodes, struct jnl_inode, link);
			int one;

			list_remove(&ji->link);
			ji->tx = NULL;
			jnl_count(j, COUNTER_SUBMIT_INODE_DATA, ji->writes);
			one = hooks->ordered != NULL ? hooks->ordered(hooks->ctx, ji) : 0;
			rc = rc != 0 ? rc : one;
		}
		/* Completions run in here, start handles and may order more. */
		bioq_wait(j->cfg.bioq);
	} while (rc >= 0 && !list_empty(&tx->inodes));
	return rc;
}

static int lock(struct jnl *j, struct tx *tx)
{
	int rc;

	j->phase = JNL_LOCKED;
	rc = write_ordered(j, tx);
	if (rc < 0)
		return rc;
	if (j->open != 0)
		return diag_set(j->cfg.diag, -EBUSY,
				"journal: a completion left its handle open in a commit");
	j->phase = JNL_LOGGING;
	if (j->cfg.hooks.locked != NULL)
		j->cfg.hooks.locked(j->cfg.hooks.ctx, tx->tid);
	return 0;
}

/* ---- 2 to 5: the log ---- */

static int seal_buffers(struct tx *tx)
{
	list_for_each (p, &tx->bufs) {
		int rc = buf_seal(list_entry(p, struct jbuf, link)->buf);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int begin_log(struct jnl *j, struct tx *tx)
{
	int rc;

	if (!j->super_stale)
		return 0;
	j->tail = j->head;
	j->tail_tid = tx->tid;
	rc = log_write_super(j, j->tail, j->tail_tid, 0);
	if (rc == 0)
		j->super_stale = false;
	return rc;
}

static int write_log(struct jnl *j, struct tx *tx, uint32_t *ret_logged)
{
	int rc = seal_buffers(tx);

	tx->log_start = j->head;
	if (rc == 0)
		rc = begin_log(j, tx);
	return rc < 0 ? rc : log_write_tx(j, tx, ret_logged);
}

/* ---- 6: after the commit ---- */

void tx_drop(struct jnl *j, struct tx *tx)
{
	list_remove(&tx->link);
	jnl_count(j, COUNTER_DROP_TRANSACTION, 1);
	pool_give(&j->txs, tx);
}

void tx_leave_committed(struct jnl *j, struct jbuf *jb)
{
	struct tx *old = jb->cp;

	if (old == NULL)
		return;
	list_remove(&jb->cp_link);
	jb->cp = NULL;
	if (list_empty(&old->cp)) {
		jnl_count(j, COUNTER_CHECKPOINT_STATS, 1);
		tx_drop(j, old);
	}
}

static void to_checkpoint(struct jnl *j, struct tx *tx)
{
	list_append(&j->committed, &tx->link);
	list_for_each_safe(p, &tx->bufs)
	{
		struct jbuf *jb = list_entry(p, struct jbuf, link);

		tx_leave_committed(j, jb);
		list_remove(&jb->link);
		jb->tx = NULL;
		jb->cp = tx;
		list_append(&tx->cp, &jb->cp_link);
		if (!jb->data) /* that is in the file's own folios */
			jnl_dirtied_home(j, jb->buf);
	}
	while (!list_empty(&tx->forgotten)) {
		struct jbuf *jb = list_first(&tx->forgotten, struct jbuf, link);

		tx_leave_committed(j, jb);
		jbuf_end(j, jb, true);
	}
	if (list_empty(&tx->cp))
		tx_drop(j, tx);
}

static void count_commit(struct jnl *j, const struct tx *tx, uint32_t logged)
{
	jnl_count(j, COUNTER_RUN_STATS, 1);
	jnl_count(j, COUNTER_TX_HANDLES, tx->handles);
	jnl_count(j, COUNTER_TX_BLOCKS, tx->buf_count);
	jnl_count(j, COUNTER_TX_BLOCKS_LOGGED, logged);
}

/* Callbacks may start handles, so they come when nothing of the commit is left to do. */
static int finish(struct jnl *j, struct tx *tx, uint32_t logged)
{
	struct list callbacks;
	int rc;

	list_init(&callbacks);
	list_insert_after(&tx->callbacks, &callbacks);
	list_remove(&tx->callbacks);
	j->committed_tid = tx->tid;
	j->running = NULL;
	j->phase = JNL_OPEN;
	count_commit(j, tx, logged);
	revokes_clear(&j->revokes);
	to_checkpoint(j, tx);
	rc = tx_move_tail(j, j->max_blocks, true);
	jnl_count(j, COUNTER_END_COMMIT, 1);
	jnl_call_back(&callbacks, 0);
	return rc < 0 ? rc : 1;
}

int tx_commit(struct jnl *j)
{
	struct tx *tx = j->running;
	uint32_t logged = 0;
	int rc;

	if (tx == NULL)
		return 0;
	if (j->open != 0 || j->phase != JNL_OPEN)
		return diag_set(j->cfg.diag, -EBUSY,
				"journal: transaction %u cannot commit while handles are open",
				tx->tid);
	if (jnl_usable(j) < 0)
		return -EROFS;
	jnl_count(j, COUNTER_START_COMMIT, 1);
	rc = lock(j, tx);
	if (rc >= 0)
		rc = write_log(j, tx, &logged);
	if (rc < 0) {
		j->phase = JNL_OPEN;
		jnl_abort(j, rc);
		jnl_call_back(&tx->callbacks, rc);
		return rc;
	}
	return finish(j, tx, logged);
}

/* ---- what callers see ---- */

int jnl_commit(struct jnl *j, uint32_t tid)
{
	int rc;

	if (!jnl_is_none(j) && (j->running == NULL || tid_after(j->running->tid, tid)))
		return j->error;
	rc = j->kind->commit(j);
	return rc < 0 ? rc : 0;
}

int jnl_commit_running(struct jnl *j)
{
	return j->kind->commit(j);
}

int jnl_tick(struct jnl *j)
{
	struct tx *tx = j->running;
	struct ek_time now;
	int64_t age;

	if (tx == NULL || j->open != 0)
		return 0;
	now = jnl_now(j);
	age = now.sec - tx->started.sec - (now.nsec < tx->started.nsec);
	return age < j->cfg.commit_interval ? 0 : j->kind->commit(j);
}

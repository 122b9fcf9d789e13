/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checkpoints: bringing home what is in the log, so that the log can be used again.
 *
 * A transaction whose buffers are all home is dropped from the list; the tail on disk follows when
 * a flush has made the home writes durable, and only then may its blocks of the log be written.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/mem.h"
#include "io/bio.h"
#include "journal/log.h"
#include "journal/tx.h"

static size_t cp_count(const struct tx *tx)
{
	size_t n = 0;

	list_for_each (p, &tx->cp)
		n++;
	return n;
}

static size_t collect(struct tx *tx, struct buf **out)
{
	size_t n = 0;

	list_for_each (p, &tx->cp)
		out[n++] = list_entry(p, struct jbuf, cp_link)->buf;
	return n;
}

/* Writes home what the first txs committed transactions hold and drops them. */
static int bring_home(struct jnl *j, size_t txs)
{
	struct list *p = j->committed.next;
	struct buf **bufs = NULL;
	size_t n = 0, cap = 0;
	int rc;

	for (size_t i = 0; i < txs; i++, p = p->next)
		n += cp_count(list_entry(p, struct tx, link));
	if (mem_grow((void **)&bufs, &cap, MAX(n, (size_t)1), sizeof(*bufs)) < 0)
		return diag_set(j->cfg.diag, -ENOMEM, "out of memory to sort %zu buffers", n);
	n = 0;
	p = j->committed.next;
	for (size_t i = 0; i < txs; i++, p = p->next)
		n += collect(list_entry(p, struct tx, link), bufs + n);
	j->phase = JNL_LOGGING;
	buf_sort(bufs, n);
	rc = jnl_write_bufs(j, bufs, n, BIO_META | BIO_SYNC);
	j->phase = JNL_OPEN;
	for (size_t i = 0; i < n && rc == 0; i++)
		jbuf_end(j, bufs[i]->jnl, false);
	for (size_t i = 0; i < txs && rc == 0; i++) {
		jnl_count(j, COUNTER_CHECKPOINT_STATS, 1);
		tx_drop(j, list_first(&j->committed, struct tx, link));
	}
	free(bufs);
	return rc < 0 ? jnl_abort(j, rc) : 0;
}

/* A buffer that the running transaction has changed again holds bytes that are not committed. */
static bool runs_again(const struct tx *tx)
{
	list_for_each (p, &tx->cp) {
		if (list_entry(p, struct jbuf, cp_link)->tx != NULL)
			return true;
	}
	return false;
}

/* Completions start handles: they come before the look at who runs again, and none is left to come
 * while buffers go home. */
int tx_checkpoint(struct jnl *j)
{
	bioq_wait(j->cfg.bioq);
	if (list_empty(&j->committed))
		return 0;
	if (runs_again(list_first(&j->committed, struct tx, link))) {
		int rc = tx_commit(j);

		/* Its buffers may have been all that the oldest one had left: look again. */
		return rc < 0 ? rc : tx_checkpoint(j);
	}
	return bring_home(j, 1);
}

int tx_move_tail(struct jnl *j, uint32_t least, bool flushed)
{
	struct tx *oldest;
	uint32_t to = j->head, tid = j->committed_tid + 1, freed;
	int rc = 0;

	if (!list_empty(&j->committed)) {
		oldest = list_first(&j->committed, struct tx, link);
		to = oldest->log_start;
		tid = oldest->tid;
	}
	if (j->super_stale || tid == j->tail_tid)
		return 0;
	freed = to >= j->tail ? to - j->tail : to + (j->last - j->first) - j->tail;
	if (freed == 0) /* all of it: the ring was full */
		freed = j->last - j->first;
	if (freed < least)
		return 0;
	if (!flushed)
		rc = jnl_flush(j);
	if (rc == 0)
		rc = log_write_super(j, to, tid, BIO_FUA);
	if (rc < 0)
		return jnl_abort(j, rc);
	jnl_count(j, COUNTER_UPDATE_LOG_TAIL, 1);
	j->tail = to;
	j->tail_tid = tid;
	j->free += freed;
	return 0;
}

/* One step towards room: what is home already, else what is oldest, else what runs. */
static int free_some(struct jnl *j)
{
	uint32_t before = j->free;
	int rc = tx_move_tail(j, 1, false);

	if (rc < 0 || j->free != before)
		return rc;
	if (!list_empty(&j->committed))
		return tx_checkpoint(j);
	rc = tx_commit(j);
	return rc == 0 ? -ENOSPC : MIN(rc, 0);
}

int tx_make_room(struct jnl *j)
{
	while (j->free < j->max_blocks) {
		int rc = free_some(j);

		if (rc < 0)
			return diag_set(j->cfg.diag, rc, "journal: no room in a log of %u blocks",
					j->last - j->first);
	}
	return 0;
}

static int checkpoint_all(struct jnl *j)
{
	size_t n = 0;

	do {
		int rc = tx_commit(j);

		if (rc < 0)
			return rc;
		bioq_wait(j->cfg.bioq);
	} while (j->running != NULL);
	list_for_each (p, &j->committed)
		n++;
	return n != 0 ? bring_home(j, n) : 0;
}

int jnl_checkpoint(struct jnl *j, bool all)
{
	int rc;

	if (jnl_is_none(j))
		return j->kind->commit(j);
	if (j->open != 0 || j->phase != JNL_OPEN)
		return diag_set(j->cfg.diag, -EBUSY, "journal: handles are open at a checkpoint");
	rc = jnl_usable(j);
	if (rc == 0)
		rc = all ? checkpoint_all(j) : tx_checkpoint(j);
	return rc < 0 ? rc : tx_move_tail(j, 1, false);
}

/* The buffers that are not home and that nobody has changed since. */
static size_t collect_settled(struct jnl *j, struct buf **out)
{
	size_t n = 0;

	list_for_each (p, &j->committed) {
		list_for_each (q, &list_entry(p, struct tx, link)->cp) {
			struct jbuf *jb = list_entry(q, struct jbuf, cp_link);

			if (jb->tx != NULL)
				continue;
			if (out != NULL)
				out[n] = jb->buf;
			n++;
		}
	}
	return n;
}

/* Transactions that have nothing left to bring home, from the oldest on. */
static void drop_done(struct jnl *j)
{
	while (!list_empty(&j->committed)) {
		struct tx *tx = list_first(&j->committed, struct tx, link);

		if (!list_empty(&tx->cp))
			break;
		jnl_count(j, COUNTER_CHECKPOINT_STATS, 1);
		tx_drop(j, tx);
	}
}

int jnl_write_home(struct jnl *j, bool waits)
{
	struct buf **bufs = NULL;
	size_t n, cap = 0;
	int rc;

	if (jnl_is_none(j))
		return none_write_home(j);
	if (j->open != 0 || j->phase != JNL_OPEN)
		return diag_set(j->cfg.diag, -EBUSY, "journal: handles are open at a sync");
	if (jnl_usable(j) < 0)
		return jnl_usable(j);
	bioq_wait(j->cfg.bioq);
	n = collect_settled(j, NULL);
	if (mem_grow((void **)&bufs, &cap, MAX(n, (size_t)1), sizeof(*bufs)) < 0)
		return diag_set(j->cfg.diag, -ENOMEM, "out of memory to sort %zu buffers", n);
	collect_settled(j, bufs);
	j->phase = JNL_LOGGING;
	buf_sort(bufs, n);
	rc = jnl_write_bufs(j, bufs, n, waits ? BIO_META | BIO_SYNC : BIO_META);
	j->phase = JNL_OPEN;
	for (size_t i = 0; i < n && rc == 0; i++)
		jbuf_end(j, bufs[i]->jnl, false);
	free(bufs);
	if (rc < 0)
		return jnl_abort(j, rc);
	drop_done(j);
	jnl_clean_home(j);
	return 0;
}

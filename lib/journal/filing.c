/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which buffers belong to which transaction.
 *
 * A buffer has one record as long as a transaction needs it.  It may be in the running transaction
 * and, at the same time, in the youngest committed one that is not home: then its bytes are those
 * of the running one, and it cannot go home before that has committed.
 */
#include <errno.h>

#include "base/diag.h"
#include "journal/tx.h"

static struct jbuf *record_of(struct jnl *j, struct buf *b)
{
	struct jbuf *jb = b->jnl;

	if (jb != NULL)
		return jb;
	jb = pool_take(&j->jbufs);
	if (jb == NULL)
		return NULL;
	jb->buf = buf_ref(b);
	list_init(&jb->link);
	list_init(&jb->cp_link);
	b->jnl = jb;
	b->flags |= BUF_PINNED;
	return jb;
}

void jbuf_end(struct jnl *j, struct jbuf *jb, bool discard)
{
	struct buf *b = jb->buf;
	bool data = jb->data;

	list_remove(&jb->link);
	list_remove(&jb->cp_link);
	pool_give(&j->jbufs, jb);
	b->jnl = NULL;
	b->flags &= ~(unsigned)BUF_PINNED;
	buf_put(b);
	if (discard || data)
		buf_forget(b);
}

static int fail(struct handle *h, int code)
{
	diag_set(h->jnl->cfg.diag, code,
		 code == -ENOMEM ? "out of memory for a transaction's buffer (%s)"
				 : "journal: handle of type %s used up its credits",
		 handle_names[h->type]);
	h->error = jnl_abort(h->jnl, code);
	return code;
}

/* From here on the running transaction owns the bytes.  Commits run while no handle is open, so
 * none can still be reading b for the log; otherwise this is where it would be left its own copy.
 */
static void file(struct handle *h, struct jbuf *jb)
{
	struct buf *b = jb->buf;

	list_remove(&jb->link);
	list_append(&h->tx->bufs, &jb->link);
	jb->tx = h->tx;
	jb->forgotten = false;
	h->tx->buf_count++;
	h->tx->promised--;
	h->credits--;
	h->dirtied++;
	revokes_cancel(&h->jnl->revokes, b->pblk.v);
	buf_taken(b);
}

int tx_dirty(struct handle *h, struct buf *b)
{
	struct jbuf *jb = b->jnl;

	if (jb == NULL || jb->tx != h->tx || jb->forgotten) {
		if (h->credits == 0)
			return fail(h, -ENOSPC);
		jb = record_of(h->jnl, b);
		if (jb == NULL)
			return fail(h, -ENOMEM);
		file(h, jb);
	}
	b->flags |= BUF_SEAL;
	return 0;
}

static int revoke(struct handle *h, uint64_t block)
{
	struct jnl *j = h->jnl;

	if (revokes_find(&j->revokes, block) != NULL)
		return 0;
	if (h->revoke_credits == 0) {
		if (h->credits == 0)
			return fail(h, -ENOSPC);
		h->credits--;
		h->revokes += j->records;
		h->revoke_credits = j->records;
	}
	if (revokes_add(&j->revokes, block, h->tx->tid) < 0)
		return fail(h, -ENOMEM);
	h->revoke_credits--;
	return 0;
}

/* Takes b out of the running transaction; when an older one still has it, that one loses it only
 * together with the commit of the running one. */
static void unfile(struct handle *h, struct jbuf *jb)
{
	struct jnl *j = h->jnl;

	if (jb->tx != NULL && !jb->forgotten) {
		h->tx->buf_count--;
		h->tx->promised++;
		h->credits++;
		h->dirtied -= h->dirtied != 0;
	}
	if (jb->cp == NULL) {
		jbuf_end(j, jb, true);
		return;
	}
	list_remove(&jb->link);
	list_append(&h->tx->forgotten, &jb->link);
	jb->tx = h->tx;
	jb->forgotten = true;
	buf_forget(jb->buf);
}

int tx_forget(struct handle *h, struct buf *b, ek_pblk pblk)
{
	int rc = revoke(h, pblk.v);

	if (b != NULL)
		buf_put(b);
	else
		b = buf_find(h->jnl->cfg.cache, pblk);
	if (rc < 0 || b == NULL)
		return rc;
	if (b->jnl != NULL)
		unfile(h, b->jnl);
	else
		buf_forget(b);
	return 0;
}

int tx_order(struct handle *h, struct jnl_inode *ji, uint64_t start, uint64_t end, bool wait_only)
{
	ji->writes = ji->writes || !wait_only;
	if (ji->tx != h->tx) {
		list_append(&h->tx->inodes, &ji->link);
		ji->tx = h->tx;
		ji->start = start;
		ji->end = end;
		return 0;
	}
	ji->start = MIN(ji->start, start);
	ji->end = MAX(ji->end, end);
	return 0;
}

void jnl_unorder(struct jnl *j, struct jnl_inode *ji)
{
	if (ji->tx == NULL)
		return;
	list_remove(&ji->link);
	ji->tx = NULL;
}

void tx_callback(struct handle *h, struct jnl_callback *cb)
{
	list_append(&h->tx->callbacks, &cb->link);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * File data in the log: a block of them is a buffer of the transaction, like metadata, that leaves
 * the cache when it is home.  Until then the cache's copy is the newest one there is.
 */
#include <string.h>

#include "journal/tx.h"

static struct jbuf *record_at(const struct jnl *j, ek_pblk pblk)
{
	struct buf *b = buf_find(j->cfg.cache, pblk);

	return b != NULL ? b->jnl : NULL;
}

/* The buffer is overwritten as a whole: what the device has need not be read. */
static int buffer_at(struct jnl *j, struct buf_owner owner, ek_pblk pblk, struct buf **ret)
{
	return record_at(j, pblk) != NULL ? buf_get(j->cfg.cache, pblk, &verify_any, owner, ret)
					  : buf_new(j->cfg.cache, pblk, &verify_any, owner, ret);
}

int handle_log_data(struct handle *h, struct buf_owner owner, ek_pblk pblk, const void *bytes)
{
	struct buf *b;
	void *view;
	int rc = h->error != 0 ? h->error : buffer_at(h->jnl, owner, pblk, &b);

	if (rc < 0)
		return rc;
	rc = handle_write(h, b, &view);
	if (rc == 0) {
		memcpy(view, bytes, b->size);
		rc = handle_dirty(h, b);
	}
	if (rc == 0 && b->jnl != NULL)
		((struct jbuf *)b->jnl)->data = true;
	buf_put(b);
	return rc;
}

enum jnl_place jnl_data_place(const struct jnl *j, ek_pblk pblk)
{
	const struct jbuf *jb = record_at(j, pblk);

	if (jb == NULL || (jb->tx == NULL && jb->cp == NULL))
		return JNL_HOME;
	return jb->tx != NULL ? JNL_RUNS : JNL_LOGGED;
}

void jnl_data_home(struct jnl *j, ek_pblk pblk)
{
	struct jbuf *jb = record_at(j, pblk);

	if (jb == NULL || jb->tx != NULL || !jb->data)
		return;
	tx_leave_committed(j, jb);
	jbuf_end(j, jb, true);
}

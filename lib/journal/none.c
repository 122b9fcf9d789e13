/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The journal of images that have none: dirty buffers go to the cache's list at once, and what a
 * transaction would do at its end happens when the last open handle stops.
 */
#include <stdint.h>

#include "journal/jnl.h"

static int none_join(struct handle *h, unsigned reserved)
{
	return 0;
}

static void none_leave(struct handle *h)
{
	if (h->jnl->open == 0)
		jnl_call_back(&h->jnl->waiting, 0);
}

static int none_extend(struct handle *h, unsigned credits, unsigned blocks)
{
	return 0;
}

static int none_dirty(struct handle *h, struct buf *b)
{
	h->dirtied += (b->flags & BUF_DIRTY) == 0;
	buf_dirty(b);
	return 0;
}

static int none_forget(struct handle *h, struct buf *b, ek_pblk pblk)
{
	if (b == NULL)
		b = buf_find(h->jnl->cfg.cache, pblk);
	else
		buf_put(b);
	if (b != NULL)
		buf_forget(b);
	return 0;
}

static int none_order(struct handle *h, struct jnl_inode *ji, uint64_t start, uint64_t end,
		      bool wait_only)
{
	return 0;
}

static void none_callback(struct handle *h, struct jnl_callback *cb)
{
	list_append(&h->jnl->waiting, &cb->link);
}

static int none_commit(struct jnl *j)
{
	int rc = buf_flush(j->cfg.cache);

	return rc < 0 ? rc : 0;
}

static int none_close(struct jnl *j)
{
	int rc = j->cfg.read_only ? 0 : none_commit(j);

	jnl_call_back(&j->waiting, rc);
	jnl_free(j);
	return rc;
}

static const struct jnl_kind kind_none = {
    .join = none_join,
    .leave = none_leave,
    .extend = none_extend,
    .dirty = none_dirty,
    .forget = none_forget,
    .order = none_order,
    .callback = none_callback,
    .commit = none_commit,
    .close = none_close,
};

int jnl_open_none(const struct jnl_config *cfg, struct jnl **ret)
{
	return jnl_new(cfg, &kind_none, ret);
}

bool jnl_is_none(const struct jnl *j)
{
	return j->kind == &kind_none;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The journal of images that have none: dirty buffers go to the cache's list at once, and what a
 * transaction would do at its end happens when the last open handle stops.
 */
#include <stdint.h>
#include <stdlib.h>

#include "io/bio.h"
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
	if ((b->flags & BUF_DIRTY) == 0) {
		h->dirtied++;
		jnl_dirtied_home(h->jnl, b);
	}
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

/* Completions start handles: they come before the look at what is dirty, and none is left to come
 * while buffers are on their way. */
static int write_dirty(struct jnl *j, uint32_t ino)
{
	struct buf **bufs;
	size_t n;
	int rc;

	bioq_wait(j->cfg.bioq);
	if (!buf_any_dirty(j->cfg.cache))
		return 0;
	rc = buf_collect(j->cfg.cache, ino, &bufs, &n);
	if (rc < 0)
		return rc;
	rc = n != 0 ? jnl_write_bufs(j, bufs, n, BIO_SYNC) : 0;
	for (size_t i = 0; i < n && rc == 0; i++)
		buf_clean(bufs[i]);
	free(bufs);
	return rc;
}

int jnl_write_owned(struct jnl *j, uint32_t ino)
{
	return write_dirty(j, ino);
}

int jnl_write_one(struct jnl *j, struct buf *b)
{
	int rc;

	bioq_wait(j->cfg.bioq);
	if ((b->flags & BUF_DIRTY) == 0)
		return 0;
	rc = buf_seal(b);
	if (rc == 0)
		rc = jnl_write_bufs(j, &b, 1, BIO_SYNC);
	if (rc == 0)
		buf_clean(b);
	return rc;
}

int none_write_home(struct jnl *j)
{
	int rc = j->cfg.bioq != NULL ? write_dirty(j, BUF_OF_ALL) : buf_flush(j->cfg.cache);

	if (rc == 0)
		jnl_clean_home(j);
	return rc;
}

static int none_commit(struct jnl *j)
{
	return none_write_home(j);
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
	const struct geom *g = buf_cache_geom(cfg->cache);
	int rc = jnl_new(cfg, &kind_none, ret);

	if (rc == 0) {
		(*ret)->block_bits = g->block_bits;
		(*ret)->block_size = g->block_size;
	}
	return rc;
}

bool jnl_is_none(const struct jnl *j)
{
	return j->kind == &kind_none;
}

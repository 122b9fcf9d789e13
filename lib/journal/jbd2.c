/* SPDX-License-Identifier: BSD-2-Clause */
/* The journal of kind jbd2: opening, making and ending a log. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/mem.h"
#include "io/bio.h"
#include "journal/fast.h"
#include "journal/log.h"
#include "journal/tx.h"

/* Buffers of transactions that will never go anywhere: the cache gets them back, as they are. */
static void release(struct jnl *j, struct tx *tx)
{
	while (!list_empty(&tx->bufs)) {
		struct jbuf *jb = list_first(&tx->bufs, struct jbuf, link);

		if (jb->cp != NULL)
			list_remove(&jb->link);
		else
			jbuf_end(j, jb, false);
	}
	while (!list_empty(&tx->inodes)) {
		struct jnl_inode *ji = list_first(&tx->inodes, struct jnl_inode, link);

		list_remove(&ji->link);
		ji->tx = NULL;
	}
	jnl_call_back(&tx->callbacks, j->error != 0 ? j->error : -ECANCELED);
}

void jnl_kill(struct jnl *j)
{
	if (j == NULL)
		return;
	jnl_call_back(&j->waiting, -ECANCELED);
	if (j->running != NULL)
		release(j, j->running);
	while (!list_empty(&j->committed)) {
		struct tx *tx = list_first(&j->committed, struct tx, link);

		while (!list_empty(&tx->cp))
			jbuf_end(j, list_first(&tx->cp, struct jbuf, cp_link), false);
		list_remove(&tx->link);
	}
	jnl_free(j);
}

/* The next transaction's number; not that of fast commits which nobody applied, or the area would
 * have some for it. */
static uint32_t next_tid(const struct jnl *j)
{
	return j->next_tid + (j->fast != NULL && j->next_tid == j->fast->tid);
}

/* Everything is home: says so on disk, unless the disk says so already. */
static int mark_empty(struct jnl *j)
{
	int rc;

	if (j->super_stale)
		return 0;
	rc = jnl_flush(j);
	if (rc == 0)
		rc = log_write_super(j, 0, next_tid(j), BIO_FUA);
	return rc < 0 ? jnl_abort(j, rc) : 0;
}

static int jbd2_close(struct jnl *j)
{
	int rc = j->error;

	if (rc == 0 && !j->cfg.read_only && !j->dirty) {
		rc = jnl_checkpoint(j, true);
		if (rc >= 0)
			rc = mark_empty(j);
	}
	jnl_kill(j);
	return rc;
}

static const struct jnl_kind kind_jbd2 = {
    .join = tx_join,
    .leave = tx_leave,
    .extend = tx_extend,
    .dirty = tx_dirty,
    .forget = tx_forget,
    .order = tx_order,
    .callback = tx_callback,
    .commit = tx_commit,
    .close = jbd2_close,
};

static int make(const struct jnl_config *cfg, struct jnl **ret)
{
	const struct geom *g = buf_cache_geom(cfg->cache);
	struct jnl *j;
	int rc = jnl_new(cfg, &kind_jbd2, &j);

	if (rc < 0)
		return rc;
	j->block_bits = g->block_bits;
	j->block_size = g->block_size;
	j->super = mem_aligned(4096, j->block_size);
	if (j->super == NULL) {
		jnl_free(j);
		return diag_set(cfg->diag, -ENOMEM, "out of memory for the journal superblock");
	}
	memset(j->super, 0, j->block_size);
	*ret = j;
	return 0;
}

int jnl_open(const struct jnl_config *cfg, struct jnl **ret)
{
	struct jnl *j;
	int rc = make(cfg, &j);

	if (rc < 0)
		return rc;
	rc = log_open(j);
	if (rc < 0) {
		jnl_free(j);
		return rc;
	}
	*ret = j;
	return 0;
}

int jnl_format(const struct jnl_config *cfg, uint32_t incompat, const uint8_t uuid[16],
	       uint32_t fc_blocks)
{
	struct jnl *j;
	int rc = make(cfg, &j);

	if (rc < 0)
		return rc;
	rc = log_format(j, incompat, uuid, fc_blocks);
	jnl_free(j);
	return rc;
}

bool jnl_dirty(const struct jnl *j)
{
	return j->dirty;
}

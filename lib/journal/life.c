/* SPDX-License-Identifier: BSD-2-Clause */
/* What all kinds of journals share: making, giving up and freeing one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/mem.h"
#include "io/bio.h"
#include "journal/replay.h"

static int copy_runs(struct jnl *j, const struct jnl_config *cfg)
{
	struct jnl_run *runs;

	j->cfg.runs = NULL;
	if (cfg->run_count == 0)
		return 0;
	runs = mem_array(cfg->run_count, sizeof(*runs), MEM_CAP, cfg->diag);
	if (runs == NULL)
		return -ENOMEM;
	memcpy(runs, cfg->runs, cfg->run_count * sizeof(*runs));
	j->cfg.runs = runs;
	return 0;
}

int jnl_new(const struct jnl_config *cfg, const struct jnl_kind *kind, struct jnl **ret)
{
	struct jnl *j = mem_zero(sizeof(*j));

	if (j == NULL)
		return diag_set(cfg->diag, -ENOMEM, "out of memory for the journal");
	j->kind = kind;
	j->cfg = *cfg;
	if (cfg->counters == NULL)
		j->cfg.counters = &j->own;
	j->handles.size = sizeof(struct handle);
	j->txs.size = sizeof(struct tx);
	j->jbufs.size = sizeof(struct jbuf);
	j->revokes.pool.size = sizeof(struct revoke);
	list_init(&j->waiting);
	list_init(&j->committed);
	list_init(&j->revokes.order);
	if (copy_runs(j, cfg) < 0) {
		free(j);
		return -ENOMEM;
	}
	*ret = j;
	return 0;
}

void jnl_free(struct jnl *j)
{
	hash_free(&j->revokes.by_block);
	pool_end(&j->revokes.pool);
	pool_end(&j->handles);
	pool_end(&j->txs);
	pool_end(&j->jbufs);
	fast_free(j->fast);
	free(j->super);
	free(j->arena);
	free((void *)j->group);
	free((void *)j->cfg.runs);
	free(j);
}

int jnl_usable(struct jnl *j)
{
	if (j->error != 0)
		return diag_set(j->cfg.diag, -EROFS,
				"journal: no changes after an earlier failure: %s",
				strerror(-j->error));
	if (j->cfg.read_only)
		return diag_set(j->cfg.diag, -EROFS, "journal: open for reading only");
	if (j->dirty)
		return diag_set(j->cfg.diag, -EROFS, "journal: not recovered yet");
	return 0;
}

int jnl_abort(struct jnl *j, int error)
{
	if (j->error == 0) {
		j->error = error;
		if (j->cfg.hooks.aborted != NULL)
			j->cfg.hooks.aborted(j->cfg.hooks.ctx, error);
	}
	return error;
}

struct ek_time jnl_now(struct jnl *j)
{
	return j->cfg.hooks.now != NULL ? j->cfg.hooks.now(j->cfg.hooks.ctx) : (struct ek_time){0};
}

void jnl_call_back(struct list *callbacks, int error)
{
	while (!list_empty(callbacks)) {
		struct jnl_callback *cb = list_first(callbacks, struct jnl_callback, link);

		list_remove(&cb->link);
		cb->done(cb, error);
	}
}

static void wrote(void *ctx, int result)
{
	struct jnl *j = ctx;

	if (result < 0 && j->io_error == 0)
		j->io_error = result;
}

static int put(struct jnl *j, struct bioq *q, uint64_t place, const void *data, unsigned flags)
{
	struct iovec iov = {(void *)data, j->block_size};

	return bioq_write(q, place, &iov, data != NULL, flags, wrote, j);
}

int jnl_write(struct jnl *j, uint64_t place, const void *data, unsigned flags)
{
	return put(j, j->cfg.bioq, place, data, flags);
}

int jnl_write_log(struct jnl *j, uint64_t place, const void *data, unsigned flags)
{
	return put(j, jnl_external(j) ? j->cfg.log_bioq : j->cfg.bioq, place, data, flags);
}

int jnl_write_bufs(struct jnl *j, struct buf **bufs, size_t n, unsigned flags)
{
	int rc = 0, done;

	bioq_plug(j->cfg.bioq);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = jnl_write(j, bufs[i]->pblk.v << j->block_bits, bufs[i]->data, flags);
	bioq_unplug(j->cfg.bioq);
	done = jnl_wait(j);
	return rc < 0 ? rc : done;
}

void jnl_dirtied_home(struct jnl *j, struct buf *b)
{
	if (!buf_dirties_page(b))
		return;
	jnl_count(j, COUNTER_DIRTY_FOLIO, 1);
	if (j->home_since.sec == 0 && j->home_since.nsec == 0)
		j->home_since = jnl_now(j);
}

void jnl_clean_home(struct jnl *j)
{
	buf_pages_clean(j->cfg.cache);
	j->home_since = (struct ek_time){0};
}

struct ek_time jnl_home_since(const struct jnl *j)
{
	return j->home_since;
}

int jnl_wait(struct jnl *j)
{
	int rc;

	bioq_wait(j->cfg.bioq);
	if (jnl_external(j))
		bioq_wait(j->cfg.log_bioq);
	rc = j->io_error;
	j->io_error = 0;
	return rc;
}

int jnl_flush(struct jnl *j)
{
	int rc = jnl_wait(j);

	if (rc == 0)
		rc = jnl_write(j, 0, NULL, BIO_PREFLUSH | BIO_SYNC);
	return rc < 0 ? rc : jnl_wait(j);
}

int jnl_error(const struct jnl *j)
{
	return j->error;
}

int jnl_close(struct jnl *j)
{
	return j == NULL ? 0 : j->kind->close(j);
}

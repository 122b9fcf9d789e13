/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles: how a change joins a transaction and leaves it.
 *
 * A handle asks for blocks, for revoke records (which cost blocks too, a block for a block full of
 * them) and perhaps for a reserved child, which later joins without waiting.  What it did not use
 * goes back when it stops.
 */
#include <errno.h>

#include "base/check.h"
#include "base/diag.h"
#include "io/dev.h"
#include "journal/jnl.h"

static struct handle *take(struct jnl *j, enum handle_type type, unsigned credits)
{
	struct handle *h = pool_take(&j->handles);

	if (h == NULL) {
		diag_set(j->cfg.diag, -ENOMEM, "out of memory for a journal handle");
		return NULL;
	}
	h->jnl = j;
	h->type = type;
	h->credits = credits;
	h->requested = credits;
	return h;
}

static struct handle *take_reserved(struct jnl *j, enum handle_type type, unsigned credits)
{
	struct handle *h = take(j, type, credits);

	if (h != NULL) {
		h->is_reserved = true;
		j->reserved += credits;
	}
	return h;
}

static uint64_t failures(const struct jnl *j)
{
	return __atomic_load_n(&buf_cache_dev(j->cfg.cache)->stats.failures, __ATOMIC_RELAXED);
}

static void begin(struct handle *h, struct jnl_user *user)
{
	struct jnl *j = h->jnl;

	h->refs = 1;
	h->user = user;
	h->failures = failures(j);
	user->current = h;
	j->open++;
	if (h->tx == NULL)
		return;
	jnl_count(j, COUNTER_HANDLE_START, 1);
	j->cfg.counters->handles[h->type]++;
}

static void drop(struct handle *h)
{
	if (h->reserved != NULL)
		handle_free_reserved(h->reserved);
	pool_give(&h->jnl->handles, h);
}

int handle_start(struct jnl *j, struct jnl_user *user, enum handle_type type, unsigned credits,
		 unsigned rsv_credits, unsigned revokes, struct handle **ret)
{
	struct handle *h = user->current;
	int rc;

	if (h != NULL) {
		h->refs++;
		jnl_count(j, COUNTER_NESTED_JOINS, 1);
		*ret = h;
		return 0;
	}
	rc = jnl_usable(j);
	if (rc < 0)
		return rc;
	h = take(j, type, credits);
	if (h == NULL)
		return -ENOMEM;
	h->revokes = revokes;
	h->revoke_credits = revokes;
	h->requested += jnl_revoke_blocks(j, revokes);
	rc = j->kind->join(h, rsv_credits);
	if (rc < 0) {
		drop(h);
		return rc;
	}
	begin(h, user);
	if (rsv_credits != 0) {
		h->reserved = take_reserved(j, type, rsv_credits);
		if (h->reserved == NULL) {
			handle_stop(h);
			return -ENOMEM;
		}
	}
	*ret = h;
	return 0;
}

struct handle *handle_take_reserved(struct handle *h)
{
	struct handle *child = h->reserved;

	h->reserved = NULL;
	return child;
}

void handle_free_reserved(struct handle *h)
{
	h->jnl->reserved -= h->credits;
	pool_give(&h->jnl->handles, h);
}

int handle_start_reserved(struct handle *h, struct jnl_user *user, enum handle_type type)
{
	int rc = jnl_usable(h->jnl);

	if (rc < 0)
		return rc;
	if (user->current != NULL)
		return diag_set(h->jnl->cfg.diag, -EINVAL,
				"journal: a reserved handle cannot start within another one");
	h->type = type;
	rc = h->jnl->kind->join(h, 0);
	if (rc < 0)
		return rc;
	h->jnl->reserved -= h->credits;
	h->is_reserved = false;
	begin(h, user);
	return 0;
}

int handle_extend(struct handle *h, unsigned credits, unsigned revokes)
{
	struct jnl *j = h->jnl;
	unsigned blocks;
	int rc;

	if (h->error != 0)
		return h->error;
	blocks = jnl_revoke_blocks(j, h->revokes + revokes) - jnl_revoke_blocks(j, h->revokes);
	rc = j->kind->extend(h, credits, blocks);
	if (rc != 0)
		return rc;
	h->credits += credits;
	h->requested += credits + blocks;
	h->revokes += revokes;
	h->revoke_credits += revokes;
	return 0;
}

/* Ends h's part in its transaction, which may be committed by this. */
static void leave(struct handle *h)
{
	h->jnl->open--;
	h->jnl->kind->leave(h);
	h->tx = NULL;
}

int handle_restart(struct handle *h, unsigned credits, unsigned revokes)
{
	struct jnl *j = h->jnl;
	int rc;

	if (h->error != 0)
		return h->error;
	if (jnl_is_none(j))
		return 0;
	if (j->fast != NULL) /* they are void as soon as this transaction commits */
		return h->error = jnl_abort(j, -ENOSPC);
	h->tx->wanted = true;
	leave(h);
	h->credits = credits;
	h->revokes = revokes;
	h->revoke_credits = revokes;
	h->requested = credits + jnl_revoke_blocks(j, revokes);
	h->dirtied = 0;
	h->changed = false;
	rc = jnl_usable(j);
	if (rc == 0)
		rc = j->kind->join(h, 0);
	j->open++;
	if (rc < 0)
		h->error = rc;
	else
		jnl_count(j, COUNTER_HANDLE_RESTART, 1);
	return rc;
}

int handle_stop(struct handle *h)
{
	struct jnl *j = h->jnl;
	int rc = h->error;

	if (--h->refs > 0)
		return rc;
	if (h->tx != NULL) {
		h->tx->wanted |= h->sync;
		jnl_count(j, COUNTER_HANDLE_STATS, 1);
		jnl_count(j, COUNTER_HS_REQUESTED, h->requested);
		jnl_count(j, COUNTER_HS_DIRTIED, h->dirtied);
	}
	h->user->current = NULL;
	leave(h);
	drop(h);
	return rc != 0 ? rc : j->error;
}

/* Refusals: the operation was wrong or too large, and is undone by those who tried it.  What looks
 * like one may come from the device, above all -ENOSPC, and nobody takes that back. */
static bool is_refusal(const struct handle *h, int rc)
{
	static const int list[] = {ENOSPC,  EDQUOT, EEXIST,    ENOENT, ENODATA,
				   ERANGE,  EINVAL, EPERM,     EMLINK, ENAMETOOLONG,
				   ENOTDIR, EISDIR, ENOTEMPTY, EFBIG,  EOPNOTSUPP};

	for (unsigned i = 0; i < ARRAY_SIZE(list); i++) {
		if (rc == -list[i])
			return failures(h->jnl) == h->failures;
	}
	return false;
}

int handle_spoil(struct handle *h, int rc)
{
	if (rc < 0 && h->changed && !is_refusal(h, rc))
		jnl_abort(h->jnl, rc);
	return rc;
}

int handle_end(struct handle *h, int rc)
{
	int end;

	handle_spoil(h, rc);
	end = handle_stop(h);
	return rc < 0 ? rc : end;
}

int handle_write(struct handle *h, struct buf *b, void **ret)
{
	if (h->error != 0)
		return h->error;
	b->hint = 0;
	*ret = b->data;
	return 0;
}

int handle_create(struct handle *h, struct buf *b, void **ret)
{
	return handle_write(h, b, ret);
}

int handle_dirty(struct handle *h, struct buf *b)
{
	h->changed = true;
	return h->error != 0 ? h->error : h->jnl->kind->dirty(h, b);
}

int handle_again(struct handle *h)
{
	h->changed = true;
	return h->error;
}

int handle_forget(struct handle *h, struct buf *b, ek_pblk pblk)
{
	if (h->error != 0) {
		buf_put(b);
		return h->error;
	}
	h->changed = true;
	return h->jnl->kind->forget(h, b, pblk);
}

int handle_order(struct handle *h, struct jnl_inode *ji, uint64_t start, uint64_t end,
		 bool wait_only)
{
	return h->error != 0 ? h->error : h->jnl->kind->order(h, ji, start, end, wait_only);
}

void handle_callback(struct handle *h, struct jnl_callback *cb)
{
	h->jnl->kind->callback(h, cb);
}

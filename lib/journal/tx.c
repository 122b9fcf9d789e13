/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The running transaction: who may join it and how much room is left.
 *
 * A transaction has room for max_credits blocks.  Taken are the blocks filed with it, those
 * promised to open handles, those its revoke records will fill, and those of reserved handles that
 * may join any time.
 */
#include "journal/tx.h"

#include <errno.h>

#include "base/diag.h"
#include "io/bio.h"

uint32_t tx_taken(const struct jnl *j)
{
	uint32_t n = j->reserved;

	if (j->running != NULL)
		n += j->running->buf_count + j->running->promised +
		     jnl_revoke_blocks(j, j->revokes.count);
	return n;
}

static unsigned promise(const struct handle *h)
{
	return h->credits + jnl_revoke_blocks(h->jnl, h->revokes);
}

static int new_tx(struct jnl *j)
{
	struct tx *tx = pool_take(&j->txs);

	if (tx == NULL)
		return diag_set(j->cfg.diag, -ENOMEM, "out of memory for a transaction");
	tx->jnl = j;
	tx->tid = j->next_tid++;
	tx->started = jnl_now(j);
	list_init(&tx->link);
	list_init(&tx->bufs);
	list_init(&tx->forgotten);
	list_init(&tx->inodes);
	list_init(&tx->callbacks);
	list_init(&tx->cp);
	j->running = tx;
	return 0;
}

static int too_much(struct handle *h, unsigned reserved)
{
	struct jnl *j = h->jnl;
	uint64_t want = (uint64_t)promise(h) + reserved;

	if (want <= j->max_credits && reserved <= j->max_credits / 2)
		return 0;
	return diag_set(j->cfg.diag, -ENOSPC,
			"journal too small: %s wants %llu blocks (%u reserved), a transaction has "
			"%u",
			handle_names[h->type], (unsigned long long)want, reserved, j->max_credits);
}

/* Reserved handles wait for data that is on its way: the end of the writes sets them free. */
static int wait_for_reserved(struct jnl *j, unsigned reserved)
{
	if (reserved == 0 || j->reserved + reserved <= j->max_credits / 2)
		return 0;
	if (j->phase == JNL_OPEN)
		bioq_wait(j->cfg.bioq);
	if (j->reserved + reserved <= j->max_credits / 2)
		return 0;
	return diag_set(j->cfg.diag, -EBUSY,
			"journal: %u blocks are reserved and %u more wanted, of at most %u",
			j->reserved, reserved, j->max_credits / 2);
}

/* Ends the running transaction when need more blocks do not fit, or when the log has no room for a
 * transaction of full size. */
static int make_fit(struct jnl *j, uint64_t need)
{
	bool may_commit = j->open == 0 && j->phase == JNL_OPEN;
	int rc = 0;

	if (may_commit && j->free < j->max_blocks)
		rc = tx_make_room(j);
	if (rc == 0 && may_commit && j->running != NULL && tx_taken(j) + need > j->max_credits)
		rc = tx_commit(j);
	if (rc >= 0 && j->running == NULL && j->free < j->max_blocks)
		rc = tx_make_room(j);
	if (rc < 0)
		return rc;
	if (tx_taken(j) + need > j->max_credits)
		return diag_set(j->cfg.diag, -EBUSY,
				"journal: transaction is full (%u of %u blocks) while handles are "
				"open",
				tx_taken(j), j->max_credits);
	return 0;
}

int tx_join(struct handle *h, unsigned reserved)
{
	struct jnl *j = h->jnl;
	int rc = 0;

	if (j->phase == JNL_LOGGING)
		return diag_set(j->cfg.diag, -EBUSY,
				"journal: a handle wants to start within a commit");
	if (!h->is_reserved) {
		rc = too_much(h, reserved);
		if (rc == 0)
			rc = wait_for_reserved(j, reserved);
		if (rc == 0)
			rc = make_fit(j, (uint64_t)promise(h) + reserved);
	} else if (j->running == NULL) {
		rc = tx_make_room(j);
	}
	if (rc == 0 && j->running == NULL)
		rc = new_tx(j);
	if (rc < 0)
		return rc;
	h->tx = j->running;
	h->tx->promised += promise(h);
	h->tx->handles++;
	return 0;
}

void tx_leave(struct handle *h)
{
	struct jnl *j = h->jnl;
	struct tx *tx = h->tx;

	if (tx == NULL)
		return;
	tx->promised -= promise(h);
	if (tx->wanted && j->open == 0 && j->phase == JNL_OPEN)
		tx_commit(j);
}

int tx_extend(struct handle *h, unsigned credits, unsigned blocks)
{
	struct jnl *j = h->jnl;
	uint64_t need = (uint64_t)credits + blocks;

	if (h->tx->wanted || j->phase != JNL_OPEN || tx_taken(j) + need > j->max_credits)
		return 1;
	h->tx->promised += credits + blocks;
	jnl_count(j, COUNTER_HANDLE_EXTEND, 1);
	return 0;
}

uint32_t handle_tid(const struct handle *h)
{
	return h->tx != NULL ? h->tx->tid : 0;
}

uint32_t jnl_running(const struct jnl *j)
{
	return j->running != NULL ? j->running->tid : 0;
}

uint32_t jnl_committed(const struct jnl *j)
{
	return j->committed_tid;
}

uint32_t jnl_max_credits(const struct jnl *j)
{
	return jnl_is_none(j) ? UINT32_MAX : j->max_credits;
}

uint32_t jnl_revoke_step(const struct jnl *j)
{
	return jnl_is_none(j) ? UINT32_MAX : MAX(j->max_credits / 8, 1u) * j->records;
}

bool jnl_will_send_barrier(const struct jnl *j, uint32_t tid)
{
	return j->running != NULL && j->running->tid == tid;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recovery: scan, choose and prove, and only then write.
 *
 * The log stays as it is until all blocks are home and flushed; a recovery that is cut off is
 * simply done again.  The sequence skips one number, so that nothing that lies in the ring can
 * continue what is written next.
 *
 * Fast commits are for the layers above to apply.  Until they have, the superblock says that the
 * log begins where it ended and with the transaction that the fast commits belong to: nothing is
 * there, so that whoever recovers next finds the same fast commits again.  What applies them is
 * that very transaction, so they are void in the moment when it commits.
 */
#include <errno.h>

#include "io/dev.h"
#include "journal/replay.h"

/* Written to the log's device and not through the queue: a reader has no queue. */
static int write_super(struct jnl *j, uint32_t start, uint32_t sequence)
{
	struct dev *dev = jnl_log_dev(j);
	int rc;

	log_set_place(j, start, sequence);
	rc = dev_write(dev, log_place(j, j->cfg.super_at, NULL), j->super, j->block_size);
	return rc < 0 ? rc : dev_flush(dev);
}

/* What comes next goes to the end of what was recovered, under the number that was expected. */
static void go_on(struct jnl *j, const struct replay *r)
{
	j->head = j->tail = r->end;
	j->dirty = j->super_stale = false;
}

static int bring_home(struct jnl *j, struct replay *r)
{
	bool fast = j->fast != NULL;
	int rc = replay_write(r);

	if (rc == 0)
		rc = dev_flush(buf_cache_dev(j->cfg.cache));
	if (rc == 0)
		rc = fast ? write_super(j, r->end, r->seq) : write_super(j, 0, r->seq + 1);
	if (rc < 0)
		return jnl_abort(j, rc);
	log_take_super(j);
	if (!j->cfg.read_only)
		log_set_features(j);
	if (fast)
		go_on(j, r);
	return 0;
}

int jnl_recover(struct jnl *j, uint32_t *count)
{
	struct replay r;
	int rc;

	if (!j->dirty) {
		*count = 0;
		return 0;
	}
	rc = replay_open(j, &r);
	if (rc == 0)
		rc = replay_scan(&r);
	if (rc == 0)
		rc = replay_read_fast(&r, &j->fast);
	if (rc == 0)
		rc = replay_choose(&r);
	if (rc == 0)
		rc = bring_home(j, &r);
	if (rc == 0)
		*count = r.txs;
	replay_close(&r);
	return rc;
}

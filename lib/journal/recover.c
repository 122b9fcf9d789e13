/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recovery: scan, choose and prove, and only then write.
 *
 * The log stays as it is until all blocks are home and flushed; a recovery that is cut off is
 * simply done again.  The sequence skips one number, so that nothing that lies in the ring can
 * continue what is written next.
 */
#include <errno.h>

#include "io/dev.h"
#include "journal/replay.h"

/* Written to the cache's device and not through the queue: a reader has no queue. */
static int write_clean_super(struct jnl *j, uint32_t sequence)
{
	struct dev *dev = buf_cache_dev(j->cfg.cache);
	int rc;

	log_clean_super(j, sequence);
	rc = dev_write(dev, log_place(j, 0, NULL), j->super, j->block_size);
	return rc < 0 ? rc : dev_flush(dev);
}

static int bring_home(struct jnl *j, struct replay *r)
{
	int rc = replay_write(r);

	if (rc == 0)
		rc = dev_flush(buf_cache_dev(j->cfg.cache));
	if (rc == 0)
		rc = write_clean_super(j, r->seq + 1);
	if (rc < 0)
		return jnl_abort(j, rc);
	log_take_super(j);
	if (!j->cfg.read_only)
		log_set_features(j);
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
		rc = replay_check_fast(&r, r.seq);
	if (rc == 0)
		rc = replay_choose(&r);
	if (rc == 0)
		rc = bring_home(j, &r);
	if (rc == 0)
		*count = r.txs;
	replay_close(&r);
	return rc;
}

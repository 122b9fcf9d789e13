/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fast commits that change more than a log holds, applied in steps.
 *
 * They are void as soon as transaction n commits, which they would have become part of.  So only
 * the last step is n.  The steps before it are all n-1, and are written like this:
 *
 * 1. The log's superblock says that the log begins at P with n.  A step's blocks and its commit
 *    block go to P under n-1, with a flush in between and behind.  A recovery until here wants n at
 *    P, finds n-1 and takes the log for empty: the fast commits follow, and nothing is changed yet.
 * 2. The superblock, one block, now says that the log begins at P with n-1.  A recovery from here
 * on brings the step home, wants n behind it, finds nothing, and applies the fast commits.
 * 3. The step goes home, with a flush.
 * 4. The superblock says that the log begins behind the step with n.  A recovery finds an empty log
 *    and applies the fast commits.
 *
 * A power cut between two steps has all fast commits applied once more, to an image that has the
 * first of them already.  That is what they are made for: Linux writes them home one by one when it
 * applies them.  fs/fast_replay.c says what it takes.
 */
#include <errno.h>

#include "io/bio.h"
#include "journal/fast.h"
#include "journal/log.h"
#include "journal/tx.h"

void jnl_fill_log(struct jnl *j)
{
	if (jnl_is_none(j) || j->running != NULL || j->free != j->last - j->first)
		return;
	j->max_blocks = j->free;
	j->max_credits = j->max_blocks - 1 - DIV_UP(j->max_blocks, j->tags);
}

int jnl_fast_step(struct jnl *j)
{
	uint32_t tid, at = j->head;
	int rc;

	if (j->running == NULL)
		return 0;
	tid = j->fast->tid - 1;
	j->running->tid = tid;
	j->tail_tid = tid; /* the tail stays where it is, which is where this begins */
	rc = tx_commit(j);
	if (rc < 0)
		return rc;
	rc = log_write_super(j, at, tid, BIO_FUA);
	if (rc < 0)
		return jnl_abort(j, rc);
	rc = jnl_checkpoint(j, true);
	j->next_tid = j->fast->tid;
	return rc;
}

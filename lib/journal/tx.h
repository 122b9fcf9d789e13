/* SPDX-License-Identifier: BSD-2-Clause */
/* Transactions and what becomes of them: the parts of kind jbd2. */
#ifndef JOURNAL_TX_H
#define JOURNAL_TX_H

#include "journal/jnl.h"

/* ---- tx.c ---- */

/* Credits that are taken in the running transaction: blocks filed, promised to open handles, for
 * revoke blocks and reserved. */
uint32_t tx_taken(const struct jnl *j);

int tx_join(struct handle *h, unsigned reserved);
void tx_leave(struct handle *h);
int tx_extend(struct handle *h, unsigned credits, unsigned blocks);

/* ---- filing.c ---- */

int tx_dirty(struct handle *h, struct buf *b);
int tx_forget(struct handle *h, struct buf *b, ek_pblk pblk);
int tx_order(struct handle *h, struct jnl_inode *ji, uint64_t start, uint64_t end, bool wait_only);
void tx_callback(struct handle *h, struct jnl_callback *cb);

/* Ends the record of a buffer that no transaction needs; discard: its contents as well. */
void jbuf_end(struct jnl *j, struct jbuf *jb, bool discard);

/* ---- revoke.c ---- */

/* -ENOMEM or 0; a block that is in already keeps its place and the higher sequence. */
int revokes_add(struct revokes *r, uint64_t block, uint32_t seq);
struct revoke *revokes_find(const struct revokes *r, uint64_t block);
void revokes_cancel(struct revokes *r, uint64_t block);
void revokes_clear(struct revokes *r);

/* ---- commit.c ---- */

/* Commits the running transaction: 1, or 0 when there is none. */
int tx_commit(struct jnl *j);

/* Takes tx, whose buffers are all home or forgotten, off the list of committed ones. */
void tx_drop(struct jnl *j, struct tx *tx);

/* The youngest committed transaction that holds jb, if there is one, needs it no more; it is
 * dropped when that was its last buffer. */
void tx_leave_committed(struct jnl *j, struct jbuf *jb);

/* ---- checkpoint.c ---- */

/* Brings the oldest transaction home, if it has no buffer that runs again. */
int tx_checkpoint(struct jnl *j);

/* Makes room for a whole new transaction. */
int tx_make_room(struct jnl *j);

/* Moves the tail on disk to the oldest transaction that is not home, when that frees at least least
 * blocks.  flushed: the home writes are durable already. */
int tx_move_tail(struct jnl *j, uint32_t least, bool flushed);

#endif

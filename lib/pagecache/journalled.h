/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * File data that go through the log (data=journal).
 *
 * A block that is written becomes a block of the transaction, like metadata, under the handle of
 * the write.  Its folio stays dirty until the block is home, whoever brings it there: so a folio
 * that can be dropped holds nothing that the device does not have.
 */
#ifndef PAGECACHE_JOURNALLED_H
#define PAGECACHE_JOURNALLED_H

#include <stdint.h>

struct folio;
struct mapping;
struct task;
struct wbc;

/* Blocks [from, from + n) of the folio, which have places, as they are now, into the running
 * handle's transaction.  A credit each. */
int log_blocks(struct task *t, struct folio *f, uint32_t from, uint32_t n);

/* Writeback: what is committed goes home, what is not stays dirty; a sync commits first.  A pass
 * with a budget that would find nothing but running blocks commits them, for it would be called
 * again and again. */
int journalled_writepages(struct task *t, struct mapping *m, struct wbc *wbc);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing a transaction to the log. */
#ifndef JOURNAL_LOGGER_H
#define JOURNAL_LOGGER_H

#include "journal/log.h"

/* Writes revokes, blocks and commit block of tx at j->head and waits; on success j->head and
 * j->free have moved, and *ret_logged is the number of log blocks. */
int log_write_tx(struct jnl *j, struct tx *tx, uint32_t *ret_logged);

/* Log blocks that this many changed blocks and revoke records will take. */
uint32_t log_blocks_for(const struct jnl *j, uint32_t blocks, uint32_t revokes);

#endif

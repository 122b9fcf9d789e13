/* SPDX-License-Identifier: BSD-2-Clause */
/* Recovery: what the scan of a log found, and what is done with it. */
#ifndef JOURNAL_REPLAY_H
#define JOURNAL_REPLAY_H

#include "base/diag.h"
#include "journal/fast.h"
#include "journal/log.h"

/* The most revoke records that are believed. */
#define REPLAY_REVOKES (4u << 20)

/* One block in the log on its way home. */
struct replay_block {
	uint64_t home;
	uint32_t lblk, seq;
	uint32_t order; /* of logging: the greater is the younger */
	bool escaped;
};

struct replay_revoke {
	uint64_t block;
	uint32_t seq;
};

struct replay {
	struct jnl *jnl;
	uint8_t *window; /* a piece of the log */
	uint32_t window_at, window_len;

	/* Blocks and revokes [0, accepted) belong to committed transactions; those behind to the
	 * one that is being read. */
	struct replay_block *blocks;
	size_t block_count, block_cap, blocks_accepted;
	struct replay_revoke *pending; /* revokes of the one that is being read */
	size_t pending_count, pending_cap;
	struct revokes revokes;

	uint32_t at, seq; /* where the next transaction begins, and its number */
	uint32_t end;     /* behind the last one that was committed */
	uint32_t walked;  /* log blocks so far: one lap at most */
	uint32_t txs;
	struct ek_time time; /* of the last commit */
};

int replay_open(struct jnl *j, struct replay *r);
void replay_close(struct replay *r);

/* ---- scan.c ---- */

/* Reads the log to its end and collects what was committed.  -EUCLEAN or -EBADMSG when a committed
 * transaction is damaged. */
int replay_scan(struct replay *r);

/* The bytes of a log block, until the next call. */
int replay_log_block(struct replay *r, uint32_t lblk, const uint8_t **ret);

/* ---- home.c ---- */

/* Drops what is revoked and what is younger elsewhere, proves the targets of the rest, and sorts it
 * by home. */
int replay_choose(struct replay *r);

int replay_write(struct replay *r);

/* ---- fast.c ---- */

/* The fast commits that follow what was scanned; *ret stays NULL when there are none, or none whose
 * end was written.  -EUCLEAN when their checksum is right and their contents are not, -EOPNOTSUPP
 * for features nobody knows yet. */
int replay_read_fast(struct replay *r, struct fast_log **ret);
void fast_free(struct fast_log *log);

#endif

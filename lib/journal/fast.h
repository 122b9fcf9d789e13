/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fast commits: what Linux logged after the last whole transaction, as a list of records.
 *
 * They describe changes of inodes and names instead of blocks; lib/fs/fast_replay.c applies them.
 */
#ifndef JOURNAL_FAST_H
#define JOURNAL_FAST_H

#include <stddef.h>
#include <stdint.h>

#include "ondisk/extent.h"
#include "ondisk/jbd2.h"

struct jnl;

/* Heads, tails and padding are not in the list. */
struct fast_record {
	enum jbd2_fc_tag tag;
	uint32_t ino;
	uint32_t parent;   /* CREATE, LINK, UNLINK: the folder */
	const char *name;  /* the same: not terminated, name_len bytes */
	uint32_t name_len; /* 1 to 255 */
	/* ADD_RANGE: what becomes mapped, at most 32,768 blocks.  DEL_RANGE: lblk and range_len. */
	struct extent range;
	uint32_t range_len; /* DEL_RANGE: blocks, up to 2^32-1 */
	const uint8_t *raw; /* INODE: the first raw_len bytes of its slot, 128 at least */
	uint32_t raw_len;
};

/* One log's records, in order; their names and inodes lie in bytes. */
struct fast_log {
	struct fast_record *records;
	size_t count;
	uint8_t *bytes;
	uint32_t tid; /* the transaction that they would have become part of */
};

/* The records that jnl_recover found and that are still to be applied; NULL when there are none.
 * They belong to the journal. */
const struct fast_log *jnl_fast(const struct jnl *j);

#endif

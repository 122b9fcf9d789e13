/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast-commit area: whether it holds anything that would have to be replayed.
 *
 * Records fill block after block.  They count up to a tail record whose checksum covers everything
 * since the tail before; without one sound tail there is nothing.  The head names the transaction
 * that the records would have become part of: a lower one is left from earlier use.
 */
#include <errno.h>
#include <string.h>

#include "base/crc.h"
#include "journal/replay.h"

struct fast {
	uint32_t tid; /* the transaction that the records must belong to */
	uint32_t crc;
	bool begun; /* a head was seen */
};

enum fast_step { FAST_GOES_ON, FAST_ENDS, FAST_SOUND };

static uint32_t word(const uint8_t *p)
{
	le32 w;

	memcpy(&w, p, sizeof(w));
	return le32_get(w);
}

/* One record of len bytes behind the four of its own header. */
static enum fast_step take_record(struct fast *f, unsigned tag, const uint8_t *at, uint32_t len)
{
	const uint8_t *value = at + sizeof(struct jbd2_fc_tl);

	if (tag == JBD2_FC_HEAD) {
		if (len < 8 || word(value + 4) != f->tid)
			return FAST_ENDS;
		f->begun = true;
	}
	if (!f->begun || tag < JBD2_FC_ADD_RANGE || tag > JBD2_FC_HEAD)
		return FAST_ENDS;
	if (tag == JBD2_FC_TAIL) {
		if (len < 8 || word(value) != f->tid)
			return FAST_ENDS;
		f->crc = crc32c(f->crc, at, sizeof(struct jbd2_fc_tl) + 4);
		return f->crc == word(value + 4) ? FAST_SOUND : FAST_ENDS;
	}
	f->crc = crc32c(f->crc, at, sizeof(struct jbd2_fc_tl) + len);
	return FAST_GOES_ON;
}

static enum fast_step take_block(struct fast *f, const uint8_t *block, uint32_t size)
{
	for (uint32_t at = 0; at + sizeof(struct jbd2_fc_tl) <= size;) {
		struct jbd2_fc_tl tl;
		enum fast_step s;
		uint32_t len;

		memcpy(&tl, block + at, sizeof(tl));
		len = le16_get(tl.len);
		if (len > size - at - sizeof(tl))
			return FAST_ENDS;
		s = take_record(f, le16_get(tl.tag), block + at, len);
		if (s != FAST_GOES_ON)
			return s;
		at += (uint32_t)sizeof(tl) + len;
	}
	return FAST_GOES_ON;
}

int replay_check_fast(struct replay *r, uint32_t tid)
{
	struct jnl *j = r->jnl;
	struct fast f = {.tid = tid};
	enum fast_step s = FAST_GOES_ON;

	/* The kernel leaves the first block of the area alone. */
	for (uint32_t i = 1; i < j->fc_blocks && s == FAST_GOES_ON; i++) {
		const uint8_t *block;
		int rc = replay_log_block(r, j->last + i, &block);

		if (rc < 0)
			return rc;
		s = take_block(&f, block, j->block_size);
	}
	if (s != FAST_SOUND)
		return 0;
	return diag_set(j->cfg.diag, -EOPNOTSUPP,
			"unsupported journal: fast commits of transaction %u have to be replayed",
			tid);
}

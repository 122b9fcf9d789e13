/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading the log: from the tail, one transaction after another, at most once around the ring.
 *
 * The log ends at the first block that does not continue it: no magic, another sequence, another
 * type.  A transaction counts from its commit block.  One whose commit block is wrong was being
 * written when the power went, unless a sound one follows it: then something has been damaged
 * since.  Blocks that lie there from earlier use give themselves away by a time of commit before
 * that of their predecessor.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/mem.h"
#include "io/dev.h"
#include "journal/replay.h"
#include "journal/tx.h"

#define WINDOW_BYTES ((uint32_t)256 << 10)

/* What is known of the transaction that is being read. */
struct reading {
	struct diag damage; /* the first thing that would make it an error to be committed */
	bool unsound;       /* a checksum of a descriptor or revoke block is wrong */
	bool data_bad;      /* one of a data block */
	uint32_t crc;       /* v1 */
	struct ek_time time;
};

int replay_open(struct jnl *j, struct replay *r)
{
	*r = (struct replay){
	    .jnl = j, .at = be32_get(jnl_sb(j)->s_start), .seq = be32_get(jnl_sb(j)->s_sequence)};
	r->revokes.pool.size = sizeof(struct revoke);
	r->end = r->at;
	list_init(&r->revokes.order);
	r->window = mem_aligned(4096, MAX(WINDOW_BYTES, j->block_size));
	if (r->window == NULL)
		return diag_set(j->cfg.diag, -ENOMEM, "out of memory to read the journal");
	return 0;
}

void replay_close(struct replay *r)
{
	hash_free(&r->revokes.by_block);
	pool_end(&r->revokes.pool);
	free(r->blocks);
	free(r->pending);
	free(r->window);
}

int replay_log_block(struct replay *r, uint32_t lblk, const uint8_t **ret)
{
	struct jnl *j = r->jnl;
	uint32_t run, end = lblk < j->last ? j->last : j->last + j->fc_blocks;
	uint64_t place;
	int rc;

	if (lblk < r->window_at || lblk - r->window_at >= r->window_len) {
		place = log_place(j, lblk, &run);
		run = MIN(run, end - lblk);
		run = MIN(run, MAX(WINDOW_BYTES / j->block_size, 1u));
		r->window_len = 0;
		rc = dev_read(jnl_log_dev(j), place, r->window, (size_t)run << j->block_bits);
		if (rc < 0)
			return rc;
		r->window_at = lblk;
		r->window_len = run;
	}
	*ret = r->window + ((size_t)(lblk - r->window_at) << j->block_bits);
	return 0;
}

/* Steps over one block of the ring: 1, or 0 when that would be more than one lap. */
static int step(struct replay *r)
{
	if (r->walked >= r->jnl->last - r->jnl->first)
		return 0;
	r->walked++;
	r->at = log_next(r->jnl, r->at);
	return 1;
}

static int add_block(struct replay *r, const struct log_tag *tag, uint32_t lblk)
{
	if (mem_grow((void **)&r->blocks, &r->block_cap, r->block_count + 1, sizeof(*r->blocks)) <
	    0)
		return diag_set(r->jnl->cfg.diag, -ENOMEM, "out of memory for %zu logged blocks",
				r->block_count);
	r->blocks[r->block_count] =
	    (struct replay_block){.home = tag->block,
				  .lblk = lblk,
				  .seq = r->seq,
				  .order = (uint32_t)r->block_count,
				  .escaped = (tag->flags & JBD2_TAG_ESCAPED) != 0};
	r->block_count++;
	return 0;
}

static bool has_v1(const struct jnl *j)
{
	return (be32_get(jnl_sb(j)->s_feature_compat) & JBD2_COMPAT_CHECKSUM) != 0;
}

/* The data block that tag describes lies at r->at. */
static int read_data(struct replay *r, struct reading *tx, const struct log_tag *tag)
{
	struct jnl *j = r->jnl;
	uint32_t lblk = r->at;
	const uint8_t *data;
	int rc;

	if (step(r) == 0)
		return 0;
	rc = add_block(r, tag, lblk);
	if (rc < 0 || (!jnl_csum(j) && !has_v1(j)))
		return rc < 0 ? rc : 1;
	rc = replay_log_block(r, lblk, &data);
	if (rc < 0)
		return rc;
	if (has_v1(j))
		tx->crc = crc32_be(tx->crc, data, j->block_size);
	if (!jnl_csum(j) || log_data_csum(j, r->seq, data) == tag->csum)
		return 1;
	tx->data_bad = true;
	diag_set(&tx->damage, -EBADMSG,
		 "bad checksum: transaction %u: log block %u, which goes to block %llu", r->seq,
		 lblk, (unsigned long long)tag->block);
	return 1;
}

static void check_tail(struct replay *r, struct reading *tx, const uint8_t *block)
{
	if (log_tail_ok(r->jnl, block))
		return;
	tx->unsound = true;
	diag_set(&tx->damage, -EBADMSG, "bad checksum: transaction %u: log block %u", r->seq,
		 r->at);
}

/* A descriptor at r->at and the blocks it describes. */
static int read_group(struct replay *r, struct reading *tx, const uint8_t *block)
{
	struct jnl *j = r->jnl;
	uint32_t size = log_tag_size(j), end = j->block_size - log_tail_size(j);
	uint8_t *copy = malloc(j->block_size); /* the window moves on */
	int rc = 1;

	if (copy == NULL)
		return diag_set(j->cfg.diag, -ENOMEM, "out of memory for a descriptor block");
	memcpy(copy, block, j->block_size);
	check_tail(r, tx, copy);
	if (has_v1(j))
		tx->crc = crc32_be(tx->crc, copy, j->block_size);
	rc = step(r);
	for (uint32_t at = sizeof(struct jbd2_header); rc == 1 && at + size <= end;) {
		struct log_tag tag;

		log_get_tag(j, copy + at, &tag);
		at += size + ((tag.flags & JBD2_TAG_SAME_UUID) != 0 ? 0 : 16);
		rc = read_data(r, tx, &tag);
		if ((tag.flags & JBD2_TAG_LAST) != 0)
			break;
	}
	free(copy);
	return rc;
}

static int add_revoke(struct replay *r, const uint8_t *at, uint32_t size)
{
	be64 nr = {{0}};

	memcpy(nr.b + 8 - size, at, size);
	if (r->pending_count + r->revokes.count >= REPLAY_REVOKES)
		return diag_set(r->jnl->cfg.diag, -EUCLEAN,
				"corrupt journal: more than %u revoke records", REPLAY_REVOKES);
	if (mem_grow((void **)&r->pending, &r->pending_cap, r->pending_count + 1,
		     sizeof(*r->pending)) < 0)
		return diag_set(r->jnl->cfg.diag, -ENOMEM, "out of memory for revoke records");
	r->pending[r->pending_count++] = (struct replay_revoke){be64_get(nr), r->seq};
	return 0;
}

static int read_revokes(struct replay *r, struct reading *tx, const uint8_t *block)
{
	struct jnl *j = r->jnl;
	const struct jbd2_revoke *head = (const struct jbd2_revoke *)(const void *)block;
	uint32_t size = jnl_incompat(j, JBD2_INCOMPAT_64BIT) ? 8 : 4;
	uint32_t count = be32_get(head->r_count), end = j->block_size - log_tail_size(j);
	int rc = 0;

	check_tail(r, tx, block);
	if (count < sizeof(*head) || count > end)
		diag_set(&tx->damage, -EUCLEAN,
			 "corrupt revoke block: transaction %u: log block %u: r_count %u is not in "
			 "%zu..%u",
			 r->seq, r->at, count, sizeof(*head), end);
	count = MIN(count, end);
	for (uint32_t at = sizeof(*head); at + size <= count && rc == 0; at += size)
		rc = add_revoke(r, block + at, size);
	return rc < 0 ? rc : step(r);
}

static bool commit_sound(struct replay *r, struct reading *tx, const struct jbd2_commit *c,
			 const uint8_t *block)
{
	struct jnl *j = r->jnl;
	uint32_t sum = be32_get(c->h_chksum[0]);

	if (jnl_csum(j))
		return sum == log_commit_csum(j, block);
	if (!has_v1(j) || (c->h_chksum_type == 0 && c->h_chksum_size == 0 && sum == 0))
		return true;
	return c->h_chksum_type == JBD2_CSUM_CRC32 && c->h_chksum_size == 4 && sum == tx->crc;
}

static bool before(struct ek_time a, struct ek_time b)
{
	return a.sec < b.sec || (a.sec == b.sec && a.nsec < b.nsec);
}

enum verdict { ENDS, COMMITTED, TORN, DAMAGED };

static enum verdict judge(struct replay *r, struct reading *tx, const uint8_t *block)
{
	const struct jbd2_commit *c = (const struct jbd2_commit *)(const void *)block;
	bool async = jnl_incompat(r->jnl, JBD2_INCOMPAT_ASYNC_COMMIT);
	bool stale;

	tx->time = (struct ek_time){(int64_t)be64_get(c->h_commit_sec), be32_get(c->h_commit_nsec)};
	stale = r->txs > 0 && before(tx->time, r->time);
	if (!commit_sound(r, tx, c, block)) {
		diag_set(&tx->damage, -EBADMSG,
			 "bad checksum: transaction %u: commit block at log block %u", r->seq,
			 r->at);
		return stale ? ENDS : TORN;
	}
	if (tx->damage.code == 0)
		return COMMITTED;
	if (tx->unsound && stale)
		return ENDS;
	/* The commit block may have overtaken the data only when nobody waited in between. */
	return async && tx->data_bad && !tx->unsound ? TORN : DAMAGED;
}

/* Reads one transaction, up to and over its commit block. */
static int read_tx(struct replay *r, struct reading *tx, enum verdict *ret)
{
	*tx = (struct reading){.crc = ~0u};
	*ret = ENDS;
	for (;;) {
		const struct jbd2_header *h;
		const uint8_t *block;
		int rc = replay_log_block(r, r->at, &block);

		if (rc < 0)
			return rc;
		h = (const struct jbd2_header *)(const void *)block;
		if (be32_get(h->h_magic) != JBD2_MAGIC || be32_get(h->h_sequence) != r->seq)
			return 0;
		switch (be32_get(h->h_blocktype)) {
		case JBD2_DESCRIPTOR:
			rc = read_group(r, tx, block);
			break;
		case JBD2_REVOKE:
			rc = read_revokes(r, tx, block);
			break;
		case JBD2_COMMIT:
			*ret = judge(r, tx, block);
			if (step(r) == 0)
				*ret = ENDS;
			return 0;
		default:
			return 0;
		}
		if (rc != 1) /* an error, or a whole lap */
			return rc;
	}
}

static int accept(struct replay *r, const struct reading *tx)
{
	for (size_t i = 0; i < r->pending_count; i++) {
		if (revokes_add(&r->revokes, r->pending[i].block, r->pending[i].seq) < 0)
			return diag_set(r->jnl->cfg.diag, -ENOMEM,
					"out of memory for revoke records");
	}
	r->pending_count = 0;
	r->blocks_accepted = r->block_count;
	r->time = tx->time;
	r->end = r->at;
	r->txs++;
	r->seq++;
	return 0;
}

/* Whether a sound transaction lies behind the one just read. */
static int sound_follows(struct replay *r, bool *ret)
{
	struct reading next;
	enum verdict v;
	int rc;

	r->seq++;
	rc = read_tx(r, &next, &v);
	r->seq--;
	*ret = v == COMMITTED;
	return rc;
}

int replay_scan(struct replay *r)
{
	for (;;) {
		struct reading tx;
		enum verdict v;
		bool damaged;
		int rc = read_tx(r, &tx, &v);

		damaged = v == DAMAGED;
		if (rc == 0 && v == TORN)
			rc = sound_follows(r, &damaged);
		if (rc < 0)
			return rc;
		if (damaged)
			return diag_set(r->jnl->cfg.diag, tx.damage.code, "%s", tx.damage.text);
		if (v != COMMITTED)
			break;
		rc = accept(r, &tx);
		if (rc < 0)
			return rc;
	}
	r->block_count = r->blocks_accepted;
	r->pending_count = 0;
	return 0;
}

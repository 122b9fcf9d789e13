/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writer of transactions: lays blocks along the ring, one bio each, as the kernel does.
 *
 * Changed blocks go out from where they are: nobody changes them during a commit.  Blocks that the
 * log adds, and copies of blocks that begin with the log's magic number (which the log stores as
 * zeros), come from an arena whose size is known before the first is made.
 */
#include "journal/logger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/bio.h"
#include "journal/tx.h"

struct logger {
	struct jnl *jnl;
	struct tx *tx;
	size_t used;         /* arena blocks */
	uint32_t at;         /* log block to be written next */
	uint32_t logged;     /* so far */
	uint32_t crc;        /* v1: of descriptors and data so far */
	uint8_t *descriptor; /* the one that is being filled */
	uint32_t fill;       /* bytes of it in use */
};

uint32_t log_blocks_for(const struct jnl *j, uint32_t blocks, uint32_t revokes)
{
	return blocks + DIV_UP(blocks, j->tags) + DIV_UP(revokes, j->records) + 1;
}

static bool has_v1(const struct jnl *j)
{
	return (be32_get(jnl_sb(j)->s_feature_compat) & JBD2_COMPAT_CHECKSUM) != 0;
}

static bool must_escape(const uint8_t *data)
{
	be32 magic = be32_make(JBD2_MAGIC);

	return memcmp(data, &magic, sizeof(magic)) == 0;
}

/* As many blocks as this transaction may want, so that none moves while bios point at them. */
static int make_arena(struct jnl *j, const struct tx *tx)
{
	size_t need = log_blocks_for(j, tx->buf_count, j->revokes.count) - tx->buf_count;

	list_for_each (p, &tx->bufs)
		need += must_escape(list_entry(p, struct jbuf, link)->buf->data);
	if (j->group == NULL)
		j->group = mem_array(j->tags, sizeof(*j->group), MEM_CAP, j->cfg.diag);
	if (j->group == NULL)
		return -ENOMEM;
	if (need <= j->arena_cap)
		return 0;
	free(j->arena);
	j->arena = mem_aligned(4096, need * j->block_size);
	j->arena_cap = j->arena != NULL ? need : 0;
	return j->arena != NULL ? 0
				: diag_set(j->cfg.diag, -ENOMEM,
					   "out of memory for %zu blocks of the log", need);
}

static uint8_t *arena_block(struct logger *l)
{
	uint8_t *block = l->jnl->arena + l->used++ * l->jnl->block_size;

	memset(block, 0, l->jnl->block_size);
	return block;
}

static int put_block(struct logger *l, const uint8_t *block, unsigned flags)
{
	uint64_t place = log_place(l->jnl, l->at, NULL);

	l->at = log_next(l->jnl, l->at);
	l->logged++;
	return jnl_write_log(l->jnl, place, block, BIO_META | BIO_SYNC | flags);
}

/* ---- revokes ---- */

static int put_revoke_block(struct logger *l, uint8_t *block, uint32_t fill)
{
	struct jbd2_revoke *r = (struct jbd2_revoke *)(void *)block;

	r->r_count = be32_make(fill);
	log_seal_tail(l->jnl, block);
	return put_block(l, block, 0);
}

static int put_revokes(struct logger *l)
{
	struct jnl *j = l->jnl;
	uint32_t size = jnl_incompat(j, JBD2_INCOMPAT_64BIT) ? 8 : 4, fill = 0;
	uint8_t *block = NULL;
	int rc = 0;

	list_for_each (p, &j->revokes.order) {
		be64 nr = be64_make(list_entry(p, struct revoke, link)->node.key);

		if (block == NULL) {
			block = arena_block(l);
			log_put_header(block, JBD2_REVOKE, l->tx->tid);
			fill = sizeof(struct jbd2_revoke);
		}
		memcpy(block + fill, nr.b + 8 - size, size);
		fill += size;
		if (fill + size > j->block_size - log_tail_size(j)) {
			rc = put_revoke_block(l, block, fill);
			block = NULL;
		}
		if (rc < 0)
			return rc;
	}
	return block != NULL ? put_revoke_block(l, block, fill) : 0;
}

/* ---- groups of a descriptor and what it describes ---- */

struct group {
	struct list *from; /* first jbuf's link */
	uint32_t count;
};

static const uint8_t *data_as_logged(struct logger *l, const uint8_t *data, uint32_t *flags)
{
	uint8_t *copy;

	if (!must_escape(data))
		return data;
	copy = arena_block(l);
	memcpy(copy, data, l->jnl->block_size);
	memset(copy, 0, sizeof(be32));
	*flags |= JBD2_TAG_ESCAPED;
	return copy;
}

static void add_tag(struct logger *l, uint64_t block, const uint8_t *data, uint32_t flags)
{
	struct jnl *j = l->jnl;
	struct log_tag tag = {.block = block, .flags = flags};
	bool first = l->fill == sizeof(struct jbd2_header);

	if (jnl_csum(j))
		tag.csum = log_data_csum(j, l->tx->tid, data);
	if (!first)
		tag.flags |= JBD2_TAG_SAME_UUID;
	log_put_tag(j, l->descriptor + l->fill, &tag);
	l->fill += log_tag_size(j);
	if (first) {
		memcpy(l->descriptor + l->fill, jnl_sb(j)->s_uuid, sizeof(jnl_sb(j)->s_uuid));
		l->fill += sizeof(jnl_sb(j)->s_uuid);
	}
}

static void add_crc(struct logger *l, const uint8_t *block)
{
	if (has_v1(l->jnl))
		l->crc = crc32_be(l->crc, block, l->jnl->block_size);
}

/* Descriptor first in the ring, though its bytes are known last. */
static int put_group(struct logger *l, struct group g)
{
	struct jnl *j = l->jnl;
	const uint8_t **data = j->group;
	int rc;

	l->descriptor = arena_block(l);
	log_put_header(l->descriptor, JBD2_DESCRIPTOR, l->tx->tid);
	l->fill = sizeof(struct jbd2_header);
	for (uint32_t i = 0; i < g.count; i++, g.from = g.from->next) {
		struct buf *b = list_entry(g.from, struct jbuf, link)->buf;
		uint32_t flags = i + 1 == g.count ? JBD2_TAG_LAST : 0;

		data[i] = data_as_logged(l, b->data, &flags);
		add_tag(l, b->pblk.v, data[i], flags);
	}
	log_seal_tail(j, l->descriptor);
	add_crc(l, l->descriptor);
	rc = put_block(l, l->descriptor, 0);
	for (uint32_t i = 0; i < g.count && rc == 0; i++) {
		add_crc(l, data[i]);
		rc = put_block(l, data[i], 0);
	}
	return rc;
}

static int put_groups(struct logger *l)
{
	uint32_t left = l->tx->buf_count;
	struct group g = {.from = l->tx->bufs.next};

	while (left > 0) {
		int rc;

		g.count = MIN(left, l->jnl->tags);
		rc = put_group(l, g);
		if (rc < 0)
			return rc;
		for (uint32_t i = 0; i < g.count; i++)
			g.from = g.from->next;
		left -= g.count;
	}
	return 0;
}

/* ---- the commit block ---- */

static int put_commit(struct logger *l)
{
	struct jnl *j = l->jnl;
	uint8_t *block = arena_block(l);
	struct jbd2_commit *c = (struct jbd2_commit *)(void *)block;
	struct ek_time now = jnl_now(j);
	int rc;

	log_put_header(block, JBD2_COMMIT, l->tx->tid);
	c->h_commit_sec = be64_make((uint64_t)now.sec);
	c->h_commit_nsec = be32_make(now.nsec);
	if (has_v1(j)) {
		c->h_chksum_type = JBD2_CSUM_CRC32;
		c->h_chksum_size = sizeof(be32);
		c->h_chksum[0] = be32_make(l->crc);
	} else if (jnl_csum(j)) {
		c->h_chksum[0] = be32_make(log_commit_csum(j, block));
	}
	/* The flush before the record covers the device of the log only. */
	rc = jnl_external(j) ? jnl_flush(j) : 0;
	if (rc == 0)
		rc = put_block(l, block, BIO_PREFLUSH | BIO_FUA);
	return rc < 0 ? rc : jnl_wait(j);
}

static int put_body(struct logger *l)
{
	struct bioq *q = jnl_external(l->jnl) ? l->jnl->cfg.log_bioq : l->jnl->cfg.bioq;
	int rc, done;

	bioq_plug(q);
	rc = put_revokes(l);
	if (rc == 0)
		rc = put_groups(l);
	bioq_unplug(q);
	done = jnl_wait(l->jnl);
	return rc < 0 ? rc : done;
}

int log_write_tx(struct jnl *j, struct tx *tx, uint32_t *ret_logged)
{
	struct logger l = {.jnl = j, .tx = tx, .at = j->head, .crc = ~0u};
	uint32_t need = log_blocks_for(j, tx->buf_count, j->revokes.count);
	int rc;

	if (need > j->free)
		return diag_set(j->cfg.diag, -ENOSPC,
				"journal: transaction %u needs %u blocks of the log, %u are free",
				tx->tid, need, j->free);
	rc = make_arena(j, tx);
	if (rc == 0)
		rc = put_body(&l);
	if (rc == 0)
		rc = put_commit(&l);
	if (rc < 0)
		return rc;
	j->head = l.at;
	j->free -= l.logged;
	*ret_logged = l.logged;
	return 0;
}

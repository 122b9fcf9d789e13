/* SPDX-License-Identifier: BSD-2-Clause */
/* Tags, headers and checksums of log blocks, in the three forms that jbd2 has known. */
#include <string.h>

#include "base/crc.h"
#include "journal/log.h"

unsigned log_tag_size(const struct jnl *j)
{
	unsigned size = 8;

	if (jnl_incompat(j, JBD2_INCOMPAT_CSUM_V3))
		return sizeof(struct jbd2_tag3);
	if (jnl_incompat(j, JBD2_INCOMPAT_64BIT))
		size += 4;
	if (jnl_incompat(j, JBD2_INCOMPAT_CSUM_V2))
		size += 2;
	return size;
}

unsigned log_tail_size(const struct jnl *j)
{
	return jnl_csum(j) ? sizeof(struct jbd2_tail) : 0;
}

void log_put_tag(const struct jnl *j, uint8_t *at, const struct log_tag *tag)
{
	if (jnl_incompat(j, JBD2_INCOMPAT_CSUM_V3)) {
		struct jbd2_tag3 t = {.t_blocknr = be32_make((uint32_t)tag->block),
				      .t_flags = be32_make(tag->flags),
				      .t_blocknr_high = be32_make((uint32_t)(tag->block >> 32)),
				      .t_checksum = be32_make(tag->csum)};

		memcpy(at, &t, sizeof(t));
	} else {
		struct jbd2_tag t = {.t_blocknr = be32_make((uint32_t)tag->block),
				     .t_checksum = be16_make((uint16_t)tag->csum),
				     .t_flags = be16_make((uint16_t)tag->flags),
				     .t_blocknr_high = be32_make((uint32_t)(tag->block >> 32))};

		memcpy(at, &t, jnl_incompat(j, JBD2_INCOMPAT_64BIT) ? 12 : 8);
	}
}

void log_get_tag(const struct jnl *j, const uint8_t *at, struct log_tag *ret)
{
	if (jnl_incompat(j, JBD2_INCOMPAT_CSUM_V3)) {
		struct jbd2_tag3 t;

		memcpy(&t, at, sizeof(t));
		ret->block = be32_get(t.t_blocknr);
		if (jnl_incompat(j, JBD2_INCOMPAT_64BIT))
			ret->block |= (uint64_t)be32_get(t.t_blocknr_high) << 32;
		ret->flags = be32_get(t.t_flags);
		ret->csum = be32_get(t.t_checksum);
	} else {
		struct jbd2_tag t = {0};

		memcpy(&t, at, jnl_incompat(j, JBD2_INCOMPAT_64BIT) ? 12 : 8);
		ret->block = (uint64_t)be32_get(t.t_blocknr_high) << 32 | be32_get(t.t_blocknr);
		ret->flags = be16_get(t.t_flags);
		ret->csum = be16_get(t.t_checksum);
	}
}

void log_put_header(uint8_t *block, enum jbd2_type type, uint32_t seq)
{
	struct jbd2_header h = {be32_make(JBD2_MAGIC), be32_make(type), be32_make(seq)};

	memcpy(block, &h, sizeof(h));
}

uint32_t log_data_csum(const struct jnl *j, uint32_t seq, const uint8_t *data)
{
	be32 s = be32_make(seq);
	uint32_t csum = crc32c(crc32c(j->seed, &s, sizeof(s)), data, j->block_size);

	return jnl_incompat(j, JBD2_INCOMPAT_CSUM_V3) ? csum : csum & 0xffff;
}

static uint32_t tail_csum(const struct jnl *j, const uint8_t *block)
{
	static const uint8_t zero[sizeof(struct jbd2_tail)];
	uint32_t csum = crc32c(j->seed, block, j->block_size - sizeof(zero));

	return crc32c(csum, zero, sizeof(zero));
}

void log_seal_tail(const struct jnl *j, uint8_t *block)
{
	be32 csum = be32_make(tail_csum(j, block));

	if (jnl_csum(j))
		memcpy(block + j->block_size - sizeof(csum), &csum, sizeof(csum));
}

bool log_tail_ok(const struct jnl *j, const uint8_t *block)
{
	be32 csum = be32_make(tail_csum(j, block));

	return !jnl_csum(j) ||
	       memcmp(block + j->block_size - sizeof(csum), &csum, sizeof(csum)) == 0;
}

uint32_t log_commit_csum(const struct jnl *j, const uint8_t *block)
{
	static const uint8_t zero[sizeof(be32)];
	size_t at = offsetof(struct jbd2_commit, h_chksum);
	uint32_t csum = crc32c(crc32c(j->seed, block, at), zero, sizeof(zero));

	at += sizeof(zero);
	return crc32c(csum, block + at, j->block_size - at);
}

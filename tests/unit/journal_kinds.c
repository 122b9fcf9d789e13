/* SPDX-License-Identifier: BSD-2-Clause */
/* Every kind of log: what the writer lays down, byte by byte, and that all of it comes back. */
#include "journal_log.h"

#include <string.h>

#include "base/crc.h"

#define V2 JBD2_INCOMPAT_CSUM_V2
#define V3 JBD2_INCOMPAT_CSUM_V3
#define W  JBD2_INCOMPAT_64BIT

static const struct kind {
	const char *name;
	uint32_t compat, incompat;
	unsigned tag, tail, record; /* bytes of a tag, behind the tags, of a revoke record */
} kinds[] = {
    {"none, 32 bits", 0, 0, 8, 0, 4},
    {"none, 64 bits", 0, W, 12, 0, 8},
    {"v1, 32 bits", JBD2_COMPAT_CHECKSUM, 0, 8, 0, 4},
    {"v1, 64 bits", JBD2_COMPAT_CHECKSUM, W, 12, 0, 8},
    {"v1, async", JBD2_COMPAT_CHECKSUM, JBD2_INCOMPAT_ASYNC_COMMIT, 8, 0, 4},
    {"v2, 32 bits", 0, V2, 10, 4, 4},
    {"v2, 64 bits", 0, V2 | W, 14, 4, 8},
    {"v3, 32 bits", 0, V3, 16, 4, 4},
    {"v3, 64 bits", 0, V3 | W, 16, 4, 8},
    {"v3, async", 0, V3 | W | JBD2_INCOMPAT_ASYNC_COMMIT, 16, 4, 8},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void poke_super(size_t at, uint32_t value)
{
	be32 v = be32_make(value);

	CHECK_INT(dev_write(base, (runs[0].pblk << geom.block_bits) + at, &v, sizeof(v)), 0);
}

static void make_kind(const struct kind *k, unsigned bits, uint32_t len)
{
	printf("# %s, blocks of %u\n", k->name, 1u << bits);
	make_log(bits, len, k->incompat, 0);
	if (k->compat != 0)
		poke_super(offsetof(struct jbd2_super, s_feature_compat), k->compat);
	CHECK_INT(open_log(), 0);
}

/* ---- what lies in the log ---- */

static uint8_t block[65536];

static void read_log(uint32_t lblk)
{
	CHECK_INT(dev_read(base, (runs[0].pblk + lblk) << geom.block_bits, block, geom.block_size),
		  0);
}

static uint32_t word(size_t at)
{
	be32 w;

	memcpy(&w, block + at, 4);
	return be32_get(w);
}

static uint32_t half(size_t at)
{
	be16 w;

	memcpy(&w, block + at, 2);
	return be16_get(w);
}

static uint32_t seed(void)
{
	return crc32c(~0u, "0123456789abcde", 16);
}

/* crc32c of the block with the four bytes at `at` as zeros. */
static uint32_t sum_without(size_t at)
{
	static const uint8_t zero[4];
	uint32_t c = crc32c(crc32c(seed(), block, at), zero, 4);

	return crc32c(c, block + at + 4, geom.block_size - at - 4);
}

static uint32_t data_sum(uint32_t lblk)
{
	be32 one = be32_make(1);

	read_log(lblk);
	return crc32c(crc32c(seed(), &one, 4), block, geom.block_size);
}

static void header_is(uint32_t type)
{
	CHECK_INT(word(0), JBD2_MAGIC);
	CHECK_INT(word(4), type);
	CHECK_INT(word(8), 1);
}

/* Blocks 64 and 65, the second escaped, are tags of log block 2; the first tag has the uuid. */
static void tags_are_right(const struct kind *k)
{
	uint32_t sums[2] = {data_sum(3), data_sum(4)};

	read_log(2);
	header_is(JBD2_DESCRIPTOR);
	for (unsigned i = 0; i < 2; i++) {
		size_t at = 12 + i * (k->tag + 16u);
		uint32_t flags = i == 0 ? 0 : JBD2_TAG_SAME_UUID | JBD2_TAG_LAST | JBD2_TAG_ESCAPED;

		CHECK_INT(word(at), 64 + i);
		if ((k->incompat & V3) != 0) {
			CHECK_INT(word(at + 4), flags);
			CHECK_INT(word(at + 8), 0);
			CHECK_INT(word(at + 12), sums[i]);
			continue;
		}
		CHECK_INT(half(at + 4), (k->incompat & V2) != 0 ? sums[i] & 0xffff : 0);
		CHECK_INT(half(at + 6), flags);
		if ((k->incompat & W) != 0)
			CHECK_INT(word(at + 8), 0);
	}
	CHECK(memcmp(block + 12 + k->tag, "0123456789abcde", 16) == 0);
	if (k->tail != 0)
		CHECK_INT(word(geom.block_size - 4), sum_without(geom.block_size - 4));
}

static void revokes_are_right(const struct kind *k)
{
	read_log(1);
	header_is(JBD2_REVOKE);
	CHECK_INT(word(12), 16 + k->record);
	CHECK_INT(word(16 + k->record - 4), 70);
	if (k->tail != 0)
		CHECK_INT(word(geom.block_size - 4), sum_without(geom.block_size - 4));
}

static void commit_is_right(const struct kind *k)
{
	uint32_t crc = ~0u;

	for (uint32_t i = 2; i < 5; i++) {
		read_log(i);
		crc = crc32_be(crc, block, geom.block_size);
	}
	read_log(5);
	header_is(JBD2_COMMIT);
	if (k->compat != 0) {
		CHECK_INT(word(12), JBD2_CSUM_CRC32 << 24 | 4 << 16);
		CHECK_INT(word(16), crc);
	} else {
		CHECK_INT(word(12), 0);
		CHECK_INT(word(16), k->tail != 0 ? sum_without(16) : 0);
	}
	CHECK(word(0x34) >= 1000);
	CHECK_INT(word(0x38), 5);
}

static void write_one(void)
{
	be32 magic = be32_make(JBD2_MAGIC);
	struct handle *h = begin(3);
	struct buf *b;

	CHECK_INT(put(h, 64, 'a'), 0);
	CHECK_INT(buf_new(cache, (ek_pblk){65}, &verify_any, (struct buf_owner){0, 0}, &b), 0);
	memcpy(b->data, &magic, 4);
	CHECK_INT(handle_dirty(h, b), 0);
	buf_put(b);
	CHECK_INT(handle_forget(h, NULL, (ek_pblk){70}), 0);
	CHECK_INT(handle_stop(h), 0);
	commit();
}

TEST(tags_revokes_descriptors_and_commit_blocks_are_of_the_log_s_kind)
{
	static const unsigned bits[] = {10, 12, 16};

	for (size_t i = 0; i < KINDS * 3; i++) {
		const struct kind *k = &kinds[i / 3];

		make_kind(k, bits[i % 3], 1024);
		write_one();
		cut_power();
		revokes_are_right(k);
		tags_are_right(k);
		commit_is_right(k);
		CHECK_INT(reopen(), 1);
		CHECK_INT(home(64), 'a');
		CHECK_INT(dev_read(base, (uint64_t)65 << geom.block_bits, block, 4), 0);
		CHECK_INT(word(0), JBD2_MAGIC);
		close_log();
		read_log(0);
		CHECK_INT(word(offsetof(struct jbd2_super, s_feature_compat)), k->compat);
		CHECK_INT(word(offsetof(struct jbd2_super, s_feature_incompat)),
			  k->incompat | JBD2_INCOMPAT_REVOKE);
		dev_close(base);
	}
	CHECK_INT(diag.code, 0);
}

/* ---- all of it comes back ---- */

/* Writes much more than the log holds, against a model, with a cut every now and then. */
static void churn(void)
{
	static uint8_t model[4000];
	uint32_t number = 7;

	memset(model, 0, sizeof(model));
	for (int i = 0; i < 120; i++) {
		uint32_t at, n, most = jnl_max_credits(jnl) - 1;

		number = number * 1103515245 + 12345;
		at = number >> 8 & 1023;
		n = 1 + (number >> 20 & 127);
		n = n > most ? most : n;
		change(100 + at, n, (char)(1 + i % 250));
		memset(model + at, 1 + i % 250, n);
		if (i % 7 == 3) {
			forget(100 + at);
			model[at] = 0; /* does not come home any more, whatever it was */
		}
		if (i % 3 == 0)
			CHECK_INT(jnl_commit_running(jnl), 1);
		if (i % 30 != 29)
			continue;
		jnl_commit_running(jnl);
		change(100, 5, 'L'); /* lost */
		cut_power();
		CHECK(reopen() > 0);
		for (uint32_t b = 0; b < 1200; b++) {
			if (model[b] != 0)
				CHECK_INT(home(100 + b), model[b]);
		}
	}
}

TEST(every_kind_of_log_wraps_and_recovers)
{
	for (size_t i = 0; i < KINDS; i++) {
		make_kind(&kinds[i], i % 2 == 0 ? 10 : 12, 1024 + 100 * (uint32_t)(i % 3));
		churn();
		close_log();
		dev_close(base);
	}
	CHECK_INT(diag.code, 0);
}

TEST(a_wrong_byte_in_a_committed_block_is_never_taken_for_data_under_a_checksum)
{
	for (size_t i = 0; i < KINDS; i++) {
		const struct kind *k = &kinds[i];
		uint8_t wrong = 'w';
		uint32_t n = 0;
		int rc;

		if (k->tail == 0 && k->compat == 0)
			continue;
		make_kind(k, 12, 1024);
		write_one();
		cut_power();
		CHECK_INT(dev_write(base, (runs[0].pblk + 3) * 4096 + 99, &wrong, 1), 0);
		CHECK_INT(open_log(), 0);
		base->stats.writes = 0;
		rc = jnl_recover(jnl, &n);
		printf("# %s: %d, %u transactions\n", k->name, rc, n);
		CHECK(rc == 0 ? n == 0 : rc == -EBADMSG && base->stats.writes == 0);
		CHECK_INT(home(64), 0);
		cut_power();
		dev_close(base);
		diag_clear(&diag);
	}
}

int main(void)
{
	return tap_main();
}

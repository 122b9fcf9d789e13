/* SPDX-License-Identifier: BSD-2-Clause */
/* Recovery: what comes back from a log, from one that wraps, and from one that is damaged. */
#include "journal_log.h"

#include "io/fault.h"
#include "ondisk/features.h"

#define CSUM RO_COMPAT_METADATA_CSUM

/* A fresh log with checksums, open. */
static void start(void)
{
	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
}

static void change_and_commit(uint64_t from, uint32_t n, char c)
{
	change(from, n, c);
	commit();
}

/* One byte of a log block; the first run of the log holds the first hundred. */
static void damage(uint32_t lblk, size_t at)
{
	uint8_t byte = 'w';

	CHECK_INT(dev_write(base, ((runs[0].pblk + lblk) << geom.block_bits) + at, &byte, 1), 0);
}

static void finish(void)
{
	close_log();
	dev_close(base);
}

TEST(recovery_gives_what_was_committed_and_nothing_else)
{
	start();
	change_and_commit(64, 10, 'a');
	change_and_commit(70, 10, 'b');
	change(75, 10, 'c');
	cut_power();
	CHECK_INT(home(64), 0);
	CHECK_INT(reopen(), 2);
	CHECK_INT(home(64), 'a');
	CHECK_INT(home(69), 'a');
	CHECK_INT(home(70), 'b');
	CHECK_INT(home(79), 'b');
	CHECK_INT(home(80), 0);
	finish();
	CHECK_INT(diag.code, 0);
}

TEST(a_recovered_log_takes_transactions_at_once)
{
	make_log(12, 1024, 0, CSUM);
	for (int i = 0; i < 5; i++) {
		CHECK_INT(reopen(), i > 0);
		change_and_commit(64, 4, (char)('a' + i));
		cut_power();
	}
	CHECK_INT(reopen(), 1);
	CHECK_INT(home(67), 'e');
	finish();
}

TEST(handles_wait_for_recovery)
{
	struct handle *h = NULL;

	start();
	change_and_commit(64, 4, 'a');
	cut_power();
	CHECK_INT(open_log(), 0);
	CHECK(jnl_dirty(jnl));
	CHECK_INT(handle_start(jnl, &user, HANDLE_DIR, 1, 0, 0, &h), -EROFS);
	close_log(); /* leaves it dirty */
	diag_clear(&diag);
	CHECK_INT(reopen(), 1);
	CHECK_INT(home(64), 'a');
	finish();
}

TEST(a_revoked_block_keeps_what_came_after_the_revoke)
{
	uint8_t data[4096];

	start();
	change_and_commit(64, 2, 'm');
	forget(64);
	commit();
	memset(data, 'd', sizeof(data)); /* the block is a file's now */
	CHECK_INT(dev_write(base, 64 * 4096, data, sizeof(data)), 0);
	cut_power();
	CHECK_INT(reopen(), 2);
	CHECK_INT(home(64), 'd');
	CHECK_INT(home(65), 'm');
	finish();
}

TEST(a_revoke_that_did_not_commit_revokes_nothing)
{
	start();
	change_and_commit(64, 2, 'm');
	forget(64);
	cut_power();
	CHECK_INT(reopen(), 1);
	CHECK_INT(home(64), 'm');
	finish();
}

TEST(a_block_journaled_after_its_revoke_comes_back)
{
	start();
	change_and_commit(64, 1, 'a');
	forget(64);
	commit();
	change_and_commit(64, 1, 'b');
	/* and in the same transaction, where the revoke is taken back */
	change(65, 1, 'a');
	forget(65);
	change_and_commit(65, 1, 'c');
	cut_power();
	CHECK_INT(reopen(), 4);
	CHECK_INT(home(64), 'b');
	CHECK_INT(home(65), 'c');
	finish();
}

TEST(a_forgotten_block_stays_in_the_log_until_the_forgetting_commits)
{
	start();
	change_and_commit(64, 1, 'a');
	forget(64);
	/* The checkpoint has to commit the forgetting first; then nothing is left to write. */
	CHECK_INT(jnl_checkpoint(jnl, false), 0);
	CHECK_INT(home(64), 0);
	CHECK(buf_find(cache, (ek_pblk){64}) == NULL);
	cut_power();
	reopen();
	CHECK_INT(home(64), 0);
	finish();
}

TEST(a_block_with_the_magic_of_the_log_survives)
{
	struct handle *h;
	struct buf *b;
	uint8_t got[8];
	be32 magic = be32_make(JBD2_MAGIC);

	start();
	h = begin(1);
	CHECK_INT(buf_new(cache, (ek_pblk){90}, &verify_any, (struct buf_owner){0, 0}, &b), 0);
	memcpy(b->data, &magic, 4);
	memcpy(b->data + 4, "tail", 4);
	CHECK_INT(handle_dirty(h, b), 0);
	buf_put(b);
	CHECK_INT(handle_stop(h), 0);
	commit();
	cut_power();
	CHECK_INT(reopen(), 1);
	CHECK_INT(dev_read(base, 90 * 4096, got, 8), 0);
	CHECK(memcmp(got, &magic, 4) == 0 && memcmp(got + 4, "tail", 4) == 0);
	finish();
}

/* Writes much more than the log holds, against a model, with a cut every now and then. */
static void churn(unsigned bits, uint32_t len, uint32_t incompat, uint32_t ro_compat)
{
	static uint8_t model[4000], sure[4000];
	uint32_t seed = 7;

	memset(model, 0, sizeof(model));
	memset(sure, 0, sizeof(sure));
	make_log(bits, len, incompat, ro_compat);
	CHECK_INT(open_log(), 0);
	for (int i = 0; i < 300; i++) {
		uint32_t at, n;

		seed = seed * 1103515245 + 12345;
		at = seed >> 8 & 2047;
		n = 1 + (seed >> 20 & 127);
		n = n > jnl_max_credits(jnl) - 1 ? jnl_max_credits(jnl) - 1 : n;
		change(100 + at, n, (char)(1 + i % 250));
		memset(model + at, 1 + i % 250, n);
		if (i % 3 == 0) {
			CHECK_INT(jnl_commit_running(jnl), 1);
			memcpy(sure, model, sizeof(sure));
		}
		if (i % 60 == 59) {
			jnl_commit_running(jnl);
			memcpy(sure, model, sizeof(sure));
			change(100, 5, 'L'); /* lost */
			cut_power();
			CHECK_INT(reopen() > 0, 1);
			for (uint32_t b = 0; b < 2300; b++)
				CHECK_INT(home(100 + b), sure[b]);
		}
	}
	finish();
	CHECK_INT(diag.code, 0);
}

TEST(the_ring_wraps_and_recovers_with_v3_checksums)
{
	churn(12, 1024, 0, CSUM);
}

TEST(the_ring_wraps_and_recovers_with_v2_checksums_and_64_bit_tags)
{
	churn(10, 1024, JBD2_INCOMPAT_CSUM_V2 | JBD2_INCOMPAT_64BIT, 0);
}

TEST(the_ring_wraps_and_recovers_without_checksums)
{
	churn(10, 1500, 0, 0);
	churn(11, 1024, JBD2_INCOMPAT_64BIT, 0);
}

static void poke_super(size_t at, uint32_t value)
{
	be32 v = be32_make(value);

	CHECK_INT(dev_write(base, (runs[0].pblk << geom.block_bits) + at, &v, sizeof(v)), 0);
}

TEST(commits_with_the_oldest_checksum_recover_and_a_wrong_one_ends_the_log)
{
	make_log(12, 1024, 0, 0);
	poke_super(offsetof(struct jbd2_super, s_feature_compat), JBD2_COMPAT_CHECKSUM);
	CHECK_INT(open_log(), 0);
	change_and_commit(64, 3, 'a');
	change_and_commit(64, 3, 'b');
	cut_power();
	/* log: 1 descriptor, 2-4 data, 5 commit, 6 descriptor, 7-9 data, 10 commit */
	damage(8, 77);
	CHECK_INT(reopen(), 1);
	CHECK_INT(home(65), 'a');
	finish();
}

TEST(a_damaged_block_in_the_middle_of_the_log_is_an_error_and_nothing_is_written)
{
	uint32_t n;

	start();
	change_and_commit(64, 3, 'a');
	change_and_commit(64, 3, 'b');
	cut_power();
	damage(3, 77);
	CHECK_INT(open_log(), 0);
	base->stats.writes = 0;
	CHECK_INT(jnl_recover(jnl, &n), -EBADMSG);
	CHECK_INT(base->stats.writes, 0);
	CHECK(strstr(diag.text, "log block 3") != NULL);
	cut_power();
	dev_close(base);
}

TEST(a_bad_commit_block_ends_the_log_unless_a_good_transaction_follows)
{
	uint32_t n;

	start();
	for (int i = 0; i < 3; i++) {
		change_and_commit(64, 3, (char)('a' + i));
	}
	cut_power();
	damage(15, 777);
	CHECK_INT(reopen(), 2);
	CHECK_INT(home(64), 'b');
	for (int i = 0; i < 2; i++) {
		change_and_commit(64, 3, (char)('d' + i));
	}
	cut_power();
	damage(5, 777);
	CHECK_INT(open_log(), 0);
	CHECK_INT(jnl_recover(jnl, &n), -EBADMSG);
	cut_power();
	dev_close(base);
}

TEST(sequence_numbers_wrap)
{
	make_log(12, 1024, 0, 0);
	poke_super(offsetof(struct jbd2_super, s_sequence), 0xfffffffe);
	CHECK_INT(open_log(), 0);
	for (int i = 0; i < 5; i++) {
		change(64, 3, (char)('a' + i));
		CHECK_INT(jnl_running(jnl), 0xfffffffeu + (uint32_t)i);
		commit();
	}
	CHECK_INT(jnl_commit(jnl, 0xffffffff), 0);
	cut_power();
	CHECK_INT(reopen(), 5);
	CHECK_INT(home(64), 'e');
	finish();
}

TEST(a_version_1_superblock_is_taken_over_when_the_log_is_empty)
{
	be32 type;

	make_log(12, 1024, 0, 0);
	poke_super(4, JBD2_SUPER_V1);
	poke_super(offsetof(struct jbd2_super, s_feature_incompat), 0xffffffff);
	CHECK_INT(open_log(), 0);
	change_and_commit(64, 1, 'a');
	cut_power();
	CHECK_INT(reopen(), 1);
	CHECK_INT(home(64), 'a');
	close_log();
	CHECK_INT(dev_read(base, runs[0].pblk * 4096 + 4, &type, 4), 0);
	CHECK_INT(be32_get(type), JBD2_SUPER_V2);
	dev_close(base);
}

int main(void)
{
	return tap_main();
}

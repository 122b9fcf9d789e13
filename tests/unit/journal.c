/* SPDX-License-Identifier: BSD-2-Clause */
/* Transactions, commits and checkpoints: what is logged, what comes home, what is counted. */
#include "journal_log.h"

#include "io/fault.h"
#include "ondisk/features.h"

#define CSUM RO_COMPAT_METADATA_CSUM

static uint64_t counted(enum counter c)
{
	return counters.v[c];
}

static void finish(void)
{
	close_log();
	dev_close(base);
}

TEST(opening_a_log_writes_nothing)
{
	make_log(12, 1024, 0, CSUM);
	base->stats.writes = 0;
	CHECK_INT(open_log(), 0);
	CHECK(!jnl_dirty(jnl));
	close_log();
	CHECK_INT(base->stats.writes, 0);
	dev_close(base);
}

TEST(a_handle_may_ask_for_a_third_of_the_log_less_its_overhead)
{
	make_log(12, 8192, 0, CSUM);
	CHECK_INT(open_log(), 0);
	/* 8192 / 3 = 2730 blocks, of which 1 + ceil(2730 / 253) are overhead. */
	CHECK_INT(jnl_max_credits(jnl), 2718);
	finish();
}

static void logs(uint32_t blocks, uint32_t want)
{
	uint64_t before = counted(COUNTER_TX_BLOCKS_LOGGED);

	change(64, blocks, 'x');
	commit();
	CHECK_INT(counted(COUNTER_TX_BLOCKS_LOGGED) - before, want);
}

TEST(a_commit_of_2690_blocks_logs_2702)
{
	make_log(12, 8192, 0, CSUM);
	CHECK_INT(open_log(), 0);
	logs(2690, 2702);
	CHECK_INT(counted(COUNTER_TX_BLOCKS), 2690);
	CHECK_INT(counted(COUNTER_BIO_FWFSM), 1);
	/* One bio for each block of the log, and the superblock that says where it begins. */
	CHECK_INT(counted(COUNTER_BIO_WSM), 2701 + 1);
	finish();
}

TEST(a_commit_logs_its_blocks_a_descriptor_and_a_commit_block)
{
	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	logs(6, 8);
	logs(5, 7);
	logs(3, 5);
	logs(0, 1);
	CHECK_INT(counted(COUNTER_RUN_STATS), 4);
	CHECK_INT(counted(COUNTER_TX_HANDLES), 4);
	finish();
}

TEST(revoke_records_cost_one_block_of_the_log_together)
{
	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	change(64, 20, 'x');
	commit();
	counters.v[COUNTER_TX_BLOCKS_LOGGED] = 0;
	for (uint64_t b = 64; b < 84; b++)
		forget(b);
	commit();
	CHECK_INT(counted(COUNTER_TX_BLOCKS_LOGGED), 2);
	finish();
}

TEST(data_journal_credits_fill_a_transaction_to_2690_blocks)
{
	make_log(12, 8192, 0, CSUM);
	CHECK_INT(open_log(), 0);
	/* Each write asks for 28 blocks and 8 revokes, printed as 29, and dirties one. */
	for (uint32_t i = 0; counted(COUNTER_RUN_STATS) == 0 && i < 4000; i++) {
		struct handle *h = begin(28);

		CHECK_INT(h->requested, 29);
		CHECK_INT(put(h, 64 + i, 'd'), 0);
		CHECK_INT(handle_stop(h), 0);
	}
	CHECK_INT(counted(COUNTER_TX_BLOCKS), 2690);
	CHECK_INT(counted(COUNTER_TX_BLOCKS_LOGGED), 2702);
	finish();
}

TEST(handles_count_what_they_asked_for_and_what_they_used)
{
	struct handle *h, *inner, *child;

	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	CHECK_INT(handle_start(jnl, &user, HANDLE_WRITE_PAGE, 26, 18, 8, &h), 0);
	CHECK_INT(handle_start(jnl, &user, HANDLE_INODE, 2, 0, 8, &inner), 0);
	CHECK(inner == h);
	CHECK_INT(put(h, 70, 'a'), 0);
	CHECK_INT(put(h, 70, 'b'), 0);
	CHECK_INT(put(h, 71, 'b'), 0);
	CHECK_INT(h->credits, 24);
	CHECK(handle_has_credits(h, 24) && !handle_has_credits(h, 25));
	CHECK_INT(handle_extend(h, 10, 0), 0);
	CHECK_INT(handle_stop(h), 0);
	child = handle_take_reserved(h);
	CHECK_INT(handle_stop(h), 0);
	CHECK_INT(handle_start_reserved(child, &user, HANDLE_EXT_CONVERT), 0);
	CHECK_INT(handle_stop(child), 0);
	CHECK_INT(counted(COUNTER_HANDLE_START), 2);
	CHECK_INT(counters.handles[HANDLE_WRITE_PAGE], 1);
	CHECK_INT(counters.handles[HANDLE_EXT_CONVERT], 1);
	CHECK_INT(counted(COUNTER_NESTED_JOINS), 1);
	CHECK_INT(counted(COUNTER_HANDLE_EXTEND), 1);
	CHECK_INT(counted(COUNTER_HS_REQUESTED), 27 + 10 + 18);
	CHECK_INT(counted(COUNTER_HS_DIRTIED), 2);
	finish();
}

TEST(a_handle_that_no_transaction_could_hold_is_refused)
{
	struct handle *h = NULL;

	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	CHECK_INT(handle_start(jnl, &user, HANDLE_DIR, jnl_max_credits(jnl) + 1, 0, 0, &h),
		  -ENOSPC);
	CHECK_INT(handle_start(jnl, &user, HANDLE_DIR, 1, jnl_max_credits(jnl) / 2 + 1, 0, &h),
		  -ENOSPC);
	CHECK(h == NULL);
	CHECK_INT(handle_start(jnl, &user, HANDLE_DIR, jnl_max_credits(jnl), 0, 0, &h), 0);
	CHECK_INT(handle_extend(h, 1, 0), 1);
	CHECK_INT(handle_stop(h), 0);
	finish();
}

TEST(dirtying_more_than_was_asked_for_aborts_the_journal)
{
	struct handle *h;

	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	h = begin(1);
	CHECK_INT(put(h, 64, 'a'), 0);
	CHECK_INT(put(h, 65, 'a'), -ENOSPC);
	CHECK_INT(put(h, 64, 'a'), -ENOSPC);
	CHECK_INT(handle_stop(h), -ENOSPC);
	CHECK_INT(handle_start(jnl, &user, HANDLE_DIR, 1, 0, 0, &h), -EROFS);
	CHECK_INT(jnl_close(jnl), -ENOSPC);
	leave_log();
	dev_close(base);
}

TEST(a_committed_block_goes_home_at_the_checkpoint_and_not_before)
{
	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	change(64, 3, 'x');
	commit();
	CHECK_INT(home(64), 0);
	CHECK_INT(jnl_checkpoint(jnl, false), 0);
	CHECK_INT(home(64), 'x');
	CHECK_INT(home(66), 'x');
	CHECK_INT(counted(COUNTER_CHECKPOINT_STATS), 1);
	CHECK_INT(counted(COUNTER_UPDATE_LOG_TAIL), 1);
	finish();
}

TEST(a_block_that_runs_again_goes_home_with_its_next_commit_only)
{
	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	change(64, 1, 'a');
	change(65, 1, 'a');
	commit();
	change(64, 1, 'b');
	CHECK_INT(jnl_checkpoint(jnl, false), 0);
	CHECK_INT(jnl_running(jnl), 0); /* it had to be committed */
	CHECK_INT(home(65), 'a');
	CHECK_INT(home(64), 0);
	cut_power();
	CHECK_INT(reopen(), 1);
	CHECK_INT(home(64), 'b');
	finish();
}

TEST(recovery_gives_what_was_committed_and_nothing_else)
{
	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	change(64, 10, 'a');
	commit();
	change(70, 10, 'b');
	commit();
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
		change(64, 4, (char)('a' + i));
		commit();
		cut_power();
	}
	CHECK_INT(reopen(), 1);
	CHECK_INT(home(67), 'e');
	finish();
}

TEST(handles_wait_for_recovery)
{
	struct handle *h = NULL;

	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	change(64, 4, 'a');
	commit();
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

	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	change(64, 2, 'm');
	commit();
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
	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	change(64, 2, 'm');
	commit();
	forget(64);
	cut_power();
	CHECK_INT(reopen(), 1);
	CHECK_INT(home(64), 'm');
	finish();
}

TEST(a_block_journaled_after_its_revoke_comes_back)
{
	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	change(64, 1, 'a');
	commit();
	forget(64);
	commit();
	change(64, 1, 'b');
	commit();
	/* and in the same transaction, where the revoke is taken back */
	change(65, 1, 'a');
	forget(65);
	change(65, 1, 'c');
	commit();
	cut_power();
	CHECK_INT(reopen(), 4);
	CHECK_INT(home(64), 'b');
	CHECK_INT(home(65), 'c');
	finish();
}

TEST(a_forgotten_block_stays_in_the_log_until_the_forgetting_commits)
{
	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	change(64, 1, 'a');
	commit();
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

	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
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
	uint8_t byte = 'w';

	make_log(12, 1024, 0, 0);
	poke_super(offsetof(struct jbd2_super, s_feature_compat), JBD2_COMPAT_CHECKSUM);
	CHECK_INT(open_log(), 0);
	change(64, 3, 'a');
	commit();
	change(64, 3, 'b');
	commit();
	cut_power();
	/* log: 1 descriptor, 2-4 data, 5 commit, 6 descriptor, 7-9 data, 10 commit */
	CHECK_INT(dev_write(base, (runs[0].pblk + 8) * 4096 + 77, &byte, 1), 0);
	CHECK_INT(reopen(), 1);
	CHECK_INT(home(65), 'a');
	finish();
}

TEST(a_damaged_block_in_the_middle_of_the_log_is_an_error_and_nothing_is_written)
{
	uint8_t byte = 'w';
	uint32_t n;

	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	change(64, 3, 'a');
	commit();
	change(64, 3, 'b');
	commit();
	cut_power();
	CHECK_INT(dev_write(base, (runs[0].pblk + 3) * 4096 + 77, &byte, 1), 0);
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
	uint8_t byte = 'w';
	uint32_t n;

	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	for (int i = 0; i < 3; i++) {
		change(64, 3, (char)('a' + i));
		commit();
	}
	cut_power();
	CHECK_INT(dev_write(base, (runs[0].pblk + 15) * 4096 + 777, &byte, 1), 0);
	CHECK_INT(reopen(), 2);
	CHECK_INT(home(64), 'b');
	for (int i = 0; i < 2; i++) {
		change(64, 3, (char)('d' + i));
		commit();
	}
	cut_power();
	CHECK_INT(dev_write(base, (runs[0].pblk + 5) * 4096 + 777, &byte, 1), 0);
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
	change(64, 1, 'a');
	commit();
	cut_power();
	CHECK_INT(reopen(), 1);
	CHECK_INT(home(64), 'a');
	close_log();
	CHECK_INT(dev_read(base, runs[0].pblk * 4096 + 4, &type, 4), 0);
	CHECK_INT(be32_get(type), JBD2_SUPER_V2);
	dev_close(base);
}

/* ---- hooks and callbacks ---- */

static char story[200];

static void tell(const char *what)
{
	strncat(story, what, sizeof(story) - strlen(story) - 1);
}

static int write_ordered(void *ctx, struct jnl_inode *ji)
{
	tell(home(LOG_AT + 1024 + 1) == 0 ? "ordered " : "too late ");
	CHECK_INT(ji->start, 100);
	CHECK_INT(ji->end, 900);
	return 0;
}

static void locked(void *ctx, uint32_t tid)
{
	tell("locked ");
}

static void called(struct jnl_callback *cb, int error)
{
	tell(error == 0 ? "called " : "lost ");
}

TEST(ordered_data_comes_before_the_log_and_callbacks_after)
{
	struct jnl_inode ji = {0}, gone = {0};
	struct jnl_callback cb = {.done = called}, lost = {.done = called};
	struct handle *h;

	story[0] = 0;
	make_log(12, 1024, 0, CSUM);
	cfg.hooks.ordered = write_ordered;
	cfg.hooks.locked = locked;
	CHECK_INT(open_log(), 0);
	h = begin(3);
	CHECK_INT(put(h, 64, 'a'), 0);
	CHECK_INT(handle_order(h, &ji, 200, 900, true), 0);
	CHECK_INT(handle_order(h, &ji, 100, 300, false), 0);
	CHECK_INT(handle_order(h, &gone, 0, 1, false), 0);
	jnl_unorder(jnl, &gone);
	handle_callback(h, &cb);
	h->sync = true;
	CHECK_INT(handle_stop(h), 0);
	CHECK_STR(story, "ordered locked called ");
	CHECK(ji.tx == NULL);
	CHECK_INT(counted(COUNTER_SUBMIT_INODE_DATA), 1);
	h = begin(3);
	handle_callback(h, &lost);
	CHECK_INT(handle_stop(h), 0);
	cut_power();
	CHECK_STR(story, "ordered locked called lost ");
	dev_close(base);
}

static struct handle *waiting;
static struct jnl_user worker;

static void convert(void *ctx, int result)
{
	CHECK_INT(result, 0);
	CHECK_INT(handle_start_reserved(waiting, &worker, HANDLE_EXT_CONVERT), 0);
	CHECK_INT(put(waiting, 71, 'c'), 0);
	CHECK_INT(handle_stop(waiting), 0);
	tell("converted ");
}

static int write_and_convert(void *ctx, struct jnl_inode *ji)
{
	static uint8_t data[4096] = "data";
	struct iovec iov = {data, sizeof(data)};

	return bioq_write(bioq, 200 * 4096, &iov, 1, 0, convert, NULL);
}

TEST(a_completion_joins_the_transaction_whose_data_it_ends)
{
	struct jnl_inode ji = {0};
	struct handle *h;

	story[0] = 0;
	worker.current = NULL;
	make_log(12, 1024, 0, CSUM);
	cfg.hooks.ordered = write_and_convert;
	CHECK_INT(open_log(), 0);
	CHECK_INT(handle_start(jnl, &user, HANDLE_WRITE_PAGE, 3, 2, 8, &h), 0);
	waiting = handle_take_reserved(h);
	CHECK_INT(handle_order(h, &ji, 0, 4096, false), 0);
	CHECK_INT(put(h, 70, 'a'), 0);
	CHECK_INT(handle_stop(h), 0);
	commit();
	CHECK_STR(story, "converted ");
	CHECK_INT(counted(COUNTER_TX_BLOCKS), 2);
	CHECK_INT(counted(COUNTER_TX_HANDLES), 2);
	cut_power();
	CHECK_INT(reopen(), 1);
	CHECK_INT(home(71), 'c');
	finish();
}

static void ignore(void *ctx, int result)
{
	CHECK_INT(result, -EIO);
	tell("failed ");
}

TEST(a_failed_write_of_data_is_not_the_journals_concern)
{
	static uint8_t data[4096];
	struct fault plan = {
	    .calls = FAULT_WRITE, .error = EIO, .bad_off = 200 * 4096, .bad_len = 4096};
	struct iovec iov = {data, sizeof(data)};

	story[0] = 0;
	make_log(12, 1024, 0, CSUM);
	CHECK_INT(fault_open(base, &dev), 0);
	CHECK_INT(open_log(), 0);
	fault_arm(dev, &plan);
	change(64, 1, 'a');
	CHECK_INT(bioq_write(bioq, 200 * 4096, &iov, 1, 0, ignore, NULL), 0);
	commit();
	CHECK_INT(jnl_checkpoint(jnl, true), 0);
	CHECK_STR(story, "failed ");
	CHECK_INT(bioq_drain(bioq), -EIO); /* still there for who asks */
	CHECK_INT(home(64), 'a');
	close_log();
	dev_close(dev);
	dev_close(base);
}

TEST(a_transaction_commits_when_it_is_old)
{
	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	change(64, 1, 'a');
	CHECK_INT(jnl_tick(jnl), 0);
	clock_sec += 5;
	CHECK_INT(jnl_tick(jnl), 1);
	CHECK_INT(jnl_tick(jnl), 0);
	finish();
}

TEST(a_restart_commits_and_goes_on_in_a_new_transaction)
{
	struct handle *h;
	uint32_t tid;

	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	h = begin(2);
	tid = handle_tid(h);
	CHECK(jnl_will_send_barrier(jnl, tid));
	CHECK_INT(put(h, 64, 'a'), 0);
	CHECK_INT(handle_restart(h, 2, 0), 0);
	CHECK_INT(jnl_committed(jnl), tid);
	CHECK(!jnl_will_send_barrier(jnl, tid));
	CHECK_INT(handle_tid(h), tid + 1);
	CHECK_INT(put(h, 64, 'b'), 0);
	CHECK_INT(handle_stop(h), 0);
	cut_power();
	CHECK_INT(reopen(), 1);
	CHECK_INT(home(64), 'a');
	finish();
}

TEST(commits_and_checkpoints_refuse_to_run_under_an_open_handle)
{
	struct handle *h;

	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	h = begin(2);
	CHECK_INT(jnl_commit_running(jnl), -EBUSY);
	CHECK_INT(jnl_checkpoint(jnl, true), -EBUSY);
	CHECK_INT(handle_stop(h), 0);
	diag_clear(&diag);
	finish();
}

int main(void)
{
	return tap_main();
}

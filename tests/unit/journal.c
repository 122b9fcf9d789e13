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

TEST(a_sync_of_the_device_writes_what_no_transaction_has_changed_again)
{
	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	change(64, 1, 'a');
	change(65, 1, 'a');
	commit();
	change(64, 1, 'b');
	CHECK_INT(jnl_write_home(jnl, false), 0);
	CHECK(jnl_running(jnl) != 0); /* nothing had to be committed for it */
	CHECK_INT(home(65), 'a');
	CHECK_INT(home(64), 0);
	commit();
	CHECK_INT(home(64), 0);
	CHECK_INT(jnl_write_home(jnl, true), 0);
	CHECK_INT(home(64), 'b');
	finish();
}

TEST(what_a_sync_of_the_device_wrote_early_is_as_it_was_after_a_power_cut)
{
	make_log(12, 1024, 0, CSUM);
	CHECK_INT(open_log(), 0);
	change(64, 1, 'a');
	change(65, 1, 'a');
	commit();
	change(64, 1, 'b');
	CHECK_INT(jnl_write_home(jnl, false), 0);
	cut_power();
	CHECK_INT(reopen(), 1);
	CHECK_INT(home(64), 'a');
	CHECK_INT(home(65), 'a');
	finish();
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

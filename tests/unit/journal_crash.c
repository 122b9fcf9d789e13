/* SPDX-License-Identifier: BSD-2-Clause */
/* What a power cut or a failing device leaves behind: old or new, never in between. */
#include "journal_log.h"

#include "io/fault.h"
#include "io/recorder.h"
#include "ondisk/features.h"

#define FIRST  64u
#define BLOCKS 300u
#define REUSED 100u /* becomes a file's block after commit REUSE_AT */
#define STEPS  8u

enum { REUSE_AT = 3 };

/* The bytes of blocks FIRST.. after each commit; model[0] is the beginning. */
static uint8_t model[STEPS + 1][BLOCKS];

/* Transaction k changes a part of the blocks; the parts overlap. */
static void part(unsigned k, uint32_t *from, uint32_t *n)
{
	static const uint32_t parts[STEPS][2] = {{0, 300}, {10, 5},   {0, 200},   {100, 200},
						 {0, 1},   {50, 200}, {120, 180}, {7, 60}};

	*from = parts[k - 1][0];
	*n = parts[k - 1][1];
}

static void make_model(void)
{
	memset(model, 0, sizeof(model));
	for (unsigned k = 1; k <= STEPS; k++) {
		uint32_t from, n;

		part(k, &from, &n);
		memcpy(model[k], model[k - 1], BLOCKS);
		memset(model[k] + from, (int)('a' + k), n);
	}
}

static bool data_failed; /* which is not the journal's concern */

static int reuse_block(void)
{
	uint8_t data[4096];
	struct iovec iov = {data, geom.block_size};
	int rc;

	memset(data, 'D', sizeof(data));
	rc = bioq_write(bioq, (uint64_t)REUSED << geom.block_bits, &iov, 1, 0, NULL, NULL);
	if (rc == 0)
		rc = bioq_flush(bioq);
	data_failed = rc < 0;
	return rc;
}

static int one_step(unsigned k)
{
	struct handle *h;
	uint32_t from, n;
	int rc;

	part(k, &from, &n);
	rc = handle_start(jnl, &user, HANDLE_MISC, n + 2, 0, 8, &h);
	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		if (FIRST + from + i != REUSED || k < REUSE_AT)
			rc = put(h, FIRST + from + i, (char)('a' + k));
	}
	if (k == REUSE_AT && rc == 0)
		rc = handle_forget(h, NULL, (ek_pblk){REUSED});
	h->sync = true;
	if (rc == 0)
		return handle_stop(h);
	handle_stop(h);
	return rc;
}

/* How many steps are certain: the last one whose commit returned without error. */
static unsigned run(struct dev *recorder)
{
	for (unsigned k = 1; k <= STEPS; k++) {
		if (one_step(k) < 0)
			return k - 1;
		if (k == REUSE_AT && reuse_block() < 0)
			return k - 1;
		if (recorder != NULL)
			CHECK_INT(recorder_mark(recorder, k), 0);
		if (k % 4 == 0 && jnl_checkpoint(jnl, true) < 0)
			return k;
	}
	return STEPS;
}

static bool matches(struct dev *d, unsigned k, unsigned sure)
{
	for (uint32_t i = 0; i < BLOCKS; i++) {
		int c = byte_on(d, FIRST + i);

		if (FIRST + i == REUSED && k >= REUSE_AT) {
			if (sure >= REUSE_AT && c != 'D')
				return false;
			continue;
		}
		if (c != model[k][i])
			return false;
	}
	return true;
}

/* d holds the state of some step from sure on. */
static bool is_a_step(struct dev *d, unsigned sure)
{
	for (unsigned k = sure; k <= STEPS; k++) {
		if (matches(d, k, sure))
			return true;
	}
	return false;
}

static int recover_on(struct dev *d)
{
	struct jnl_config c = cfg;
	struct buf_cache *own;
	struct jnl *j;
	uint32_t n;
	int rc;

	diag_clear(&diag);
	CHECK_INT(buf_cache_open(d, &geom, 1 << 20, &diag, &own), 0);
	c.cache = own;
	c.bioq = NULL;
	c.read_only = true;
	rc = jnl_open(&c, &j);
	if (rc == 0) {
		rc = jnl_recover(j, &n);
		jnl_kill(j);
	}
	buf_cache_close(own);
	return rc;
}

static void start(unsigned bits)
{
	make_model();
	make_log(bits, 1024, 0, RO_COMPAT_METADATA_CSUM);
}

/* A recovery that is cut off itself is done again. */
static unsigned cut_recovery(struct dev *image, unsigned sure)
{
	struct states_opts opts = {.seed = 5, .full = 3, .random = 3};
	struct dev *recorder, *again;
	struct states *st;
	struct state s;
	unsigned n = 0;

	CHECK_INT(recorder_open(image, &recorder), 0);
	CHECK_INT(recover_on(recorder), 0);
	CHECK(is_a_step(recorder, sure));
	CHECK_INT(states_open(recorder, &opts, &st), 0);
	while (states_next(st, &again, &s) == 1) {
		CHECK_INT(recover_on(again), 0);
		CHECK(is_a_step(again, sure));
		n++;
	}
	states_close(st);
	dev_close(recorder);
	return n;
}

static void survives(unsigned bits, uint32_t sector)
{
	struct states_opts opts = {.seed = 3, .sector = sector, .full = 6, .random = 16};
	struct dev *image;
	struct states *st;
	struct state s;
	unsigned n = 0, nested = 0;

	tap_one_thread();
	start(bits);
	CHECK_INT(recorder_open(base, &dev), 0);
	CHECK_INT(open_log(), 0);
	CHECK_INT(run(dev), STEPS);
	close_log();
	CHECK_INT(states_open(dev, &opts, &st), 0);
	while (states_next(st, &image, &s) == 1) {
		unsigned sure = (unsigned)s.last_mark;

		/* Epochs are hundreds of blocks long: of states so alike a sample will do. */
		if (n++ % 8 != 0 && strncmp(s.how, "torn", 4) != 0)
			continue;
		if (n % 256 == 1) {
			nested += cut_recovery(image, sure);
			continue;
		}
		if (recover_on(image) < 0 || !is_a_step(image, sure))
			TAP_FAIL("state %u (%s, epoch %llu, %zu writes) is not a step after %u", n,
				 s.how, (unsigned long long)s.epoch, s.writes, sure);
	}
	printf("# %u states, %u within recovery, %llu log blocks written\n", n, nested,
	       (unsigned long long)counters.v[COUNTER_TX_BLOCKS_LOGGED]);
	CHECK(n > 500 && nested > 10);
	/* or the ring would not have been closed */
	CHECK(counters.v[COUNTER_TX_BLOCKS_LOGGED] > 1024);
	states_close(st);
	dev_close(dev);
	dev_close(base);
}

TEST(every_cut_and_torn_write_gives_a_committed_state)
{
	survives(10, 512);
}

TEST(the_same_with_large_blocks_and_large_sectors)
{
	survives(12, 4096);
}

static unsigned fail_at(uint64_t nth, unsigned calls, bool for_good, size_t torn)
{
	struct fault plan = {
	    .calls = calls, .nth = nth, .for_good = for_good, .error = EIO, .torn = torn};
	unsigned sure;
	uint64_t fired;

	data_failed = false;
	start(10);
	CHECK_INT(fault_open(base, &dev), 0);
	CHECK_INT(open_log(), 0);
	fault_arm(dev, &plan);
	sure = run(NULL);
	fired = fault_fired(dev);
	if (fired > 0 && !data_failed) {
		struct handle *h;

		CHECK(jnl_error(jnl) < 0);
		CHECK_INT(handle_start(jnl, &user, HANDLE_MISC, 1, 0, 0, &h), -EROFS);
		CHECK(jnl_commit_running(jnl) <= 0);
	}
	cut_power();
	dev_close(dev);
	CHECK_INT(recover_on(base), 0);
	CHECK(is_a_step(base, sure));
	dev_close(base);
	return (unsigned)fired;
}

static void fails_well(unsigned calls, bool for_good, size_t torn)
{
	unsigned n = 1;

	tap_one_thread();
	/* Most writes are blocks of one long run of the log: a sample of them will do. */
	while (fail_at(n, calls, for_good, torn) > 0)
		n += calls == FAULT_WRITE ? 5 : 1;
	printf("# up to the %uth call failed, one at a time\n", n - 1);
	CHECK(n > 10);
}

TEST(each_write_that_fails_aborts_the_journal_and_loses_nothing)
{
	fails_well(FAULT_WRITE, false, 0);
}

TEST(each_write_that_fails_half_way_aborts_the_journal_and_loses_nothing)
{
	fails_well(FAULT_WRITE, true, 700);
}

TEST(each_flush_that_fails_aborts_the_journal_and_loses_nothing)
{
	fails_well(FAULT_FLUSH, false, 0);
}

/* A device with a log to be recovered, all steps committed and few of them home. */
static void make_dirty(void)
{
	start(10);
	CHECK_INT(open_log(), 0);
	for (unsigned k = 1; k <= 2; k++)
		CHECK_INT(one_step(k), 0);
	cut_power();
}

TEST(a_recovery_in_which_a_call_fails_is_done_again)
{
	unsigned n = 0;
	uint64_t fired;

	make_dirty();
	do {
		struct fault plan = {.calls = FAULT_ALL, .nth = ++n, .error = EIO, .torn = 700};
		struct dev *over, *faulty;

		CHECK_INT(dev_open_overlay(base, &over), 0);
		CHECK_INT(fault_open(over, &faulty), 0);
		fault_arm(faulty, &plan);
		CHECK_INT(recover_on(faulty), fault_fired(faulty) > 0 ? -EIO : 0);
		fired = fault_fired(faulty);
		CHECK(fired == 0 || diag.text[0] != 0);
		dev_close(faulty);
		CHECK_INT(recover_on(over), 0);
		CHECK(matches(over, 2, 0));
		dev_close(over);
	} while (fired > 0);
	printf("# %u calls failed, one at a time\n", n - 1);
	CHECK(n > 8);
	dev_close(base);
}

static int told;

static void aborted(void *ctx, int error)
{
	told++;
}

TEST(the_layer_above_is_told_once_that_the_journal_gave_up)
{
	struct fault plan = {.calls = FAULT_WRITE, .nth = 1, .for_good = true, .error = EIO};

	told = 0;
	start(10);
	cfg.hooks.aborted = aborted;
	CHECK_INT(fault_open(base, &dev), 0);
	CHECK_INT(open_log(), 0);
	fault_arm(dev, &plan);
	CHECK_INT(one_step(1), -EIO);
	CHECK_INT(one_step(2), -EROFS);
	CHECK_INT(jnl_close(jnl), -EIO);
	leave_log();
	CHECK_INT(told, 1);
	dev_close(dev);
	dev_close(base);
}

int main(void)
{
	return tap_main();
}

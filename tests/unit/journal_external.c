/* SPDX-License-Identifier: BSD-2-Clause */
/* A log on a device of its own: what goes where, in which order, and what comes back. */
#include "journal_log.h"

#define LOG_BLOCKS 1024u

static struct dev *log_dev;
static struct bioq *log_queue;

static void start(void)
{
	static const struct jnl_run whole = {0, LOG_BLOCKS, 0};
	static const uint8_t uuid[16] = "an other device";
	uint8_t block[4096];

	make_log(12, 1024, 0, 0);
	CHECK_INT(dev_open_memory((uint64_t)LOG_BLOCKS << 12, &diag, &log_dev), 0);
	memset(block, 'e', sizeof(block));
	CHECK_INT(dev_write(log_dev, 0, block, sizeof(block)), 0);
	cfg.runs = &whole;
	cfg.run_count = 1;
	cfg.blocks = LOG_BLOCKS;
	cfg.log_dev = log_dev;
	cfg.super_at = 1;
	CHECK_INT(buf_cache_open(base, &geom, 1 << 20, &diag, &cache), 0);
	cfg.cache = cache;
	CHECK_INT(jnl_format(&cfg, JBD2_INCOMPAT_CSUM_V3, uuid, 0), 0);
	buf_cache_close(cache);
}

static int open_external(void)
{
	CHECK_INT(bioq_open(log_dev, &counters, &diag, &log_queue), 0);
	cfg.log_bioq = log_queue;
	return open_log();
}

static void cut_both(void)
{
	cut_power();
	bioq_close(log_queue);
}

static uint32_t recover(void)
{
	uint32_t n = 0;

	CHECK_INT(open_external(), 0);
	CHECK_INT(jnl_recover(jnl, &n), 0);
	return n;
}

static void finish(void)
{
	close_log();
	bioq_close(log_queue);
	dev_close(log_dev);
	dev_close(base);
}

TEST(commits_go_to_the_device_of_the_log_and_come_back)
{
	start();
	CHECK_INT(open_external(), 0);
	base->stats.writes = 0;
	base->stats.flushes = 0;
	change(64, 10, 'a');
	commit();
	CHECK_INT(base->stats.writes, 0);
	CHECK(base->stats.flushes > 0); /* before the commit record: ordered data lies there */
	change(64, 10, 'b');            /* lost */
	cut_both();
	CHECK_INT(home(64), 0);
	CHECK_INT(recover(), 1);
	CHECK_INT(home(64), 'a');
	CHECK_INT(home(73), 'a');
	change(LOG_AT, 1, 'c'); /* no block of the filesystem is the log's */
	commit();
	cut_both();
	CHECK_INT(recover(), 1);
	CHECK_INT(home(LOG_AT), 'c');
	finish();
	CHECK_INT(diag.code, 0);
}

TEST(what_lies_before_the_log_s_superblock_stays)
{
	start();
	CHECK_INT(open_external(), 0);
	for (int i = 0; i < 40; i++) {
		change(64, 100, (char)('a' + i % 26));
		commit();
	}
	close_log();
	CHECK_INT(byte_on(log_dev, 0), 'e');
	CHECK_INT(home(163), 'a' + 39 % 26);
	bioq_close(log_queue);
	dev_close(log_dev);
	dev_close(base);
}

TEST(a_log_of_several_filesystems_is_refused)
{
	be32 two = be32_make(2);

	start();
	CHECK_INT(
	    dev_write(log_dev, 4096 + offsetof(struct jbd2_super, s_nr_users), &two, sizeof(two)),
	    0);
	CHECK_INT(open_external(), -EOPNOTSUPP);
	CHECK(strstr(diag.text, "s_nr_users 2") != NULL);
	leave_log();
	bioq_close(log_queue);
	dev_close(log_dev);
	dev_close(base);
}

int main(void)
{
	return tap_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder and the crash states it leads to. */
#include "tap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/diag.h"
#include "io/dev.h"
#include "io/recorder.h"

#define SIZE       65536
#define MAX_STATES 4000

static struct diag diag;
static struct dev *base, *dev;

static void start(void)
{
	diag_clear(&diag);
	CHECK_INT(dev_open_memory(SIZE, &diag, &base), 0);
	CHECK_INT(dev_write(base, 0, "old", 3), 0);
	CHECK_INT(recorder_open(base, &dev), 0);
}

static void stop(void)
{
	dev_close(dev);
	dev_close(base);
}

static void write_byte(uint64_t off, char c)
{
	CHECK_INT(dev_write(dev, off, &c, 1), 0);
}

/* What the states look like: the bytes at 1000, 2000 ... of each, as text, with its facts. */
static struct shot {
	char text[9];
	struct state state;
} shots[MAX_STATES];

static size_t collect(struct states_opts opts)
{
	struct states *st;
	struct dev *image;
	size_t n = 0;
	int r;

	CHECK_INT(states_open(dev, &opts, &st), 0);
	while ((r = states_next(st, &image, &shots[n].state)) == 1) {
		memset(shots[n].text, 0, sizeof(shots[n].text));
		for (size_t i = 0; i < 8; i++) {
			CHECK_INT(dev_read(image, 1000 * (i + 1), &shots[n].text[i], 1), 0);
			if (shots[n].text[i] == 0)
				shots[n].text[i] = '.';
		}
		CHECK_INT(dev_zero(image, 0, SIZE), 0); /* a state may be spoilt */
		CHECK(++n < MAX_STATES);
	}
	CHECK_INT(r, 0);
	CHECK_INT(states_next(st, &image, &shots[n].state), 0);
	states_close(st);
	return n;
}

static bool seen(size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(shots[i].text, text) == 0)
			return true;
	}
	return false;
}

TEST(the_log_tells_what_was_done_in_order)
{
	const struct record *log;
	size_t n;

	start();
	write_byte(1000, 'a');
	CHECK_INT(dev_flush(dev), 0);
	CHECK_INT(recorder_mark(dev, 7), 0);
	CHECK_INT(dev_zero(dev, 0, 512), 0);
	log = recorder_log(dev, &n);
	CHECK_INT(n, 4);
	CHECK(log[0].kind == RECORD_WRITE && log[0].off == 1000 && log[0].data[0] == 'a');
	CHECK(log[1].kind == RECORD_FLUSH && log[2].kind == RECORD_MARK && log[2].mark == 7);
	CHECK(log[3].kind == RECORD_WRITE && log[3].len == 512 && log[3].data == NULL);
	CHECK_INT(log[3].seq, 3);
	stop();
}

TEST(an_untouched_device_has_one_state)
{
	start();
	CHECK_INT(collect((struct states_opts){0}), 1);
	CHECK_STR(shots[0].text, "........");
	stop();
}

TEST(a_short_epoch_gives_every_subset_once)
{
	start();
	for (int i = 0; i < 4; i++)
		write_byte(1000 * (uint64_t)(i + 1), (char)('a' + i));
	CHECK_INT(collect((struct states_opts){0}), 16);
	CHECK(seen(16, "........") && seen(16, "abcd....") && seen(16, "a.c.....") &&
	      seen(16, "...d...."));
	stop();
}

TEST(flushed_writes_are_never_missing)
{
	size_t n;

	start();
	write_byte(1000, 'a');
	write_byte(2000, 'b');
	CHECK_INT(dev_flush(dev), 0);
	write_byte(3000, 'c');
	write_byte(4000, 'd');
	n = collect((struct states_opts){0});
	CHECK_INT(n, 7); /* four of the first epoch, one of them opens the second, three more */
	for (size_t i = 0; i < n; i++) {
		if (shots[i].text[2] != '.' || shots[i].text[3] != '.')
			CHECK(memcmp(shots[i].text, "ab", 2) == 0);
	}
	stop();
}

TEST(the_last_writer_of_a_block_wins)
{
	size_t n;

	start();
	write_byte(1000, 'a');
	write_byte(1000, 'b');
	n = collect((struct states_opts){0});
	CHECK_INT(n, 3);
	CHECK(seen(n, "a.......") && seen(n, "b.......") && seen(n, "........"));
	stop();
}

TEST(marks_say_which_promises_must_hold)
{
	size_t n, with = 0;

	start();
	write_byte(1000, 'a');
	CHECK_INT(dev_flush(dev), 0);
	CHECK_INT(recorder_mark(dev, 42), 0);
	write_byte(2000, 'b');
	n = collect((struct states_opts){0});
	CHECK_INT(n, 4); /* "a" counts twice: without and with the promise */
	for (size_t i = 0; i < n; i++) {
		if (shots[i].state.marks == 0)
			continue;
		with++;
		CHECK_INT(shots[i].state.last_mark, 42);
		CHECK_INT(shots[i].state.epoch, 1);
		CHECK_INT(shots[i].text[0], 'a');
	}
	CHECK_INT(with, 2);
	stop();
}

TEST(writes_of_many_sectors_tear_between_sectors)
{
	char buf[4096];
	size_t n, torn = 0;

	start();
	memset(buf, 'x', sizeof(buf));
	CHECK_INT(dev_write(dev, 512, buf, sizeof(buf)), 0);
	n = collect((struct states_opts){.seed = 3});
	/* 1000, 2000, 3000, 4000 lie in sectors 1, 3, 5, 7 */
	CHECK(seen(n, "x.......") && seen(n, "xxxx....") && seen(n, "........"));
	for (size_t i = 0; i < n; i++)
		torn += strcmp(shots[i].state.how, "torn") == 0;
	CHECK(torn >= 2 && torn <= 3);
	CHECK_INT(collect((struct states_opts){.sector = 4096}), 3); /* one boundary: one tear */
	stop();
}

TEST(a_long_epoch_drops_and_isolates_each_write)
{
	size_t n, dropped = 0, alone = 0, random = 0;

	start();
	for (int i = 0; i < 40; i++)
		write_byte(512 * (uint64_t)i + 488, (char)('A' + i));
	n = collect((struct states_opts){.seed = 1});
	for (size_t i = 0; i < n; i++) {
		dropped += strcmp(shots[i].state.how, "one dropped") == 0;
		alone += strcmp(shots[i].state.how, "one alone") == 0;
		random += strcmp(shots[i].state.how, "random") == 0;
	}
	CHECK_INT(dropped, 39); /* without the last write it is a prefix */
	CHECK_INT(alone, 39);
	CHECK_INT(random, 64);
	CHECK_INT(n, 41 + 39 + 39 + 64);
	stop();
}

TEST(the_same_seed_gives_the_same_states)
{
	static struct shot before[MAX_STATES];
	size_t n;

	start();
	for (int i = 0; i < 40; i++)
		write_byte(200 * (uint64_t)i, (char)('A' + i));
	n = collect((struct states_opts){.seed = 5});
	memcpy(before, shots, sizeof(shots));
	CHECK_INT(collect((struct states_opts){.seed = 5}), n);
	for (size_t i = 0; i < n; i++)
		CHECK_STR(shots[i].text, before[i].text);
	stop();
}

TEST(growth_comes_before_the_writes_that_need_it)
{
	start();
	CHECK_INT(dev_resize(dev, 2 * SIZE), 0);
	CHECK_INT(dev_write(dev, 2 * SIZE - 1, "e", 1), 0);
	CHECK_INT(dev_flush(dev), 0);
	CHECK_INT(collect((struct states_opts){0}), 3);
	stop();
}

TEST(the_base_keeps_what_the_recorder_wrote)
{
	char buf[4] = "";

	start();
	CHECK_INT(dev_write(dev, 1, "ab", 2), 0);
	CHECK_INT(dev_read(base, 0, buf, 3), 0);
	CHECK_STR(buf, "oab");
	stop();
}

int main(void)
{
	return tap_main();
}

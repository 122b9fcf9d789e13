/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles of the journal of kind none. */
#include "tap.h"

#include <errno.h>

#include "base/diag.h"
#include "io/dev.h"
#include "journal/journal.h"

static struct diag diag;
static struct geom geom = {.blocks = 1024, .block_size = 1024, .block_bits = 10};
static struct dev *dev;
static struct buf_cache *cache;
static struct jnl *jnl;
static struct jnl_user user, other;
static int called, called_error;

static void start(bool read_only)
{
	struct jnl_config cfg = {.diag = &diag, .read_only = read_only};

	diag_clear(&diag);
	called = 0;
	user = other = (struct jnl_user){NULL};
	CHECK_INT(dev_open_memory(1 << 20, &diag, &dev), 0);
	CHECK_INT(buf_cache_open(dev, &geom, 1 << 20, &diag, &cache), 0);
	cfg.cache = cache;
	CHECK_INT(jnl_open_none(&cfg, &jnl), 0);
	CHECK(jnl_is_none(jnl));
}

static void stop(void)
{
	CHECK_INT(jnl_close(jnl), 0);
	buf_cache_close(cache);
	dev_close(dev);
}

static struct handle *begin(struct jnl_user *u)
{
	struct handle *h = NULL;

	CHECK_INT(handle_start(jnl, u, HANDLE_MISC, 3, 0, 8, &h), 0);
	return h;
}

static void put(struct handle *h, uint64_t block, char c)
{
	struct buf *b;
	void *p;

	CHECK_INT(buf_new(cache, (ek_pblk){block}, &verify_any, (struct buf_owner){0, 0}, &b), 0);
	CHECK_INT(handle_create(h, b, &p), 0);
	memset(p, c, 1024);
	CHECK_INT(handle_dirty(h, b), 0);
	buf_put(b);
}

static char home(uint64_t block)
{
	char c = 0;

	CHECK_INT(dev_read(dev, block * 1024, &c, 1), 0);
	return c;
}

static void note(struct jnl_callback *cb, int error)
{
	called++;
	called_error = error;
}

TEST(a_change_without_a_log_goes_home_at_the_next_commit)
{
	struct handle *h;
	uint32_t tid;

	start(false);
	h = begin(&user);
	put(h, 7, 'x');
	tid = handle_tid(h);
	CHECK_INT(handle_stop(h), 0);
	CHECK_INT(home(7), 0);
	CHECK_INT(jnl_commit(jnl, tid), 0);
	CHECK_INT(home(7), 'x');
	stop();
}

TEST(closing_without_a_log_writes_everything_home)
{
	struct handle *h;

	start(false);
	h = begin(&user);
	put(h, 9, 'y');
	CHECK_INT(handle_stop(h), 0);
	CHECK_INT(jnl_close(jnl), 0);
	CHECK_INT(home(9), 'y');
	buf_cache_close(cache);
	dev_close(dev);
}

TEST(nested_starts_share_one_handle_and_callbacks_wait_for_the_last_stop)
{
	struct jnl_callback cb = {.done = note};
	struct handle *h, *inner, *second;

	start(false);
	h = begin(&user);
	inner = begin(&user);
	CHECK(inner == h);
	second = begin(&other);
	CHECK(second != h);
	handle_callback(h, &cb);
	CHECK_INT(handle_stop(inner), 0);
	CHECK(user.current == h);
	CHECK_INT(handle_stop(h), 0);
	CHECK(user.current == NULL);
	CHECK_INT(called, 0);
	CHECK_INT(handle_stop(second), 0);
	CHECK_INT(called, 1);
	CHECK_INT(called_error, 0);
	stop();
}

TEST(a_forgotten_block_never_goes_home)
{
	struct handle *h;

	start(false);
	h = begin(&user);
	put(h, 5, 'z');
	CHECK_INT(handle_forget(h, NULL, (ek_pblk){5}), 0);
	CHECK_INT(handle_stop(h), 0);
	CHECK_INT(jnl_commit_running(jnl), 0);
	CHECK_INT(home(5), 0);
	CHECK(buf_find(cache, (ek_pblk){5}) == NULL);
	stop();
}

TEST(credits_never_run_out_without_a_log)
{
	struct handle *h, *child;

	start(false);
	CHECK_INT(handle_start(jnl, &user, HANDLE_WRITE_PAGE, 1, 20, 0, &h), 0);
	for (uint64_t i = 1; i < 50; i++)
		put(h, i, 'a');
	CHECK(handle_has_credits(h, 100));
	CHECK_INT(handle_extend(h, 5, 5), 0);
	CHECK_INT(handle_restart(h, 5, 5), 0);
	child = handle_take_reserved(h);
	CHECK(child != NULL);
	CHECK_INT(handle_stop(h), 0);
	CHECK_INT(handle_start_reserved(child, &user, HANDLE_EXT_CONVERT), 0);
	CHECK_INT(handle_stop(child), 0);
	stop();
}

TEST(an_image_open_for_reading_takes_no_handles)
{
	struct handle *h = NULL;

	start(true);
	CHECK_INT(handle_start(jnl, &user, HANDLE_MISC, 1, 0, 0, &h), -EROFS);
	CHECK(h == NULL);
	CHECK(user.current == NULL);
	stop();
}

int main(void)
{
	return tap_main();
}

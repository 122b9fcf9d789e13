/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of a buffer that its owner puts off until the block leaves. */
#include "tap.h"

#include <errno.h>

#include "base/diag.h"
#include "io/dev.h"
#include "ondisk/buf.h"
#include "ondisk/geom.h"

static struct geom g = {.block_size = 1024, .block_bits = 10, .blocks = 64};
static struct diag d;
static struct dev *dev;
static struct buf_cache *cache;
static const struct buf_owner nobody = {0, 0}, two = {2, 0};

static void begin(void)
{
	diag_clear(&d);
	CHECK_INT(dev_open_memory(64 << 10, &d, &dev), 0);
	CHECK_INT(buf_cache_open(dev, &g, 64 << 10, &d, &cache), 0);
}

static void end(void)
{
	buf_cache_close(cache);
	dev_close(dev);
}

static struct buf *get(uint64_t block)
{
	struct buf *b = NULL;

	CHECK_INT(buf_get(cache, (ek_pblk){block}, &verify_any, nobody, &b), 0);
	return b;
}

/* What is put off is a counter's value at the time when it is done. */
static unsigned late_calls;

static void write_count(void *ctx, struct buf *b, uint32_t arg)
{
	late_calls++;
	b->data[arg] = *(uint8_t *)ctx;
}

TEST(what_was_put_off_is_done_once_before_the_block_leaves)
{
	uint8_t count = 1, got[1024];
	struct buf *b;

	begin();
	late_calls = 0;
	b = get(7);
	buf_dirty(b);
	for (; count < 5; count++)
		buf_put_off(b, write_count, &count, 2);
	CHECK_INT(late_calls, 0);
	CHECK_INT(buf_flush(cache), 0);
	CHECK_INT(late_calls, 1);
	CHECK_INT(dev_read(dev, 7 << 10, got, sizeof(got)), 0);
	CHECK_INT(got[2], 5);

	buf_dirty(b);
	buf_put_off(b, write_count, &count, 3);
	buf_catch_up(b);
	CHECK_INT(b->data[3], 5);
	count = 9;
	CHECK_INT(buf_flush(cache), 0);
	CHECK_INT(late_calls, 2);
	CHECK_INT(b->data[3], 5);
	buf_put(b);
	end();
}

TEST(a_block_that_becomes_another_forgets_what_was_put_off)
{
	uint8_t count = 1;
	struct buf *b;

	begin();
	late_calls = 0;
	b = get(8);
	buf_dirty(b);
	b->flags |= BUF_PROVED;
	b->hint = 12;
	buf_put_off(b, write_count, &count, 2);
	buf_forget(b);
	buf_put(b);
	CHECK_INT(buf_new(cache, (ek_pblk){8}, &verify_any, two, &b), 0);
	CHECK_INT(b->flags & BUF_PROVED, 0);
	CHECK_INT(b->hint, 0);
	buf_dirty(b);
	CHECK_INT(buf_flush(cache), 0);
	CHECK_INT(late_calls, 0);
	buf_put(b);
	end();
}

int main(void)
{
	return tap_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The buffer cache: who sees which bytes, what is dropped, what is written and in which order. */
#include "tap.h"

#include <errno.h>
#include <stdlib.h>

#include "base/diag.h"
#include "io/dev.h"
#include "io/fault.h"
#include "io/recorder.h"
#include "ondisk/buf.h"
#include "ondisk/geom.h"

#define BLOCKS 2000u

static struct geom g = {.block_size = 1024, .block_bits = 10, .blocks = BLOCKS};
static struct diag d;
static struct dev *dev;
static struct buf_cache *cache;
static unsigned checks, seals;

/* Blocks of kind a begin with 'a' and end with the owner's number. */
static int check_kind(const struct buf *b, uint8_t kind)
{
	checks++;
	if (b->data[0] != kind)
		return diag_set(&d, -EUCLEAN, "block %llu is not %c", (unsigned long long)b->pblk.v,
				kind);
	return b->data[1023] == (uint8_t)b->owner.ino ? 0 : -EBADMSG;
}

static int check_a(const struct geom *geom, const struct buf *b, struct diag *diag)
{
	return check_kind(b, 'a');
}

static int check_b(const struct geom *geom, const struct buf *b, struct diag *diag)
{
	return check_kind(b, 'b');
}

static void seal(const struct geom *geom, struct buf *b)
{
	seals++;
	b->data[1023] = (uint8_t)b->owner.ino;
}

static const struct verifier kind_a = {"a block", check_a, seal},
			     kind_b = {"b block", check_b, seal};
static const struct buf_owner one = {1, 0}, two = {2, 0};

static void begin(void)
{
	uint8_t block[1024] = {'a'};

	diag_clear(&d);
	checks = seals = 0;
	CHECK_INT(dev_open_memory((uint64_t)BLOCKS << 10, &d, &dev), 0);
	block[1023] = 1;
	for (uint64_t i = 0; i < BLOCKS; i++) {
		block[1] = (uint8_t)i;
		CHECK_INT(dev_write(dev, i << 10, block, sizeof(block)), 0);
	}
	CHECK_INT(buf_cache_open(dev, &g, 1, &d, &cache), 0); /* 64 buffers, the least */
}

static void end(void)
{
	buf_cache_close(cache);
	dev_close(dev);
}

static struct buf *get(uint64_t block)
{
	struct buf *b;

	if (buf_get(cache, (ek_pblk){block}, &kind_a, one, &b) < 0)
		TAP_FAIL("block %llu: %s", (unsigned long long)block, d.text);
	return b;
}

TEST(bytes_that_the_verifier_refuses_are_never_seen)
{
	struct buf *b = NULL;

	begin();
	CHECK_INT(buf_get(cache, (ek_pblk){5}, &kind_b, one, &b), -EUCLEAN);
	CHECK(b == NULL);
	CHECK_INT(buf_get(cache, (ek_pblk){5}, &kind_a, two, &b), -EBADMSG);
	CHECK(b == NULL);
	CHECK_INT(buf_get(cache, (ek_pblk){5}, &kind_a, one, &b), 0);
	CHECK_INT(b->data[1], 5);
	buf_put(b);
	end();
}

TEST(a_block_is_read_and_proved_once_while_it_is_cached)
{
	struct buf *b, *again;

	begin();
	b = get(5);
	again = get(5);
	CHECK(b == again);
	CHECK_INT(b->refs, 2);
	buf_put(again);
	buf_put(b);
	b = get(5);
	CHECK_INT(checks, 1);
	CHECK_INT(dev->stats.reads, 1);
	buf_put(b);
	CHECK_INT(buf_get(cache, (ek_pblk){5}, &kind_a, two, &b), -EBADMSG);
	b = get(5); /* and the first proof holds */
	CHECK_INT(checks, 2);
	buf_put(b);
	end();
}

TEST(a_dirty_block_is_of_one_kind_and_one_owner)
{
	struct buf *b, *other = NULL;

	begin();
	b = get(5);
	buf_dirty(b);
	CHECK_INT(buf_get(cache, (ek_pblk){5}, &kind_b, one, &other), -EUCLEAN);
	CHECK(strstr(d.text, "block 5 is used as a block of inode 1 and as b block") != NULL);
	CHECK_INT(buf_get(cache, (ek_pblk){5}, &kind_a, two, &other), -EUCLEAN);
	CHECK(other == NULL);
	buf_put(b);
	end();
}

TEST(a_block_that_somebody_holds_is_of_one_kind_and_one_owner)
{
	struct buf *b, *other = NULL;

	begin();
	b = get(5);
	CHECK_INT(buf_get(cache, (ek_pblk){5}, &verify_any, one, &other), -EUCLEAN);
	CHECK(other == NULL);
	buf_put(b);
	CHECK_INT(buf_get(cache, (ek_pblk){5}, &verify_any, one, &other), 0);
	buf_put(other);
	end();
}

TEST(memory_stays_within_its_limit_however_many_blocks_are_read)
{
	begin();
	for (uint64_t i = 0; i < BLOCKS; i++) {
		struct buf *b = get(i);

		CHECK_INT(b->data[1], (uint8_t)i);
		buf_put(b);
	}
	for (uint64_t i = 0; i < BLOCKS - 64; i++)
		CHECK(buf_find(cache, (ek_pblk){i}) == NULL);
	for (uint64_t i = BLOCKS - 64; i < BLOCKS; i++)
		CHECK(buf_find(cache, (ek_pblk){i}) != NULL);
	end();
}

TEST(what_was_used_last_stays_and_what_is_held_or_dirty_always_does)
{
	struct buf *held, *dirty;

	begin();
	held = get(1);
	dirty = get(2);
	dirty->data[1] = 222;
	buf_dirty(dirty);
	buf_put(dirty);
	for (uint64_t i = 10; i < 1000; i++) {
		buf_put(get(i));
		buf_put(get(7));
	}
	CHECK(buf_find(cache, (ek_pblk){7}) != NULL);
	CHECK(buf_find(cache, (ek_pblk){1}) == held);
	CHECK(buf_find(cache, (ek_pblk){2}) == dirty);
	CHECK_INT(dirty->data[1], 222);
	buf_put(held);
	CHECK_INT(buf_flush(cache), 0);
	for (uint64_t i = 10; i < 1000; i++)
		buf_put(get(i));
	CHECK(buf_find(cache, (ek_pblk){2}) == NULL);
	dirty = get(2);
	CHECK_INT(dirty->data[1], 222);
	buf_put(dirty);
	end();
}

static void dirty_new(uint64_t block, struct buf_owner owner)
{
	struct buf *b;

	CHECK_INT(buf_new(cache, (ek_pblk){block}, &kind_a, owner, &b), 0);
	b->data[0] = 'a';
	buf_dirty(b);
	buf_put(b);
}

TEST(dirty_blocks_of_an_owner_are_collected_alone_and_in_order)
{
	struct buf_owner same_list = {65, 0};
	struct buf **bufs;
	size_t n;

	begin();
	dirty_new(30, one);
	dirty_new(20, two);
	dirty_new(10, one);
	dirty_new(11, same_list);
	CHECK_INT(buf_collect(cache, 1, &bufs, &n), 0);
	CHECK_INT(n, 2);
	CHECK_INT(bufs[0]->pblk.v, 10);
	CHECK_INT(bufs[1]->pblk.v, 30);
	CHECK_INT(seals, 2);
	buf_clean(bufs[0]);
	buf_clean(bufs[1]);
	free(bufs);
	CHECK(buf_any_dirty(cache));
	CHECK_INT(buf_collect(cache, 1, &bufs, &n), 0);
	CHECK_INT(n, 0);
	free(bufs);
	CHECK_INT(buf_collect(cache, BUF_OF_ALL, &bufs, &n), 0);
	CHECK_INT(n, 2);
	free(bufs);
	CHECK_INT(buf_flush(cache), 0);
	CHECK(!buf_any_dirty(cache));
	end();
}

TEST(a_page_of_small_blocks_is_dirty_once_until_the_device_is_synced)
{
	struct buf *b[3];

	begin();
	b[0] = get(8);
	b[1] = get(11); /* of the same 4 KiB */
	b[2] = get(12);
	CHECK(buf_dirties_page(b[0]));
	CHECK(!buf_dirties_page(b[0]));
	CHECK(!buf_dirties_page(b[1]));
	CHECK(buf_dirties_page(b[2]));
	buf_clean(b[0]); /* alone: its page stays dirty */
	CHECK(!buf_dirties_page(b[0]));
	buf_pages_clean(cache);
	CHECK(buf_dirties_page(b[1]));
	CHECK(!buf_dirties_page(b[0]));
	for (unsigned i = 0; i < 3; i++)
		buf_put(b[i]);
	end();
}

TEST(dirty_blocks_are_sealed_and_written_in_order)
{
	static const uint64_t order[] = {90, 12, 11, 10, 500, 91};
	const struct record *log;
	struct dev *recorder;
	uint64_t last = 0;
	size_t n;

	begin();
	buf_cache_close(cache);
	CHECK_INT(recorder_open(dev, &recorder), 0);
	CHECK_INT(buf_cache_open(recorder, &g, 1, &d, &cache), 0);
	for (unsigned i = 0; i < 6; i++) {
		struct buf *b = get(order[i]);

		b->data[1] = 99;
		b->data[1023] = 0;
		buf_dirty(b);
		buf_put(b);
	}
	CHECK_INT(buf_flush(cache), 0);
	CHECK_INT(seals, 6);
	log = recorder_log(recorder, &n);
	for (size_t i = 0; i < n; i++) {
		CHECK(log[i].kind == RECORD_WRITE && log[i].off >= last);
		CHECK_INT(log[i].data[1], 99);
		CHECK_INT(log[i].data[1023], 1);
		last = log[i].off + log[i].len;
	}
	CHECK_INT(last, 501 << 10);
	CHECK_INT(buf_flush(cache), 0);
	recorder_log(recorder, &n);
	CHECK_INT(recorder->stats.write_bytes, 6 << 10);
	buf_cache_close(cache);
	cache = NULL;
	dev_close(recorder);
	end();
}

TEST(a_bad_block_never_leaves)
{
	uint8_t block[1024];
	struct buf *b;

	begin();
	b = get(5);
	b->data[0] = 'x';
	buf_dirty(b);
	buf_put(b);
	CHECK_INT(buf_flush(cache), -EUCLEAN);
	CHECK_INT(dev_read(dev, 5 << 10, block, sizeof(block)), 0);
	CHECK_INT(block[0], 'a');
	end();
}

TEST(a_block_forgotten_is_read_again_and_not_written)
{
	struct buf *b;

	begin();
	b = get(5);
	b->data[1] = 77;
	buf_dirty(b);
	buf_put(b);
	buf_forget(b);
	CHECK(buf_find(cache, (ek_pblk){5}) == NULL);
	CHECK_INT(buf_flush(cache), 0);
	b = get(5);
	CHECK_INT(b->data[1], 5);
	buf_put(b);
	end();
}

TEST(a_new_block_is_zeros_and_reads_nothing)
{
	uint64_t reads;
	struct buf *b;

	begin();
	buf_put(get(5));
	reads = dev->stats.reads;
	CHECK_INT(buf_new(cache, (ek_pblk){5}, &kind_b, two, &b), 0);
	for (unsigned i = 0; i < 1024; i++)
		CHECK_INT(b->data[i], 0);
	b->data[0] = 'b';
	buf_dirty(b);
	buf_put(b);
	CHECK_INT(buf_new(cache, (ek_pblk){6}, &kind_b, two, &b), 0);
	CHECK_INT(dev->stats.reads, reads);
	buf_put(b);
	CHECK_INT(buf_flush(cache), 0);
	CHECK_INT(buf_get(cache, (ek_pblk){5}, &kind_b, two, &b), 0);
	buf_put(b);
	end();
}

TEST(a_block_in_use_cannot_be_new)
{
	struct buf *b, *other = NULL;

	begin();
	b = get(5);
	CHECK_INT(buf_new(cache, (ek_pblk){5}, &kind_b, two, &other), -EUCLEAN);
	CHECK(other == NULL && b->data[1] == 5);
	buf_put(b);
	CHECK_INT(buf_new(cache, (ek_pblk){5}, &kind_b, two, &b), 0);
	b->data[0] = 'b';
	buf_dirty(b);
	buf_put(b);
	CHECK_INT(buf_new(cache, (ek_pblk){5}, &kind_a, one, &other), -EUCLEAN);
	buf_forget(b);
	CHECK_INT(buf_new(cache, (ek_pblk){5}, &kind_a, one, &b), 0);
	buf_put(b);
	end();
}

TEST(a_read_or_write_that_fails_leaves_the_cache_usable)
{
	struct dev *faulty;
	struct buf *b = NULL;

	begin();
	buf_cache_close(cache);
	CHECK_INT(fault_open(dev, &faulty), 0);
	CHECK_INT(buf_cache_open(faulty, &g, 1, &d, &cache), 0);
	fault_arm(faulty, &(struct fault){.calls = FAULT_ALL, .nth = 1, .error = EIO});
	CHECK_INT(buf_get(cache, (ek_pblk){5}, &kind_a, one, &b), -EIO);
	CHECK(b == NULL && buf_find(cache, (ek_pblk){5}) == NULL);
	b = get(5);
	b->data[1] = 44;
	buf_dirty(b);
	buf_put(b);
	fault_arm(faulty, &(struct fault){.calls = FAULT_ALL, .nth = 1, .error = EIO});
	CHECK_INT(buf_flush(cache), -EIO);
	b = get(5);
	CHECK_INT(b->data[1], 44);
	buf_put(b);
	CHECK_INT(buf_flush(cache), 0); /* it is still dirty, and goes now */
	buf_cache_close(cache);
	CHECK_INT(buf_cache_open(dev, &g, 1, &d, &cache), 0);
	b = get(5);
	CHECK_INT(b->data[1], 44);
	buf_put(b);
	dev_close(faulty);
	end();
}

TEST(thousands_of_held_blocks_outgrow_the_table_and_come_back)
{
	static struct buf *held[BLOCKS];

	begin();
	for (uint64_t i = 0; i < BLOCKS; i++)
		held[i] = get(i);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		CHECK(buf_find(cache, (ek_pblk){i}) == held[i]);
		CHECK_INT(held[i]->data[1], (uint8_t)i);
	}
	for (uint64_t i = 0; i < BLOCKS; i++)
		buf_put(held[i]);
	end();
}

int main(void)
{
	return tap_main();
}

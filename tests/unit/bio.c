/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue of bios: order, merges, counts, callbacks, errors, on devices with and without a ring.
 */
#include "host.h"

#include "base/counters.h"
#include "io/bio.h"
#include "io/fault.h"
#include "io/recorder.h"

static struct counters counters;
static struct dev *memory, *dev; /* dev records what memory gets */
static struct bioq *q;
static uint8_t page[16][4096];
static int ended, failed;

static void done(void *ctx, int result)
{
	ended++;
	failed += result < 0;
}

static void start(void)
{
	counters = (struct counters){0};
	ended = failed = 0;
	for (size_t i = 0; i < 16; i++)
		memset(page[i], (int)('a' + i), sizeof(page[i]));
	CHECK_INT(dev_open_memory(SIZE, &diag, &memory), 0);
	CHECK_INT(recorder_open(memory, &dev), 0);
	CHECK_INT(bioq_open(dev, &counters, &diag, &q), 0);
}

static void stop(void)
{
	bioq_close(q);
	dev_close(dev);
	dev_close(memory);
}

static void queue(uint64_t at, unsigned which, unsigned flags)
{
	struct iovec iov = {page[which], sizeof(page[which])};

	CHECK_INT(bioq_write(q, at * 4096, &iov, 1, flags, done, NULL), 0);
}

static char at(struct dev *d, uint64_t block)
{
	char c = 0;

	CHECK_INT(dev_read(d, block * 4096, &c, 1), 0);
	return c;
}

TEST(neighbours_merge_into_sorted_requests_while_plugged)
{
	const struct record *log;
	size_t n;

	start();
	bioq_plug(q);
	bioq_plug(q);
	queue(9, 9, 0);
	queue(3, 3, 0);
	queue(2, 2, 0);
	queue(4, 4, 0);
	bioq_unplug(q);
	CHECK_INT(ended, 0);
	log = recorder_log(dev, &n);
	CHECK_INT(n, 0);
	bioq_unplug(q);
	CHECK_INT(bioq_drain(q), 0);
	CHECK_INT(ended, 4);
	log = recorder_log(dev, &n);
	for (size_t i = 1; i < n; i++)
		CHECK(log[i].off > log[i - 1].off);
	CHECK_INT(counters.v[COUNTER_BIO_QUEUE], 4);
	CHECK_INT(counters.v[COUNTER_BIO_W], 4);
	CHECK_INT(counters.v[COUNTER_BIO_W_SECT], 32);
	CHECK_INT(counters.v[COUNTER_DISK_WR_IOS], 2);
	CHECK_INT(counters.v[COUNTER_DISK_WR_MERGES], 2);
	CHECK_INT(counters.v[COUNTER_DISK_WR_SECT], 32);
	CHECK_INT(counters.v[COUNTER_RQ_ISSUE], 2);
	CHECK_INT(at(memory, 2), 'c');
	CHECK_INT(at(memory, 9), 'j');
	stop();
}

TEST(who_sleeps_with_a_plug_is_counted_as_sending_what_waits)
{
	uint64_t round, made;
	size_t n;

	start();
	CHECK_INT(bioq_round(q), 0);
	bioq_plug(q);
	round = bioq_round(q);
	CHECK(round != 0);
	queue(2, 2, 0);
	made = bioq_requests(q);
	queue(3, 3, 0);
	CHECK_INT(bioq_requests(q), made);
	bioq_sleep(q);
	queue(4, 4, 0);
	CHECK_INT(bioq_requests(q), made + 1);
	CHECK_INT(bioq_round(q), round);
	recorder_log(dev, &n);
	CHECK_INT(n, 0); /* in fact they still wait */
	bioq_unplug(q);
	CHECK_INT(bioq_drain(q), 0);
	CHECK_INT(counters.v[COUNTER_DISK_WR_IOS], 2);
	CHECK_INT(counters.v[COUNTER_DISK_WR_MERGES], 1);
	stop();
}

TEST(without_a_plug_each_bio_goes_at_once)
{
	start();
	queue(1, 1, BIO_SYNC);
	queue(2, 2, BIO_META);
	queue(3, 3, BIO_META | BIO_SYNC);
	CHECK_INT(ended, 3);
	CHECK_INT(counters.v[COUNTER_DISK_WR_IOS], 3);
	CHECK_INT(counters.v[COUNTER_BIO_WS], 1);
	CHECK_INT(counters.v[COUNTER_BIO_WM], 1);
	CHECK_INT(counters.v[COUNTER_BIO_WSM], 1);
	stop();
}

TEST(the_later_of_two_writes_to_one_place_wins)
{
	start();
	bioq_plug(q);
	queue(5, 0, 0);
	queue(4, 1, 0);
	queue(5, 2, 0);
	queue(6, 3, 0);
	bioq_unplug(q);
	CHECK_INT(bioq_drain(q), 0);
	CHECK_INT(at(memory, 5), 'c');
	CHECK_INT(at(memory, 4), 'b');
	CHECK_INT(ended, 4);
	stop();
}

TEST(a_commit_block_is_between_two_flushes_and_after_everything_before_it)
{
	const struct record *log;
	size_t n;

	start();
	bioq_plug(q);
	queue(7, 0, 0);
	queue(1, 1, BIO_META | BIO_SYNC | BIO_PREFLUSH | BIO_FUA);
	log = recorder_log(dev, &n);
	CHECK_INT(n, 4);
	CHECK_INT(log[0].off, 7 * 4096);
	CHECK_INT(log[1].kind, RECORD_FLUSH);
	CHECK_INT(log[2].off, 4096);
	CHECK_INT(log[3].kind, RECORD_FLUSH);
	bioq_unplug(q);
	CHECK_INT(ended, 2);
	CHECK_INT(counters.v[COUNTER_BIO_FWFSM], 1);
	CHECK_INT(counters.v[COUNTER_BIO_FWFSM_SECT], 8);
	CHECK_INT(counters.v[COUNTER_DISK_FLUSH_IOS], 2);
	CHECK_INT(bioq_flush(q), 0);
	CHECK_INT(counters.v[COUNTER_BIO_FWS], 1);
	stop();
}

TEST(an_error_reaches_the_callback_and_the_next_drain_only)
{
	struct dev *faulty;
	struct bioq *own = q;

	start();
	CHECK_INT(fault_open(memory, &faulty), 0);
	own = q;
	CHECK_INT(bioq_open(faulty, &counters, &diag, &q), 0);
	fault_arm(faulty, &(struct fault){.calls = FAULT_WRITE, .nth = 2, .error = EIO});
	queue(1, 1, 0);
	queue(2, 2, 0);
	queue(3, 3, 0);
	CHECK_INT(ended, 3);
	CHECK_INT(failed, 1);
	CHECK_INT(bioq_drain(q), -EIO);
	CHECK_INT(bioq_drain(q), 0);
	fault_arm(faulty, &(struct fault){.calls = FAULT_FLUSH, .nth = 1, .error = EIO});
	queue(4, 4, BIO_PREFLUSH);
	CHECK_INT(failed, 2);
	CHECK_INT(at(memory, 4), 0);
	CHECK_INT(bioq_drain(q), -EIO);
	bioq_close(q);
	q = own;
	dev_close(faulty);
	stop();
}

/* A device that ends nothing before somebody waits. */
struct late {
	struct dev base;
	struct dev_req *req[64];
	unsigned n;
};

static int late_submit(struct dev *base, struct dev_req **reqs, unsigned n)
{
	struct late *l = (struct late *)base;

	memcpy(l->req + l->n, reqs, n * sizeof(*reqs));
	l->n += n;
	return 0;
}

static int late_reap(struct dev *base, unsigned min)
{
	struct late *l = (struct late *)base;
	unsigned n = 0;

	for (; n < min && l->n > 0; n++) {
		struct dev_req *r = l->req[0];

		memmove(l->req, l->req + 1, --l->n * sizeof(*l->req));
		r->result = 0;
		r->done(r);
	}
	return (int)n;
}

TEST(a_queue_is_full_before_somebody_has_to_wait)
{
	static const struct dev_ops ops = {
	    .name = "late", .submit = late_submit, .reap = late_reap};
	struct late l = {.base = {.ops = &ops, .name = "late", .size = SIZE, .sector = 512}};
	struct bioq *own;
	unsigned sent = 0;

	start();
	own = q;
	l.base.align = 1;
	l.base.writable = true;
	CHECK_INT(bioq_open(&l.base, &counters, &diag, &q), 0);
	while (!bioq_is_full(q)) {
		queue(2 * sent, sent % 16, 0);
		CHECK_INT(l.n, ++sent);
	}
	CHECK(sent > 16);
	queue(2 * sent, 1, 0); /* and still goes at once */
	CHECK_INT(l.n, sent + 1);
	late_reap(&l.base, 1);
	CHECK(bioq_is_full(q));
	late_reap(&l.base, 1);
	CHECK(!bioq_is_full(q));
	CHECK_INT(bioq_drain(q), 0);
	CHECK_INT(ended, sent + 1);
	bioq_close(q);
	q = own;
	stop();
}

TEST(a_write_past_the_end_fails_like_any_other)
{
	start();
	queue(SIZE / 4096, 1, 0);
	CHECK_INT(ended, 1);
	CHECK_INT(failed, 1);
	CHECK_INT(bioq_drain(q), -EINVAL);
	stop();
}

static int chain_left;

static void chain(void *ctx, int result)
{
	struct iovec iov = {page[1], sizeof(page[1])};

	ended++;
	if (chain_left-- > 0)
		bioq_write(q, (uint64_t)chain_left * 4096, &iov, 1, 0, chain, NULL);
}

static void drains(void *ctx, int result)
{
	ended++;
	bioq_drain(q);
}

TEST(callbacks_may_queue_more_and_drain)
{
	struct iovec iov = {page[0], sizeof(page[0])};

	start();
	chain_left = 100;
	CHECK_INT(bioq_write(q, 0, &iov, 1, 0, chain, NULL), 0);
	CHECK_INT(bioq_drain(q), 0);
	CHECK_INT(ended, 101);
	bioq_plug(q);
	for (unsigned i = 0; i < 10; i++)
		CHECK_INT(bioq_write(q, i * 8192ull, &iov, 1, 0, drains, NULL), 0);
	bioq_unplug(q);
	CHECK_INT(bioq_drain(q), 0);
	CHECK_INT(ended, 111);
	stop();
}

/* Many bios in random order, some to the same place, against a model. */
static void churn(struct dev *target)
{
	static uint8_t want[SIZE / 4096];
	uint8_t *data;
	uint32_t seed = 1;

	CHECK_INT(bioq_open(target, NULL, &diag, &q), 0);
	CHECK_INT(posix_memalign((void **)&data, 4096, 16 * 4096), 0);
	for (unsigned i = 0; i < 16; i++)
		memset(data + i * 4096, (int)('a' + i), 4096);
	memset(want, 0, sizeof(want));
	ended = failed = 0;
	for (unsigned i = 0; i < 5000; i++) {
		struct iovec iov;
		unsigned block, which;

		seed = seed * 1103515245 + 12345;
		block = seed >> 10 & (SIZE / 4096 - 1);
		which = seed >> 24 & 15;
		if (i % 50 == 0)
			bioq_plug(q);
		iov = (struct iovec){data + which * 4096, 4096};
		CHECK_INT(bioq_write(q, block * 4096ull, &iov, 1, 0, done, NULL), 0);
		want[block] = (uint8_t)('a' + which);
		if (i % 50 == 40)
			bioq_unplug(q);
	}
	CHECK_INT(bioq_drain(q), 0);
	CHECK_INT(ended, 5000);
	for (unsigned i = 0; i < SIZE / 4096; i++)
		CHECK_INT(at(target, i), want[i]);
	bioq_close(q);
	free(data);
}

TEST(thousands_of_bios_leave_what_the_last_writers_wrote)
{
	CHECK_INT(dev_open_memory(SIZE, &diag, &memory), 0);
	churn(memory);
	dev_close(memory);
}

TEST(the_same_holds_with_many_requests_in_flight_on_a_file)
{
	struct dev *file = fresh_file("bio", DEV_DIRECT);

	churn(file);
	dev_close(file);
}

int main(void)
{
	return host_main();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Devices that need no host: memory, overlay, slice, fault. */
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/diag.h"
#include "io/dev.h"
#include "io/fault.h"
#include "io/memory.h"

#define SIZE (300u * 1024)

static struct diag diag;

static struct dev *memory(uint64_t size)
{
	struct dev *dev = NULL;

	diag_clear(&diag);
	CHECK_INT(dev_open_memory(size, &diag, &dev), 0);
	return dev;
}

/* Random writes, zeroings and reads on dev, against model, which holds the same bytes. */
static void compare_with(struct dev *dev, uint8_t *model, uint32_t seed)
{
	uint8_t *buf = malloc(SIZE);

	for (int i = 0; i < 600; i++) {
		uint32_t off, len;

		seed = seed * 1664525 + 1013904223;
		off = (seed >> 8) % SIZE;
		seed = seed * 1664525 + 1013904223;
		len = (seed >> 8) % (i % 7 == 0 ? SIZE : 9000);
		if (len > SIZE - off)
			len = SIZE - off;
		memset(buf, i, len);
		if (i % 3 == 0) {
			memset(model + off, 0, len);
			CHECK_INT(dev_zero(dev, off, len), 0);
		} else {
			memcpy(model + off, buf, len);
			CHECK_INT(dev_write(dev, off, buf, len), 0);
		}
		CHECK_INT(dev_read(dev, 0, buf, SIZE), 0);
		CHECK(memcmp(buf, model, SIZE) == 0);
		CHECK_INT(dev_read(dev, off, buf, len), 0);
		CHECK(memcmp(buf, model + off, len) == 0);
	}
	free(buf);
}

TEST(memory_reads_back_what_was_written)
{
	struct dev *dev = memory(SIZE);
	uint8_t *model = calloc(1, SIZE);

	compare_with(dev, model, 3);
	free(model);
	dev_close(dev);
}

TEST(an_overlay_reads_back_what_was_written_and_keeps_its_base)
{
	struct dev *base = memory(SIZE), *dev;
	uint8_t *model = malloc(SIZE), *buf = malloc(SIZE);

	for (uint32_t i = 0; i < SIZE; i++)
		model[i] = (uint8_t)(i * 31 >> 3);
	CHECK_INT(dev_write(base, 0, model, SIZE), 0);
	memcpy(buf, model, SIZE);
	CHECK_INT(dev_open_overlay(base, &dev), 0);
	compare_with(dev, model, 4);
	CHECK_INT(dev_read(base, 0, model, SIZE), 0);
	CHECK(memcmp(buf, model, SIZE) == 0);
	free(model);
	free(buf);
	dev_close(dev);
	dev_close(base);
}

TEST(sixteen_tebibytes_cost_what_is_written)
{
	struct dev *dev = memory((uint64_t)16 << 40);
	struct rusage use;
	const void *pos = NULL;
	uint64_t off;
	size_t len, pieces = 0;
	char c = 'x';

	for (uint64_t at = 0; at < 100; at++)
		CHECK_INT(dev_write(dev, (at << 37) + 5, &c, 1), 0);
	CHECK_INT(dev_write(dev, ((uint64_t)16 << 40) - 1, &c, 1), 0);
	while (memory_next(dev, &pos, &off, &len) != NULL)
		pieces++;
	CHECK_INT(pieces, 101);
	c = 0;
	CHECK_INT(dev_read(dev, (99ull << 37) + 5, &c, 1), 0);
	CHECK_INT(c, 'x');
	CHECK_INT(dev_zero(dev, 1, ((uint64_t)16 << 40) - 1), 0);
	CHECK_INT(dev_read(dev, (99ull << 37) + 5, &c, 1), 0);
	CHECK_INT(c, 0);
	CHECK_INT(getrusage(RUSAGE_SELF, &use), 0);
	CHECK(use.ru_maxrss < 400 * 1024);
	dev_close(dev);
}

TEST(what_was_cut_off_comes_back_as_zeros)
{
	struct dev *base = memory(20000), *over;
	char buf[20000], zero[20000] = {0};

	memset(buf, 'a', sizeof(buf));
	CHECK_INT(dev_write(base, 0, buf, sizeof(buf)), 0);
	CHECK_INT(dev_open_overlay(base, &over), 0);
	CHECK_INT(dev_write(over, 9000, "bbb", 3), 0);
	CHECK_INT(dev_resize(over, 9001), 0);
	CHECK_INT(dev_read(over, 9001, buf, 1), -EINVAL);
	CHECK_INT(dev_resize(over, 20000), 0);
	CHECK_INT(dev_read(over, 9000, buf, 11000), 0);
	CHECK_INT(buf[0], 'b');
	CHECK(memcmp(buf + 1, zero, 10999) == 0);
	CHECK_INT(dev_resize(base, 10), 0);
	CHECK_INT(dev_resize(base, 20), 0);
	CHECK_INT(dev_read(base, 9, buf, 11), 0);
	CHECK_INT(buf[0], 'a');
	CHECK(memcmp(buf + 1, zero, 10) == 0);
	dev_close(over);
	dev_close(base);
}

TEST(nothing_outside_the_device_is_touched)
{
	struct dev *dev = memory(100);
	struct iovec iov[2] = {{NULL, 60}, {NULL, 60}};
	char buf[200] = {0};

	iov[0].iov_base = iov[1].iov_base = buf;
	CHECK_INT(dev_read(dev, 50, buf, 51), -EINVAL);
	CHECK_STR(diag.text,
		  "cannot read: memory offset 50 length 51: outside the device, which has "
		  "100 bytes");
	CHECK_INT(dev_write(dev, UINT64_MAX, buf, 2), -EINVAL);
	CHECK_INT(dev_write(dev, 101, buf, 0), -EINVAL);
	CHECK_INT(dev_write(dev, 100, buf, 0), 0);
	CHECK_INT(dev_readv(dev, 0, iov, 2), -EINVAL);
	iov[1].iov_len = SIZE_MAX;
	CHECK_INT(dev_writev(dev, 0, iov, 2), -EINVAL);
	CHECK_INT(dev_zero(dev, 1, 100), -EINVAL);
	CHECK_INT(dev_discard(dev, 1, UINT64_MAX), -EINVAL);
	dev_close(dev);
}

TEST(a_slice_stays_inside_its_part)
{
	struct dev *base = memory(1000), *s, *inner;
	char buf[1000];

	CHECK_INT(dev_open_slice(base, 990, 11, &s), -EINVAL);
	diag_clear(&diag);
	CHECK_INT(dev_open_slice(base, 100, 200, &s), 0);
	CHECK_INT(dev_open_slice(s, 50, 100, &inner), 0);
	memset(buf, 'z', sizeof(buf));
	CHECK_INT(dev_write(inner, 0, buf, 101), -EINVAL);
	CHECK_INT(dev_write(inner, 0, buf, 100), 0);
	CHECK_INT(dev_read(base, 0, buf, 1000), 0);
	CHECK(buf[149] == 0 && buf[150] == 'z' && buf[249] == 'z' && buf[250] == 0);
	CHECK_INT(dev_zero(s, 51, 1), 0);
	CHECK_INT(dev_read(base, 150, buf, 2), 0);
	CHECK(buf[0] == 'z' && buf[1] == 0);
	CHECK_INT(dev_resize(s, 5), -EOPNOTSUPP);
	dev_close(inner);
	dev_close(s);
	dev_close(base);
}

static int done_count;

static void done(struct dev_req *req)
{
	done_count++;
}

TEST(requests_through_a_slice_complete_in_place)
{
	struct dev *base = memory(1000), *s;
	char a[4] = "abc", b[4] = "";
	struct iovec out = {a, 3}, in = {b, 3};
	struct dev_req w = {.off = 7, .iov = &out, .iovcnt = 1, .write = true, .done = done};
	struct dev_req r = {.off = 107, .iov = &in, .iovcnt = 1, .done = done};
	struct dev_req *reqs[2] = {&w, &r};

	done_count = 0;
	CHECK_INT(dev_open_slice(base, 100, 200, &s), 0);
	CHECK_INT(dev_submit(s, reqs, 1), 0);
	CHECK_INT(dev_submit(base, reqs + 1, 1), 0);
	CHECK_INT(dev_reap(base, 2), 0);
	CHECK_INT(done_count, 2);
	CHECK_STR(b, "abc");
	w.off = 198;
	CHECK_INT(dev_submit(s, reqs, 2), -EINVAL);
	CHECK_INT(done_count, 2);
	dev_close(s);
	dev_close(base);
}

TEST(the_nth_call_fails_and_only_that_one)
{
	struct dev *base = memory(1000), *dev;
	char c = 0;

	CHECK_INT(fault_open(base, &dev), 0);
	fault_arm(dev, &(struct fault){.calls = FAULT_WRITE, .nth = 2, .error = ENOSPC});
	CHECK_INT(dev_write(dev, 0, "a", 1), 0);
	CHECK_INT(dev_read(dev, 0, &c, 1), 0);
	CHECK_INT(dev_write(dev, 0, "b", 1), -ENOSPC);
	CHECK_STR(diag.text, "cannot write: memory offset 0 length 1: No space left on device");
	CHECK_INT(dev_read(dev, 0, &c, 1), 0);
	CHECK_INT(c, 'a');
	CHECK_INT(dev_write(dev, 0, "c", 1), 0);
	CHECK_INT(fault_fired(dev), 1);
	CHECK_INT(fault_calls(dev, FAULT_WRITE), 3);
	CHECK_INT(fault_calls(dev, FAULT_ALL), 5);
	dev_close(dev);
	dev_close(base);
}

TEST(a_device_that_is_gone_stays_gone)
{
	struct dev *base = memory(1000), *dev;
	char c;

	CHECK_INT(fault_open(base, &dev), 0);
	fault_arm(dev,
		  &(struct fault){.calls = FAULT_ALL, .nth = 2, .for_good = true, .error = ENXIO});
	CHECK_INT(dev_read(dev, 0, &c, 1), 0);
	for (int i = 0; i < 3; i++)
		CHECK_INT(dev_read(dev, 0, &c, 1), -ENXIO);
	CHECK_INT(dev_flush(dev), -ENXIO);
	CHECK_INT(fault_fired(dev), 4);
	dev_close(dev);
	dev_close(base);
}

TEST(a_bad_part_fails_each_time_and_the_rest_works)
{
	struct dev *base = memory(1000), *dev;
	char buf[100] = {0};

	CHECK_INT(fault_open(base, &dev), 0);
	fault_arm(
	    dev, &(struct fault){.calls = FAULT_READ, .error = EIO, .bad_off = 100, .bad_len = 10});
	CHECK_INT(dev_read(dev, 0, buf, 100), 0);
	CHECK_INT(dev_read(dev, 1, buf, 100), -EIO);
	CHECK_INT(dev_read(dev, 109, buf, 1), -EIO);
	CHECK_INT(dev_read(dev, 110, buf, 100), 0);
	CHECK_INT(dev_write(dev, 100, buf, 10), 0);
	dev_close(dev);
	dev_close(base);
}

TEST(a_torn_write_leaves_its_first_bytes)
{
	struct dev *base = memory(1000), *dev;
	char buf[5] = "";

	CHECK_INT(fault_open(base, &dev), 0);
	fault_arm(dev, &(struct fault){.calls = FAULT_WRITE, .nth = 1, .error = EIO, .torn = 2});
	CHECK_INT(dev_write(dev, 0, "abcd", 4), -EIO);
	CHECK_INT(dev_read(base, 0, buf, 4), 0);
	CHECK_STR(buf, "ab");
	dev_close(dev);
	dev_close(base);
}

TEST(no_flush_succeeds_after_one_has_failed)
{
	struct dev *base = memory(1000), *dev;

	CHECK_INT(fault_open(base, &dev), 0);
	CHECK_INT(dev_flush(dev), 0);
	fault_arm(dev, &(struct fault){.calls = FAULT_FLUSH, .nth = 1, .error = EIO});
	CHECK_INT(dev_flush(dev), -EIO);
	CHECK_INT(dev_flush(dev), -EIO);
	CHECK_INT(fault_fired(dev), 1);
	dev_close(dev);
	dev_close(base);
}

TEST(statistics_count_calls_and_bytes)
{
	struct dev *dev = memory(1000);
	char buf[100] = {0};

	CHECK_INT(dev_write(dev, 0, buf, 100), 0);
	CHECK_INT(dev_read(dev, 0, buf, 30), 0);
	CHECK_INT(dev_read(dev, 0, buf, 12), 0);
	CHECK_INT(dev_flush(dev), 0);
	CHECK_INT(dev->stats.writes, 1);
	CHECK_INT(dev->stats.write_bytes, 100);
	CHECK_INT(dev->stats.reads, 2);
	CHECK_INT(dev->stats.read_bytes, 42);
	CHECK_INT(dev->stats.flushes, 1);
	dev_close(dev);
}

int main(void)
{
	return tap_main();
}

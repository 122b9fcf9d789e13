/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel's ring may answer to a request besides success. */
#include "host.h"

#ifdef HAVE_LIBURING

#include <liburing.h>

static int answer; /* that takes the place of the kernel's, or 0 */
static unsigned answers;

unsigned __real_io_uring_peek_batch_cqe(struct io_uring *ring, struct io_uring_cqe **cqes,
					unsigned count);
unsigned __wrap_io_uring_peek_batch_cqe(struct io_uring *ring, struct io_uring_cqe **cqes,
					unsigned count);

/* Reads that were not done leave something else in the buffer. */
unsigned __wrap_io_uring_peek_batch_cqe(struct io_uring *ring, struct io_uring_cqe **cqes,
					unsigned count)
{
	unsigned n = __real_io_uring_peek_batch_cqe(ring, cqes, count);

	for (unsigned i = 0; i < n && answer != 0; i++) {
		struct dev_req *req = io_uring_cqe_get_data(cqes[i]);

		if (!req->write)
			memset(req->iov[0].iov_base, 0xee, req->iov[0].iov_len);
		cqes[i]->res = answer;
		answers++;
	}
	return n;
}

static unsigned ended;

static void request_done(struct dev_req *req)
{
	ended++;
}

/* The result of one request for the first 64 KiB. */
static int transfer(struct dev *dev, bool write, uint8_t *bytes)
{
	struct iovec iov = {bytes, 65536};
	struct dev_req req = {.iov = &iov, .iovcnt = 1, .write = write, .done = request_done};
	struct dev_req *one = &req;

	ended = answers = 0;
	CHECK_INT(dev_submit(dev, &one, 1), 0);
	while (ended == 0)
		CHECK(dev_reap(dev, 1) >= 0);
	if (answers == 0)
		SKIP("the kernel gives no ring, or the folder takes no direct I/O");
	return req.result;
}

static void again_after(int error)
{
	struct dev *dev = fresh_file("ring", DEV_DIRECT);
	uint8_t *bytes;

	CHECK_INT(posix_memalign((void **)&bytes, 4096, 65536), 0);
	memset(bytes, 'x', 65536);
	answer = error;
	CHECK_INT(transfer(dev, true, bytes), 0);
	memset(bytes, 0, 65536);
	CHECK_INT(transfer(dev, false, bytes), 0);
	answer = 0;
	CHECK(bytes[0] == 'x' && bytes[65535] == 'x');
	free(bytes);
	dev_close(dev);
}

TEST(a_request_that_was_interrupted_is_done_again)
{
	again_after(-EINTR);
	again_after(-EAGAIN);
}

/* When a thread ends, Linux takes back what it asked for and had to be queued again since. */
TEST(a_request_of_a_thread_that_ended_is_done_again)
{
	again_after(-ECANCELED);
}

TEST(an_error_of_the_device_is_told)
{
	struct dev *dev = fresh_file("ring", DEV_DIRECT);
	uint8_t *bytes;

	CHECK_INT(posix_memalign((void **)&bytes, 4096, 65536), 0);
	answer = -EIO;
	CHECK_INT(transfer(dev, false, bytes), -EIO);
	answer = 0;
	free(bytes);
	dev_close(dev);
}

#else

TEST(rings)
{
	SKIP("built without liburing");
}

#endif

int main(void)
{
	return host_main();
}

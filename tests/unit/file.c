/* SPDX-License-Identifier: BSD-2-Clause */
/* Files and block devices of the host; loop devices are made from files of our own. */
#include "host.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Random unaligned reads and writes against a copy in memory. */
static void compare(struct dev *dev)
{
	uint8_t *model = calloc(1, SIZE), *buf = malloc(SIZE);
	uint32_t seed = 9;

	for (int i = 0; i < 200; i++) {
		uint32_t off, len;

		seed = seed * 1664525 + 1013904223;
		off = (seed >> 8) % SIZE;
		seed = seed * 1664525 + 1013904223;
		len = (seed >> 8) % (i % 20 == 0 ? SIZE : 20000);
		len = len > SIZE - off ? SIZE - off : len;
		if (i % 4 == 0) {
			off -= off % 4096;
			len -= len % 4096;
		}
		memset(buf, i, len);
		if (i % 5 == 0) {
			memset(model + off, 0, len);
			CHECK_INT(dev_zero(dev, off, len), 0);
		} else {
			memcpy(model + off, buf, len);
			CHECK_INT(dev_write(dev, off, buf, len), 0);
		}
		CHECK_INT(dev_read(dev, off, buf, len), 0);
		CHECK(memcmp(buf, model + off, len) == 0);
	}
	CHECK_INT(dev_read(dev, 0, buf, SIZE), 0);
	CHECK(memcmp(buf, model, SIZE) == 0);
	CHECK_INT(dev_flush(dev), 0);
	free(model);
	free(buf);
}

TEST(a_buffered_file_reads_back_what_was_written)
{
	struct dev *dev = fresh_file("plain", 0);

	CHECK_INT(dev->size, SIZE);
	CHECK_INT(dev->align, 1);
	compare(dev);
	dev_close(dev);
}

TEST(a_direct_file_serves_unaligned_callers)
{
	struct dev *dev = fresh_file("direct", DEV_DIRECT);

	if (dev->align == 1) {
		dev_close(dev);
		SKIP("no O_DIRECT on this file system");
	}
	compare(dev);
	dev_close(dev);
}

TEST(vectors_are_one_run)
{
	struct dev *dev = fresh_file("vector", 0);
	struct iovec iov[200];
	char out[200], in[200];

	for (size_t i = 0; i < 200; i++) {
		out[i] = (char)i;
		iov[i] = (struct iovec){out + i, 1};
	}
	CHECK_INT(dev_writev(dev, 77, iov, 200), 0);
	for (size_t i = 0; i < 200; i++)
		iov[i].iov_base = in + i;
	CHECK_INT(dev_readv(dev, 77, iov, 200), 0);
	CHECK(memcmp(in, out, 200) == 0);
	CHECK_INT(dev->stats.writes, 1);
	dev_close(dev);
}

#define REQS 300

static unsigned completed;

static void done(struct dev_req *req)
{
	completed++;
}

/* Writes, then reads REQS blocks through submit; some requests are unaligned, some vectors. */
static void many_requests(struct dev *dev)
{
	static struct dev_req reqs[REQS], *list[REQS];
	static struct iovec iov[REQS][2];
	uint8_t *buf = aligned_alloc(4096, (size_t)REQS * 8192), *want = malloc(8192);

	for (int write = 1; write >= 0; write--) {
		completed = 0;
		for (unsigned i = 0; i < REQS; i++) {
			uint8_t *p = buf + (size_t)i * 8192;
			unsigned skew = i % 50 == 3 ? 1 : 0, len = 4096 - skew;

			memset(p, write ? (int)i : 0, 8192);
			iov[i][0] = (struct iovec){p, i % 3 == 0 ? 512 : len};
			iov[i][1] = (struct iovec){p + 512, len - 512};
			reqs[i] = (struct dev_req){.off = (uint64_t)(i % 256) * 4096 + skew,
						   .iov = iov[i],
						   .iovcnt = i % 3 == 0 ? 2 : 1,
						   .write = write != 0,
						   .result = 1,
						   .done = done};
			list[i] = &reqs[i];
		}
		/* the last 44 go to the blocks of the first: in a round of their own */
		CHECK_INT(dev_submit(dev, list, 256), 0);
		while (completed < 256)
			CHECK(dev_reap(dev, 256 - completed) >= 0);
		CHECK_INT(dev_submit(dev, list + 256, REQS - 256), 0);
		while (completed < REQS)
			CHECK(dev_reap(dev, 1) >= 0);
		for (unsigned i = 0; i < REQS; i++)
			CHECK_INT(reqs[i].result, 0);
		CHECK_INT(dev_reap(dev, 1), 0);
	}
	for (unsigned i = REQS - 256; i < REQS; i++) {
		memset(want, (int)i, 8192);
		if (i % 50 != 3 && i % 256 != 3 && i % 256 != 53)
			CHECK(memcmp(buf + (size_t)i * 8192, want, 4096) == 0);
	}
	free(buf);
	free(want);
}

TEST(queued_requests_complete_on_a_direct_file)
{
	struct dev *dev = fresh_file("queue", DEV_DIRECT);

	many_requests(dev);
	dev_close(dev);
}

TEST(queued_requests_complete_on_a_buffered_file)
{
	struct dev *dev = fresh_file("queue", 0);

	many_requests(dev);
	dev_close(dev);
}

TEST(a_failing_queued_request_tells_so)
{
	struct dev *dev = fresh_file("shrunk", DEV_DIRECT);
	void *buf = aligned_alloc(4096, 4096);
	struct iovec iov = {buf, 4096};
	struct dev_req req = {.off = SIZE - 4096, .iov = &iov, .iovcnt = 1, .done = done};
	struct dev_req *list = &req;

	completed = 0;
	CHECK_INT(truncate(in_dir("shrunk"), 4096), 0);
	CHECK_INT(dev_submit(dev, &list, 1), 0);
	CHECK(dev_reap(dev, 1) >= 0);
	CHECK_INT(completed, 1);
	CHECK_INT(req.result, -EIO);
	CHECK(strstr(diag.text, "the file ends there") != NULL);
	free(buf);
	dev_close(dev);
}

TEST(a_file_that_shrinks_is_an_error_and_no_signal)
{
	struct dev *dev = fresh_file("shrunk", 0);
	char c;

	CHECK_INT(truncate(in_dir("shrunk"), 10), 0);
	CHECK_INT(dev_read(dev, 9, &c, 1), 0);
	CHECK_INT(dev_read(dev, 10, &c, 1), -EIO);
	CHECK(strstr(diag.text, "shrunk offset 10: the file ends there") != NULL);
	dev_close(dev);
}

TEST(discarded_and_zeroed_parts_become_holes)
{
	struct dev *dev = fresh_file("holes", 0);
	char *buf = malloc(SIZE);
	struct stat st;

	memset(buf, 'x', SIZE);
	CHECK_INT(dev_write(dev, 0, buf, SIZE), 0);
	CHECK_INT(dev_flush(dev), 0);
	CHECK_INT(dev_zero(dev, 1, SIZE - 2), 0);
	CHECK_INT(dev_read(dev, 0, buf, SIZE), 0);
	CHECK(buf[0] == 'x' && buf[1] == 0 && buf[SIZE - 2] == 0 && buf[SIZE - 1] == 'x');
	CHECK_INT(stat(in_dir("holes"), &st), 0);
	CHECK_INT(st.st_size, SIZE);
	if (st.st_blocks * 512 > SIZE / 2)
		printf("# this file system punches no holes\n");
	free(buf);
	dev_close(dev);
}

TEST(readers_cannot_write)
{
	struct dev *dev = fresh_file("ro", 0);

	dev_close(dev);
	dev = open_dev(in_dir("ro"), 0);
	CHECK_INT(dev_write(dev, 0, "x", 1), -EROFS);
	CHECK(strstr(diag.text, "opened for reading only") != NULL);
	CHECK_INT(dev_flush(dev), 0);
	dev_close(dev);
}

TEST(a_loop_device_reads_back_what_was_written)
{
	char path[32];
	int fd = loop_on("loop1", path);
	struct dev *dev = open_dev(path, DEV_WRITE);

	CHECK(dev->is_block);
	CHECK_INT(dev->size, SIZE);
	CHECK_INT(dev->sector, 512);
	compare(dev);
	CHECK_INT(dev_resize(dev, SIZE / 2), -EOPNOTSUPP);
	dev_close(dev);
	close(fd);
}

TEST(a_direct_loop_device_reads_back_what_was_written)
{
	char path[32];
	int fd = loop_on("loop2", path), r;
	struct dev *dev = open_dev(path, DEV_WRITE | DEV_DIRECT);

	compare(dev);
	many_requests(dev);
	r = dev_discard(dev, 1000, 100000);
	CHECK(r == 0 || r == -EOPNOTSUPP);
	dev_close(dev);
	close(fd);
}

/* May run in another thread than the one that waits for the flag; req is gone once it is seen. */
static void raise_flag(struct dev_req *req)
{
	__atomic_store_n((bool *)req->ctx, true, __ATOMIC_RELEASE);
}

#define THREADS 4

/* Each thread keeps to every fourth block. */
static void *one_thread(void *arg)
{
	struct dev *dev = ((void **)arg)[0];
	uint64_t me = (uint64_t)(uintptr_t)((void **)arg)[1];
	unsigned char *buf = aligned_alloc(4096, 4096), *bad = NULL;

	for (uint64_t round = 0; round < 200 && bad == NULL; round++) {
		uint64_t off = (round % 64 * THREADS + me) * 4096 + round % 3;
		size_t len = 4096 - round % 3;
		struct iovec iov = {buf, len};
		struct dev_req req = {.off = off, .iov = &iov, .iovcnt = 1, .write = true};
		struct dev_req *list = &req;
		bool flag = false;

		memset(buf, (int)(me * 50 + round % 50), len);
		req.done = raise_flag;
		req.ctx = &flag;
		if (dev_submit(dev, &list, 1) < 0)
			return buf;
		while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
			dev_reap(dev, 1);
		memset(buf, 0, len);
		if (dev_read(dev, off, buf, len) < 0 || buf[len - 1] != me * 50 + round % 50)
			bad = buf;
	}
	free(buf);
	return bad;
}

static void four_threads(struct dev *dev)
{
	void *args[THREADS][2], *bad;
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++) {
		args[i][0] = dev;
		args[i][1] = (void *)i;
		CHECK_INT(pthread_create(&threads[i], NULL, one_thread, args[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &bad);
		CHECK(bad == NULL);
	}
}

TEST(threads_share_a_direct_file)
{
	struct dev *dev = fresh_file("threads", DEV_DIRECT);

	four_threads(dev);
	dev_close(dev);
}

TEST(threads_share_memory)
{
	struct dev *dev = NULL;

	CHECK_INT(dev_open_memory(SIZE, &diag, &dev), 0);
	four_threads(dev);
	dev_close(dev);
}

#ifdef __x86_64__
/* From here on this process gets EPERM from io_uring_setup, as in many containers. */
static int forbid_rings(void)
{
	struct sock_filter rules[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(rules) / sizeof(rules[0]), rules};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

TEST(where_the_kernel_forbids_rings_requests_are_served_one_by_one)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (forbid_rings() < 0)
			_exit(77);
		if (setjmp(tap_out) != 0)
			_exit(1);
		many_requests(fresh_file("noring", DEV_DIRECT));
		_exit(syscall(SYS_io_uring_setup, 0, NULL) == -1 && errno == EPERM ? 0 : 1);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("seccomp is not available");
	CHECK_INT(status, 0);
}
#endif

int main(void)
{
	return host_main();
}

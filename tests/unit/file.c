/* SPDX-License-Identifier: BSD-2-Clause */
/* Files and block devices of the host; loop devices are made from files of our own. */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/str.h"
#include "io/dev.h"
#include "io/guard.h"
#include "io/probe.h"

#define SIZE (1u << 20)

static char dir[] = "/var/tmp/extkit-unit-XXXXXX"; /* /tmp may be a tmpfs, without O_DIRECT */
static struct diag diag;

static const char *in_dir(const char *name)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static struct dev *open_dev(const char *path, unsigned flags)
{
	struct dev *dev = NULL;
	int r;

	diag_clear(&diag);
	r = dev_open(path, flags, &diag, &dev);
	if (r < 0)
		printf("# %s\n", diag.text);
	CHECK_INT(r, 0);
	return dev;
}

static struct dev *fresh_file(const char *name, unsigned flags)
{
	struct dev *dev =
	    open_dev(in_dir(name), DEV_WRITE | DEV_CREATE | DEV_TRUNCATE | (flags & ~(unsigned)DEV_DIRECT));

	CHECK_INT(dev_resize(dev, SIZE), 0);
	if (flags & DEV_DIRECT) { /* an empty file has no say in alignment: open it again */
		dev_close(dev);
		dev = open_dev(in_dir(name), DEV_WRITE | flags);
	}
	return dev;
}

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

static void refused(const char *path, unsigned flags, int code, const char *words)
{
	struct dev *dev = NULL;

	diag_clear(&diag);
	CHECK_INT(dev_open(path, flags, &diag, &dev), code);
	CHECK(dev == NULL);
	if (strstr(diag.text, words) == NULL)
		printf("# %s\n", diag.text);
	CHECK(strstr(diag.text, words) != NULL);
}

TEST(what_is_no_file_is_refused_by_name)
{
	CHECK_INT(mkfifo(in_dir("fifo"), 0600), 0);
	refused(in_dir("fifo"), 0, -EINVAL, "it is a FIFO");
	refused(in_dir("fifo"), DEV_WRITE | DEV_CREATE, -EINVAL, "it is a FIFO");
	refused(dir, 0, -EISDIR, "it is a directory");
	refused(dir, DEV_WRITE, -EISDIR, "it is a directory");
	refused("/dev/null", DEV_WRITE, -EINVAL, "it is a character device");
	refused(in_dir("absent"), 0, -ENOENT, "absent: No such file");
}

TEST(a_link_is_followed_to_its_file)
{
	struct dev *dev = fresh_file("target", 0);

	dev_close(dev);
	CHECK_INT(symlink("target", in_dir("link")), 0);
	dev = open_dev(in_dir("link"), DEV_WRITE);
	CHECK_INT(dev->size, SIZE);
	dev_close(dev);
}

TEST(the_second_writer_of_a_file_is_refused)
{
	struct dev *dev = fresh_file("locked", 0), *reader;
	pid_t pid;
	int status;

	refused(in_dir("locked"), DEV_WRITE | DEV_TRUNCATE, -EBUSY,
		"another program has it open for writing");
	refused(in_dir("locked"), DEV_WRITE | DEV_MOUNTED_OK, -EBUSY, "another program");
	reader = open_dev(in_dir("locked"), 0);
	CHECK_INT(reader->size, SIZE); /* the refused DEV_TRUNCATE has not emptied it */
	dev_close(reader);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct dev *other;

		diag_clear(&diag);
		_exit(dev_open(in_dir("locked"), DEV_WRITE, &diag, &other) == -EBUSY ? 0 : 1);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	dev_close(dev);
	dev_close(open_dev(in_dir("locked"), DEV_WRITE));
}

TEST(a_locker_of_the_old_kind_is_named)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char words[60], c;
	int fds[2], back[2];
	pid_t pid;

	dev_close(fresh_file("posix", 0));
	CHECK_INT(pipe(fds), 0);
	CHECK_INT(pipe(back), 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int fd = open(in_dir("posix"), O_RDWR);

		if (fd < 0 || fcntl(fd, F_SETLK, &lock) < 0 || write(back[1], "x", 1) != 1)
			_exit(1);
		close(fds[1]);
		_exit(read(fds[0], &c, 1) == 0 ? 0 : 1);
	}
	CHECK_INT(read(back[0], &c, 1), 1);
	snprintf(words, sizeof(words), "locked by process %d", (int)pid);
	refused(in_dir("posix"), DEV_WRITE, -EBUSY, words);
	close(fds[0]);
	close(fds[1]);
	close(back[0]);
	close(back[1]);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
}

TEST(memory_and_missing_signatures_are_not_found)
{
	struct dev *dev = fresh_file("empty", 0), *mem;
	struct probe p;

	CHECK_INT(probe_read(dev, &p), 0);
	CHECK(!p.found);
	CHECK_INT(dev_open_memory(4096, &diag, &mem), 0);
	CHECK_INT(probe_read(mem, &p), -EOPNOTSUPP);
	dev_close(mem);
	dev_close(dev);
}

TEST(a_signature_is_found_also_inside_a_slice)
{
	struct dev *dev = fresh_file("swap", 0), *part;
	struct probe p;
	uint8_t head[16] = {1, [5] = 1};

	/* a swap area: version 1, a size, and its name at the end of the first page */
	CHECK_INT(dev_write(dev, 65536 + 1024, head, sizeof(head)), 0);
	CHECK_INT(dev_write(dev, 65536 + 4086, "SWAPSPACE2", 10), 0);
	CHECK_INT(probe_read(dev, &p), 0);
	CHECK(!p.found);
	CHECK_INT(dev_open_slice(dev, 65536, 131072, &part), 0);
	CHECK_INT(probe_read(part, &p), 0);
	CHECK(p.found && !p.ambiguous);
	CHECK_STR(p.type, "swap");
	CHECK_STR(p.usage, "other");
	dev_close(part);
	dev_close(dev);
}

TEST(a_partition_table_is_found)
{
	struct dev *dev = fresh_file("table", 0);
	uint8_t entry[16] = {0, 0, 0, 0, 0x83, 0, 0, 0, 8, 0, 0, 0, 0, 2, 0, 0};
	struct probe p;

	CHECK_INT(dev_write(dev, 446, entry, 16), 0);
	CHECK_INT(dev_write(dev, 510, "\x55\xaa", 2), 0);
	CHECK_INT(probe_read(dev, &p), 0);
	CHECK(p.found);
	CHECK_STR(p.table, "dos");
	CHECK_INT(p.parts, 1);
	dev_close(dev);
}

/* A loop device on our file, which goes away by itself with its last user; -1 and a reason in
 * tap_skip_reason when there is none to be had. */
static int attach_loop(const char *file, char path[32])
{
	int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), back, nr, fd = -1;
	struct loop_config config = {.info.lo_flags = LO_FLAGS_AUTOCLEAR};

	tap_skip_reason = "no loop device: not root, or no /dev/loop-control";
	if (control < 0)
		return -1;
	back = open(file, O_RDWR | O_CLOEXEC);
	config.fd = (uint32_t)back;
	for (int tries = 0; tries < 20 && fd < 0; tries++) {
		nr = ioctl(control, LOOP_CTL_GET_FREE);
		snprintf(path, 32, "/dev/loop%d", nr);
		fd = nr >= 0 ? open(path, O_RDWR | O_CLOEXEC) : -1;
		if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config) < 0) {
			close(fd); /* someone else was faster */
			fd = -1;
		}
	}
	close(back);
	close(control);
	return fd;
}

static int loop_on(const char *name, char path[32])
{
	int fd;

	dev_close(fresh_file(name, 0));
	fd = attach_loop(in_dir(name), path);
	if (fd < 0)
		SKIP(tap_skip_reason);
	return fd;
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

TEST(the_backing_file_of_a_loop_device_has_no_second_writer)
{
	char path[32], words[80];
	int fd = loop_on("loop3", path);
	struct dev *dev;

	snprintf(words, sizeof(words), "it is the backing file of %s", path);
	refused(in_dir("loop3"), DEV_WRITE, -EBUSY, words);
	dev_close(open_dev(in_dir("loop3"), 0));
	dev = open_dev(in_dir("loop3"), DEV_WRITE | DEV_MOUNTED_OK);
	dev_close(dev);
	close(fd);
}

TEST(a_block_device_has_one_writer)
{
	char path[32];
	int fd = loop_on("loop4", path);
	struct dev *dev = open_dev(path, DEV_WRITE);

	refused(path, DEV_WRITE, -EBUSY, "in use by another program");
	dev_close(open_dev(path, 0));
	dev_close(open_dev(path, DEV_WRITE | DEV_MOUNTED_OK));
	dev_close(dev);
	dev_close(open_dev(path, DEV_WRITE));
	close(fd);
}

TEST(topology_of_a_block_device_is_told)
{
	char path[32];
	int fd = loop_on("loop5", path);
	struct dev *dev = open_dev(path, 0);
	struct probe p;

	CHECK_INT(probe_read(dev, &p), 0);
	CHECK(!p.found);
	CHECK(p.io_min >= 512 && p.physical >= 512);
	dev_close(dev);
	close(fd);
}

TEST(a_mounted_device_is_refused_with_its_mount_point)
{
	struct str why = {0};
	char line[4096], point[1024];
	unsigned a, b;
	struct stat st = {.st_mode = S_IFBLK};
	FILE *in = fopen("/proc/self/mountinfo", "r");
	int busy = 0;

	while (in != NULL && st.st_rdev == 0 && fgets(line, sizeof(line), in) != NULL) {
		if (sscanf(line, "%*d %*d %u:%u %*s %1023s", &a, &b, point) == 3 && a != 0)
			st.st_rdev = (dev_t)(a << 8 | b);
	}
	if (in != NULL)
		fclose(in);
	if (st.st_rdev == 0)
		SKIP("no mounted block device here to ask about");
	busy = guard_busy(&st, &why); /* only asked, never opened */
	CHECK_INT(busy, 1);
	printf("# %s\n", str_text(&why));
	CHECK(strncmp(str_text(&why), "mounted on /", 12) == 0);
	str_free(&why);
}

static void clean_up(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command) != 0)
		printf("# could not remove %s\n", dir);
}

int main(void)
{
	int r;

	if (mkdtemp(dir) == NULL)
		return 1;
	r = tap_main();
	clean_up();
	return r;
}

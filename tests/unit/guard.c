/* SPDX-License-Identifier: BSD-2-Clause */
/* What may not be opened, or not for writing: wrong kinds, locked, busy and mounted things. */
#include "host.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "base/str.h"
#include "io/guard.h"

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

int main(void)
{
	return host_main();
}

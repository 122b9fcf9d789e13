/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests on files of the host: a folder of our own, devices in it, and loop devices on those. */
#ifndef HOST_H
#define HOST_H

#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/diag.h"
#include "io/dev.h"

#define SIZE (1u << 20) /* of each file */

static char dir[] = "/var/tmp/extkit-unit-XXXXXX"; /* /tmp may be a tmpfs, without O_DIRECT */
static struct diag diag;

static inline const char *in_dir(const char *name)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static inline struct dev *open_dev(const char *path, unsigned flags)
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

static inline struct dev *fresh_file(const char *name, unsigned flags)
{
	struct dev *dev = open_dev(in_dir(name), DEV_WRITE | DEV_CREATE | DEV_TRUNCATE |
						     (flags & ~(unsigned)DEV_DIRECT));

	CHECK_INT(dev_resize(dev, SIZE), 0);
	if (flags & DEV_DIRECT) { /* an empty file has no say in alignment: open it again */
		dev_close(dev);
		dev = open_dev(in_dir(name), DEV_WRITE | flags);
	}
	return dev;
}

/* A loop device on our file, which goes away by itself with its last user; -1 and a reason in
 * tap_skip_reason when there is none to be had. */
static inline int attach_loop(const char *file, char path[32])
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

static inline int loop_on(const char *name, char path[32])
{
	int fd;

	dev_close(fresh_file(name, 0));
	fd = attach_loop(in_dir(name), path);
	if (fd < 0)
		SKIP(tap_skip_reason);
	return fd;
}

/* Runs the tests with the folder in place. */
static inline int host_main(void)
{
	char command[100];
	int r;

	if (mkdtemp(dir) == NULL)
		return 1;
	r = tap_main();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command) != 0)
		printf("# could not remove %s\n", dir);
	return r;
}

#endif

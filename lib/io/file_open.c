/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening what the user named, in this order: look without opening, so that nothing happens to a
 * FIFO or a tape; open once, following links; decide by that descriptor alone what it is; refuse
 * what is busy; lock; only then empty it; see whether it is a container of an image.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/str.h"
#include "io/container.h"
#include "io/file.h"
#include "io/guard.h"
#include "io/nbd.h"
#include "io/uring.h"

static const char *kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a FIFO";
	case S_IFCHR:
		return "a character device";
	case S_IFSOCK:
		return "a socket";
	default:
		return "no file";
	}
}

static int check_kind(const char *path, const struct stat *st, struct diag *d)
{
	if (S_ISREG(st->st_mode) || S_ISBLK(st->st_mode))
		return 0;
	return diag_set(d, S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL,
			"cannot use %s: it is %s, neither a regular file nor a block device", path,
			kind_of(st->st_mode));
}

/* What path leads to, without opening it; mode 0 when there is nothing and it may be created. */
static int look(const char *path, unsigned flags, struct stat *st, struct diag *d)
{
	int fd = open(path, O_PATH | O_CLOEXEC), r = 0;

	if (fd < 0 && errno == ENOENT && (flags & DEV_CREATE)) {
		st->st_mode = 0;
		return 0;
	}
	if (fd < 0)
		return diag_errno(d, -errno, "cannot open %s", path);
	if (fstat(fd, st) < 0)
		r = diag_errno(d, -errno, "cannot open %s", path);
	else
		r = check_kind(path, st, d);
	close(fd);
	return r;
}

static int tell_busy(const char *path, const struct stat *st, struct diag *d)
{
	struct str why = {0};
	int r;

	if (!guard_busy(st, &why))
		str_adds(&why, "in use by another program");
	r = diag_set(d, -EBUSY, "cannot write %s: it is %s", path, str_text(&why));
	str_free(&why);
	return r;
}

static int open_fd(const char *path, unsigned flags, const struct stat *seen, struct diag *d)
{
	int how = O_CLOEXEC | O_NOCTTY | O_NONBLOCK, fd;

	how |= flags & DEV_WRITE ? O_RDWR : O_RDONLY;
	if (flags & DEV_CREATE)
		how |= O_CREAT;
	if (S_ISBLK(seen->st_mode) && (flags & DEV_WRITE) && !(flags & DEV_MOUNTED_OK))
		how = (how | O_EXCL) & ~O_CREAT;
	do {
		fd = open(path, how, 0666);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0 && errno == EBUSY)
		return tell_busy(path, seen, d);
	if (fd < 0)
		return diag_errno(d, -errno, "cannot open %s%s", path,
				  flags & DEV_WRITE ? " for writing" : "");
	return fd;
}

/* Whether the open file may be written. */
static int check_free(struct file *f, unsigned flags, const struct stat *st)
{
	struct str why = {0};
	int r = 0;

	if (!(flags & DEV_MOUNTED_OK) && guard_busy(st, &why))
		r = diag_set(f->dev.diag, -EBUSY, "cannot write %s: it is %s", f->dev.name,
			     str_text(&why));
	str_free(&why);
	if (r == 0 && S_ISREG(st->st_mode))
		r = guard_lock(f->fd, f->dev.name, f->dev.diag);
	return r;
}

static int measure(struct file *f, const struct stat *st)
{
	int sector = 512;
	uint64_t size = (uint64_t)st->st_size;
	int read_only = 0;

	f->dev.is_block = S_ISBLK(st->st_mode);
	if (f->dev.is_block && f->dev.writable && ioctl(f->fd, BLKROGET, &read_only) == 0 &&
	    read_only)
		return diag_errno(f->dev.diag, -EROFS, "cannot open %s for writing", f->dev.name);
	if (f->dev.is_block &&
	    (ioctl(f->fd, BLKGETSIZE64, &size) < 0 || ioctl(f->fd, BLKSSZGET, &sector) < 0))
		return diag_errno(f->dev.diag, -errno, "cannot get the size of %s", f->dev.name);
	if (size > INT64_MAX)
		return diag_set(f->dev.diag, -EFBIG, "cannot use %s: it claims %llu bytes",
				f->dev.name, (unsigned long long)size);
	f->dev.size = size;
	f->dev.sector = sector >= 512 ? (uint32_t)sector : 512;
	return 0;
}

/* The open descriptor becomes a device. */
static int set_up(struct file *f, unsigned flags)
{
	struct diag *d = f->dev.diag;
	struct stat st;
	int r;

	if (fstat(f->fd, &st) < 0)
		return diag_errno(d, -errno, "cannot open %s", f->dev.name);
	r = check_kind(f->dev.name, &st, d);
	if (r == 0 && (flags & DEV_WRITE))
		r = check_free(f, flags, &st);
	if (r < 0)
		return r;
	if ((flags & DEV_WRITE) && (flags & DEV_TRUNCATE) && S_ISREG(st.st_mode)) {
		if (ftruncate(f->fd, 0) < 0)
			return diag_errno(d, -errno, "cannot empty %s", f->dev.name);
		st.st_size = 0;
	}
	f->dev.writable = (flags & DEV_WRITE) != 0;
	if (fcntl(f->fd, F_SETFL, 0) < 0) /* O_NONBLOCK has done its duty */
		return diag_errno(d, -errno, "cannot open %s", f->dev.name);
	return measure(f, &st);
}

bool dev_exists(const char *path)
{
	return nbd_is_uri(path) || access(path, F_OK) == 0 || errno != ENOENT;
}

bool dev_is_remote(const char *path)
{
	return nbd_is_uri(path);
}

/* A regular file may be a container. */
static int open_contents(struct file *f, unsigned flags, struct dev **ret)
{
	int r = container_open(&f->dev, flags, ret);

	if (r == 0 && *ret == &f->dev && (flags & DEV_DIRECT))
		file_direct(f);
	return r;
}

static int open_file(const char *path, unsigned flags, struct diag *d, struct dev **ret)
{
	struct stat seen;
	struct file *f;
	int r = look(path, flags, &seen, d);

	if (r < 0)
		return r;
	f = dev_new(sizeof(*f), &file_ops, path, d);
	if (f == NULL)
		return -ENOMEM;
	f->fd = open_fd(path, flags, &seen, d);
	if (f->fd < 0) {
		r = f->fd;
		dev_drop(&f->dev);
		return r;
	}
	pthread_mutex_init(&f->bounce_lock, NULL);
	r = set_up(f, flags);
	if (r < 0) {
		dev_close(&f->dev);
		return r;
	}
	if (!f->dev.is_block && (flags & DEV_PLAIN) == 0)
		return open_contents(f, flags, ret);
	if (flags & DEV_DIRECT)
		file_direct(f);
	*ret = &f->dev;
	return 0;
}

int dev_open(const char *path, unsigned flags, struct diag *d, struct dev **ret)
{
	if (nbd_is_uri(path))
		return nbd_open_uri(path, flags, 0, d, ret);
	return open_file(path, flags, d, ret);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file without a name: one that never had any, one that lost it at once where the file system
 * knows no others, or a piece of memory.  Only what a folder cannot do leads from one to the next:
 * a full disk, or a process with too many files, is an error.
 */
#include "tree/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/diag.h"

#define IN_MEMORY ((uint64_t)16 << 20)

static const char *temp_folder(void)
{
	const char *tmp = getenv("TMPDIR");

	return tmp != NULL && *tmp != '\0' ? tmp : "/tmp";
}

static int named_file(const char *folder)
{
	char *name;
	int fd;

	if (asprintf(&name, "%s/extkit.XXXXXX", folder) < 0)
		return -ENOMEM;
	fd = mkostemp(name, O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	if (fd >= 0)
		unlink(name);
	free(name);
	return fd;
}

/* A descriptor, or why this folder gives none. */
static int file_in(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	return errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL ? named_file(folder)
									 : -errno;
}

/* The folder is none, or nobody may write there. */
static bool takes_none(int err)
{
	static const int none[] = {EACCES, EPERM,        EROFS,  ENOENT, ENOTDIR,
				   ELOOP,  ENAMETOOLONG, EISDIR, EINVAL, EOPNOTSUPP};

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (err == -none[i])
			return true;
	return false;
}

static int open_memory(struct spool *s, int why, struct diag *d)
{
	int fd = memfd_create("extkit", MFD_CLOEXEC);

	if (fd < 0)
		return diag_errno(d, -errno, "cannot spool");
	*s = (struct spool){.fd = fd, .in_memory = true, .left = SPOOL_MEMORY, .why = why};
	return 0;
}

int spool_open(struct spool *s, uint64_t size, struct diag *d)
{
	return size <= IN_MEMORY ? open_memory(s, -ENOSPC, d) : spool_open_in(s, NULL, d);
}

int spool_open_in(struct spool *s, const char *folder, struct diag *d)
{
	int fd = folder != NULL ? file_in(folder) : -ENOENT;

	if (takes_none(fd))
		fd = file_in(temp_folder());
	if (takes_none(fd))
		return open_memory(s, fd, d);
	if (fd < 0)
		return diag_errno(d, fd, "cannot spool");
	*s = (struct spool){.fd = fd};
	return 0;
}

void spool_close(struct spool *s)
{
	if (s->fd >= 0)
		close(s->fd);
	*s = SPOOL_NONE;
}

/* All of len bytes, out or in. */
static int move(int fd, bool out, uint64_t off, char *p, size_t len, struct diag *d)
{
	while (len > 0) {
		ssize_t n = out ? pwrite(fd, p, len, (off_t)off) : pread(fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return diag_errno(d, n < 0 ? -errno : -EIO, "cannot spool");
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int spool_write(struct spool *s, uint64_t off, const void *buf, size_t len, struct diag *d)
{
	if (s->in_memory && len > s->left)
		return diag_errno(d, s->why,
				  "cannot spool: more than %u MiB would wait in memory, %s takes "
				  "no file",
				  (unsigned)(SPOOL_MEMORY >> 20), temp_folder());
	s->left -= s->in_memory ? len : 0;
	return move(s->fd, true, off, (char *)(uintptr_t)buf, len, d);
}

int spool_read(int fd, uint64_t off, void *buf, size_t len, struct diag *d)
{
	return move(fd, false, off, buf, len, d);
}

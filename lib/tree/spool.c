/* SPDX-License-Identifier: BSD-2-Clause */
/* A file without a name: in memory, or in a folder whose file system makes such files. */
#include "tree/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/diag.h"

#define IN_MEMORY ((uint64_t)16 << 20)

int spool_open(uint64_t size, struct diag *d)
{
	const char *tmp = getenv("TMPDIR");

	return spool_open_in(size <= IN_MEMORY ? NULL : tmp != NULL ? tmp : "/tmp", d);
}

int spool_open_in(const char *folder, struct diag *d)
{
	int fd = folder != NULL ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		fd = memfd_create("extkit", MFD_CLOEXEC);
	return fd < 0 ? diag_errno(d, -errno, "cannot spool") : fd;
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

int spool_write(int fd, uint64_t off, const void *buf, size_t len, struct diag *d)
{
	return move(fd, true, off, (char *)(uintptr_t)buf, len, d);
}

int spool_read(int fd, uint64_t off, void *buf, size_t len, struct diag *d)
{
	return move(fd, false, off, buf, len, d);
}

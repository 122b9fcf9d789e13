/* SPDX-License-Identifier: BSD-2-Clause */
/* Files beside others.  mkstemp(3) makes them for the owner alone, and what the umask would give
 * can only be asked for by changing it, which other threads would see: so names are made here, and
 * the kernel makes the mode. */
#include "io/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define LETTERS 6u
#define TRIES   100u

static int random_letters(char *to)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	uint64_t n;

	if (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
		return -errno;
	for (unsigned i = 0; i < LETTERS; i++, n /= sizeof(letters) - 1)
		to[i] = letters[n % (sizeof(letters) - 1)];
	return 0;
}

int temp_make(const char *path, mode_t mode, char **ret)
{
	size_t len = strlen(path);
	char *name;
	int fd = -EEXIST;

	if (asprintf(&name, "%s.%*s", path, (int)LETTERS, "") < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < TRIES && fd == -EEXIST; i++) {
		fd = random_letters(name + len + 1);
		if (fd < 0)
			break;
		fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode != 0 ? 0600 : 0666);
		if (fd < 0)
			fd = -errno;
	}
	if (fd < 0) {
		free(name);
		return fd;
	}
	if (mode != 0)
		(void)!fchmod(fd, mode & 07777); /* not on every file system */
	*ret = name;
	return fd;
}

int temp_sync_folder(const char *path)
{
	char *copy = strdup(path);
	int fd = copy != NULL ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int rc = fd >= 0 && fsync(fd) == 0 ? 0 : -errno;

	if (fd >= 0)
		close(fd);
	free(copy);
	/* some file systems cannot do it, and then it is not needed */
	return rc == -EINVAL || rc == -EROFS ? 0 : rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* A folder of files as a store: every write is one system call and ends before submit returns.  A
 * name is one file, its slashes kept as %2F, so no name leads out of the folder. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/dev_impl.h"
#include "pagecache/region.h"

#define VECS 1024u /* IOV_MAX */
#define BEST ((uint64_t)256 << 20)

struct folder {
	struct region_store store;
	int dir;
};

struct folder_data {
	struct rdata data;
	int fd;
};

static int fd_of(const struct rdata *data)
{
	return ((const struct folder_data *)data)->fd;
}

/* "/a/b" becomes "a%2Fb". */
static int file_name(const char *name, char to[NAME_MAX + 1])
{
	size_t n = 0;

	name += strspn(name, "/");
	for (; *name != '\0'; name++) {
		bool plain = *name != '/' && *name != '%';

		if (n + 3 > NAME_MAX)
			return -ENAMETOOLONG;
		if (plain)
			to[n++] = *name;
		else
			n = (size_t)(stpcpy(to + n, *name == '/' ? "%2F" : "%25") - to);
	}
	to[n] = '\0';
	return n == 0 || strcmp(to, ".") == 0 || strcmp(to, "..") == 0 ? -EINVAL : 0;
}

static int folder_open_data(struct region_store *s, const char *name, unsigned flags,
			    struct rdata **ret, uint64_t *size)
{
	int how = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, rc;
	struct folder_data *f = mem_zero(sizeof(*f));
	char at[NAME_MAX + 1];
	struct stat st;

	how |= (flags & EK_REGION_CREATE) != 0 ? O_CREAT : 0;
	how |= (flags & EK_REGION_EXCLUSIVE) != 0 ? O_EXCL : 0;
	rc = f == NULL ? -ENOMEM : file_name(name, at);
	if (rc == 0) {
		f->fd = openat(((struct folder *)s)->dir, at, how, 0666);
		rc = f->fd < 0 ? -errno : 0;
	}
	if (rc == 0) {
		rc = fstat(f->fd, &st) < 0 ? -errno : !S_ISREG(st.st_mode) ? -EINVAL : 0;
		if (rc < 0)
			close(f->fd);
	}
	if (rc < 0) {
		free(f);
		return rc;
	}
	f->data.store = s;
	*size = (uint64_t)st.st_size;
	*ret = &f->data;
	return 0;
}

static void folder_release(struct rdata *data, uint64_t size)
{
	(void)size;
	close(fd_of(data));
	free(data);
}

static int folder_unlink(struct region_store *s, const char *name)
{
	char at[NAME_MAX + 1];
	int rc = file_name(name, at);

	return rc < 0 ? rc : unlinkat(((struct folder *)s)->dir, at, 0) < 0 ? -errno : 0;
}

static int folder_rename(struct region_store *s, const char *from, const char *to)
{
	char a[NAME_MAX + 1], b[NAME_MAX + 1];
	int dir = ((struct folder *)s)->dir, rc = file_name(from, a);

	if (rc == 0)
		rc = file_name(to, b);
	return rc < 0 ? rc : renameat(dir, a, dir, b) < 0 ? -errno : 0;
}

static void folder_submit(struct rop *op)
{
	struct iovec part[VECS];
	size_t done = 0;
	unsigned n;
	int rc = 0;

	while (rc == 0 && (n = iov_rest(op->iov, op->iovcnt, done, part, VECS)) != 0) {
		ssize_t did = pwritev(fd_of(op->data), part, (int)n, (off_t)(op->off + done));

		if (did > 0)
			done += (size_t)did;
		else if (did == 0 || errno != EINTR)
			rc = did == 0 ? -EIO : -errno;
	}
	op_done(op, rc);
}

static void folder_reap(struct region_store *s, unsigned min)
{
	(void)s, (void)min; /* nothing is ever on its way */
}

static int folder_read(struct rdata *data, uint64_t off, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t did =
		    pread(fd_of(data), (uint8_t *)buf + done, len - done, (off_t)(off + done));

		if (did == 0)
			break;
		if (did > 0)
			done += (size_t)did;
		else if (errno != EINTR)
			return -errno;
	}
	memset((uint8_t *)buf + done, 0, len - done);
	return 0;
}

static int folder_flush(struct rdata *data)
{
	return fdatasync(fd_of(data)) < 0 ? -errno : 0;
}

static int folder_flush_all(struct region_store *s)
{
	return syncfs(((struct folder *)s)->dir) < 0 ? -errno : 0;
}

static int folder_resize(struct rdata *data, uint64_t size, uint64_t stored)
{
	(void)stored;
	return ftruncate(fd_of(data), (off_t)size) < 0 ? -errno : 0;
}

static int folder_zero(struct rdata *data, uint64_t off, uint64_t len)
{
	int how = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

	return fallocate(fd_of(data), how, (off_t)off, (off_t)len) < 0 ? -EOPNOTSUPP : 0;
}

static void folder_close(struct region_store *s)
{
	close(((struct folder *)s)->dir);
	free(s);
}

static const struct region_store_ops folder_ops = {
    .open = folder_open_data,
    .release = folder_release,
    .unlink = folder_unlink,
    .rename = folder_rename,
    .submit = folder_submit,
    .reap = folder_reap,
    .read = folder_read,
    .flush = folder_flush,
    .flush_all = folder_flush_all,
    .resize = folder_resize,
    .zero = folder_zero,
    .close = folder_close,
};

int region_store_folder(const char *path, struct diag *d, struct region_store **ret)
{
	struct folder *s = mem_zero(sizeof(*s));

	if (s == NULL)
		return diag_set(d, -ENOMEM, "out of memory for a store");
	s->store.ops = &folder_ops;
	s->store.preferred = PAGE_BYTES;
	s->store.max = BEST;
	if (mkdir(path, 0777) == 0 || errno == EEXIST)
		s->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	else
		s->dir = -1;
	if (s->dir < 0) {
		int rc = diag_errno(d, -errno, "cannot open folder '%s'", path);

		free(s);
		return rc;
	}
	*ret = &s->store;
	return 0;
}

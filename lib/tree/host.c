/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls of the export.  Paths are resolved by openat2 beneath one descriptor, so neither a
 * link that somebody else makes meanwhile nor a name in the image leads out of it.
 */
#include "tree/host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/check.h"
#include "extkit/export.h"
#include "extkit/inode.h"
#include "fs/inode.h"
#include "fs/session.h"
#include "io/dev.h"
#include "ondisk/features.h"

#define HOST_LEAST ((uint64_t)1 << 20)
#define HOST_MOST  ((uint64_t)64 << 20)

static int open_beneath(int root, const char *path)
{
	struct open_how how = {
	    .flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_RDONLY,
	    .resolve =
		RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int host_parent(int root, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char head[4096];
	size_t n;

	*name = slash != NULL ? slash + 1 : path;
	if (slash == NULL)
		return open_beneath(root, ".");
	n = (size_t)(slash - path);
	if (n >= sizeof(head))
		return -ENAMETOOLONG;
	memcpy(head, path, n);
	head[n] = '\0';
	return open_beneath(root, head);
}

static int write_all(int fd, const uint8_t *p, size_t n, uint64_t at)
{
	while (n > 0) {
		ssize_t did = pwrite(fd, p, n, (off_t)at);

		if (did < 0 && errno == EINTR)
			continue;
		if (did <= 0)
			return did < 0 ? -errno : -EIO;
		p += did;
		n -= (size_t)did;
		at += (uint64_t)did;
	}
	return 0;
}

/* Large pieces the host copies by itself, out of the file that is the image; returns how far it
 * came from at.  Whatever keeps it from doing so comes out when the rest is read.  An image that is
 * written may have bytes that are not there yet. */
static uint64_t copy_by_host(struct ek_inode *inode, uint64_t at, uint64_t end, int fd)
{
	const struct geom *g = &inode->img->geom;
	struct ek_extent e;
	uint64_t base;
	int in;

	if (inode->img->writable || end - at < HOST_LEAST ||
	    dev_host(inode->img->dev, &in, &base) < 0)
		return at;
	while (at < end &&
	       ek_inode_extent(inode, (ek_lblk){(uint32_t)(at >> g->block_bits)}, &e) == 1) {
		uint64_t first = (uint64_t)e.lblk.v << g->block_bits;
		uint64_t stop = MIN(end, first + ((uint64_t)e.len << g->block_bits));
		off_t src = (off_t)(base + (e.pblk.v << g->block_bits) + (at - first));
		off_t dst = (off_t)at;
		ssize_t did;

		if (e.unwritten || first > at || stop <= at || (at & (g->block_size - 1)) != 0)
			break;
		did = copy_file_range(in, &src, fd, &dst, (size_t)MIN(stop - at, HOST_MOST), 0);
		if (did <= 0)
			break;
		at += (uint64_t)did;
	}
	return at;
}

/* [at, end) of the file, which has no holes in between. */
static int copy_run(struct ek_inode *inode, uint64_t at, uint64_t end, int fd, void *buf,
		    size_t cap)
{
	int rc = 0;

	at = copy_by_host(inode, at, end, fd);
	while (rc == 0 && at < end) {
		size_t n = (size_t)MIN((uint64_t)cap, end - at);

		rc = ek_inode_read(inode, at, buf, n, &n);
		if (rc == 0 && n == 0)
			break;
		if (rc == 0)
			rc = write_all(fd, buf, n, at);
		at += n;
	}
	return rc;
}

/* Mappings that go round make gigabytes of a small image: a file has no block twice. */
static int check_total(const struct ek_inode *inode, uint64_t total)
{
	const struct geom *g = &inode->img->geom;
	uint64_t whole = g->blocks * g->block_size;

	if (total <= whole || geom_ro_compat(g, RO_COMPAT_SHARED_BLOCKS))
		return 0;
	return diag_set(&inode->img->session->ctx->diag, -EUCLEAN,
			"corrupt mapping: inode %u: more bytes than the %llu of the image",
			inode->ino.v, (unsigned long long)whole);
}

int host_copy(struct ek_inode *inode, uint64_t size, int fd, void *buf, size_t cap)
{
	uint64_t at = 0, end, total = 0, filled = 0;

	while (at < size) {
		int rc = ek_inode_next_data(inode, at, &at);

		if (rc == 0)
			rc = ek_inode_next_hole(inode, at, &end);
		if (rc == 0 && at < size) {
			filled = end;
			rc = check_total(inode, total += MIN(end, size) - at);
		}
		if (rc == 0)
			rc = copy_run(inode, at, end, fd, buf, cap);
		if (rc < 0)
			return rc;
		at = end;
	}
	return filled < size && ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
}

/* Attributes that the host does not take are none of the export's failures, unless they are the
 * user's own. */
static int copy_xattrs(struct ek_inode *inode, int fd)
{
	struct ek_xattrs *xattrs;
	const struct ek_xattr *x;
	int rc = ek_inode_xattrs(inode, &xattrs);

	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && (x = ek_xattrs_get(xattrs, i)) != NULL; i++) {
		if (fsetxattr(fd, x->name, x->value, x->len, 0) < 0 &&
		    strncmp(x->name, "user.", 5) == 0 && errno != EOPNOTSUPP)
			rc = -errno;
	}
	ek_xattrs_free(xattrs);
	return rc;
}

int host_finish(struct ek_inode *inode, const struct ek_stat *st, int fd, unsigned flags)
{
	mode_t mode = st->mode & ((flags & EK_EXPORT_SETID) != 0 ? 07777 : 0777);
	struct timespec times[2] = {
	    {st->atime.sec, (long)st->atime.nsec},
	    {st->mtime.sec, (long)st->mtime.nsec},
	};
	int rc = 0;

	if ((flags & EK_EXPORT_OWNER) != 0 && fchown(fd, st->uid, st->gid) < 0)
		rc = -errno;
	if (rc == 0 && (flags & EK_EXPORT_XATTRS) != 0)
		rc = copy_xattrs(inode, fd);
	if (rc == 0 && fchmod(fd, mode) < 0)
		rc = -errno;
	if (rc == 0 && futimens(fd, times) < 0)
		rc = -errno;
	return rc;
}

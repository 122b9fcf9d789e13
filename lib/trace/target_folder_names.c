/* SPDX-License-Identifier: BSD-2-Clause */
/* Replay onto a folder: open, close, and what makes, moves and removes names. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "trace/target_folder.h"

/* ---- open and close ---- */

static int open_flags(const struct op *o)
{
	static const struct {
		unsigned from;
		int to;
	} map[] = {
	    {OPF_PATH, O_PATH},           {OPF_CREAT, O_CREAT},     {OPF_EXCL, O_EXCL},
	    {OPF_TRUNC, O_TRUNC},         {OPF_SYNC, O_SYNC},       {OPF_DSYNC, O_DSYNC},
	    {OPF_DIRECT, O_DIRECT},       {OPF_TMPFILE, O_TMPFILE}, {OPF_NOFOLLOW, O_NOFOLLOW},
	    {OPF_DIRECTORY, O_DIRECTORY}, {OPF_NOATIME, O_NOATIME},
	};
	bool write = (o->flags & OPF_WRITE) != 0, read = (o->flags & OPF_READ) != 0;
	int flags = write ? read ? O_RDWR : O_WRONLY : O_RDONLY;

	for (size_t i = 0; i < ARRAY_SIZE(map); i++) {
		if ((o->flags & map[i].from) != 0)
			flags |= map[i].to;
	}
	return flags;
}

/* A device node of the trace may stand for any device of this host, and opening a FIFO waits for a
 * partner: only files and folders are opened.  1: there is none of that name. */
static int may_open(struct folder_target *t, const struct op *o, int flags)
{
	struct stat st;
	int fd, rc = 0;

	if ((flags & O_TMPFILE) == O_TMPFILE || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		return 1;
	if ((flags & O_PATH) != 0)
		return 0;
	fd = folder_open(t, o->path.p, O_PATH | (flags & O_NOFOLLOW), 0);
	if (fd < 0)
		return fd == -ENOENT ? 1 : fd;
	if (fstat(fd, &st) < 0)
		rc = -errno;
	else if (S_ISLNK(st.st_mode))
		rc = -ELOOP;
	else if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		rc = -ENXIO;
	close(fd);
	return rc;
}

/* A new file's mode is the trace's business; an old one keeps its own. */
static int open_file(struct folder_target *t, const struct op *o)
{
	mode_t mode = ((o->flags & OPF_MODE) != 0 ? o->mode : 0666) & 07777 & ~t->umask;
	int flags = open_flags(o), rc = may_open(t, o, flags), fd;
	bool made = rc == 1 && ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE);
	struct stat st;

	if (rc < 0)
		return rc;
	fd = folder_open(t, o->path.p, flags | O_NONBLOCK, mode);
	if (fd < 0 || !made || (mode & t->cut) == 0)
		return fd;
	if (fstat(fd, &st) == 0 && fchmod(fd, (st.st_mode | (mode & t->cut)) & 07777) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

int folder_op_open(struct folder_target *t, const struct op *o)
{
	struct folder_file *f;
	int fd;

	if (o->handle == 0)
		return -EBADF;
	if (hash_find(&t->files, o->handle) != NULL)
		return diag_set(t->target.d, -EINVAL, "handle h%u is opened twice", o->handle);
	fd = open_file(t, o);
	if (fd < 0)
		return fd;
	f = mem_zero(sizeof(*f));
	if (f == NULL) {
		close(fd);
		return -ENOMEM;
	}
	f->fd = fd;
	hash_insert(&t->files, &f->node, o->handle);
	return 0;
}

void folder_close_file(struct folder_file *f)
{
	close(f->fd);
	free(f);
}

int folder_op_close(struct folder_target *t, const struct op *o)
{
	struct hash_node *n = hash_find(&t->files, o->handle);

	if (n == NULL)
		return -EBADF;
	hash_remove(&t->files, n);
	folder_close_file(hash_entry(n, struct folder_file, node));
	return 0;
}

/* ---- names ---- */

static int link_or_rename(struct folder_target *t, const struct op *o)
{
	unsigned flags = ((o->flags & OPF_NOREPLACE) != 0 ? RENAME_NOREPLACE : 0u) |
			 ((o->flags & OPF_EXCHANGE) != 0 ? RENAME_EXCHANGE : 0u) |
			 ((o->flags & OPF_WHITEOUT) != 0 ? RENAME_WHITEOUT : 0u);
	struct folder_place from, to;
	int rc = folder_enter(t, &o->path, &from);

	if (rc < 0)
		return rc;
	rc = folder_enter(t, &o->path2, &to);
	if (rc == 0) {
		if (o->code == OP_LINK)
			rc = linkat(from.dir, from.name, to.dir, to.name, 0);
		else
			rc = renameat2(from.dir, from.name, to.dir, to.name, flags);
		rc = rc < 0 ? -errno : 0;
		folder_leave(t, &to);
	}
	folder_leave(t, &from);
	return rc;
}

/* What was made gets the bits that the process's own mask has cut. */
static int uncut(const struct folder_target *t, const struct folder_place *at, mode_t mode)
{
	struct stat st;

	if ((mode & t->cut) == 0)
		return 0;
	if (fstatat(at->dir, at->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return fchmodat(at->dir, at->name, (st.st_mode | (mode & t->cut)) & 07777,
			AT_SYMLINK_NOFOLLOW);
}

static int change_name(const struct folder_target *t, const struct op *o,
		       const struct folder_place *at)
{
	mode_t mode = o->mode & ~t->umask;
	int rc;

	switch (o->code) {
	case OP_MKDIR:
		rc = mkdirat(at->dir, at->name, mode & 07777);
		return rc < 0 ? rc : uncut(t, at, mode);
	case OP_RMDIR:
		return unlinkat(at->dir, at->name, AT_REMOVEDIR);
	case OP_UNLINK:
		return unlinkat(at->dir, at->name, 0);
	case OP_SYMLINK:
		return symlinkat(o->path.p, at->dir, at->name);
	case OP_MKNOD:
		rc = mknodat(at->dir, at->name, mode,
			     makedev((unsigned)(o->dev >> 32), (unsigned)o->dev));
		return rc < 0 ? rc : uncut(t, at, mode);
	default:
		errno = EINVAL;
		return -1;
	}
}

int folder_op_name(struct folder_target *t, const struct op *o)
{
	struct folder_place at;
	int rc;

	if (o->code == OP_LINK || o->code == OP_RENAME)
		return link_or_rename(t, o);
	rc = folder_enter(t, o->code == OP_SYMLINK ? &o->path2 : &o->path, &at);
	if (rc < 0)
		return rc;
	rc = change_name(t, o, &at) < 0 ? -errno : 0;
	folder_leave(t, &at);
	return rc;
}

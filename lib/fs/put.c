/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * New files with all they have, out of a descriptor or memory.
 *
 * 1. A file without a name is made; it is on the orphan list, so that a crash deletes it.
 * 2. It gets blocks, one transaction for each extent, and the bytes go straight to their place.
 * 3. Owner, times and attributes.
 * 4. The device is flushed: whatever the log says later is about data that are there.
 * 5. One transaction gives it its name and, when it replaces a file, takes that one's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "extkit/edit.h"
#include "extkit/inode.h"
#include "fs/credits.h"
#include "fs/dir.h"
#include "fs/file.h"
#include "fs/inode.h"
#include "fs/namei.h"
#include "fs/session.h"
#include "fs/xattr.h"
#include "io/dev.h"

#define PIECE ((size_t)1 << 20)

/* Where the bytes come from. */
struct source {
	int fd;
	const uint8_t *bytes; /* instead of fd */
	uint64_t len;         /* of bytes */
};

struct put {
	struct task *t;
	struct ek_inode *inode;
	const struct source *src;
	uint8_t *piece; /* PIECE bytes and a block for what lies behind the end */
	off_t base;     /* of the descriptor when it can seek */
	uint64_t done;
};

/* ---- bytes ---- */

static int tell_progress(struct put *p, uint64_t n)
{
	struct ek_progress step = {.stage = "write files", .unit = "bytes"};

	p->done += n;
	step.done = p->done;
	return ctx_progress(p->t->img->session->ctx, &step);
}

/* Blocks for [off, off + len) and the bytes into them; what a last block has too much is zeros.
 * data has room for that. */
static int store(struct put *p, uint64_t off, uint8_t *data, uint64_t len)
{
	uint64_t block = p->t->img->geom.block_size, pos, run;
	int rc = 0;

	while (len > 0 && rc == 0) {
		uint64_t whole;

		rc = file_extend(p->t, p->inode, off, len, &pos, &run);
		if (rc < 0)
			return rc;
		whole = ROUND_UP(run, block);
		if (whole != run)
			memset(data + run, 0, whole - run);
		rc = dev_write(p->t->img->dev, pos, data, whole);
		off += run;
		data += run;
		len -= run;
	}
	return rc;
}

static int read_host(struct put *p, off_t at, size_t len, size_t *ret)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = at < 0 ? read(p->src->fd, p->piece + got, len - got)
				   : pread(p->src->fd, p->piece + got, len - got, at + (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return diag_errno(&p->t->img->diag, -errno, "cannot read the new contents");
		if (n == 0)
			break;
		got += (size_t)n;
	}
	*ret = got;
	return 0;
}

/* [off, off + len) of a descriptor that can seek: as many blocks as one extent takes, then their
 * bytes piece by piece. */
static int copy_range(struct put *p, uint64_t off, uint64_t len)
{
	uint64_t block = p->t->img->geom.block_size, pos, run;

	while (len > 0) {
		int rc = file_extend(p->t, p->inode, off, len, &pos, &run);

		for (uint64_t at = 0; rc == 0 && at < run; at += PIECE) {
			size_t n = (size_t)MIN((uint64_t)PIECE, run - at), got = 0;

			rc = read_host(p, p->base + (off_t)(off + at), n, &got);
			/* a file that shrinks meanwhile ends in zeros */
			memset(p->piece + got, 0, ROUND_UP(n, block) - got);
			if (rc == 0)
				rc = dev_write(p->t->img->dev, pos + at, p->piece,
					       ROUND_UP(n, block));
			if (rc == 0)
				rc = tell_progress(p, n);
		}
		if (rc < 0)
			return rc;
		off += run;
		len -= run;
	}
	return 0;
}

/* Where data begin at or after at, and where they end; everything when the host does not know. */
static int next_data(struct put *p, uint64_t at, uint64_t size, uint64_t *ret_from,
		     uint64_t *ret_to)
{
	uint64_t block = p->t->img->geom.block_size;
	off_t data = lseek(p->src->fd, p->base + (off_t)at, SEEK_DATA), hole;

	if (data < 0) {
		*ret_from = errno == ENXIO ? size : at;
		*ret_to = size;
		return 0;
	}
	hole = lseek(p->src->fd, data, SEEK_HOLE);
	*ret_from = ROUND_DOWN((uint64_t)(data - p->base), block);
	*ret_from = MAX(*ret_from, at);
	*ret_to = hole < 0 ? size : ROUND_UP((uint64_t)(hole - p->base), block);
	*ret_to = MIN(*ret_to, size);
	return 0;
}

static int set_length(struct put *p, uint64_t size)
{
	struct ek_inode *inode = p->inode;
	uint64_t limit = (uint64_t)(UINT32_MAX - 1) << p->t->img->geom.block_bits;

	if (size > limit)
		return -EFBIG;
	if (inode->size >= size)
		return 0;
	inode->size = size;
	inode->rec.size = size;
	return inode_mark_dirty(p->t, inode, MARK_FALLOCATE);
}

static int fill_from_file(struct put *p, uint64_t size)
{
	uint64_t at = 0, from, to;

	while (at < size) {
		int rc = next_data(p, at, size, &from, &to);

		if (rc == 0 && from < to)
			rc = copy_range(p, from, to - from);
		if (rc < 0)
			return rc;
		at = MAX(to, at + 1);
	}
	return set_length(p, size);
}

static int fill_from_stream(struct put *p)
{
	uint64_t off = 0;
	size_t got;
	int rc;

	do {
		rc = read_host(p, -1, PIECE, &got);
		if (rc == 0)
			rc = store(p, off, p->piece, got);
		if (rc == 0)
			rc = tell_progress(p, got);
		off += got;
	} while (rc == 0 && got == PIECE);
	return rc;
}

static int fill_from_bytes(struct put *p)
{
	uint64_t off = 0;
	int rc = 0;

	while (rc == 0 && off < p->src->len) {
		size_t n = (size_t)MIN((uint64_t)PIECE, p->src->len - off);

		memcpy(p->piece, p->src->bytes + off, n);
		rc = store(p, off, p->piece, n);
		off += n;
	}
	return rc;
}

static int fill(struct put *p)
{
	size_t room = PIECE + p->t->img->geom.block_size;
	struct stat st;
	int rc;

	p->piece = mem_aligned(4096, room);
	if (p->piece == NULL)
		return diag_set(&p->t->img->diag, -ENOMEM, "out of memory for a piece of a file");
	if (p->src->bytes != NULL || p->src->fd < 0) {
		rc = fill_from_bytes(p);
	} else {
		p->base = lseek(p->src->fd, 0, SEEK_CUR);
		if (p->base >= 0 && fstat(p->src->fd, &st) == 0 && S_ISREG(st.st_mode))
			rc = fill_from_file(
			    p, st.st_size > p->base ? (uint64_t)(st.st_size - p->base) : 0);
		else
			rc = fill_from_stream(p);
	}
	free(p->piece);
	return rc;
}

/* ---- what else an inode has ---- */

static int set_xattr(struct task *t, struct ek_inode *inode, const struct ek_xattr *x)
{
	struct handle *h;
	int rc = task_start_inode(t, inode, HANDLE_XATTR, credits_data(t->img) + 6, 0, &h);

	if (rc < 0)
		return rc;
	rc = xattr_set(t, inode, x->name, x->value, x->len, 0);
	return handle_end(h, rc);
}

static int set_attr(struct task *t, struct ek_inode *inode, const struct ek_attr *attr)
{
	struct attr a = {
	    .mask = ((attr->mask & EK_ATTR_MODE) != 0 ? (unsigned)ATTR_MODE : 0) |
		    ((attr->mask & EK_ATTR_UID) != 0 ? (unsigned)ATTR_UID : 0) |
		    ((attr->mask & EK_ATTR_GID) != 0 ? (unsigned)ATTR_GID : 0) |
		    ((attr->mask & EK_ATTR_ATIME) != 0 ? (unsigned)ATTR_ATIME : 0) |
		    ((attr->mask & EK_ATTR_MTIME) != 0 ? (unsigned)ATTR_MTIME : 0),
	    .mode = (uint16_t)(attr->mode & 07777),
	    .uid = attr->uid,
	    .gid = attr->gid,
	    .atime = attr->atime,
	    .mtime = attr->mtime,
	};
	int rc = 0;

	for (size_t i = 0; i < attr->nxattrs && rc == 0; i++)
		rc = set_xattr(t, inode, &attr->xattrs[i]);
	return rc < 0 || a.mask == 0 ? rc : fs_setattr(t, inode, &a);
}

/* ---- folders on the way ---- */

static int ensure_dir(struct task *t, const char *path)
{
	struct ek_inode *dir, *made;
	const char *name;
	uint32_t len;
	int rc = path_walk(t, path, 0, &dir);

	if (rc == 0) {
		rc = inode_is_dir(dir) ? 0 : -ENOTDIR;
		inode_put(t, dir);
		return rc;
	}
	if (rc != -ENOENT)
		return rc;
	diag_clear(&t->img->diag);
	rc = path_parent(t, path, &dir, &name, &len);
	if (rc < 0)
		return rc;
	rc = fs_mkdir(t, dir, name, len, 0755, &made);
	inode_put(t, dir);
	if (rc == 0)
		inode_put(t, made);
	return rc;
}

/* Every folder before the last part of path. */
static int ensure_parents(struct task *t, const char *path)
{
	char *copy = strdup(path);
	size_t end = strlen(path);
	int rc = 0;

	if (copy == NULL)
		return -ENOMEM;
	while (end > 0 && copy[end - 1] == '/')
		copy[--end] = '\0';
	for (char *slash = strchr(copy, '/'); slash != NULL && rc == 0;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (*copy != '\0')
			rc = ensure_dir(t, copy);
		*slash = '/';
	}
	free(copy);
	return rc;
}

/* ---- put ---- */

/* -ENOENT: the name is free; 0: what has it may go. */
static int check_old(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		     unsigned flags)
{
	struct ek_inode *old;
	ek_inum ino;
	int rc = dir_lookup(t, dir, name, len, &ino);

	if (rc < 0)
		return rc;
	rc = inode_get(t->img, ino, &old);
	if (rc < 0)
		return rc;
	rc = inode_is_dir(old) ? -EISDIR : (flags & EK_PUT_REPLACE) == 0 ? -EEXIST : 0;
	inode_put(t, old);
	return rc;
}

static int make_file(struct put *p, struct ek_inode *dir, const char *name, uint32_t len,
		     const struct ek_attr *attr, bool over)
{
	struct task *t = p->t;
	int rc = fs_tmpfile(t, dir, 0644, &p->inode);

	if (rc < 0)
		return rc;
	rc = fill(p);
	if (rc == 0)
		rc = set_attr(t, p->inode, attr);
	if (rc == 0)
		rc = dev_flush(t->img->dev);
	if (rc == 0)
		rc = over ? fs_link_over(t, p->inode, dir, name, len)
			  : fs_link(t, p->inode, dir, name, len);
	if (rc == 0)
		p->done = p->inode->size;
	inode_put(t, p->inode); /* without a name it goes, and its blocks */
	return rc;
}

static int put(struct task *t, const char *path, const struct source *src, unsigned flags,
	       const struct ek_attr *attr, uint64_t *ret_bytes)
{
	struct put p = {.t = t, .src = src};
	struct ek_inode *dir;
	const char *name;
	uint32_t len;
	int rc = session_check_writable(t->img);

	if (rc == 0 && (flags & EK_PUT_PARENTS) != 0)
		rc = ensure_parents(t, path);
	if (rc == 0)
		rc = path_parent(t, path, &dir, &name, &len);
	if (rc < 0)
		return rc;
	rc = check_old(t, dir, name, len, flags);
	if (rc == 0 || rc == -ENOENT) {
		diag_clear(&t->img->diag);
		rc = make_file(&p, dir, name, len, attr, rc == 0);
	}
	inode_put(t, dir);
	if (rc == 0 && ret_bytes != NULL)
		*ret_bytes = p.done;
	return rc;
}

static struct ek_attr attr_or_none(const struct ek_attr *attr)
{
	struct ek_attr a = {.size = sizeof(a)};

	if (attr != NULL)
		session_hand_out(&a, attr->size, attr, sizeof(a));
	return a;
}

int ek_put_fd(struct ek_image *img, const char *path, int fd, unsigned flags,
	      const struct ek_attr *attr, uint64_t *ret_bytes)
{
	struct source src = {.fd = fd};
	struct task *t = session_begin(img);
	struct ek_attr a = attr_or_none(attr);
	int rc = fd < 0 ? -EBADF : put(t, path, &src, flags, &a, ret_bytes);

	return session_end(img, rc, "cannot write", path);
}

int ek_put_bytes(struct ek_image *img, const char *path, const void *bytes, size_t len,
		 unsigned flags, const struct ek_attr *attr)
{
	struct source src = {.fd = -1, .bytes = bytes, .len = len};
	struct task *t = session_begin(img);
	struct ek_attr a = attr_or_none(attr);

	return session_end(img, put(t, path, &src, flags, &a, NULL), "cannot write", path);
}

/* ---- folders ---- */

static int make_dir(struct task *t, const char *path, unsigned flags, const struct ek_attr *attr)
{
	struct ek_inode *dir, *made;
	const char *name;
	uint32_t len;
	int rc = session_check_writable(t->img);

	if (rc == 0 && (flags & EK_PUT_PARENTS) != 0) {
		rc = ensure_parents(t, path);
		if (rc == 0 && path_walk(t, path, 0, &dir) == 0) {
			rc = inode_is_dir(dir) ? 0 : -EEXIST;
			inode_put(t, dir);
			return rc;
		}
		diag_clear(&t->img->diag);
	}
	if (rc == 0)
		rc = path_parent(t, path, &dir, &name, &len);
	if (rc < 0)
		return rc;
	rc = fs_mkdir(t, dir, name, len, 0755, &made);
	if (rc == 0) {
		rc = set_attr(t, made, attr);
		inode_put(t, made);
	}
	inode_put(t, dir);
	return rc;
}

int ek_mkdir(struct ek_image *img, const char *path, unsigned flags, const struct ek_attr *attr)
{
	struct task *t = session_begin(img);
	struct ek_attr a = attr_or_none(attr);

	return session_end(img, make_dir(t, path, flags, &a), "cannot make", path);
}

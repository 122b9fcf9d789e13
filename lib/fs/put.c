/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * New files with all they have, out of a descriptor or memory.
 *
 * 1. A file without a name is made; it is on the orphan list, so that a crash deletes it.
 * 2. It gets blocks, one transaction for each extent, and the bytes go straight to their place.
 * 3. Owner, times and attributes.
 * 4. One transaction gives it its name and, when it replaces a file, takes that one's.  Its commit
 *    flushes the device before it counts; without a journal the flush is ours, unless all can be
 *    taken back.
 * 5. Its project, when the folder hands down another.
 */
#include <errno.h>

#include "extkit/inode.h"
#include "fs/dir.h"
#include "fs/edit_impl.h"
#include "fs/fill.h"
#include "fs/inode.h"
#include "fs/namei.h"
#include "fs/session.h"

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

/* All but the project, which may be another than the folder hands down: that is refused to files
 * that get a name, and not to those that have one. */
static int set_first(struct task *t, struct ek_inode *inode, const struct ek_attr *attr)
{
	struct ek_attr a = *attr;
	int rc = edit_check(t, inode, attr);

	a.mask &= ~(unsigned)EK_ATTR_PROJECT;
	return rc < 0 ? rc : edit_set(t, inode, &a);
}

static int set_project(struct task *t, struct ek_inode *inode, const struct ek_attr *attr)
{
	struct ek_attr a = {.mask = attr->mask & EK_ATTR_PROJECT, .project = attr->project};

	return a.mask == 0 || inode->rec.projid == a.project ? 0 : edit_set(t, inode, &a);
}

static int make_file(struct task *t, const struct source *src, struct ek_inode *dir,
		     const char *name, uint32_t len, const struct ek_attr *attr, bool over,
		     uint64_t *ret_bytes)
{
	struct ek_inode *inode;
	int rc = fs_tmpfile(t, dir, 0644, &inode);

	if (rc < 0)
		return rc;
	rc = fill_file(t, inode, src);
	if (rc == 0)
		rc = set_first(t, inode, attr);
	if (rc == 0)
		rc = edit_flush(t);
	if (rc == 0)
		rc = over ? fs_link_over(t, inode, dir, name, len)
			  : fs_link(t, inode, dir, name, len);
	if (rc == 0)
		rc = set_project(t, inode, attr);
	if (rc == 0 && ret_bytes != NULL)
		*ret_bytes = inode->size;
	inode_put(t, inode); /* without a name it goes, and its blocks */
	return rc;
}

static int put(struct task *t, const char *path, const struct source *src, unsigned flags,
	       const struct ek_attr *attr, uint64_t *ret_bytes)
{
	struct ek_inode *dir;
	const char *name;
	uint32_t len;
	int rc = session_check_writable(t->img);

	if (rc == 0 && (flags & EK_PUT_PARENTS) != 0)
		rc = edit_parents(t, path);
	if (rc == 0)
		rc = edit_parent(t, path, &dir, &name, &len);
	if (rc < 0)
		return rc;
	rc = check_old(t, dir, name, len, flags);
	if (rc == 0 || rc == -ENOENT) {
		diag_clear(&t->img->diag);
		rc = make_file(t, src, dir, name, len, attr, rc == 0, ret_bytes);
	}
	inode_put(t, dir);
	return rc;
}

int ek_put_fd(struct ek_image *img, const char *path, int fd, unsigned flags,
	      const struct ek_attr *attr, uint64_t *ret_bytes)
{
	struct source src = {.fd = fd};
	struct task *t = session_begin(img);
	struct ek_attr a = edit_attr(attr);
	int rc = fd < 0 ? -EBADF : put(t, path, &src, flags, &a, ret_bytes);

	return session_end(img, rc, "cannot write", path);
}

int ek_put_bytes(struct ek_image *img, const char *path, const void *bytes, size_t len,
		 unsigned flags, const struct ek_attr *attr)
{
	struct source src = {.fd = -1, .bytes = bytes, .len = len};
	struct task *t = session_begin(img);
	struct ek_attr a = edit_attr(attr);

	return session_end(img, put(t, path, &src, flags, &a, NULL), "cannot write", path);
}

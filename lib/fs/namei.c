/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations that make names: each one transaction, with its handles, credits and inode marks where
 * Linux 6.18 has them.
 */
#include "fs/namei.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/name.h"
#include "fs/credits.h"
#include "fs/dir.h"
#include "fs/inline.h"
#include "fs/inode.h"
#include "fs/links.h"

/* ---- making ---- */

/* The new inode failed half way: it must go again. */
static int give_up(struct task *t, struct ek_inode *inode, int rc)
{
	inode->rec.links = 0;
	orphan_add(t, inode);
	inode_mark_dirty(t, inode, MARK_NEW_INODE);
	return rc;
}

/* The name of a new inode that is no folder. */
static int add_name(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		    struct ek_inode *inode)
{
	int rc;

	inode->rec.links = 1;
	rc = dir_add(t, dir, name, len, inode);
	return rc < 0 ? rc : inode_mark_dirty(t, inode, MARK_LINK);
}

static int check_new_name(struct task *t, struct ek_inode *dir, const char *name, uint32_t len)
{
	ek_inum ino;
	int rc;

	if (!name_is_sound(name, len))
		return -EINVAL;
	if (dir->rec.links == 0)
		return -ENOENT;
	rc = inode_check_names(dir);
	if (rc < 0)
		return rc;
	rc = dir_lookup(t, dir, name, len, &ino);
	return rc == 0 ? -EEXIST : rc == -ENOENT ? 0 : rc;
}

typedef int fill_fn(struct task *t, struct ek_inode *inode, const void *arg);

/* Allocates, fills and names an inode in one transaction. */
static int make(struct task *t, struct ek_inode *dir, const char *name, uint32_t len, uint16_t mode,
		fill_fn *fill, const void *arg, struct ek_inode **ret)
{
	struct ek_inode *inode = NULL;
	struct handle *h;
	int rc = check_new_name(t, dir, name, len);

	if (rc == 0)
		rc = task_start(t, HANDLE_DIR, credits_create(t->img), &h);
	if (rc < 0)
		return rc;
	rc = inode_new(t, dir, mode, name, len, &inode);
	if (rc == 0 && fill != NULL)
		rc = fill(t, inode, arg);
	if (rc == 0)
		rc = add_name(t, dir, name, len, inode);
	if (rc < 0 && inode != NULL)
		rc = give_up(t, inode, rc);
	rc = handle_end(h, rc);
	if (rc < 0 || ret == NULL) {
		if (inode != NULL)
			inode_put(t, inode);
		return rc;
	}
	*ret = inode;
	return 0;
}

int fs_create(struct task *t, struct ek_inode *dir, const char *name, uint32_t len, uint16_t mode,
	      struct ek_inode **ret)
{
	return make(t, dir, name, len, (uint16_t)(S_IFREG | (mode & 07777)), NULL, NULL, ret);
}

int fs_tmpfile(struct task *t, struct ek_inode *dir, uint16_t mode, struct ek_inode **ret)
{
	struct ek_inode *inode;
	struct handle *h;
	int rc = task_start(t, HANDLE_DIR, credits_create(t->img), &h);

	if (rc < 0)
		return rc;
	rc = inode_new(t, dir, (uint16_t)(S_IFREG | (mode & 07777)), NULL, 0, &inode);
	if (rc == 0)
		rc = orphan_add(t, inode);
	rc = handle_end(h, rc);
	if (rc == 0)
		*ret = inode;
	return rc;
}

struct device_number {
	uint32_t major, minor;
};

static int fill_device(struct task *t, struct ek_inode *inode, const void *arg)
{
	const struct device_number *n = arg;

	inode_set_rdev(&inode->rec, n->major, n->minor);
	return 0;
}

int fs_mknod(struct task *t, struct ek_inode *dir, const char *name, uint32_t len, uint16_t mode,
	     uint32_t major, uint32_t minor, struct ek_inode **ret)
{
	struct device_number n = {major, minor};

	if (S_ISCHR(mode) || S_ISBLK(mode))
		return make(t, dir, name, len, mode, fill_device, &n, ret);
	if (S_ISFIFO(mode) || S_ISSOCK(mode) || S_ISREG(mode))
		return make(t, dir, name, len, mode, NULL, NULL, ret);
	return -EINVAL;
}

struct link_target {
	const char *text;
	uint32_t len;
};

static int fill_slow_link(struct task *t, struct ek_inode *inode, const struct link_target *l)
{
	struct map m = {.lblk = {0}, .len = 1};
	struct buf *b;
	void *view;
	int rc = map_blocks(t, inode, &m, MAP_CREATE);

	if (rc == 0)
		rc = buf_new(t->img->cache, m.pblk, &verify_any, inode_owner(inode), &b);
	if (rc < 0)
		return rc;
	rc = handle_create(t->user.current, b, &view);
	if (rc == 0) {
		memcpy(view, l->text, l->len);
		rc = handle_dirty(t->user.current, b);
	}
	buf_put(b);
	return rc;
}

static int fill_link(struct task *t, struct ek_inode *inode, const void *arg)
{
	const struct link_target *l = arg;
	int rc = 0;

	if (l->len < INODE_BLOCK_BYTES) {
		inode->rec.flags &= ~INODE_EXTENTS;
		memset(inode->rec.block, 0, sizeof(inode->rec.block));
		memcpy(inode->rec.block, l->text, l->len);
	} else {
		rc = fill_slow_link(t, inode, l);
	}
	inode->size = l->len;
	inode->rec.size = l->len;
	return rc;
}

int fs_symlink(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
	       const char *target, uint32_t target_len, struct ek_inode **ret)
{
	struct link_target l = {target, target_len};

	if (target_len == 0)
		return -ENOENT;
	if (target_len > 4095 || target_len >= t->img->geom.block_size)
		return -ENAMETOOLONG;
	return make(t, dir, name, len, S_IFLNK | 0777, fill_link, &l, ret);
}

static int fill_dir(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		    struct ek_inode *inode)
{
	int rc = dir_init(t, inode, dir->ino);

	inode->rec.links = 2;
	if (rc == 0)
		rc = inode_mark_dirty(t, inode, MARK_DIR);
	if (rc == 0)
		rc = dir_add(t, dir, name, len, inode);
	if (rc < 0)
		return rc;
	links_add_folder(dir);
	return inode_mark_dirty(t, dir, MARK_DIR);
}

int fs_mkdir(struct task *t, struct ek_inode *dir, const char *name, uint32_t len, uint16_t mode,
	     struct ek_inode **ret)
{
	struct ek_inode *inode = NULL;
	struct handle *h;
	int rc = check_new_name(t, dir, name, len);

	if (rc == 0 && links_full(dir))
		rc = -EMLINK;
	if (rc == 0)
		rc = task_start(t, HANDLE_DIR, credits_create(t->img), &h);
	if (rc < 0)
		return rc;
	rc = inode_new(t, dir, (uint16_t)(S_IFDIR | (mode & 07777)), name, len, &inode);
	if (rc == 0)
		rc = fill_dir(t, dir, name, len, inode);
	if (rc < 0 && inode != NULL)
		rc = give_up(t, inode, rc);
	rc = handle_end(h, rc);
	if (rc < 0 || ret == NULL) {
		if (inode != NULL)
			inode_put(t, inode);
		return rc;
	}
	*ret = inode;
	return 0;
}

int fs_link(struct task *t, struct ek_inode *inode, struct ek_inode *dir, const char *name,
	    uint32_t len)
{
	struct handle *h;
	int rc;

	if (inode_is_dir(inode))
		return -EPERM;
	if (links_full(inode))
		return -EMLINK;
	if (!inode_same_project(inode, dir))
		return -EXDEV;
	rc = check_new_name(t, dir, name, len);
	if (rc == 0)
		rc = task_start_inode(t, dir, HANDLE_DIR, credits_link(t->img), 0, &h);
	if (rc < 0)
		return rc;
	inode->rec.ctime = inode_change_now(inode);
	inode->rec.links++;
	rc = dir_add(t, dir, name, len, inode);
	if (rc == 0)
		rc = inode_mark_dirty(t, inode, MARK_LINK);
	else
		inode->rec.links--;
	if (rc == 0 && inode->rec.links == 1)
		rc = orphan_remove(t, inode); /* a nameless file got its first name */
	return handle_end(h, rc);
}

/* ---- links ---- */

static int read_slow_link(struct task *t, struct ek_inode *inode, char *to)
{
	struct map m = {.lblk = {0}, .len = 1};
	struct buf *b;
	int rc = map_lookup(t, inode, &m);

	if (rc == 0 && m.state != MAP_MAPPED)
		rc = diag_set(&t->img->diag, -EUCLEAN, "corrupt link: inode %u has no block",
			      inode->ino.v);
	if (rc == 0)
		rc = buf_get(t->img->cache, m.pblk, &verify_any, inode_owner(inode), &b);
	if (rc < 0)
		return rc;
	memcpy(to, b->data, inode->rec.size);
	buf_put(b);
	return 0;
}

int fs_readlink(struct task *t, struct ek_inode *inode, char *buf, uint32_t cap)
{
	uint64_t len = inode->rec.size;
	int rc = 0;

	if (!S_ISLNK(inode->rec.mode))
		return -EINVAL;
	if ((inode->rec.flags & INODE_ENCRYPT) != 0)
		return diag_set(&t->img->diag, -EOPNOTSUPP,
				"unsupported: the target of link %u is encrypted", inode->ino.v);
	if (len >= cap)
		return -ENAMETOOLONG;
	if (inode_is_inline(inode))
		rc = inline_read(inode, 0, buf, len);
	else if (inode_is_fast_symlink(inode))
		memcpy(buf, inode->rec.block, len);
	else
		rc = read_slow_link(t, inode, buf);
	if (rc < 0)
		return rc;
	if (len == 0 || memchr(buf, '\0', len) != NULL)
		return diag_set(
		    &t->img->diag, -EUCLEAN,
		    "corrupt link: inode %u: target of %llu bytes is empty or has a zero byte",
		    inode->ino.v, (unsigned long long)len);
	buf[len] = '\0';
	return 0;
}

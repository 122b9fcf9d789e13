/* SPDX-License-Identifier: BSD-2-Clause */
/* Replay onto an image: open, close, names and attributes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "fs/dir.h"
#include "fs/namei.h"
#include "fs/xattr.h"
#include "trace/target_image.h"

/* ---- open and close ---- */

static int open_existing(struct image_target *t, const struct op *o, struct ek_inode **ret)
{
	unsigned flags = (o->flags & OPF_NOFOLLOW) != 0 ? WALK_NOFOLLOW : 0;

	return path_walk(&t->task, o->path.p, flags, ret);
}

static uint16_t new_mode(const struct image_target *t, uint32_t mode)
{
	return (uint16_t)(mode & 07777 & ~t->task.umask);
}

static uint16_t mode_of(const struct image_target *t, const struct op *o)
{
	return new_mode(t, (o->flags & OPF_MODE) != 0 ? o->mode : 0666);
}

static int open_nameless(struct image_target *t, const struct op *o, struct ek_inode **ret)
{
	struct ek_inode *dir;
	int rc = path_walk(&t->task, o->path.p, 0, &dir);

	if (rc < 0)
		return rc;
	rc = fs_tmpfile(&t->task, dir, mode_of(t, o), ret);
	inode_put(&t->task, dir);
	return rc;
}

/* Makes the file if its folder has no such name: 1 when it did, 0 when something is there, or the
 * way there has to tell what is wrong with it. */
static int open_new(struct image_target *t, const struct op *o, struct ek_inode **ret)
{
	struct ek_inode *dir;
	const char *name;
	uint32_t len;
	ek_inum ino;
	int rc = 0;

	if (path_parent(&t->task, o->path.p, &dir, &name, &len) < 0)
		return 0;
	if (dir_lookup(&t->task, dir, name, len, &ino) == -ENOENT) {
		rc = fs_create(&t->task, dir, name, len, mode_of(t, o), ret);
		rc = rc == 0 ? 1 : rc;
	}
	inode_put(&t->task, dir);
	return rc;
}

/* A link in the last place that leads to no file makes it where it leads. */
static int open_linked(struct image_target *t, const struct op *o, struct ek_inode **ret)
{
	struct ek_inode *dir;
	char name[256];
	uint32_t len;
	int rc = path_missing(&t->task, o->path.p, &dir, name, &len);

	if (rc < 0)
		return rc;
	rc = fs_create(&t->task, dir, name, len, mode_of(t, o), ret);
	inode_put(&t->task, dir);
	return rc;
}

/* Behind a device node or a FIFO is no byte of the image, and links are not followed to the end
 * only when the trace asked for that.  The folder target answers the same. */
static int may_open(const struct ek_inode *inode, const struct op *o)
{
	if ((o->flags & OPF_PATH) != 0 || inode_is_file(inode) || inode_is_dir(inode))
		return 0;
	return S_ISLNK(inode->rec.mode) ? -ELOOP : -ENXIO;
}

static int open_inode(struct image_target *t, const struct op *o, struct ek_inode **ret)
{
	int rc = 0;

	if ((o->flags & OPF_TMPFILE) != 0)
		return open_nameless(t, o, ret);
	if ((o->flags & OPF_CREAT) != 0)
		rc = open_new(t, o, ret);
	if (rc != 0)
		return MIN(rc, 0);
	rc = open_existing(t, o, ret);
	if (rc == -ENOENT && (o->flags & (OPF_CREAT | OPF_EXCL)) == OPF_CREAT)
		return open_linked(t, o, ret);
	if (rc < 0)
		return rc;
	rc =
	    (o->flags & OPF_CREAT) != 0 && (o->flags & OPF_EXCL) != 0 ? -EEXIST : may_open(*ret, o);
	if (rc == 0 && (o->flags & OPF_TRUNC) != 0 && inode_is_file(*ret))
		rc = inode_set_size(&t->task, *ret, 0);
	if (rc < 0)
		inode_put(&t->task, *ret);
	return rc;
}

int image_op_open(struct image_target *t, const struct op *o)
{
	struct open_file *f;
	int rc;

	if (o->handle == 0)
		return -EBADF;
	if (image_file(t, o->handle) != NULL)
		return diag_set(t->target.d, -EINVAL, "handle h%u is opened twice", o->handle);
	f = mem_zero(sizeof(*f));
	if (f == NULL)
		return -ENOMEM;
	rc = open_inode(t, o, &f->inode);
	if (rc < 0) {
		free(f);
		return rc;
	}
	f->writer = (o->flags & OPF_WRITE) != 0;
	f->direct = (o->flags & OPF_DIRECT) != 0;
	f->sync = ((o->flags & OPF_SYNC) != 0 ? PC_SYNC : 0u) |
		  ((o->flags & OPF_DSYNC) != 0 ? PC_DSYNC : 0u);
	hash_insert(&t->files, &f->node, o->handle);
	if (f->writer && image_note_written(t, f->inode) < 0)
		return -ENOMEM;
	return pc_opened(&t->task, f->inode, f->writer);
}

void image_close_file(struct image_target *t, struct open_file *f)
{
	pc_closed(&t->task, f->inode, f->writer);
	inode_put(&t->task, f->inode);
	free(f);
}

int image_op_close(struct image_target *t, const struct op *o)
{
	struct open_file *f = image_file(t, o->handle);

	if (f == NULL)
		return -EBADF;
	hash_remove(&t->files, &f->node);
	image_forget_recent(t);
	image_close_file(t, f);
	return 0;
}

/* ---- names ---- */

int image_find_place(struct image_target *t, const struct op_str *path, struct image_place *ret)
{
	return path_parent(&t->task, path->p, &ret->dir, &ret->name, &ret->len);
}

static int do_link(struct image_target *t, const struct op *o)
{
	struct ek_inode *inode;
	struct image_place to;
	int rc = path_walk(&t->task, o->path.p, WALK_NOFOLLOW, &inode);

	if (rc < 0)
		return rc;
	rc = image_find_place(t, &o->path2, &to);
	if (rc == 0) {
		rc = fs_link(&t->task, inode, to.dir, to.name, to.len);
		inode_put(&t->task, to.dir);
	}
	inode_put(&t->task, inode);
	return rc;
}

static int do_rename(struct image_target *t, const struct op *o)
{
	struct image_place from, to;
	unsigned flags = ((o->flags & OPF_NOREPLACE) != 0 ? RENAME_NO_REPLACE : 0u) |
			 ((o->flags & OPF_EXCHANGE) != 0 ? RENAME_SWAP : 0u) |
			 ((o->flags & OPF_WHITEOUT) != 0 ? RENAME_MAKE_WHITEOUT : 0u);
	int rc = image_find_place(t, &o->path, &from);

	if (rc < 0)
		return rc;
	rc = image_find_place(t, &o->path2, &to);
	if (rc == 0) {
		rc = fs_rename(&t->task, from.dir, from.name, from.len, to.dir, to.name, to.len,
			       flags);
		inode_put(&t->task, to.dir);
	}
	inode_put(&t->task, from.dir);
	return rc;
}

static int do_name(struct image_target *t, const struct op *o, const struct image_place *at)
{
	struct task *k = &t->task;
	uint16_t mode = (uint16_t)(o->mode & (uint32_t)~t->task.umask);

	switch (o->code) {
	case OP_MKDIR:
		/* mkdir(2) takes no set-id bits; the parent's may come down all the same. */
		return fs_mkdir(k, at->dir, at->name, at->len, new_mode(t, o->mode) & 01777, NULL);
	case OP_RMDIR:
		return fs_rmdir(k, at->dir, at->name, at->len);
	case OP_UNLINK:
		return fs_unlink(k, at->dir, at->name, at->len);
	case OP_SYMLINK:
		return fs_symlink(k, at->dir, at->name, at->len, o->path.p, o->path.n, NULL);
	case OP_MKNOD: /* no type is a plain file */
		if ((mode & S_IFMT) == 0)
			mode |= S_IFREG;
		return fs_mknod(k, at->dir, at->name, at->len, mode, (uint32_t)(o->dev >> 32),
				(uint32_t)o->dev, NULL);
	default:
		return -EINVAL;
	}
}

int image_op_name(struct image_target *t, const struct op *o)
{
	struct image_place at;
	int rc;

	if (o->code == OP_LINK)
		return do_link(t, o);
	if (o->code == OP_RENAME)
		return do_rename(t, o);
	rc = image_find_place(t, o->code == OP_SYMLINK ? &o->path2 : &o->path, &at);
	if (rc < 0)
		return rc;
	rc = do_name(t, o, &at);
	inode_put(&t->task, at.dir);
	return rc;
}

/* ---- attributes ---- */

bool image_pick_time(const struct image_target *t, const struct op_time *from, struct ek_time *to)
{
	if (from->nsec == OP_TIME_OMIT)
		return false;
	if (from->nsec == OP_TIME_NOW || from->nsec == OP_TIME_UNKNOWN)
		*to = t->img->now;
	else
		*to = (struct ek_time){from->sec, from->nsec};
	return true;
}

/* chown(2) by root takes the set-user-id bit off what is no folder, and the set-group-id bit where
 * the group may execute. */
static void drop_set_id(const struct ek_inode *inode, struct attr *a)
{
	uint16_t mode = inode->rec.mode, gone = S_ISUID;

	if (S_ISDIR(mode))
		return;
	if ((mode & S_IXGRP) != 0)
		gone |= S_ISGID;
	if ((mode & gone) == 0)
		return;
	a->mask |= ATTR_MODE;
	a->mode = (uint16_t)(mode & 07777 & ~gone);
}

static int set_attr(struct image_target *t, struct ek_inode *inode, const struct op *o)
{
	struct attr a = {0};

	switch (o->code) {
	case OP_CHMOD:
		a.mask = ATTR_MODE;
		a.mode = (uint16_t)o->mode;
		break;
	case OP_CHOWN:
		a.mask = (o->uid != UINT32_MAX ? (unsigned)ATTR_UID : 0u) |
			 (o->gid != UINT32_MAX ? (unsigned)ATTR_GID : 0u);
		a.uid = o->uid;
		a.gid = o->gid;
		drop_set_id(inode, &a);
		break;
	case OP_UTIMENS:
		if (image_pick_time(t, &o->atime, &a.atime))
			a.mask |= ATTR_ATIME;
		if (image_pick_time(t, &o->mtime, &a.mtime))
			a.mask |= ATTR_MTIME;
		break;
	case OP_SETPROJECT:
		a.mask = ATTR_PROJECT;
		a.project = (uint32_t)o->arg;
		break;
	default:
		return 0;
	}
	return a.mask != 0 ? fs_setattr(&t->task, inode, &a) : 0;
}

static int set_xattr(struct image_target *t, struct ek_inode *inode, const struct op *o)
{
	uint64_t len = MIN(o->len, (uint64_t)65536);
	struct pc_source src = image_source(t, o);
	uint8_t *value = malloc(len != 0 ? len : 1);
	int rc;

	if (value == NULL)
		return -ENOMEM;
	for (uint64_t i = 0; i < len; i++)
		value[i] = src.ptr == NULL ? 0 : src.period ? src.ptr[i % src.period] : src.ptr[i];
	rc = xattr_change(&t->task, inode, o->name.p, o->code == OP_SETXATTR ? value : NULL, len);
	free(value);
	return rc;
}

static int change(struct image_target *t, struct ek_inode *inode, const struct op *o)
{
	if (o->code == OP_STAT) {
		inode_times_shown(inode);
		return 0;
	}
	if (o->code == OP_TRUNCATE || o->code == OP_FTRUNCATE)
		return inode_set_size(&t->task, inode, o->len);
	if (o->code == OP_SETXATTR || o->code == OP_REMOVEXATTR)
		return set_xattr(t, inode, o);
	return set_attr(t, inode, o);
}

int image_op_attr(struct image_target *t, const struct op *o)
{
	unsigned flags = (o->flags & OPF_NOFOLLOW) != 0 ? WALK_NOFOLLOW : 0;
	struct ek_inode *inode;
	int rc;

	if (o->path.n == 0) {
		struct open_file *f = image_file(t, o->handle);

		return f != NULL ? change(t, f->inode, o) : -EBADF;
	}
	rc = path_walk(&t->task, o->path.p, flags, &inode);
	if (rc < 0)
		return rc;
	rc = change(t, inode, o);
	inode_put(&t->task, inode);
	return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Replay onto an image: the files that were there before the first op, with their hard links. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "fs/namei.h"
#include "trace/target_image.h"

/* ---- hard links ---- */

/* What an inode of the recording became here. */
struct first_file {
	struct hash_node node; /* by the recorded number */
	ek_inum ino;
};

void image_forget_links(struct image_target *t)
{
	struct hash_node *n;
	size_t at = 0;

	while ((n = hash_pop(&t->links, &at)) != NULL)
		free(hash_entry(n, struct first_file, node));
	hash_free(&t->links);
}

static const struct first_file *first_of(const struct image_target *t, const struct op_node *n)
{
	struct hash_node *found =
	    n->ino != 0 && n->type != 'd' ? hash_find(&t->links, n->ino) : NULL;

	return found != NULL ? hash_entry(found, struct first_file, node) : NULL;
}

/* Once ops run, they may delete the file: a number seen then says nothing any more. */
static int remember_file(struct image_target *t, const struct ek_inode *inode,
			 const struct op_node *n)
{
	struct first_file *f;

	if (n->ino == 0 || n->type == 'd' || inode_is_dir(inode) || t->counting ||
	    first_of(t, n) != NULL)
		return 0;
	f = mem_zero(sizeof(*f));
	if (f == NULL)
		return -ENOMEM;
	f->ino = inode->ino;
	hash_insert(&t->links, &f->node, n->ino);
	return 0;
}

static int link_node(struct image_target *t, const struct first_file *first,
		     const struct image_place *at, struct ek_inode **ret)
{
	struct ek_inode *inode;
	int rc = inode_get(t->img, first->ino, &inode);

	if (rc < 0)
		return rc;
	rc = fs_link(&t->task, inode, at->dir, at->name, at->len);
	if (rc < 0)
		inode_put(&t->task, inode);
	else
		*ret = inode;
	return rc;
}

/* ---- files ---- */

static int make_node(struct image_target *t, const struct op_node *n, const struct image_place *at,
		     struct ek_inode **ret)
{
	struct task *k = &t->task;
	uint16_t mode = (uint16_t)(n->mode & 07777);
	uint32_t major = (uint32_t)(n->dev >> 32), minor = (uint32_t)n->dev;

	switch (n->type) {
	case 'f':
		return fs_create(k, at->dir, at->name, at->len, mode, ret);
	case 'd':
		return fs_mkdir(k, at->dir, at->name, at->len, mode, ret);
	case 'l':
		return fs_symlink(k, at->dir, at->name, at->len, n->target.p, n->target.n, ret);
	case 'c':
		return fs_mknod(k, at->dir, at->name, at->len, S_IFCHR | mode, major, minor, ret);
	case 'b':
		return fs_mknod(k, at->dir, at->name, at->len, S_IFBLK | mode, major, minor, ret);
	case 'p':
		return fs_mknod(k, at->dir, at->name, at->len, S_IFIFO | mode, 0, 0, ret);
	case 's':
		return fs_mknod(k, at->dir, at->name, at->len, S_IFSOCK | mode, 0, 0, ret);
	default:
		return -EINVAL;
	}
}

/* Mode, owner and times as they were; the modes of folders were set when they were made. */
static int dress_node(struct image_target *t, struct ek_inode *inode, const struct op_node *n)
{
	struct attr a = {
	    .mask = ATTR_MODE, .mode = (uint16_t)n->mode, .uid = n->uid, .gid = n->gid};

	if (n->uid != inode->rec.uid || n->gid != inode->rec.gid)
		a.mask |= ATTR_UID | ATTR_GID;
	if (n->mtime.nsec != OP_TIME_UNKNOWN && image_pick_time(t, &n->mtime, &a.mtime))
		a.mask |= ATTR_MTIME;
	if (n->atime.nsec != OP_TIME_UNKNOWN && image_pick_time(t, &n->atime, &a.atime))
		a.mask |= ATTR_ATIME;
	return fs_setattr(&t->task, inode, &a);
}

static int fill_node(struct image_target *t, struct ek_inode *inode, const struct op_node *n)
{
	struct pc_source src = {t->pattern, 256};
	int64_t rc;

	if (n->type != 'f' || n->size == 0)
		return 0;
	rc = pc_write(&t->task, inode, 0, n->size, &src, 0);
	if (rc == -ENOSPC || (rc >= 0 && (uint64_t)rc < n->size))
		return image_no_space(t, n->size, rc < 0 ? 0 : (uint64_t)rc);
	return rc < 0 ? (int)rc : 0;
}

static int add_node(struct image_target *t, const struct op_node *n, struct ek_inode **ret)
{
	const struct first_file *first = first_of(t, n);
	struct image_place at;
	int rc = image_find_place(t, &n->path, &at);

	if (rc < 0)
		return rc;
	diag_clear(&t->img->diag);
	if (first != NULL) {
		rc = link_node(t, first, &at, ret);
	} else {
		t->task.goal_ino = n->ino < UINT32_MAX ? (uint32_t)n->ino : 0;
		rc = make_node(t, n, &at, ret);
	}
	inode_put(&t->task, at.dir);
	if (rc < 0 || first != NULL)
		return rc;
	rc = fill_node(t, *ret, n);
	if (rc < 0)
		inode_put(&t->task, *ret);
	return rc;
}

/* The image's story, with the file that it is about. */
static int tell_node(struct image_target *t, const struct op_node *n, int rc)
{
	const struct diag *from = &t->img->diag;
	struct diag *d = t->target.d;

	if (d->code != 0)
		return rc;
	diag_set(d, rc, "initial file %s: %s", n->path.p,
		 from->code != 0 ? from->text : strerror(-rc));
	d->host = from->host;
	d->need_blocks = from->need_blocks;
	d->need_inodes = from->need_inodes;
	return rc;
}

/* What is there already keeps its content and gets the node's attributes. */
int image_node(struct image_target *t, const struct op_node *n)
{
	struct ek_inode *inode;
	int rc;

	diag_clear(&t->img->diag);
	rc = path_walk(&t->task, n->path.p, WALK_NOFOLLOW, &inode);
	if (rc == -ENOENT)
		rc = add_node(t, n, &inode);
	if (rc < 0)
		return tell_node(t, n, rc);
	rc = remember_file(t, inode, n);
	if (rc == 0)
		rc = dress_node(t, inode, n);
	inode_put(&t->task, inode);
	return rc < 0 ? tell_node(t, n, rc) : rc;
}

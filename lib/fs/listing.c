/* SPDX-License-Identifier: BSD-2-Clause */
/* Folders and attributes for callers: one entry at a time, attributes as one copied list. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/name.h"
#include "extkit/inode.h"
#include "fs/inode.h"
#include "fs/listing.h"
#include "fs/session.h"
#include "fs/xattr.h"

/* ---- folders ---- */

struct ek_dir {
	struct ek_inode *inode;
	struct dir_iter it;
	int end; /* what every later call returns once the walk is over */
	bool over;
};

int ek_dir_open(struct ek_inode *inode, struct ek_dir **ret)
{
	struct ek_dir *dir;
	int rc = 0;

	session_begin(inode->img);
	dir = inode_is_dir(inode) ? mem_zero(sizeof(*dir)) : NULL;
	if (dir == NULL)
		rc = inode_is_dir(inode) ? -ENOMEM : -ENOTDIR;
	if (rc == 0) {
		dir->inode = inode_ref(inode);
		*ret = dir;
	}
	return session_end_on(inode, rc, "cannot list");
}

uint32_t listing_mode(enum dirent_type type)
{
	static const uint32_t modes[] = {0,       S_IFREG, S_IFDIR,  S_IFCHR,
					 S_IFBLK, S_IFIFO, S_IFSOCK, S_IFLNK};

	return (unsigned)type < ARRAY_SIZE(modes) ? modes[type] : 0;
}

int listing_next(struct task *t, struct ek_dir *dir, struct dirent *ret)
{
	int rc = dir->over ? dir->end : 1;

	while (rc == 1 && (rc = dir_next(t, dir->inode, &dir->it, ret)) == 1 &&
	       name_is_dots(ret->name, ret->name_len))
		continue;
	if (rc != 1) {
		dir->over = true;
		dir->end = rc;
	}
	return rc;
}

int ek_dir_next(struct ek_dir *dir, struct ek_entry *ret)
{
	struct dirent e;
	int rc = listing_next(session_begin(dir->inode->img), dir, &e);

	if (rc == 1) {
		ret->ino = e.ino;
		ret->mode = listing_mode(e.type);
		ret->name_len = e.name_len;
		memcpy(ret->name, e.name, e.name_len);
		ret->name[e.name_len] = '\0';
	}
	return session_end_on(dir->inode, rc, "cannot list");
}

void ek_dir_close(struct ek_dir *dir)
{
	struct ek_image *img;

	if (dir == NULL)
		return;
	img = dir->inode->img;
	pthread_mutex_lock(&img->session->lock);
	dir_iter_end(&dir->it);
	inode_put(&img->session->task, dir->inode);
	pthread_mutex_unlock(&img->session->lock);
	free(dir);
}

/* ---- attributes ---- */

struct ek_xattrs {
	struct ek_xattr *v;
	size_t n, cap;
};

static int copy_one(void *ctx, const struct xattr_item *item)
{
	struct ek_xattrs *xs = ctx;
	size_t name = strlen(item->name) + 1;
	char *both;
	int rc = mem_grow((void **)&xs->v, &xs->cap, xs->n + 1, sizeof(*xs->v));

	if (rc < 0)
		return rc;
	both = malloc(name + item->len);
	if (both == NULL)
		return -ENOMEM;
	memcpy(both, item->name, name);
	if (item->len != 0)
		memcpy(both + name, item->value, item->len);
	xs->v[xs->n++] = (struct ek_xattr){both, both + name, item->len};
	return 0;
}

int ek_inode_xattrs(struct ek_inode *inode, struct ek_xattrs **ret)
{
	struct task *t = session_begin(inode->img);
	struct ek_xattrs *xs = mem_zero(sizeof(*xs));
	int rc = xs == NULL ? -ENOMEM : xattr_each(t, inode, copy_one, xs);

	if (rc == 0)
		*ret = xs;
	else
		ek_xattrs_free(xs);
	return session_end_on(inode, rc, "cannot read attributes");
}

const struct ek_xattr *ek_xattrs_get(const struct ek_xattrs *xattrs, size_t i)
{
	return i < xattrs->n ? &xattrs->v[i] : NULL;
}

void ek_xattrs_free(struct ek_xattrs *xattrs)
{
	if (xattrs == NULL)
		return;
	for (size_t i = 0; i < xattrs->n; i++)
		free((void *)(uintptr_t)xattrs->v[i].name);
	free(xattrs->v);
	free(xattrs);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths to inodes, component by component.  A link's target is put in front of what is left of the
 * path; the whole may not exceed PATH_LIMIT, and at most 40 links are followed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/dir.h"
#include "fs/inode.h"
#include "fs/namei.h"

#define PATH_LIMIT 65536u
#define LINK_LIMIT 40u

struct walk {
	struct ek_inode *at;
	char *rest; /* what is left, in buf */
	char *buf;  /* PATH_LIMIT bytes, filled from the end */
	unsigned links;
};

static int step_into(struct task *t, struct walk *w, const char *name, uint32_t len,
		     struct ek_inode **ret)
{
	ek_inum ino;
	int rc = dir_lookup(t, w->at, name, len, &ino);

	if (rc == 0)
		rc = inode_get(t->img, ino, ret);
	return rc;
}

/* Puts the link's target before the rest of the path. */
static int expand(struct task *t, struct walk *w, struct ek_inode *link)
{
	char target[4097];
	size_t len;
	int rc;

	if (w->links++ == LINK_LIMIT)
		return diag_set(&t->img->diag, -ELOOP, "too many links: more than %u", LINK_LIMIT);
	rc = fs_readlink(t, link, target, sizeof(target));
	if (rc < 0)
		return rc;
	len = strlen(target);
	if (len + 1 > (size_t)(w->rest - w->buf))
		return -ENAMETOOLONG;
	*--w->rest = '/';
	w->rest -= len;
	memcpy(w->rest, target, len);
	if (target[0] != '/')
		return 0;
	inode_put(t, w->at);
	return inode_get(t->img, (ek_inum){INUM_ROOT}, &w->at);
}

/* One component; 0 when the path is used up. */
static int step(struct task *t, struct walk *w, unsigned flags)
{
	struct ek_inode *next;
	bool last;
	size_t len;
	char *name;
	int rc;

	w->rest += strspn(w->rest, "/");
	if (*w->rest == '\0')
		return 0;
	name = w->rest;
	len = strcspn(name, "/");
	w->rest += len;
	last = w->rest[strspn(w->rest, "/")] == '\0';
	if (len == 1 && name[0] == '.')
		return inode_is_dir(w->at) ? 1 : -ENOTDIR;
	if (len > NAME_MAX_BYTES)
		return -ENAMETOOLONG;
	rc = step_into(t, w, name, (uint32_t)len, &next);
	if (rc < 0)
		return rc;
	if (S_ISLNK(next->rec.mode) && !(last && (flags & WALK_NOFOLLOW) != 0)) {
		rc = expand(t, w, next);
		inode_put(t, next);
		return rc < 0 ? rc : 1;
	}
	inode_put(t, w->at);
	w->at = next;
	return 1;
}

int path_walk(struct task *t, const char *path, unsigned flags, struct ek_inode **ret)
{
	struct walk w = {0};
	size_t len = strlen(path);
	int rc;

	if (len + 1 > PATH_LIMIT)
		return -ENAMETOOLONG;
	w.buf = malloc(PATH_LIMIT);
	if (w.buf == NULL)
		return diag_set(&t->img->diag, -ENOMEM, "out of memory for a path");
	w.rest = w.buf + PATH_LIMIT - len - 1;
	memcpy(w.rest, path, len + 1);
	rc = inode_get(t->img, (ek_inum){INUM_ROOT}, &w.at);
	if (rc == 0) {
		while ((rc = step(t, &w, flags)) == 1)
			continue;
		if (rc == 0)
			*ret = w.at;
		else if (w.at != NULL)
			inode_put(t, w.at);
	}
	free(w.buf);
	return rc;
}

int path_parent(struct task *t, const char *path, struct ek_inode **dir, const char **name,
		uint32_t *len)
{
	size_t end = strlen(path), start;
	char *head;
	int rc;

	while (end > 0 && path[end - 1] == '/')
		end--;
	start = end;
	while (start > 0 && path[start - 1] != '/')
		start--;
	if (end - start > NAME_MAX_BYTES)
		return -ENAMETOOLONG;
	if (end == start || (end - start == 1 && path[start] == '.') ||
	    (end - start == 2 && path[start] == '.' && path[start + 1] == '.'))
		return -EINVAL;
	head = strndup(path, start);
	if (head == NULL)
		return diag_set(&t->img->diag, -ENOMEM, "out of memory for a path");
	rc = path_walk(t, head, 0, dir);
	free(head);
	if (rc < 0)
		return rc;
	if (!inode_is_dir(*dir)) {
		inode_put(t, *dir);
		return -ENOTDIR;
	}
	*name = path + start;
	*len = (uint32_t)(end - start);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths to inodes, component by component.  A link's target is put in front of what is left of the
 * path, in memory that only a path with links needs; the whole may not exceed PATH_LIMIT, and at
 * most 40 links are followed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "base/name.h"
#include "fs/dir.h"
#include "fs/inode.h"
#include "fs/namei.h"

#define PATH_LIMIT 65536u
#define LINK_LIMIT 40u

struct walk {
	struct ek_inode *at;
	const char *rest, *end; /* what is left: of the caller's path, or in buf */
	char *buf; /* NULL until a link is met; PATH_LIMIT bytes, filled from the end */
	unsigned links;
	const char *missing; /* the last name, which its folder has not; NULL: another error */
	uint32_t nmissing;
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

/* Moves what is left to where something can be put before it. */
static int move_rest(struct task *t, struct walk *w)
{
	size_t len = (size_t)(w->end - w->rest);

	if (w->buf != NULL)
		return 0;
	w->buf = malloc(PATH_LIMIT);
	if (w->buf == NULL)
		return diag_set(&t->img->diag, -ENOMEM, "out of memory for a path");
	w->end = w->buf + PATH_LIMIT;
	w->rest = memcpy(w->buf + PATH_LIMIT - len, w->rest, len);
	return 0;
}

static int go_to_root(struct task *t, struct walk *w)
{
	struct ek_inode *root;
	int rc = inode_get(t->img, (ek_inum){INUM_ROOT}, &root);

	if (rc < 0)
		return rc;
	inode_put(t, w->at);
	w->at = root;
	return 0;
}

/* Puts the link's target before the rest of the path. */
static int expand(struct task *t, struct walk *w, struct ek_inode *link)
{
	char target[4097], *to;
	size_t len, room;
	int rc;

	if (w->links++ == LINK_LIMIT)
		return diag_set(&t->img->diag, -ELOOP, "too many links: more than %u", LINK_LIMIT);
	rc = fs_readlink(t, link, target, sizeof(target));
	if (rc == 0)
		rc = move_rest(t, w);
	if (rc < 0)
		return rc;
	len = strlen(target);
	room = (size_t)(w->rest - w->buf);
	if (len + 1 > room)
		return -ENAMETOOLONG;
	to = w->buf + room - len - 1;
	memcpy(to, target, len);
	to[len] = '/';
	w->rest = to;
	return target[0] == '/' ? go_to_root(t, w) : 0;
}

static const char *skip_slashes(const char *p, const char *end)
{
	while (p < end && *p == '/')
		p++;
	return p;
}

/* One component; 0 when the path is used up. */
static int step(struct task *t, struct walk *w, unsigned flags)
{
	const char *name = skip_slashes(w->rest, w->end);
	struct ek_inode *next;
	size_t len = 0;
	int rc;

	if (name == w->end)
		return 0;
	while (name + len < w->end && name[len] != '/')
		len++;
	w->rest = name + len;
	if (len == 1 && name[0] == '.')
		return inode_is_dir(w->at) ? 1 : -ENOTDIR;
	if (len > NAME_MAX_BYTES)
		return -ENAMETOOLONG;
	rc = step_into(t, w, name, (uint32_t)len, &next);
	if (rc == -ENOENT && skip_slashes(w->rest, w->end) == w->end) {
		w->missing = name;
		w->nmissing = (uint32_t)len;
	}
	if (rc < 0)
		return rc;
	if (S_ISLNK(next->rec.mode) &&
	    ((flags & WALK_NOFOLLOW) == 0 || skip_slashes(w->rest, w->end) != w->end)) {
		rc = expand(t, w, next);
		inode_put(t, next);
		return rc < 0 ? rc : 1;
	}
	inode_put(t, w->at);
	w->at = next;
	return 1;
}

/* Goes to the end; walk_end() releases *w. */
static int walk(struct task *t, struct walk *w, const char *path, size_t len, unsigned flags)
{
	int rc;

	*w = (struct walk){.rest = path, .end = path + len};
	if (len + 1 > PATH_LIMIT)
		return -ENAMETOOLONG;
	rc = inode_get(t->img, (ek_inum){INUM_ROOT}, &w->at);
	if (rc < 0)
		return rc;
	while ((rc = step(t, w, flags)) == 1)
		continue;
	return rc;
}

/* Where it came to is the caller's, unless ret is NULL. */
static void walk_end(struct task *t, struct walk *w, struct ek_inode **ret)
{
	free(w->buf);
	if (ret != NULL)
		*ret = w->at;
	else if (w->at != NULL)
		inode_put(t, w->at);
}

static int walk_bytes(struct task *t, const char *path, size_t len, unsigned flags,
		      struct ek_inode **ret)
{
	struct walk w;
	int rc = walk(t, &w, path, len, flags);

	walk_end(t, &w, rc == 0 ? ret : NULL);
	return rc;
}

int path_missing(struct task *t, const char *path, struct ek_inode **dir, char name[256],
		 uint32_t *len)
{
	struct walk w;
	int rc = walk(t, &w, path, strlen(path), 0);

	if (rc == 0)
		rc = -EEXIST;
	if (w.missing != NULL) {
		memcpy(name, w.missing, w.nmissing);
		name[w.nmissing] = '\0';
		*len = w.nmissing;
		rc = 0;
	}
	walk_end(t, &w, rc == 0 ? dir : NULL);
	return rc;
}

int path_walk(struct task *t, const char *path, unsigned flags, struct ek_inode **ret)
{
	return walk_bytes(t, path, strlen(path), flags, ret);
}

int path_parent(struct task *t, const char *path, struct ek_inode **dir, const char **name,
		uint32_t *len)
{
	size_t end = strlen(path), start;
	int rc;

	while (end > 0 && path[end - 1] == '/')
		end--;
	start = end;
	while (start > 0 && path[start - 1] != '/')
		start--;
	if (end - start > NAME_MAX_BYTES)
		return -ENAMETOOLONG;
	if (end == start || name_is_dots(path + start, end - start))
		return -EINVAL;
	rc = walk_bytes(t, path, start, 0, dir);
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

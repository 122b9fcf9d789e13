/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names for callers: made, moved and removed.
 *
 * What gets a name that is taken replaces it in one transaction, and the old inode is held until
 * that has ended: when making the new one fails, it gets its name back in the same transaction.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fs/credits.h"
#include "fs/dir.h"
#include "fs/edit_impl.h"
#include "fs/inode.h"
#include "fs/namei.h"
#include "fs/session.h"
#include "fs/xattr_inode.h"

/* ---- paths ---- */

int edit_parent(struct task *t, const char *path, struct ek_inode **dir, const char **name,
		uint32_t *len)
{
	int rc = path_parent(t, path, dir, name, len);

	if (rc == -EINVAL)
		return diag_replace(&t->img->diag, -EISDIR,
				    "bad path: it ends in the root, '.' or '..', which are no "
				    "entries of a folder");
	return rc;
}

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
	rc = edit_parent(t, path, &dir, &name, &len);
	if (rc < 0)
		return rc;
	rc = fs_mkdir(t, dir, name, len, 0755, &made);
	inode_put(t, dir);
	if (rc == 0)
		inode_put(t, made);
	return rc;
}

int edit_parents(struct task *t, const char *path)
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

int edit_entry(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
	       struct ek_inode **ret)
{
	ek_inum ino;
	int rc = dir_lookup(t, dir, name, len, &ino);

	if (rc < 0)
		return rc;
	if (ino.v < t->img->geom.first_ino && ino.v != INUM_ROOT)
		return diag_set(&t->img->diag, -EUCLEAN,
				"corrupt dirent: inode %u: an entry names the reserved inode %u",
				dir->ino.v, ino.v);
	return inode_get(t->img, ino, ret);
}

int edit_check_outside(struct task *t, const struct ek_inode *inode, struct ek_inode *dir)
{
	uint32_t budget = t->img->geom.inodes;
	struct ek_inode *at = inode_ref(dir);
	int rc = 0;

	while (rc == 0 && at != inode && at->ino.v != INUM_ROOT && budget-- != 0) {
		struct ek_inode *up;
		ek_inum ino;

		rc = dir_lookup(t, at, "..", 2, &ino);
		if (rc == 0)
			rc = inode_get(t->img, ino, &up);
		if (rc == 0) {
			inode_put(t, at);
			at = up;
		}
	}
	if (rc == 0 && (at == inode || at->ino.v != INUM_ROOT))
		rc = diag_set(&t->img->diag, -ELOOP,
			      "bad path: folder %u would come to lie in itself", inode->ino.v);
	inode_put(t, at);
	return rc;
}

/* ---- slots ---- */

static int find_old(struct task *t, struct slot *s, unsigned flags)
{
	int rc = edit_entry(t, s->dir, s->name, s->len, &s->old);

	if (rc == -ENOENT)
		diag_clear(&t->img->diag);
	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	if ((flags & EK_PUT_REPLACE) == 0)
		return -EEXIST;
	return inode_is_dir(s->old) ? -EISDIR : 0;
}

int slot_open(struct task *t, struct slot *s, unsigned flags, unsigned credits)
{
	const struct ek_image *img = t->img;
	int rc;

	s->old = NULL;
	s->made = NULL;
	s->h = NULL;
	rc = find_old(t, s, flags);
	/* making, and giving up what was made */
	credits += credits_create(img) + 2 * credits_data(img) + CREDITS_ATTR + 8;
	if (s->old != NULL)
		credits += credits_unlink(img) + credits_link(img);
	if (rc == 0 && credits <= jnl_max_credits(img->jnl))
		rc = task_start_inode(t, s->dir, HANDLE_DIR, credits, 0, &s->h);
	if (rc == 0 && s->old != NULL)
		rc = fs_unlink(t, s->dir, s->name, s->len);
	if (rc < 0) {
		if (s->h != NULL)
			rc = handle_end(s->h, rc);
		if (s->old != NULL)
			inode_put(t, s->old);
	}
	return rc;
}

int slot_close(struct task *t, struct slot *s, int rc)
{
	if (rc < 0 && s->old != NULL) {
		struct diag story = t->img->diag;

		if (fs_link(t, s->old, s->dir, s->name, s->len) == 0)
			t->img->diag = story;
	}
	if (s->h != NULL)
		rc = handle_end(s->h, rc);
	/* what has no name now is deleted by its last reference, which must not be part of this */
	if (s->made != NULL)
		inode_put(t, s->made);
	if (s->old != NULL)
		inode_put(t, s->old);
	xattr_inode_reap(t);
	return rc;
}

/* ---- making ---- */

/* What is to be made at a path. */
struct wish {
	uint32_t mode; /* type bits */
	uint32_t major, minor;
	const char *target;
};

static int make(struct task *t, struct slot *s, const struct wish *w, const struct ek_attr *attr)
{
	uint16_t mode = (uint16_t)(w->mode & S_IFMT);
	struct diag story;
	int rc;

	if (S_ISDIR(w->mode))
		rc = fs_mkdir(t, s->dir, s->name, s->len, 0755, &s->made);
	else if (S_ISLNK(w->mode))
		rc = fs_symlink(t, s->dir, s->name, s->len, w->target,
				(uint32_t)MIN(strlen(w->target), (size_t)UINT32_MAX), &s->made);
	else
		rc =
		    fs_mknod(t, s->dir, s->name, s->len, mode | 0644, w->major, w->minor, &s->made);
	if (rc == 0)
		rc = edit_set(t, s->made, attr);
	if (rc == 0 || s->made == NULL)
		return rc;
	story = t->img->diag; /* it has its name already */
	if ((S_ISDIR(w->mode) ? fs_rmdir(t, s->dir, s->name, s->len)
			      : fs_unlink(t, s->dir, s->name, s->len)) == 0)
		t->img->diag = story;
	return rc;
}

static bool is_folder(struct task *t, const char *path)
{
	struct ek_inode *inode;
	bool yes = false;

	if (path_walk(t, path, 0, &inode) == 0) {
		yes = inode_is_dir(inode);
		inode_put(t, inode);
	}
	diag_clear(&t->img->diag);
	return yes;
}

static int make_at(struct task *t, const char *path, const struct wish *w, unsigned flags,
		   const struct ek_attr *attr)
{
	struct slot s = {0};
	int rc = session_check_writable(t->img);

	if (rc == 0 && (flags & EK_PUT_PARENTS) != 0) {
		rc = edit_parents(t, path);
		if (rc == 0 && S_ISDIR(w->mode) && is_folder(t, path))
			return 0;
	}
	if (rc == 0)
		rc = edit_parent(t, path, &s.dir, &s.name, &s.len);
	if (rc < 0)
		return rc;
	rc = slot_open(t, &s, S_ISDIR(w->mode) ? flags & ~(unsigned)EK_PUT_REPLACE : flags,
		       edit_credits(t->img, attr));
	if (rc == 0)
		rc = slot_close(t, &s, make(t, &s, w, attr));
	inode_put(t, s.dir);
	return rc;
}

int ek_mkdir(struct ek_image *img, const char *path, unsigned flags, const struct ek_attr *attr)
{
	struct task *t = session_begin(img);
	struct ek_attr a = edit_attr(attr);
	struct wish w = {.mode = S_IFDIR};

	return session_end(img, make_at(t, path, &w, flags, &a), "cannot make", path);
}

int ek_symlink(struct ek_image *img, const char *target, const char *path, unsigned flags,
	       const struct ek_attr *attr)
{
	struct task *t = session_begin(img);
	struct ek_attr a = edit_attr(attr);
	struct wish w = {.mode = S_IFLNK, .target = target};

	return session_end(img, make_at(t, path, &w, flags, &a), "cannot make", path);
}

int ek_mknod(struct ek_image *img, const char *path, uint32_t mode, uint32_t major, uint32_t minor,
	     unsigned flags, const struct ek_attr *attr)
{
	struct task *t = session_begin(img);
	struct ek_attr a = edit_attr(attr);
	struct wish w = {.mode = mode & S_IFMT, .major = major, .minor = minor};
	bool device = S_ISCHR(mode) || S_ISBLK(mode);
	int rc = 0;

	if (!device && !S_ISFIFO(mode) && !S_ISSOCK(mode))
		rc = diag_set(&img->diag, -EINVAL, "bad node: mode 0%o is none", mode);
	else if (device && (major > 0xfff || minor > 0xfffff))
		rc = diag_set(&img->diag, -EINVAL, "bad node: device %u:%u, at most 4095:1048575",
			      major, minor);
	if (rc == 0)
		rc = make_at(t, path, &w, flags, &a);
	return session_end(img, rc, "cannot make", path);
}

/* ---- more names ---- */

static int link_at(struct task *t, const char *from, const char *path, unsigned flags)
{
	struct ek_inode *inode;
	struct slot s = {0};
	int rc = session_check_writable(t->img);

	if (rc == 0 && (flags & EK_PUT_PARENTS) != 0)
		rc = edit_parents(t, path);
	if (rc == 0)
		rc = path_walk(t, from, WALK_NOFOLLOW, &inode);
	if (rc < 0)
		return rc;
	rc = inode_is_dir(inode)
		 ? diag_set(&t->img->diag, -EISDIR,
			    "bad link: inode %u is a folder, which has one name", inode->ino.v)
		 : edit_parent(t, path, &s.dir, &s.name, &s.len);
	if (rc == 0) {
		rc = slot_open(t, &s, flags, credits_link(t->img));
		if (rc == 0 && s.old == inode)
			rc = slot_close(t, &s, -EEXIST);
		else if (rc == 0)
			rc = slot_close(t, &s, fs_link(t, inode, s.dir, s.name, s.len));
		inode_put(t, s.dir);
	}
	inode_put(t, inode);
	return rc;
}

int ek_link(struct ek_image *img, const char *from, const char *path, unsigned flags)
{
	struct task *t = session_begin(img);

	return session_end(img, link_at(t, from, path, flags), "cannot link", path);
}

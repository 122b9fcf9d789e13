/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rename(2): one transaction.  The new entry is written before the old one is removed; an inode
 * that loses its last name becomes an orphan and goes with its last reference.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "fs/credits.h"
#include "fs/data.h"
#include "fs/dir.h"
#include "fs/inode.h"
#include "fs/links.h"
#include "fs/map.h"
#include "fs/namei.h"

struct end {
	struct ek_inode *dir, *inode; /* inode: what the name means, or NULL */
	const char *name;
	uint32_t len;
};

static int lookup(struct task *t, struct end *e)
{
	ek_inum ino;
	int rc = dir_lookup(t, e->dir, e->name, e->len, &ino);

	return rc < 0 ? rc : inode_get(t->img, ino, &e->inode);
}

/* -EINVAL when inode is dir or one of the folders above it. */
static int check_ancestor(struct task *t, const struct ek_inode *inode, struct ek_inode *dir)
{
	uint32_t budget = t->img->geom.inodes;
	struct ek_inode *at = inode_ref(dir);
	int rc = 0;

	while (rc == 0 && at->ino.v != INUM_ROOT) {
		struct ek_inode *up;
		ek_inum ino;

		if (at == inode || budget-- == 0) {
			rc = -EINVAL;
			break;
		}
		rc = dir_lookup(t, at, "..", 2, &ino);
		if (rc == 0)
			rc = inode_get(t->img, ino, &up);
		if (rc == 0) {
			inode_put(t, at);
			at = up;
		}
	}
	inode_put(t, at);
	return rc;
}

static int check_target(struct task *t, const struct end *from, const struct end *to)
{
	bool is_dir = inode_is_dir(from->inode);
	int rc;

	if (to->inode == NULL)
		return 0;
	if (is_dir && !inode_is_dir(to->inode))
		return -ENOTDIR;
	if (!is_dir && inode_is_dir(to->inode))
		return -EISDIR;
	rc = is_dir ? dir_empty(t, to->inode) : 1;
	return rc > 0 ? 0 : rc == 0 ? -ENOTEMPTY : rc;
}

/* A folder that comes to a parent wants room there, unless it takes the place of a folder. */
static bool parent_full(const struct end *from, const struct end *to, unsigned flags)
{
	bool is_dir = inode_is_dir(from->inode);
	bool was_dir = to->inode != NULL && inode_is_dir(to->inode);

	if (from->dir == to->dir || is_dir == was_dir)
		return false;
	if (is_dir)
		return links_full(to->dir);
	return (flags & RENAME_SWAP) != 0 && links_full(from->dir);
}

static int check(struct task *t, const struct end *from, const struct end *to, unsigned flags)
{
	bool is_dir = inode_is_dir(from->inode);
	int rc = 0;

	if (to->inode != NULL && (flags & RENAME_NO_REPLACE) != 0)
		return -EEXIST;
	if (to->inode == NULL && (flags & RENAME_SWAP) != 0)
		return -ENOENT;
	if (to->dir->rec.links == 0)
		return -ENOENT;
	if (!inode_same_project(from->inode, to->dir) ||
	    ((flags & RENAME_SWAP) != 0 && !inode_same_project(to->inode, from->dir)))
		return -EXDEV;
	rc = inode_check_names(from->dir);
	if (rc == 0)
		rc = inode_check_names(to->dir);
	if (rc == 0 && is_dir)
		rc = check_ancestor(t, from->inode, to->dir);
	if (rc == 0 && (flags & RENAME_SWAP) != 0 && inode_is_dir(to->inode))
		rc = check_ancestor(t, to->inode, from->dir);
	if (rc == 0 && (flags & RENAME_SWAP) == 0)
		rc = check_target(t, from, to);
	if (rc == 0 && parent_full(from, to, flags))
		rc = -EMLINK;
	return rc;
}

static void touch_dir(struct ek_inode *dir)
{
	dir->rec.mtime = inode_change_now(dir);
	dir->rec.ctime = dir->rec.mtime;
	dir->rec.version++;
}

static int set_entry(struct task *t, struct end *at, struct ek_inode *inode)
{
	int rc = dir_set(t, at->dir, at->name, at->len, inode);

	if (rc < 0)
		return rc;
	touch_dir(at->dir);
	return inode_mark_dirty(t, at->dir, MARK_DIR);
}

/* A folder that moved points up to its new parent; both parents count it. */
static int reparent(struct task *t, struct ek_inode *inode, struct ek_inode *from,
		    struct ek_inode *to, bool counted)
{
	int rc = dir_set(t, inode, "..", 2, to);

	links_drop_folder(from);
	if (!counted)
		links_add_folder(to);
	return rc < 0 ? rc : inode_mark_dirty(t, to, MARK_DIR);
}

/* What had the new name before loses it. */
static int lose_name(struct task *t, struct ek_inode *inode)
{
	inode->rec.links = inode_is_dir(inode) ? 0 : (uint16_t)(inode->rec.links - 1);
	inode->rec.ctime = inode_change_now(inode);
	if (inode->rec.links == 0) {
		int rc = orphan_add(t, inode);

		if (rc < 0)
			return rc;
		if (inode_is_dir(inode))
			inode->size = 0;
	}
	return inode_mark_dirty(t, inode, MARK_LINK);
}

static int move(struct task *t, struct end *from, struct end *to)
{
	bool is_dir = inode_is_dir(from->inode), replaced = to->inode != NULL;
	int rc;

	rc = replaced ? set_entry(t, to, from->inode)
		      : dir_add(t, to->dir, to->name, to->len, from->inode);
	if (rc < 0)
		return rc;
	if (from->inode->entry_in.v != 0)
		from->inode->entry_in = to->dir->ino;
	from->inode->rec.ctime = inode_change_now(from->inode);
	rc = inode_mark_dirty(t, from->inode, MARK_LINK);
	if (rc == 0)
		rc = dir_remove(t, from->dir, from->name, from->len);
	if (rc == 0 && is_dir && from->dir != to->dir)
		rc = reparent(t, from->inode, from->dir, to->dir, replaced);
	else if (rc == 0 && is_dir && replaced && from->dir->rec.links > 2)
		from->dir->rec.links--;
	if (rc == 0)
		rc = inode_mark_dirty(t, from->dir, MARK_DIR);
	if (rc == 0 && replaced)
		rc = lose_name(t, to->inode);
	return rc;
}

/* Folders point up to their new parents.  Two of them cancel out in the parents' counts. */
static int swap_parents(struct task *t, struct end *a, struct end *b)
{
	bool a_is = inode_is_dir(a->inode), b_is = inode_is_dir(b->inode);
	int rc = a_is ? dir_set(t, a->inode, "..", 2, b->dir) : 0;

	if (rc == 0 && b_is)
		rc = dir_set(t, b->inode, "..", 2, a->dir);
	if (rc < 0 || a_is == b_is)
		return rc;
	links_drop_folder(a_is ? a->dir : b->dir);
	links_add_folder(a_is ? b->dir : a->dir);
	rc = inode_mark_dirty(t, a->dir, MARK_DIR);
	return rc < 0 ? rc : inode_mark_dirty(t, b->dir, MARK_DIR);
}

static int swap(struct task *t, struct end *a, struct end *b)
{
	int rc = set_entry(t, b, a->inode);

	if (rc == 0)
		rc = set_entry(t, a, b->inode);
	a->inode->rec.ctime = inode_change_now(a->inode);
	b->inode->rec.ctime = inode_change_now(b->inode);
	if (rc == 0)
		rc = inode_mark_dirty(t, a->inode, MARK_LINK);
	if (rc == 0)
		rc = inode_mark_dirty(t, b->inode, MARK_LINK);
	if (rc == 0 && a->dir != b->dir)
		rc = swap_parents(t, a, b);
	return rc;
}

int fs_rename(struct task *t, struct ek_inode *old_dir, const char *old_name, uint32_t old_len,
	      struct ek_inode *new_dir, const char *new_name, uint32_t new_len, unsigned flags)
{
	struct end from = {old_dir, NULL, old_name, old_len};
	struct end to = {new_dir, NULL, new_name, new_len};
	struct handle *h;
	int rc;

	if ((flags & RENAME_MAKE_WHITEOUT) != 0)
		return -EOPNOTSUPP;
	rc = lookup(t, &from);
	if (rc == 0) {
		rc = lookup(t, &to);
		rc = rc == -ENOENT ? 0 : rc;
	}
	if (rc == 0 && from.inode == to.inode)
		goto out; /* two names of one file: nothing happens */
	if (rc == 0)
		rc = check(t, &from, &to, flags);
	if (rc == 0 && to.inode != NULL && (flags & RENAME_SWAP) == 0 &&
	    !t->img->opts.noauto_da_alloc)
		rc = data_alloc_delayed(from.inode);
	if (rc == 0)
		rc = task_start_inode(t, old_dir, HANDLE_DIR, credits_rename(t->img), 0, &h);
	if (rc == 0) {
		rc = (flags & RENAME_SWAP) != 0 ? swap(t, &from, &to) : move(t, &from, &to);
		rc = handle_end(h, rc);
	}
out:
	if (to.inode != NULL)
		inode_put(t, to.inode);
	if (from.inode != NULL)
		inode_put(t, from.inode);
	return rc;
}

/* ---- a nameless file takes over a name ---- */

int fs_link_over(struct task *t, struct ek_inode *inode, struct ek_inode *dir, const char *name,
		 uint32_t len)
{
	struct end to = {dir, NULL, name, len};
	struct handle *h;
	int rc = lookup(t, &to);

	if (rc < 0)
		return rc;
	rc = inode_is_dir(to.inode) ? -EISDIR : inode_check_names(dir);
	if (rc == 0)
		rc = task_start_inode(t, dir, HANDLE_DIR, credits_rename(t->img), 0, &h);
	if (rc < 0)
		goto out;
	rc = set_entry(t, &to, inode);
	if (rc == 0) {
		inode->rec.links++;
		inode->rec.ctime = inode_change_now(inode);
		rc = orphan_remove(t, inode);
	}
	if (rc == 0)
		rc = inode_mark_dirty(t, inode, MARK_LINK);
	if (rc == 0)
		rc = lose_name(t, to.inode);
	rc = handle_end(h, rc);
out:
	inode_put(t, to.inode);
	return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations that remove names: the inode becomes an orphan with the last of them, and its blocks
 * are freed when nobody has it open. */
#include <errno.h>

#include "fs/credits.h"
#include "fs/dir.h"
#include "fs/inode.h"
#include "fs/links.h"
#include "fs/namei.h"

static int get_entry(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		     struct ek_inode **ret)
{
	ek_inum ino;
	int rc = dir_lookup(t, dir, name, len, &ino);

	return rc < 0 ? rc : inode_get(t->img, ino, ret);
}

int fs_unlink(struct task *t, struct ek_inode *dir, const char *name, uint32_t len)
{
	struct ek_inode *inode;
	struct handle *h;
	int rc = get_entry(t, dir, name, len, &inode);

	if (rc < 0)
		return rc;
	if (inode_is_dir(inode)) {
		inode_put(t, inode);
		return -EISDIR;
	}
	count(&t->img->counters, COUNTER_UNLINK, 1);
	rc = task_start_inode(t, dir, HANDLE_DIR, credits_unlink(t->img), 0, &h);
	if (rc < 0)
		goto out;
	rc = dir_remove(t, dir, name, len);
	if (rc == 0)
		rc = inode_mark_dirty(t, dir, MARK_DIR);
	if (rc == 0) {
		inode->rec.links--;
		if (inode->rec.links == 0)
			rc = orphan_add(t, inode);
		inode->rec.ctime = inode_change_now(inode);
		if (rc == 0)
			rc = inode_mark_dirty(t, inode, MARK_LINK);
	}
	rc = handle_end(h, rc);
	if (inode->rec.links == 0 && inode->refs == 1)
		count(&t->img->counters, COUNTER_DROP_INODE, 1);
out:
	inode_put(t, inode);
	return rc;
}

static int remove_dir(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		      struct ek_inode *inode)
{
	int rc = dir_remove(t, dir, name, len);

	if (rc < 0)
		return rc;
	inode->rec.links = 0;
	inode->size = 0;
	rc = orphan_add(t, inode);
	inode->rec.ctime = inode_change_now(inode);
	if (rc == 0)
		rc = inode_mark_dirty(t, inode, MARK_LINK);
	links_drop_folder(dir);
	return rc < 0 ? rc : inode_mark_dirty(t, dir, MARK_DIR);
}

int fs_rmdir(struct task *t, struct ek_inode *dir, const char *name, uint32_t len)
{
	struct ek_inode *inode;
	struct handle *h;
	int rc = get_entry(t, dir, name, len, &inode);

	if (rc < 0)
		return rc;
	rc = !inode_is_dir(inode) ? -ENOTDIR : inode->ino.v == INUM_ROOT ? -EBUSY : 0;
	if (rc == 0) {
		rc = dir_empty(t, inode);
		rc = rc == 0 ? -ENOTEMPTY : rc < 0 ? rc : 0;
	}
	if (rc == 0)
		rc = task_start_inode(t, dir, HANDLE_DIR, credits_unlink(t->img), 0, &h);
	if (rc == 0)
		rc = handle_end(h, remove_dir(t, dir, name, len, inode));
	inode_put(t, inode);
	return rc;
}

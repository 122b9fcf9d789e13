/* SPDX-License-Identifier: BSD-2-Clause */
/* Permissions, owner, times, flags and project of an inode, with the handles of Linux 6.18. */
#include <sys/stat.h>

#include "fs/credits.h"
#include "fs/data.h"
#include "fs/inode.h"
#include "fs/namei.h"

static void apply(struct ek_inode *inode, const struct attr *a)
{
	struct inode_rec *r = &inode->rec;

	if ((a->mask & ATTR_MODE) != 0)
		r->mode = (uint16_t)((r->mode & S_IFMT) | (a->mode & 07777));
	if ((a->mask & ATTR_UID) != 0)
		r->uid = a->uid;
	if ((a->mask & ATTR_GID) != 0)
		r->gid = a->gid;
	if ((a->mask & ATTR_ATIME) != 0)
		r->atime = a->atime;
	if ((a->mask & ATTR_MTIME) != 0)
		r->mtime = a->mtime;
	if ((a->mask & ATTR_FLAGS) != 0)
		r->flags = a->flags;
	if ((a->mask & ATTR_PROJECT) != 0)
		r->projid = a->project;
	r->ctime = (a->mask & ATTR_CTIME) != 0 ? a->ctime : inode_change_now(inode);
}

/* The flag that sends data through the log comes or goes: what is cached was written by the other
 * rule, and what is logged must be home before anybody writes past the log. */
static int settle_data(struct task *t, struct ek_inode *inode, const struct attr *a)
{
	bool heard = !policy_delays(t->img->opts.policy) && inode_is_file(inode);
	int rc;

	if ((a->mask & ATTR_FLAGS) == 0 || !heard || t->user.current != NULL ||
	    ((a->flags ^ inode->rec.flags) & INODE_JOURNAL_DATA) == 0)
		return 0;
	rc = data_write_out(inode, 0, UINT64_MAX);
	if (rc == 0)
		rc = jnl_checkpoint(t->img->jnl, true);
	return rc < 0 ? rc : data_invalidate(inode, 0, UINT64_MAX);
}

int fs_setattr(struct task *t, struct ek_inode *inode, const struct attr *a)
{
	bool owner = ((a->mask & ATTR_UID) != 0 && a->uid != inode->rec.uid) ||
		     ((a->mask & ATTR_GID) != 0 && a->gid != inode->rec.gid);
	struct handle *h;
	int rc = settle_data(t, inode, a);

	if (rc < 0)
		return rc;
	if (owner) {
		/* The quota transfer has a handle of its own. */
		rc = task_start_inode(t, inode, HANDLE_QUOTA, 3, 0, &h);
		if (rc < 0)
			return rc;
		apply(inode, a);
		rc = handle_end(h, inode_mark_dirty(t, inode, MARK_SETATTR));
		if (rc < 0)
			return rc;
	}
	rc = task_start_inode(t, inode, HANDLE_INODE, CREDITS_ATTR, 0, &h);
	if (rc < 0)
		return rc;
	apply(inode, a);
	data_dirtied(inode);
	return handle_end(h, inode_mark_dirty(t, inode, MARK_SETATTR));
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of fast commits: added and removed as they say, where that is not so already.  Folders are
 * made here, since the log has nothing of what is in them but names.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "fs/dir.h"
#include "fs/fast_impl.h"
#include "fs/fast_inode.h"
#include "fs/inline.h"
#include "fs/inode.h"
#include "fs/links.h"
#include "fs/map.h"
#include "journal/fast.h"

int fast_get(struct fast *f, uint32_t ino, struct ek_inode **ret)
{
	struct ek_inode *inode;
	bool used;
	int rc = fast_in_use(f->t, (ek_inum){ino}, &used);

	if (rc == 0 && used)
		rc = inode_get(f->t->img, (ek_inum){ino}, &inode);
	if (rc == 0)
		*ret = used ? inode : NULL;
	return rc;
}

/* An orphan is deleted as one, by whoever opens the image for writing. */
int fast_end_inode(struct fast *f, struct ek_inode *inode)
{
	int rc = fast_settle(f->t, inode);

	if (rc < 0 || fast_is_orphan(f, inode->ino.v))
		return rc;
	if (rc == 0)
		rc = inode_delete(f->t, inode);
	if (rc == 0)
		inode->state |= INODE_STATE_DELETED;
	return rc;
}

/* A new folder: its blocks are not in the log. */
static int make_dir(struct task *t, struct ek_inode *inode, struct ek_inode *parent)
{
	int rc = fast_unmap(t, inode);

	inode->rec.flags &= ~INODE_INDEX;
	inode->size = inode->rec.size = 0;
	if (rc == 0)
		rc = dir_init(t, inode, parent->ino);
	return rc;
}

/* 1 when the folder was made by an earlier replay: it has its name and a first block. */
static int is_made(const struct fast *f, const struct fast_record *r, struct ek_inode *dir,
		   struct ek_inode *inode)
{
	ek_inum found;
	struct map m;
	int rc = dir_lookup(f->t, dir, r->name, r->name_len, &found);

	if (rc < 0 || found.v != r->ino || inode_is_inline(inode))
		return rc == -ENOENT ? 0 : MIN(rc, 0);
	rc = map_next(f->t, inode, (ek_lblk){0}, &m);
	return rc == 1 ? m.lblk.v == 0 && m.state == MAP_MAPPED : rc;
}

static int add_name(struct fast *f, const struct fast_record *r, struct ek_inode *dir,
		    struct ek_inode *inode)
{
	struct task *t = f->t;
	bool is_dir = inode_is_dir(inode);
	int rc;

	inode->rec.ctime = inode_change_now(inode);
	rc = dir_add(t, dir, r->name, r->name_len, inode);
	if (rc < 0)
		return rc == -EEXIST ? 0 : rc;
	if (is_dir && links_full(dir))
		return -EMLINK;
	if (is_dir) {
		links_add_folder(dir);
		rc = inode_mark_dirty(t, dir, MARK_DIR);
	}
	/* the number is the next INODE record's: here it may be past the limit for a while */
	if (r->tag == JBD2_FC_LINK && inode->rec.links != UINT16_MAX)
		inode->rec.links++;
	return rc;
}

static int name_inode(struct fast *f, const struct fast_record *r, struct ek_inode *dir,
		      struct ek_inode *inode)
{
	struct task *t = f->t;
	bool is_dir = inode_is_dir(inode);
	int rc = 0;

	if (r->tag == JBD2_FC_LINK && is_dir)
		return diag_set(&t->img->diag, -EUCLEAN,
				"corrupt fast commit: inode %u is a folder and gets a second name",
				r->ino);
	if (r->tag == JBD2_FC_CREATE && is_dir)
		rc = is_made(f, r, dir, inode);
	if (rc == 0 && r->tag == JBD2_FC_CREATE)
		inode->rec.links = is_dir ? 2 : 1;
	if (rc == 0 && r->tag == JBD2_FC_CREATE && is_dir)
		rc = make_dir(t, inode, dir);
	if (rc >= 0)
		rc = add_name(f, r, dir, inode);
	return rc < 0 ? rc : inode_mark_dirty(t, inode, MARK_LINK);
}

/* An inode without links may get some later. */
static bool is_over(const struct fast *f, const struct ek_inode *inode)
{
	return inode->rec.links == 0 &&
	       !fast_lives_on(&f->lives, inode->ino.v, inode->rec.generation, f->at);
}

static int drop_link(struct fast *f, struct ek_inode *dir, struct ek_inode *inode)
{
	struct task *t = f->t;
	int rc = 0;

	if (inode_is_dir(inode)) {
		inode->rec.links = 0;
		links_drop_folder(dir);
		rc = inode_mark_dirty(t, dir, MARK_DIR);
	} else if (inode->rec.links > 0) {
		inode->rec.links--;
	}
	inode->rec.ctime = inode_change_now(inode);
	if (rc == 0)
		rc = inode_mark_dirty(t, inode, MARK_LINK);
	return rc == 0 && is_over(f, inode) ? fast_end_inode(f, inode) : rc;
}

static int remove_name(struct fast *f, const struct fast_record *r, struct ek_inode *dir,
		       struct ek_inode *inode)
{
	struct task *t = f->t;
	ek_inum found;
	int rc = dir_lookup(t, dir, r->name, r->name_len, &found);

	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	if (inode_is_dir(inode) && found.v != r->ino)
		return 0;
	if (inode_is_dir(inode) && dir_empty(t, inode) == 0)
		return diag_set(&t->img->diag, -EUCLEAN,
				"corrupt fast commit: folder %u is removed and not empty", r->ino);
	if (found.v == r->ino) {
		rc = dir_remove(t, dir, r->name, r->name_len);
		if (rc == 0)
			rc = inode_mark_dirty(t, dir, MARK_DIR);
	}
	return rc < 0 ? rc : drop_link(f, dir, inode);
}

int fast_apply_name(struct fast *f, const struct fast_record *r)
{
	struct ek_inode *dir = NULL, *inode = NULL;
	int rc = fast_get(f, r->parent, &dir);

	if (rc == 0 && r->parent != r->ino)
		rc = fast_get(f, r->ino, &inode);
	/* One that was made and removed again in between has left names only. */
	if (rc == 0 && dir != NULL && inode != NULL)
		rc = r->tag == JBD2_FC_UNLINK ? remove_name(f, r, dir, inode)
					      : name_inode(f, r, dir, inode);
	inode_put(f->t, inode);
	inode_put(f->t, dir);
	return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* New inodes: allocation, the fields that a fresh inode has, and inheritance from the folder. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/crc.h"
#include "fs/dir.h"
#include "fs/extent.h"
#include "fs/inode_cache.h"
#include "fs/map.h"
#include "ondisk/super.h"

static uint32_t inherited_flags(const struct ek_inode *dir, uint16_t mode)
{
	uint32_t f = dir->rec.flags & INODE_INHERITED;

	if (S_ISREG(mode))
		f &= ~(INODE_DIRSYNC | INODE_TOPDIR | INODE_CASEFOLD | INODE_PROJINHERIT);
	else if (!S_ISDIR(mode))
		f &= INODE_NODUMP | INODE_NOATIME;
	return f;
}

static bool uses_extents(const struct ek_image *img, uint16_t mode)
{
	return map_by_extents(img) && (S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode));
}

/* Deterministic: the same operations give the same numbers. */
static uint32_t next_generation(struct ek_image *img)
{
	uint32_t x = crc32c(img->next_generation, img->geom.uuid, sizeof(img->geom.uuid));

	img->next_generation = x;
	return x;
}

static void fill(struct task *t, struct ek_inode *inode, const struct ek_inode *dir, uint16_t mode)
{
	struct ek_image *img = t->img;
	struct inode_rec *r = &inode->rec;
	bool setgid = (dir->rec.mode & S_ISGID) != 0;

	r->mode = mode;
	r->uid = t->uid;
	r->gid = setgid ? dir->rec.gid : t->gid;
	if (setgid && S_ISDIR(mode))
		r->mode |= S_ISGID;
	r->mtime = image_now(img);
	r->atime = r->mtime;
	r->ctime = r->mtime;
	r->crtime = r->mtime;
	r->flags = inherited_flags(dir, mode);
	r->generation = next_generation(img);
	r->projid = (dir->rec.flags & INODE_PROJINHERIT) != 0 ? dir->rec.projid : 0;
	if (img->geom.inode_size > 128)
		r->extra_isize = (uint16_t)MAX(32, (int)img->geom.want_extra_isize);
	if (uses_extents(img, mode)) {
		r->flags |= INODE_EXTENTS;
		ext_root_init(inode);
	}
	inode->state |= INODE_STATE_NEW;
	if (geom_incompat(&img->geom, INCOMPAT_INLINE_DATA) &&
	    (S_ISDIR(mode) || (S_ISREG(mode) && (r->flags & INODE_DAX) == 0)))
		inode->state |= INODE_STATE_MAY_INLINE;
}

int inode_new(struct task *t, struct ek_inode *dir, uint16_t mode, const char *name,
	      uint32_t name_len, struct ek_inode **ret)
{
	struct ialloc_request req = {.parent = dir->ino,
				     .parent_is_top = dir->ino.v == INUM_ROOT ||
						      (dir->rec.flags & INODE_TOPDIR) != 0,
				     .mode = mode};
	struct ek_inode *inode;
	uint32_t minor;
	ek_inum ino;
	int rc;

	req.goal = t->goal_ino <= t->img->geom.inodes ? t->goal_ino : 0;
	t->goal_ino = 0;
	count(&t->img->counters, COUNTER_REQUEST_INODE, 1);
	t->img->ialloc.last_alloc_group = dir->last_alloc_group;
	if (S_ISDIR(mode) && req.parent_is_top) /* Linux asks for the signed half MD4 here */
		dir_hash(t->img->geom.hash_seed, 1, name, name_len, &req.name_hash, &minor);
	rc = ialloc_new(&t->img->ialloc, t->user.current, &req, &ino);
	if (rc < 0)
		return rc;
	dir->last_alloc_group = t->img->ialloc.last_alloc_group;
	rc = inode_make(t->img, ino, &inode);
	if (rc < 0)
		return rc;
	fill(t, inode, dir, mode);
	/* Like Linux: once for the empty extent tree, once for the inode. */
	rc = inode_has_extents(inode) ? inode_mark_dirty(t, inode, MARK_NEW_INODE) : 0;
	if (rc == 0)
		rc = inode_mark_dirty(t, inode, MARK_NEW_INODE);
	if (rc < 0) {
		inode_put(t, inode);
		return rc;
	}
	count(&t->img->counters, COUNTER_ALLOCATE_INODE, 1);
	*ret = inode;
	return 0;
}

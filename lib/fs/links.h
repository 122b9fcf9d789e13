/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many links an inode may have, and how folders count their subfolders.  With dir_nlink one
 * that has more than it can count has link count 1, which it keeps.
 */
#ifndef FS_LINKS_H
#define FS_LINKS_H

#include "fs/inode.h"
#include "ondisk/features.h"

#define LINKS_MAX 65000u

static inline bool links_full(const struct ek_inode *inode)
{
	if (inode_is_dir(inode) && geom_ro_compat(&inode->img->geom, RO_COMPAT_DIR_NLINK))
		return false;
	return inode->rec.links >= LINKS_MAX;
}

/* A subfolder more; the folder is not full. */
static inline void links_add_folder(struct ek_inode *dir)
{
	bool many = geom_ro_compat(&dir->img->geom, RO_COMPAT_DIR_NLINK);

	if (dir->rec.links == 1 && many)
		return;
	dir->rec.links++;
	if (dir->rec.links >= LINKS_MAX && many)
		dir->rec.links = 1;
}

static inline void links_drop_folder(struct ek_inode *dir)
{
	if (dir->rec.links > 2)
		dir->rec.links--;
}

#endif

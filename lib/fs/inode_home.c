/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What fsync writes where there is no journal (measured on Linux 6.18): the blocks that belong to
 * the inode alone, its block of the inode table, and the blocks of the folders that lead to it,
 * when they were not written since its name was made.  What is shared by many, bitmaps and counts,
 * stays until the device is synced or old enough; after a power cut e2fsck mends it.
 */
#include "fs/image.h"
#include "fs/inode_cache.h"

static int write_slot(struct task *t, struct ek_inode *inode)
{
	struct buf *b = inode_slot_cached(inode);

	return b != NULL ? jnl_write_one(t->img->jnl, b) : 0;
}

static int write_xattrs(struct task *t, struct ek_inode *inode)
{
	struct buf *b = inode->rec.file_acl != 0
			    ? buf_find(t->img->cache, (ek_pblk){inode->rec.file_acl})
			    : NULL;

	return b != NULL ? jnl_write_one(t->img->jnl, b) : 0;
}

/* Folders that are new themselves go with their inodes. */
static int write_way(struct task *t, struct ek_inode *inode)
{
	int rc = 0;

	while (rc == 0 && inode != NULL && inode->entry_in.v != 0) {
		ek_inum dir = inode->entry_in;

		inode->entry_in.v = 0;
		rc = jnl_write_owned(t->img->jnl, dir.v);
		inode = inode_cached(t->img, dir);
		if (rc == 0 && inode != NULL && inode->entry_in.v != 0)
			rc = write_slot(t, inode);
	}
	return rc;
}

int inode_write_home(struct task *t, struct ek_inode *inode)
{
	int rc = jnl_write_owned(t->img->jnl, inode->ino.v);

	if (rc == 0)
		rc = write_xattrs(t, inode);
	if (rc == 0)
		rc = write_slot(t, inode);
	return rc < 0 ? rc : write_way(t, inode);
}

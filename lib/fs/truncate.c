/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sizes: growing moves i_size only; shrinking puts the inode among the orphans in the transaction
 * that stores the new size, frees blocks in as many transactions as that takes, and takes it off
 * again in the last.  A crash in between is finished by orphan_process.
 */
#include <errno.h>

#include "base/check.h"
#include "fs/blocks.h"
#include "fs/credits.h"
#include "fs/data.h"
#include "fs/extent.h"
#include "fs/inline.h"
#include "fs/inode_cache.h"
#include "fs/map.h"
#include "fs/xattr.h"
#include "fs/xattr_inode.h"
#include "ondisk/super.h"

static ek_lblk first_beyond(const struct ek_inode *inode)
{
	const struct geom *g = &inode->img->geom;

	return (ek_lblk){(uint32_t)((inode->size + g->block_size - 1) >> g->block_bits)};
}

/* The same with pointers: Linux neither marks the inode here nor joins its handle. */
static int cut_pointers(struct task *t, struct ek_inode *inode)
{
	inode->rec.size = inode->size;
	return map_remove(t, inode, first_beyond(inode), (ek_lblk){UINT32_MAX});
}

/* Everything behind the size goes; runs under the task's handle. */
static int cut(struct task *t, struct ek_inode *inode)
{
	struct handle *h;
	int rc;

	mb_discard_inode(t->img->mb, &inode->mb);
	count(&t->img->counters, COUNTER_DISCARD_PREALLOCATIONS, 1);
	if (inode_has_pointers(inode))
		return cut_pointers(t, inode);
	inode->rec.size = inode->size;
	rc = inode_mark_dirty(t, inode, MARK_TRUNCATE);
	if (rc < 0)
		return rc;
	rc = task_start_inode(t, inode, HANDLE_TRUNCATE, 1, 0, &h);
	if (rc < 0)
		return rc;
	rc = map_remove(t, inode, first_beyond(inode), (ek_lblk){UINT32_MAX});
	return handle_end(h, rc);
}

static int finish(struct task *t, struct ek_inode *inode)
{
	int rc = inode->rec.links != 0 ? orphan_remove(t, inode) : 0;

	if (rc < 0)
		return rc;
	inode->rec.mtime = inode_change_now(inode);
	inode->rec.ctime = inode->rec.mtime;
	return inode_mark_dirty(t, inode, MARK_TRUNCATE);
}

int inode_truncate_blocks(struct task *t, struct ek_inode *inode)
{
	const struct geom *g = &inode->img->geom;
	uint64_t tail = inode->size & (g->block_size - 1);
	struct handle *h;
	int rc;

	if (!inode_maps_blocks(inode))
		return 0;
	count(&t->img->counters, COUNTER_TRUNCATE, 1);
	if (inode->size == 0 && !t->img->opts.noauto_da_alloc)
		inode->state |= INODE_STATE_DA_ALLOC_CLOSE;
	if (inode_is_inline(inode))
		return inline_truncate(t, inode);
	rc = task_start_inode(t, inode, HANDLE_TRUNCATE, credits_truncate(inode), 0, &h);
	if (rc < 0)
		return rc;
	if (tail != 0)
		rc = data_zero_partial(t, inode, inode->size, inode->size - tail + g->block_size);
	if (rc == 0)
		rc = orphan_add(t, inode);
	if (rc == 0)
		rc = cut(t, inode);
	if (rc == 0)
		rc = finish(t, inode);
	return handle_end(h, rc);
}

/* The new size on disk, and the inode among the orphans when it shrinks. */
static int store_size(struct task *t, struct ek_inode *inode, uint64_t size, bool shrink)
{
	struct handle *h;
	int rc = task_start_inode(t, inode, HANDLE_INODE, CREDITS_SET_SIZE, 0, &h);

	if (rc < 0)
		return rc;
	if (shrink)
		rc = orphan_add(t, inode);
	if (rc == 0) {
		inode->rec.mtime = inode_change_now(inode);
		inode->rec.ctime = inode->rec.mtime;
		inode->rec.size = size;
		rc = inode_mark_dirty(t, inode, MARK_SETATTR);
	}
	return handle_end(h, rc);
}

/* Linux lets an inline file grow as far as it has room already. */
static int make_room(struct task *t, struct ek_inode *inode, uint64_t size)
{
	uint32_t room;
	int rc;

	if (!inode_is_inline(inode))
		return 0;
	rc = inline_size(inode, &room);
	return rc < 0 || size <= room ? rc : inline_to_blocks(t, inode);
}

static int change_size(struct task *t, struct ek_inode *inode, uint64_t size)
{
	uint64_t old = inode->size;
	bool shrink = size < old;
	int rc = make_room(t, inode, size);

	if (rc < 0)
		return rc;
	if (shrink)
		count(&t->img->counters, COUNTER_BEGIN_ORDERED_TRUNCATE, 1);
	rc = store_size(t, inode, size, shrink);
	if (rc < 0)
		return rc;
	inode->size = size;
	return shrink ? data_invalidate(inode, size, UINT64_MAX) : 0;
}

/* Times and version once more, in a handle of their own: what the generic part of truncate does. */
static int touch(struct task *t, struct ek_inode *inode)
{
	inode->rec.version++;
	data_dirtied(inode);
	inode->rec.mtime = inode_change_now(inode);
	inode->rec.ctime = inode->rec.mtime;
	return inode_mark_dirty(t, inode, MARK_SETATTR);
}

int inode_set_size(struct task *t, struct ek_inode *inode, uint64_t size)
{
	uint64_t old = inode->size, limit = map_size_limit(inode);
	int rc = 0;

	if (!inode_is_file(inode))
		return inode_is_dir(inode) ? -EISDIR : -EINVAL;
	if (size > limit)
		return diag_set(&t->img->diag, -EFBIG,
				"file too large: inode %u: %llu bytes, most %llu", inode->ino.v,
				(unsigned long long)size, (unsigned long long)limit);
	if (size != old)
		rc = inode_check_contents(inode);
	if (rc == 0 && size != old)
		rc = change_size(t, inode, size);
	if (rc == 0 && size <= old)
		rc = inode_truncate_blocks(t, inode);
	return rc < 0 ? rc : touch(t, inode);
}

/*
 * The clock's seconds, as in Linux.  A caller without a clock starts at 0 though, and a deletion
 * time of 0 means that the inode was lost, a small one that it is the link of a torn orphan list:
 * nothing is deleted before its filesystem was made.
 */
static uint32_t deletion_time(struct ek_image *img)
{
	const struct super_raw *sb = image_super(img);
	int64_t made = (int64_t)sb->s_mkfs_time_hi << 32 | le32_get(sb->s_mkfs_time);
	uint32_t sec = (uint32_t)MAX(image_now(img).sec, made);

	return sec != 0 ? sec : 1;
}

/* The inode has no links and no user: its blocks, its attributes, then itself. */
static int delete_steps(struct task *t, struct ek_inode *inode)
{
	int rc = inode_mark_dirty(t, inode, MARK_EVICT);

	inode->size = 0;
	if (rc == 0 && inode->rec.blocks != 0)
		rc = inode_truncate_blocks(t, inode);
	if (rc == 0)
		rc = inode_forget(t, inode, (ek_lblk){0}, UINT32_MAX);
	if (rc == 0)
		rc = xattr_drop(t, inode);
	if (rc == 0)
		rc = orphan_remove(t, inode);
	if (rc < 0)
		return rc;
	inode->rec.dtime = deletion_time(inode->img);
	/* Old kernels reuse the slot with the upper halves as they are; Linux leaves zeros. */
	inode->rec.uid &= UINT16_MAX;
	inode->rec.gid &= UINT16_MAX;
	rc = inode_mark_dirty(t, inode, MARK_EVICT);
	if (rc == 0) {
		count(&t->img->counters, COUNTER_FREE_INODE, 1);
		rc = ialloc_free(&t->img->ialloc, t->user.current, inode->ino, inode_is_dir(inode));
	}
	return rc;
}

int inode_delete(struct task *t, struct ek_inode *inode)
{
	struct handle *h;
	int rc;

	if (inode_is_file(inode) || S_ISDIR(inode->rec.mode)) {
		rc = data_invalidate(inode, 0, UINT64_MAX);
		if (rc < 0)
			return rc;
	}
	rc = task_start_inode(t, inode, HANDLE_TRUNCATE, credits_evict(inode), 0, &h);
	if (rc < 0)
		return rc;
	if (inode_is_fast_symlink(inode))
		inode->rec.size = 0;
	rc = handle_end(h, delete_steps(t, inode));
	xattr_inode_reap(t);
	return rc;
}

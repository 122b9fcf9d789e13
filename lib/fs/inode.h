/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inodes in memory: one object per inode number and open image, counted references, evicted in
 * order of last use once nobody holds them.
 */
#ifndef FS_INODE_H
#define FS_INODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <extkit/types.h>

#include "alloc/mballoc.h"
#include "base/counters.h"
#include "base/list.h"
#include "fs/es.h"
#include "fs/image.h"
#include "journal/journal.h"
#include "ondisk/inode.h"

enum inode_state {
	INODE_STATE_NEW = 1 << 0,     /* created in this session, table slot was blank */
	INODE_STATE_DELETED = 1 << 1, /* freed on disk; object goes with its last reference */
	INODE_STATE_ORPHAN = 1 << 2,  /* on the orphan list or in the orphan file */
	INODE_STATE_DA_ALLOC_CLOSE = 1 << 3, /* truncated to 0: force allocation at last close */
	INODE_STATE_NO_EXPAND = 1 << 4,
	INODE_STATE_XATTR = 1 << 5, /* has xattrs in the body */
	INODE_STATE_MAY_INLINE = 1 << 6,
	INODE_STATE_STALE = 1 << 7, /* its table slot is behind rec until the block leaves */
	INODE_STATE_KEPT = 1 << 8   /* fast commits keep all blocks that its map has */
};

struct ek_inode {
	struct ek_image *img;
	ek_inum ino;
	struct inode_rec rec;    /* rec.size is what the disk will say: i_disksize */
	uint64_t size;           /* what readers see: i_size */
	unsigned refs;           /* references by callers */
	unsigned opens, writers; /* open handles; those that may write */
	unsigned state;
	bool times_shown; /* by stat(2), since ctime changed last */
	struct es_tree es;
	struct mb_inode mb;
	uint64_t reserved; /* clusters reserved by delayed allocation */
	struct jnl_inode jinode;
	ek_inum entry_in; /* the folder with a name of it that no fsync has written yet, or 0 */
	uint32_t sync_tid, datasync_tid; /* last transaction with a change of this inode */
	struct list orphan;              /* on img->orphans */
	uint32_t orphan_slot;            /* slot in the orphan file, ~0 when on the list */
	uint64_t serialised_size; /* rec.size as last written to the table: decides datasync */
	void *mapping;            /* the page cache's */
	struct list lru;
	uint32_t last_alloc_group, dir_goal;
	uint64_t seq; /* tells this stay of a folder in memory from others, for its cached names */
};

/* A reference to inode ino; a free or unreadable one fails with its story (-ESTALE when it is not
 * in use). */
int inode_get(struct ek_image *img, ek_inum ino, struct ek_inode **ret);
struct ek_inode *inode_ref(struct ek_inode *inode);
/* Gives a reference back; the last one of an inode without links deletes it. */
void inode_put(struct task *t, struct ek_inode *inode);
/* The same, from who does not expect it to be wanted again soon: a reader's cache forgets it. */
void inode_put_off(struct task *t, struct ek_inode *inode);

/* A new inode under the running handle: allocated near dir, fields filled as Linux does (owner,
 * mode, inherited flags, times, extents flag, generation); links 0, marked dirty twice like
 * __ext4_new_inode.  name seeds Orlov for folders. */
int inode_new(struct task *t, struct ek_inode *dir, uint16_t mode, const char *name,
	      uint32_t name_len, struct ek_inode **ret);

/* Puts the record into the inode table under the running handle (joins it, or starts one of type
 * INODE with 2 credits when none runs): as it is now, or under the policy of lazy inodes as it is
 * when the transaction commits.  So a change of rec is followed by a mark in the same handle, and
 * what a transaction's other blocks do not have yet may not be in rec. */
int inode_mark_dirty(struct task *t, struct ek_inode *inode, enum mark_site site);

/* The same, not counted as a mark: orphan links and deletion times. */
int inode_store(struct task *t, struct ek_inode *inode);

/* Without a journal, what fsync makes durable of the inode and of the way to it, but for data. */
int inode_write_home(struct task *t, struct ek_inode *inode);

/* Raw table slot for changes of in-inode xattrs: read view, and mutable bytes under a handle. */
int inode_raw_view(struct ek_inode *inode, struct buf **buf, const void **ret);
int inode_raw_write(struct task *t, struct ek_inode *inode, struct buf **buf, void **ret);

/*
 * When inode changes now, for its ctime: the coarse time, unless stat(2) saw one that is not older;
 * then the exact time, which no coarse time falls behind afterwards (Linux 6.13 and later).
 */
struct ek_time inode_change_now(struct ek_inode *inode);
/* stat(2) showed the times: the next change must look different. */
static inline void inode_times_shown(struct ek_inode *inode)
{
	inode->times_shown = true;
}
/* mtime and ctime to now, if that differs: one handle and one mark then. */
int inode_touch_modify(struct task *t, struct ek_inode *inode);
/* True when there is nothing to do for that. */
static inline bool inode_is_touched(const struct ek_inode *inode)
{
	struct ek_time now = image_now(inode->img);

	return time_same(inode->rec.mtime, now) && time_same(inode->rec.ctime, now) &&
	       !inode->times_shown;
}
/* True when that would change nothing at the coarse time now. */
bool inode_shows_time(const struct ek_inode *inode, struct ek_time now);
/* The same of inode_touch_access. */
bool inode_shows_access(const struct ek_inode *inode, struct ek_time now);
/* atime by the relatime rule. */
int inode_touch_access(struct task *t, struct ek_inode *inode);

/* Data and indirect blocks in 512-byte sectors as stat(2) shows them; change by n blocks. */
uint64_t inode_sectors(const struct ek_inode *inode);

/* A folder whose project is inherited takes only names of its own project. */
static inline bool inode_same_project(const struct ek_inode *inode, const struct ek_inode *dir)
{
	return (dir->rec.flags & INODE_PROJINHERIT) == 0 || dir->rec.projid == inode->rec.projid;
}

/* Before contents change: -EOPNOTSUPP for encrypted ones, -EPERM for those that verity seals. */
int inode_check_contents(const struct ek_inode *inode);

/* Before names are added to or changed in a folder: -EOPNOTSUPP where they are encrypted, which
 * would take the key. */
int inode_check_names(const struct ek_inode *dir);
void inode_add_blocks(struct ek_inode *inode, int64_t blocks);

static inline bool inode_is_dir(const struct ek_inode *i)
{
	return S_ISDIR(i->rec.mode);
}

static inline bool inode_is_file(const struct ek_inode *i)
{
	return S_ISREG(i->rec.mode);
}

static inline bool inode_has_extents(const struct ek_inode *i)
{
	return (i->rec.flags & INODE_EXTENTS) != 0;
}

/* Mapped by block pointers, as far as it has blocks. */
static inline bool inode_has_pointers(const struct ek_inode *i)
{
	return (i->rec.flags & (INODE_EXTENTS | INODE_INLINE_DATA)) == 0;
}

/* A link whose target lies in i_block. */
static inline bool inode_is_fast_symlink(const struct ek_inode *i)
{
	return S_ISLNK(i->rec.mode) && i->rec.size < INODE_BLOCK_BYTES &&
	       (i->rec.flags & (INODE_EXTENTS | INODE_INLINE_DATA)) == 0;
}

/* Of a kind that keeps its contents in blocks, unless they are inline. */
static inline bool inode_maps_blocks(const struct ek_inode *i)
{
	return S_ISREG(i->rec.mode) || S_ISDIR(i->rec.mode) ||
	       (S_ISLNK(i->rec.mode) && !inode_is_fast_symlink(i));
}

static inline struct buf_owner inode_owner(const struct ek_inode *i)
{
	return (struct buf_owner){i->ino.v, i->rec.generation};
}

/* ---- orphans (fs/orphan.c) ---- */

/* The inode must be deleted or truncated even after a crash. */
int orphan_add(struct task *t, struct ek_inode *inode);
int orphan_remove(struct task *t, struct ek_inode *inode);
/* At open of a writable image: finishes what a crash interrupted. */
int orphan_process(struct task *t, uint32_t *deleted, uint32_t *truncated);

/* ---- size (fs/truncate.c) ---- */

/* Cuts blocks beyond inode->size and settles the on-disk size; inode->size was set already. */
int inode_truncate_blocks(struct task *t, struct ek_inode *inode);
/* truncate(2): grows or shrinks. */
int inode_set_size(struct task *t, struct ek_inode *inode, uint64_t size);
/* Frees blocks, xattrs and the inode itself; called for the last reference without links. */
int inode_delete(struct task *t, struct ek_inode *inode);

/* ---- ranges (fs/falloc.c): the modes of fallocate(2) with their Linux bits ---- */
int inode_fallocate(struct task *t, struct ek_inode *inode, int mode, uint64_t off, uint64_t len);

#endif

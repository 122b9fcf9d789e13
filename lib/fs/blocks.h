/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks that an inode takes and gives back: the allocator's calls with the inode charged for them.
 */
#ifndef FS_BLOCKS_H
#define FS_BLOCKS_H

#include "fs/data.h"
#include "fs/inode.h"

/* mb_new_blocks for the inode; charges i_blocks.  Without MB_DELALLOC_RESERVED the charge marks the
 * inode (site QUOTA_CLAIM), as the kernel's quota layer does even without quotas. */
int inode_alloc_blocks(struct task *t, struct ek_inode *inode, struct mb_request *req, ek_pblk *ret,
		       uint32_t *len);

/* i_blocks changes by so many blocks: the kernel's quota layer dirties the inode through a nested
 * handle of its own. */
int inode_charge(struct task *t, struct ek_inode *inode, int64_t blocks, enum mark_site site);

/* Gives back what inode_alloc_blocks granted with these flags and nothing maps yet. */
void inode_unalloc_blocks(struct task *t, struct ek_inode *inode, unsigned mb_flags, ek_pblk pblk,
			  uint32_t len);

/* The inode does not map these blocks any more: those of folders and links, and data that go
 * through the log, are revoked there.
 * Their clusters are freed, all but those of the first and the last block that are kept for others
 * of the same cluster. */
enum free_keep { KEEP_FIRST = 1 << 0, KEEP_LAST = 1 << 1 };
int inode_free_blocks(struct task *t, struct ek_inode *inode, ek_pblk pblk, uint32_t len,
		      unsigned keep);

/* What inode_free_blocks revokes one by one. */
static inline bool inode_logs_blocks(const struct ek_inode *inode)
{
	return !inode_is_file(inode) || inode_logs_data(inode);
}

/* Frees one metadata block of the inode: revoked in the log, dropped from the cache.  The reference
 * on buf (may be NULL) is consumed. */
int inode_free_metadata(struct task *t, struct ek_inode *inode, struct buf *buf, ek_pblk pblk);

/* A delayed-allocation reservation of clusters: -ENOSPC (with the shortage) or 0. */
int inode_reserve(struct task *t, struct ek_inode *inode, uint64_t clusters);
/* Gives back a reservation that was never allocated. */
void inode_release(struct task *t, struct ek_inode *inode, uint64_t clusters);
/* Clusters were allocated that are reserved: on account of that, and then the claim charges
 * i_blocks and marks the inode once; or like any others, and then they are charged already. */
int inode_claim(struct task *t, struct ek_inode *inode, uint64_t clusters, bool reserved);
/* A cluster was freed that has delayed blocks: it is reserved again. */
void inode_reserve_again(struct ek_inode *inode);
/* What is known of [from, from + len) is forgotten, and reservations that only that needed are
 * given back. */
int inode_forget(struct task *t, struct ek_inode *inode, ek_lblk from, uint32_t len);

#endif

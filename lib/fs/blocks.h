/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks that an inode takes and gives back: the allocator's calls with the inode charged for them.
 */
#ifndef FS_BLOCKS_H
#define FS_BLOCKS_H

#include "fs/inode.h"

/* mb_new_blocks for the inode; charges i_blocks.  Without MB_DELALLOC_RESERVED the charge marks the
 * inode (site QUOTA_CLAIM), as the kernel's quota layer does even without quotas. */
int inode_alloc_blocks(struct task *t, struct ek_inode *inode, struct mb_request *req, ek_pblk *ret,
		       uint32_t *len);

/* Gives back what inode_alloc_blocks granted with these flags and nothing maps yet. */
void inode_unalloc_blocks(struct task *t, struct ek_inode *inode, unsigned mb_flags, ek_pblk pblk,
			  uint32_t len);

/* Frees blocks that the inode maps; those of folders and links are revoked in the log. */
int inode_free_blocks(struct task *t, struct ek_inode *inode, ek_pblk pblk, uint32_t len);

/* Frees one metadata block of the inode: revoked in the log, dropped from the cache.  The reference
 * on buf (may be NULL) is consumed. */
int inode_free_metadata(struct task *t, struct ek_inode *inode, struct buf *buf, ek_pblk pblk);

/* A delayed-allocation reservation of clusters: -ENOSPC (with the shortage) or 0. */
int inode_reserve(struct task *t, struct ek_inode *inode, uint64_t clusters);
/* Gives back a reservation that was never allocated. */
void inode_release(struct task *t, struct ek_inode *inode, uint64_t clusters);
/* Blocks of a reservation were allocated: the claim charges i_blocks and marks the inode once. */
int inode_claim(struct task *t, struct ek_inode *inode, uint64_t clusters);

#endif

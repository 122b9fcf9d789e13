/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clusters of files (bigalloc).  Space is given out in clusters of 2^cluster_bits blocks, mapped in
 * blocks: a cluster of a file has one place on the disk, whichever of its blocks are mapped.
 *
 * Two rules follow.  A cluster belongs to the file as long as one of its blocks is mapped.  It is
 * reserved, once, as long as some of its blocks are delayed and none is mapped.
 */
#ifndef FS_CLUSTER_H
#define FS_CLUSTER_H

#include "fs/inode.h"
#include "ondisk/extent.h"

struct ext_path;

static inline bool has_clusters(const struct ek_inode *inode)
{
	return inode->img->geom.cluster_bits != 0;
}

/* 1 when a block of lblk's cluster is mapped, 0 when none is. */
int cluster_mapped(struct ek_inode *inode, ek_lblk lblk);

/* Any block of the cluster is delayed. */
bool cluster_delayed(struct ek_inode *inode, ek_lblk lblk);

/* Clusters with delayed blocks among those that [lblk, lblk + len) touches. */
uint32_t clusters_delayed(struct ek_inode *inode, ek_lblk lblk, uint32_t len);

/* Reservations that [lblk, lblk + len) needs when it becomes delayed; nothing of it is mapped or
 * delayed. */
int clusters_wanted(struct ek_inode *inode, ek_lblk lblk, uint32_t len, uint32_t *ret);

/* Reservations that end when [lblk, lblk + len) is not delayed any more. */
int clusters_given_up(struct ek_inode *inode, ek_lblk lblk, uint32_t len, uint64_t *ret);

/* The place of lblk, to which p leads and which is a hole, in a cluster that is mapped already: 1
 * with the place, and the length of the hole in the cluster; 0 when the cluster has none. */
int cluster_place(struct ek_inode *inode, const struct ext_path *p, ek_lblk lblk, ek_pblk *ret,
		  uint32_t *len);

/* -EUCLEAN for a file with pointers in a filesystem with clusters, which has none. */
int cluster_no_pointers(struct ek_inode *inode);

/* -EUCLEAN for an extent that does not lie in clusters of the disk as in those of the file. */
int cluster_check(struct ek_inode *inode, const struct extent *e);

#endif

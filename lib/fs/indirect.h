/* SPDX-License-Identifier: BSD-2-Clause */
/* Files mapped by block pointers: twelve direct ones, then trees of one, two and three levels. */
#ifndef FS_INDIRECT_H
#define FS_INDIRECT_H

struct ek_inode;
struct map;

/* The run at m->lblk, at most m->len: where the blocks lie, one after the other, or a hole.
 * -EUCLEAN for a pointer that leads out of the filesystem or into its metadata. */
int ind_lookup(struct ek_inode *inode, struct map *m);

#endif

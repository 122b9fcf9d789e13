/* SPDX-License-Identifier: BSD-2-Clause */
/* The hidden file of orphans: opening it, and making its blocks. */
#ifndef FS_ORPHAN_FILE_H
#define FS_ORPHAN_FILE_H

#include <stddef.h>
#include <stdint.h>

struct ek_image;
struct ek_inode;
struct geom;
struct task;
struct verifier;

/* Reads the slots; nothing to do without the feature. */
int orphan_file_open(struct task *t);
void orphan_file_close(struct ek_image *img);
/* The inodes that are orphans on disk; ino is the caller's to free, also after a failure.  Slots of
 * the file count when it is open. */
struct orphan_numbers {
	uint32_t *ino;
	size_t count, cap;
};
int orphan_numbers(struct task *t, struct orphan_numbers *ret);

/* Puts the inode's number into a free slot: 1, or 0 when there is none; and takes it out again. */
int orphan_file_add(struct task *t, struct ek_inode *inode);
int orphan_file_remove(struct task *t, struct ek_inode *inode);
/* Slots to look at, 0 when none is in use, and what one of them holds (0: nothing). */
uint32_t orphan_file_slots(const struct ek_image *img);
int orphan_file_read(struct task *t, uint32_t slot, uint32_t *ret);

/* Slots in use. */
uint32_t orphan_file_used(const struct ek_image *img);

/* An empty block of the file, and how such blocks are verified and sealed. */
void orphan_block_init(const struct geom *g, uint8_t *data);
const struct verifier *orphan_block_verifier(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data of regular files without a page cache: read through the map, written next to it, in runs as
 * large as the extents are.
 */
#ifndef FS_FILE_H
#define FS_FILE_H

#include <stddef.h>
#include <stdint.h>

struct ek_inode;
struct task;

/* Up to len bytes at off, fewer at the end of the file only; holes and unwritten blocks are
 * zeros. */
int file_read(struct task *t, struct ek_inode *inode, uint64_t off, void *buf, size_t len,
	      size_t *ret);

/* First byte at or after off that may not be zero, the file's size when there is none. */
int file_next_data(struct task *t, struct ek_inode *inode, uint64_t off, uint64_t *ret);

/* The end of the data that begin at off: the next byte at or after it that reads as zero, or the
 * file's size. */
int file_next_hole(struct task *t, struct ek_inode *inode, uint64_t off, uint64_t *ret);

/* Blocks for bytes [off, off + len) of a file that nobody can see yet; off is a multiple of the
 * block size and nothing is there.  One transaction for each extent, then the bytes: *ret_run of
 * them (a whole number of blocks, or up to the end) belong at *ret_pos of the device.  Their old
 * contents are what they were, so they must be written before the file gets a name.  The size of
 * the file grows with them.  Without space, and without a handle of the caller's, what runs is
 * committed for the blocks that it has freed, as the kernel does, and they are asked for again. */
int file_extend(struct task *t, struct ek_inode *inode, uint64_t off, uint64_t len,
		uint64_t *ret_pos, uint64_t *ret_run);

#endif

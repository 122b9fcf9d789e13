/* SPDX-License-Identifier: BSD-2-Clause */
/* One inode of an image becomes one of the host, below an open folder and never elsewhere. */
#ifndef TREE_HOST_H
#define TREE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ek_inode;
struct ek_stat;

/* The folder that holds path (relative, "a/b/c": a/b) below root, as a new descriptor; negative
 * errno.  No link, mount point or ".." is gone through.  *name gets the last part. */
int host_parent(int root, const char *path, const char **name);

/* Copies the file's data to fd, which is empty; holes stay holes.  buf has cap bytes. */
int host_copy(struct ek_inode *inode, uint64_t size, int fd, void *buf, size_t cap);

/* Owner, attributes, mode and times, in the order in which none undoes another.  flags: enum
 * ek_export_flag.  fd is an open file or folder. */
int host_finish(struct ek_inode *inode, const struct ek_stat *st, int fd, unsigned flags);

#endif

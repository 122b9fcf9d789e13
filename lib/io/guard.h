/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who else uses a file or block device: asked before writing to it.
 *
 * The answers come from /proc, /sys and, where /sys is missing, the loop devices in /dev; where
 * none is there nothing is found.  For block devices they only explain what O_EXCL has refused, or
 * catch what O_EXCL does not know; for regular files, on which O_EXCL says nothing, they are all
 * there is.
 */
#ifndef IO_GUARD_H
#define IO_GUARD_H

#include <sys/stat.h>

struct diag;
struct str;

/* Whether the block device or regular file that st describes is mounted (itself, or one of its
 * partitions), swapped to, held by another block device, or the backing file of a loop device.
 * Returns 1 and appends how to why, for example "mounted on /srv", or 0. */
int guard_busy(const struct stat *st, struct str *why);

/* Locks the regular file fd for writing until it is closed.  -EBUSY, told to d, when another open
 * of the file holds the lock; 0 also on file systems that have no locks. */
int guard_lock(int fd, const char *name, struct diag *d);

#endif

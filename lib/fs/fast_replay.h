/* SPDX-License-Identifier: BSD-2-Clause */
/* Applying fast commits to an image whose ordinary log has been recovered. */
#ifndef FS_FAST_REPLAY_H
#define FS_FAST_REPLAY_H

struct fast_log;
struct task;

/* Applies every record of log in one transaction of the image's journal, which the caller commits
 * by closing it, or gives up by killing it.  Needs img->mb.  -EUCLEAN when a record contradicts the
 * image, -EOPNOTSUPP for ranges of inodes that have no extents, -ENOSPC when the transaction would
 * be larger than the log allows. */
int fast_replay(struct task *t, const struct fast_log *log);

#endif

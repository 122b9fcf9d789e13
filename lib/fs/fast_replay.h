/* SPDX-License-Identifier: BSD-2-Clause */
/* Applying fast commits to an image whose ordinary log has been recovered. */
#ifndef FS_FAST_REPLAY_H
#define FS_FAST_REPLAY_H

struct fast_log;
struct task;

/* Applies every record of log in the first transaction of the image's journal, which the caller
 * commits by closing it, or gives up by killing it; when the log is too small, in steps before it
 * that are committed and home, with the fast commits still in force.  Needs img->mb.  -EUCLEAN when
 * a record contradicts the image, -EOPNOTSUPP when a single one changes more than a log holds. */
int fast_replay(struct task *t, const struct fast_log *log);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mount guard of filesystems with mmp: whoever writes says so in one block, and whoever finds
 * another writer there keeps out.
 */
#ifndef FS_GUARD_H
#define FS_GUARD_H

#include "fs/image.h"

/* Before the first write: -EBUSY with host and device when the filesystem is in use elsewhere.  A
 * guard that stands still is waited for, like a mount does: twice its interval and a second. */
int guard_take(struct ek_image *img);

/* After the last write. */
int guard_release(struct ek_image *img);

#endif

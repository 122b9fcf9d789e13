/* SPDX-License-Identifier: BSD-2-Clause */
/* Folders for callers within the library that have the session already. */
#ifndef FS_LISTING_H
#define FS_LISTING_H

#include <stdint.h>

#include "fs/dir.h"

struct ek_dir;
struct task;

/* As ek_dir_next: 1 with the next entry but "." and "..", whose name lies in the folder's block and
 * is valid until the next call; 0 at the end; what it ended with for ever after. */
int listing_next(struct task *t, struct ek_dir *dir, struct dirent *ret);

/* The type bits of a mode that an entry tells; 0: unknown. */
uint32_t listing_mode(enum dirent_type type);

#endif

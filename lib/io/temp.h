/* SPDX-License-Identifier: BSD-2-Clause */
/* A new file beside the place it is for, and the folder of both. */
#ifndef IO_TEMP_H
#define IO_TEMP_H

#include <sys/types.h>

/* Makes an empty file that only we know: path, a dot and six letters, to be renamed to path when it
 * is whole.  mode is that of stat(2), of a file that it replaces, or 0 for what open(2) gives a new
 * one, by the umask and the folder.  Returns a descriptor to read and write it, with *ret to be
 * freed, or -errno. */
int temp_make(const char *path, mode_t mode, char **ret);

/* What names there are in the folder of path is on the disk. */
int temp_sync_folder(const char *path);

#endif

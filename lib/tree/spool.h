/* SPDX-License-Identifier: BSD-2-Clause */
/* Contents that wait on the host until they are wanted, in a file without a name. */
#ifndef TREE_SPOOL_H
#define TREE_SPOOL_H

#include <stddef.h>
#include <stdint.h>

struct diag;

#define SPOOL_UNKNOWN UINT64_MAX

/* A descriptor, which the caller closes, or a negative errno, told to d.  size is what will wait
 * there: little waits in memory, more or SPOOL_UNKNOWN in TMPDIR where that is possible. */
int spool_open(uint64_t size, struct diag *d);

/* The same in that folder, where that is possible, or with NULL in memory. */
int spool_open_in(const char *folder, struct diag *d);

/* All of len bytes at off, or an error. */
int spool_write(int fd, uint64_t off, const void *buf, size_t len, struct diag *d);
int spool_read(int fd, uint64_t off, void *buf, size_t len, struct diag *d);

#endif

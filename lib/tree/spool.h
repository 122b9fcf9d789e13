/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contents that wait on the host until they are wanted, in a file without a name.  Where the host
 * gives no file they wait in memory, of which they get SPOOL_MEMORY.
 */
#ifndef TREE_SPOOL_H
#define TREE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diag;

#define SPOOL_UNKNOWN UINT64_MAX
#define SPOOL_MEMORY  ((uint64_t)64 << 20)

struct spool {
	int fd; /* -1: not open */
	bool in_memory;
	uint64_t left; /* bytes that memory may take yet */
	int why;       /* negative errno: no folder gave a file */
};

#define SPOOL_NONE ((struct spool){.fd = -1})

/* size is what will wait there, at most: little waits in memory, more or SPOOL_UNKNOWN in TMPDIR.
 * s->fd is the caller's to close; spool_close does that. */
int spool_open(struct spool *s, uint64_t size, struct diag *d);

/* The same in that folder if it takes files, else in TMPDIR. */
int spool_open_in(struct spool *s, const char *folder, struct diag *d);

/* Accepts what is not open. */
void spool_close(struct spool *s);

/* All of len bytes at off, or an error. */
int spool_write(struct spool *s, uint64_t off, const void *buf, size_t len, struct diag *d);
int spool_read(int fd, uint64_t off, void *buf, size_t len, struct diag *d);

#endif

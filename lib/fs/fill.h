/* SPDX-License-Identifier: BSD-2-Clause */
/* The contents of a file that nobody can see yet. */
#ifndef FS_FILL_H
#define FS_FILL_H

#include <stdint.h>

struct ek_inode;
struct task;

/* Where the bytes come from. */
struct source {
	int fd;
	const uint8_t *bytes; /* instead of fd */
	uint64_t len;         /* of bytes */
};

/* Gives the empty inode blocks and the source's bytes, in runs as large as both allow, and its
 * size. Reports progress on the session's context. */
int fill_file(struct task *t, struct ek_inode *inode, const struct source *src);

#endif

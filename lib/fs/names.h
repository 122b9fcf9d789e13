/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cache of names: what a folder answered when it was last asked, found or not found.  An answer
 * holds as long as the folder's entries do not change (ek_inode.seq) and the folder stays in
 * memory.
 */
#ifndef FS_NAMES_H
#define FS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <extkit/types.h>

struct diag;
struct ek_inode;
struct names;

int names_open(struct diag *d, struct names **ret);
void names_close(struct names *n);

/* 1 and the inode, 0 for a name that is known not to be there, -ENOENT when nothing is known. */
int names_find(const struct names *n, const struct ek_inode *dir, const char *name, uint32_t len,
	       ek_inum *ret);

/* What the index of a folder hashes the name to, by a version of the hash; the last answer is kept:
 * whoever looks for a name before he adds it needs it twice. */
int names_hash(struct names *n, const uint32_t seed[4], unsigned version, const char *name,
	       uint32_t len, uint32_t *ret);

/* ino 0: the name is not there. */
void names_note(struct names *n, const struct ek_inode *dir, const char *name, uint32_t len,
		ek_inum ino);

#endif

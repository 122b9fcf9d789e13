/* SPDX-License-Identifier: BSD-2-Clause */
/* Inodes as rows of a table, for verbs that list them.  JSON rows have all columns. */
#ifndef CMDS_ENTRY_H
#define CMDS_ENTRY_H

#include <stdbool.h>

#include "extkit/inode.h"

struct run;

enum entry_flag {
	ENTRY_INODE = 1 << 0,   /* its number first */
	ENTRY_LONG = 1 << 1,    /* mode, links, owner, group, size, time */
	ENTRY_CONTEXT = 1 << 2, /* security.selinux */
	ENTRY_PATH = 1 << 3     /* the whole path rather than the name */
};

/* Opens the table. */
void entry_table(struct run *run, unsigned flags);

/* One row.  name (len bytes) is what text shows, path what JSON has.  inode may be NULL: what is
 * not known shows as "?" and null.  Returns 0, or the negative errno of a link or attribute that
 * could not be read; the row is whole nevertheless. */
int entry_row(struct run *run, unsigned flags, struct ek_inode *inode, ek_inum ino,
	      const char *path, size_t len);

/* "file", "folder", ...: a constant English word for the type bits of mode. */
const char *entry_type(uint32_t mode);

#endif

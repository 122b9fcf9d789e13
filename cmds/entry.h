/* SPDX-License-Identifier: BSD-2-Clause */
/* Inodes as rows of a table, for verbs that list them.  JSON rows have all columns. */
#ifndef CMDS_ENTRY_H
#define CMDS_ENTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "extkit/inode.h"

struct run;

enum entry_flag {
	ENTRY_INODE = 1 << 0,   /* its number first */
	ENTRY_LONG = 1 << 1,    /* mode, links, owner, group, size, time */
	ENTRY_CONTEXT = 1 << 2, /* security.selinux */
	ENTRY_PATH = 1 << 3     /* the whole path rather than the name */
};

/* A path in two pieces, joined by a slash where one is needed. */
struct entry_path {
	const char *base; /* terminated */
	const char *below;
	size_t len; /* of below; 0: base alone */
};

/* Opens the table. */
void entry_table(struct run *run, unsigned flags);

/* One row; text shows the path or its last name, as flags say.  inode may be NULL: what is not
 * known shows as "?" and null.  Returns 0, or the negative errno of a link or attribute that could
 * not be read; the row is whole nevertheless, but for -ENOMEM.  A row may be shown later, by a
 * thread: until entry_end nobody else may write to run->out. */
int entry_row(unsigned flags, struct ek_inode *inode, ek_inum ino, const struct entry_path *path);

/* Returns when every row is shown; more may follow. */
void entry_end(void);

/* "file", "folder", ...: a constant English word for the type bits of mode. */
const char *entry_type(uint32_t mode);

#endif

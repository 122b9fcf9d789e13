/* SPDX-License-Identifier: BSD-2-Clause */
/* Side files that say by path what entries are given. */
#ifndef TREE_FILTER_FILES_H
#define TREE_FILTER_FILES_H

#include "tree/source.h"
#include "tree/xattrs.h"

struct side_files;

/* Reads those that are not NULL; -EINVAL with the file and line. */
int side_open(const char *contexts, const char *xattrs, const char *config, struct diag *d,
	      struct side_files **ret);
void side_close(struct side_files *s);

/* Changes *e; its attributes are l's then, if they were changed. */
int side_apply(struct side_files *s, struct tree_entry *e, struct xattr_list *l);

#endif

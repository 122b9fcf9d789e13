/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of attributes, sorted by name, as entries carry them. */
#ifndef TREE_XATTRS_H
#define TREE_XATTRS_H

#include <stddef.h>

#include "extkit/inode.h"

struct xattr_list {
	struct ek_xattr *v;
	size_t n, cap;
	char *names; /* scratch for the host's list */
	size_t names_cap;
};

/* Forgets the attributes, not the memory of the list itself. */
void xattr_list_clear(struct xattr_list *l);
void xattr_list_free(struct xattr_list *l);

/* Adds a copy, or replaces the one of that name; -ENOMEM. */
int xattr_list_set(struct xattr_list *l, const char *name, const void *value, size_t len);

/* All that the host tells of path, the last part of which is not followed. */
int xattr_list_host(struct xattr_list *l, const char *path);

#endif

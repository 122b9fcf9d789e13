/* SPDX-License-Identifier: BSD-2-Clause */
/* What gather.c and gather_names.c share. */
#ifndef TREE_GATHER_IMPL_H
#define TREE_GATHER_IMPL_H

#include "base/check.h"
#include "tree/gather.h"

static inline struct gather_node *gather_node_of(struct build_inode *i)
{
	return container_of(i, struct gather_node, i);
}

/* "refused: 'PATH': WHY"; rc. */
int gather_refuse(struct gather *g, int rc, const char *path, const char *why);

/* A new inode of the current source, with the times of now; NULL without memory. */
struct gather_node *gather_node(struct gather *g, uint32_t mode);

/* The name in the folder, or NULL. */
struct build_name *gather_find(struct gather *g, const struct build_inode *dir, const char *name,
			       size_t len);
/* A further name of the node in a folder that has none such. */
int gather_name(struct gather *g, struct build_inode *dir, const char *name, size_t len,
		struct gather_node *node);

/* The folder that holds the last part of path, which *name points to, with folders on the way that
 * no entry told of. */
int gather_parent(struct gather *g, const char *path, struct build_inode **ret, const char **name);
/* What path leads to, or NULL. */
struct build_name *gather_path(struct gather *g, const char *path);

#endif

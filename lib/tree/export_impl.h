/* SPDX-License-Identifier: BSD-2-Clause */
/* An export under way, as its passes share it. */
#ifndef TREE_EXPORT_IMPL_H
#define TREE_EXPORT_IMPL_H

#include "base/hash.h"
#include "extkit/export.h"

struct ek_image;

#define EXPORT_PIECE ((size_t)1 << 20) /* of export.piece; holds any link target too */

struct later {
	ek_inum ino;
	char *path;
};

struct list_of_later {
	struct later *v;
	size_t n, cap;
};

/* The first name of a file that has several. */
struct first_name {
	struct hash_node node;
	char path[];
};

struct export
{
	struct ek_image *img;
	struct ek_export_options opt;
	struct ek_export_report *rep;
	struct ek_export_issue *issues;
	size_t issues_cap;
	int root, parent; /* parent: of what was made last, or -1; export_parent's */
	char *parent_path;
	uint64_t entries;
	struct list_of_later links, folders;
	struct hash names;
	uint8_t *piece; /* EXPORT_PIECE bytes */
};

/* A row of the report; what is too much for it is counted. */
void export_issue(struct export *x, unsigned kind, int error, const char *path, const char *why);

/* The failure that a call returned: its story from the context, or the host's word for it. */
void export_failed(struct export *x, int error, const char *path);

/* For a later pass; path is copied. */
int export_remember(struct list_of_later *l, ek_inum ino, const char *path);

/* The folder of the tree that path is in, as host_parent; open until the next call or
 * export_leave_parent: things that are made one after another are mostly in one. */
int export_parent(struct export *x, const char *path, const char **name);
void export_leave_parent(struct export *x);

/* Passes 2 and 3. */
void export_links(struct export *x);
void export_folders(struct export *x);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of a gathered tree: one table of all of them, keyed by folder and name, and the walks of
 * paths through it.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/escape.h"
#include "base/mem.h"
#include "tree/gather_impl.h"

int gather_refuse(struct gather *g, int rc, const char *path, const char *why)
{
	char shown[200];

	return diag_set(g->diag, rc, "refused: '%s': %s",
			escape_to(shown, sizeof(shown), path, strlen(path)), why);
}

/* ---- names ---- */

static uint64_t key_of(const struct gather *g, const struct build_inode *dir, const char *name,
		       size_t len)
{
	return hash_seeded(g->secret ^ (uint64_t)(uintptr_t)dir, name, len);
}

struct build_name *gather_find(struct gather *g, const struct build_inode *dir, const char *name,
			       size_t len)
{
	uint64_t key = key_of(g, dir, name, len);

	for (struct hash_node *n = hash_find(&g->names, key); n != NULL; n = n->next) {
		struct build_name *x = hash_entry(n, struct build_name, node);

		if (x->dir == dir && x->len == len && memcmp(x->name, name, len) == 0)
			return x;
	}
	return NULL;
}

struct gather_node *gather_node(struct gather *g, uint32_t mode)
{
	struct gather_node *n = arena_take(&g->memory, sizeof(*n));

	if (n == NULL)
		return NULL;
	n->i.mode = mode;
	n->source = g->source;
	n->i.atime = n->i.mtime = n->i.ctime = n->i.crtime = g->now;
	n->next_made = g->made;
	g->made = n;
	return n;
}

int gather_name(struct gather *g, struct build_inode *dir, const char *name, size_t len,
		struct gather_node *node)
{
	struct build_name *x = arena_take(&g->memory, sizeof(*x) + len + 1);

	if (x == NULL ||
	    mem_grow((void **)&dir->names, &dir->names_cap, (size_t)dir->nnames + 1, sizeof(x)) < 0)
		return diag_set(g->diag, -ENOMEM, "out of memory for the tree");
	x->dir = dir;
	x->inode = &node->i;
	x->len = (uint8_t)len;
	memcpy(x->name, name, len);
	dir->names[dir->nnames++] = x;
	hash_insert(&g->names, &x->node, key_of(g, dir, name, len));
	node->names++;
	if (S_ISDIR(node->i.mode))
		node->i.parent = dir;
	return 0;
}

/* ---- paths ---- */

/* The folder that holds the last part of path, with folders on the way that no entry told of. */
static int walk_to_parent(struct gather *g, const char *path, struct build_inode **ret)
{
	struct build_inode *dir = &g->root->i;
	const char *slash;

	for (; (slash = strchr(path, '/')) != NULL; path = slash + 1) {
		size_t len = (size_t)(slash - path);
		struct build_name *x = gather_find(g, dir, path, len);

		if (x == NULL) {
			struct gather_node *n = gather_node(g, S_IFDIR | 0755);
			int rc = n == NULL ? -ENOMEM : gather_name(g, dir, path, len, n);

			if (rc < 0)
				return rc;
			n->implied = true;
			dir = &n->i;
			continue;
		}
		if (!S_ISDIR(x->inode->mode))
			return gather_refuse(g, -ENOTDIR, path, "it lies below what is no folder");
		dir = x->inode;
	}
	*ret = dir;
	return 0;
}

/* Without memory the next entry walks too. */
static void note_parent(struct gather *g, const char *path, size_t len, struct build_inode *dir)
{
	g->parent.dir = NULL;
	if (mem_grow((void **)&g->parent.path, &g->parent.cap, len + 1, 1) < 0)
		return;
	memcpy(g->parent.path, path, len);
	g->parent.len = len;
	g->parent.dir = dir;
}

int gather_parent(struct gather *g, const char *path, struct build_inode **ret, const char **name)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash != NULL ? (size_t)(slash - path) : 0;
	int rc;

	*name = slash != NULL ? slash + 1 : path;
	if (g->parent.dir != NULL && g->parent.len == len &&
	    memcmp(g->parent.path, path, len) == 0) {
		*ret = g->parent.dir;
		return 0;
	}
	rc = walk_to_parent(g, path, ret);
	if (rc == 0)
		note_parent(g, path, len, *ret);
	return rc;
}

struct build_name *gather_path(struct gather *g, const char *path)
{
	struct build_inode *dir = &g->root->i;
	struct build_name *x = NULL;

	while (*path != '\0') {
		size_t len = strcspn(path, "/");

		if (x != NULL)
			dir = x->inode;
		x = gather_find(g, dir, path, len);
		if (x == NULL)
			return NULL;
		path += len + (path[len] == '/');
	}
	return x;
}

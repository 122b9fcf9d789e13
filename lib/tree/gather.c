/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One tree out of the entries of several sources.  A name that comes again from a later source
 * replaces the earlier one; folders are joined.  A further name of an inode must come behind the
 * first.
 */
#include "tree/gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/escape.h"
#include "base/mem.h"
#include "tree/gather_impl.h"

/* Seconds that 34 bits with a bias hold, and those of inodes without the extra bits. */
#define TIME_MIN      (-2147483648ll)
#define TIME_MAX      15032385535ll
#define TIME_MAX_SLIM 2147483647ll

/* ---- replacing ---- */

/* The name goes: with it an inode that has no other, and all that is below a folder.  The struct
 * stays in its folder's row without an inode until gather_finish. */
static int drop_name(struct gather *g, struct build_name *x)
{
	struct gather_node *n = gather_node_of(x->inode);
	int rc = 0;

	hash_remove(&g->names, &x->node);
	x->inode = NULL;
	g->parent.dir = NULL;
	if (--n->names != 0)
		return 0;
	for (uint32_t i = 0; i < n->i.nnames && rc == 0; i++) {
		if (n->i.names[i]->inode != NULL)
			rc = drop_name(g, n->i.names[i]);
	}
	if (n->has_contents && rc == 0)
		rc = build_forget(g->b, &n->i);
	n->has_contents = false;
	return rc;
}

/* The name that the entry takes is free afterwards, or a folder that the entry describes anew. */
static int make_way(struct gather *g, const struct tree_source *s, const struct tree_entry *e,
		    struct build_name *x)
{
	struct gather_node *old = gather_node_of(x->inode);
	bool both = S_ISDIR(old->i.mode) && S_ISDIR(e->mode) && e->link == NULL;
	bool again = old->source == g->source && !old->implied;

	if (again && s->strict)
		return gather_refuse(g, -EEXIST, e->path, "it is there already");
	if (both)
		return 0;
	if (old->source == g->source && (S_ISDIR(old->i.mode) || S_ISDIR(e->mode)))
		return gather_refuse(g, -EEXIST, e->path, "it is there already, as something else");
	return drop_name(g, x);
}

/* ---- attributes ---- */

void gather_times(const struct gather *g, int64_t *least, int64_t *most)
{
	*least = TIME_MIN;
	*most = build_inode_size(g->b) > 128 ? TIME_MAX : TIME_MAX_SLIM;
}

static int check_time(struct gather *g, const char *path, const struct ek_time *t)
{
	int64_t least, most;
	char shown[160];

	gather_times(g, &least, &most);
	if (t->sec >= least && t->sec <= most)
		return 0;
	return diag_set(g->diag, -ERANGE,
			"time out of range: '%s': %lld seconds, from %lld to %lld can be kept",
			escape_to(shown, sizeof(shown), path, strlen(path)), (long long)t->sec,
			(long long)least, (long long)most);
}

static int check_entry(struct gather *g, const struct tree_entry *e)
{
	const struct ek_time *times[] = {&e->mtime, e->has_atime ? &e->atime : NULL,
					 e->has_ctime ? &e->ctime : NULL,
					 e->has_crtime ? &e->crtime : NULL};
	size_t target = S_ISLNK(e->mode) && e->target != NULL ? strlen(e->target) : 1;

	for (unsigned i = 0; i < ARRAY_SIZE(times); i++) {
		int rc = times[i] != NULL ? check_time(g, e->path, times[i]) : 0;

		if (rc < 0)
			return rc;
	}
	if (target == 0 || target >= build_block_size(g->b))
		return gather_refuse(g, -ENAMETOOLONG, e->path,
				     "the target of the link is empty or does not fit a block");
	return 0;
}

static void set_numbers(struct gather *g, struct build_inode *i, const struct tree_entry *e)
{
	i->mode = e->mode;
	i->uid = e->uid;
	i->gid = e->gid;
	i->project = e->project;
	i->flags = e->flags;
	i->dev_major = e->dev_major;
	i->dev_minor = e->dev_minor;
	i->mtime = e->no_mtime ? g->now : e->mtime;
	i->atime = e->has_atime ? e->atime : i->mtime;
	i->ctime = e->has_ctime ? e->ctime : g->now;
	i->crtime = e->has_crtime ? e->crtime : g->now;
}

static int set_attributes(struct gather *g, struct gather_node *n, const struct tree_entry *e)
{
	struct build_xattrs *set = NULL;
	int rc = build_xattrs(g->b, e->xattrs, e->nxattrs, e->path, &set);

	if (rc < 0)
		return rc;
	if (S_ISLNK(e->mode)) {
		n->i.target = strdup(e->target);
		if (n->i.target == NULL)
			return diag_set(g->diag, -ENOMEM, "out of memory for the tree");
	}
	set_numbers(g, &n->i, e);
	n->i.xattrs = set;
	n->source = g->source;
	n->implied = false;
	return 0;
}

/* ---- entries ---- */

static int add_link(struct gather *g, const struct tree_source *s, const struct tree_entry *e,
		    struct gather_node **ret)
{
	struct build_name *first = gather_path(g, e->link), *x;
	struct gather_node *target = first != NULL ? gather_node_of(first->inode) : NULL;
	struct build_inode *dir;
	const char *name;
	int rc;

	if (target == NULL || S_ISDIR(target->i.mode))
		return gather_refuse(g, -ENOENT, e->path,
				     target == NULL
					 ? "the file it is another name of did not come before it"
					 : "it would be another name of a folder");
	rc = gather_parent(g, e->path, &dir, &name);
	x = rc == 0 ? gather_find(g, dir, name, strlen(name)) : NULL;
	if (x == first)
		return 0;
	target->names++; /* it stays when its other names go with a folder of this name */
	if (x != NULL)
		rc = make_way(g, s, e, x);
	if (rc == 0)
		rc = gather_name(g, dir, name, strlen(name), target);
	target->names--;
	if (rc == 0 && e->has_contents && e->size != 0 && !target->has_contents &&
	    S_ISREG(target->i.mode)) {
		target->i.size = e->size;
		*ret = target;
	}
	return rc;
}

static int add_inode(struct gather *g, const struct tree_source *s, const struct tree_entry *e,
		     struct gather_node **ret)
{
	struct build_inode *dir;
	struct build_name *x;
	struct gather_node *n;
	const char *name;
	int rc = gather_parent(g, e->path, &dir, &name);

	if (rc < 0)
		return rc;
	x = gather_find(g, dir, name, strlen(name));
	if (x != NULL) {
		rc = make_way(g, s, e, x);
		x = rc == 0 ? gather_find(g, dir, name, strlen(name)) : NULL;
	}
	if (rc < 0)
		return rc;
	if (x != NULL)
		return set_attributes(g, gather_node_of(x->inode), e);
	n = gather_node(g, e->mode);
	rc = n == NULL ? -ENOMEM : set_attributes(g, n, e);
	if (rc == 0)
		rc = gather_name(g, dir, name, strlen(name), n);
	if (rc == 0 && S_ISREG(e->mode)) {
		n->i.size = e->size;
		if (e->size != 0)
			*ret = n;
	}
	return rc;
}

int gather_add(struct gather *g, const struct tree_source *s, const struct tree_entry *e,
	       struct gather_node **ret)
{
	int rc;

	*ret = NULL;
	if (*e->path == '\0' && (e->link != NULL || !S_ISDIR(e->mode)))
		return gather_refuse(g, -ENOTDIR, s->name, "the start of the tree is no folder");
	if (e->link != NULL)
		return add_link(g, s, e, ret);
	rc = check_entry(g, e);
	if (rc < 0)
		return rc;
	return *e->path != '\0' ? add_inode(g, s, e, ret) : set_attributes(g, g->root, e);
}

int gather_drop(struct gather *g, const char *path)
{
	struct build_name *x = gather_path(g, path);

	return x != NULL ? drop_name(g, x) : 0;
}

int gather_begin(struct gather *g)
{
	g->secret = hash_seed();
	g->root = gather_node(g, S_IFDIR | 0755);
	if (g->root == NULL)
		return diag_set(g->diag, -ENOMEM, "out of memory for the tree");
	g->root->names = 1;
	g->root->implied = true;
	return 0;
}

int gather_lost_found(struct gather *g, uint32_t blocks, struct build_inode **ret)
{
	struct build_name *x = gather_find(g, &g->root->i, "lost+found", 10);
	struct gather_node *n;
	int rc;

	if (x != NULL) {
		*ret = S_ISDIR(x->inode->mode) ? x->inode : NULL;
		if (*ret != NULL)
			(*ret)->min_blocks = blocks;
		return 0;
	}
	n = gather_node(g, S_IFDIR | 0700);
	rc = n == NULL ? -ENOMEM : gather_name(g, &g->root->i, "lost+found", 10, n);
	if (rc == 0) {
		n->i.min_blocks = blocks;
		*ret = &n->i;
	}
	return rc;
}

/* ---- the list ---- */

static int by_name(const void *a, const void *b)
{
	const struct build_name *x = *(struct build_name *const *)a;
	const struct build_name *y = *(struct build_name *const *)b;
	int order = memcmp(x->name, y->name, MIN(x->len, y->len));

	return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

/* Names that were replaced go. */
static void tidy(struct build_inode *dir)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < dir->nnames; i++) {
		if (dir->names[i]->inode != NULL)
			dir->names[n++] = dir->names[i];
	}
	dir->nnames = n;
	if (n > 1)
		qsort(dir->names, n, sizeof(struct build_name *), by_name);
}

static int list_one(struct gather *g, struct build_inode *i)
{
	if (mem_grow((void **)&g->list, &g->cap, (size_t)g->n + 1, sizeof(struct build_inode *)) <
	    0)
		return diag_set(g->diag, -ENOMEM, "out of memory for the tree");
	g->list[g->n++] = i;
	return 0;
}

/* Folder by folder, each with all its files: who lists a folder reads neighbours. */
int gather_finish(struct gather *g)
{
	int rc = list_one(g, &g->root->i);

	for (uint32_t at = 0; at < g->n && rc == 0; at++) {
		struct build_inode *dir = g->list[at];

		if (!S_ISDIR(dir->mode))
			continue;
		tidy(dir);
		for (uint32_t k = 0; k < dir->nnames && rc == 0; k++) {
			struct gather_node *n = gather_node_of(dir->names[k]->inode);

			if (n->source != UINT32_MAX) {
				n->source = UINT32_MAX; /* listed */
				rc = list_one(g, &n->i);
			}
		}
	}
	return rc;
}

void gather_end(struct gather *g)
{
	for (struct gather_node *n = g->made; n != NULL; n = n->next_made) {
		free(n->i.names);
		build_free_runs(&n->i);
		free(n->i.target);
		free(n->i.contents);
	}
	arena_end(&g->memory);
	hash_free(&g->names);
	free(g->parent.path);
	free(g->list);
}

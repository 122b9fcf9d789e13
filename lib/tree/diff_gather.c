/* SPDX-License-Identifier: BSD-2-Clause */
/* The first tree of a comparison: its entries by path. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/diag.h"
#include "base/mem.h"
#include "tree/diff_impl.h"

#define MAX_RANGES ((size_t)1 << 22)

uint64_t diff_key(const struct diff *d, const char *path, size_t len)
{
	return hash_seeded(d->secret, path, len);
}

struct diff_node *diff_find_part(const struct diff *d, const char *path, size_t len)
{
	uint64_t key = diff_key(d, path, len);

	for (struct hash_node *h = hash_find(&d->names, key); h != NULL; h = h->next) {
		struct diff_node *n = hash_entry(h, struct diff_node, node);

		if (h->key == key && strncmp(n->e.path, path, len) == 0 && n->e.path[len] == '\0')
			return n;
	}
	return NULL;
}

struct diff_node *diff_find(const struct diff *d, const char *path)
{
	return diff_find_part(d, path, strlen(path));
}

static int by_path(const void *x, const void *y)
{
	const struct diff_node *const *a = x, *const *b = y;

	return strcmp((*a)->e.path, (*b)->e.path);
}

void diff_sort(struct diff_node **list, size_t n)
{
	if (n != 0)
		qsort(list, n, sizeof(void *), by_path);
}

static void free_node(struct diff_node *n)
{
	free((char *)(uintptr_t)n->e.path);
	free((char *)(uintptr_t)n->e.target);
	free(n->data);
	xattr_list_free(&n->xattrs);
	free(n);
}

void diff_forget(struct diff *d)
{
	struct hash_node *h;
	size_t at = 0;

	while ((h = hash_pop(&d->names, &at)) != NULL)
		free_node(hash_entry(h, struct diff_node, node));
	hash_free(&d->names);
	spool_close(&d->spool);
}

/* ---- entries ---- */

static int copy_xattrs(struct diff_node *n, const struct tree_entry *e)
{
	int rc = 0;

	for (size_t i = 0; i < e->nxattrs && rc == 0; i++)
		rc = xattr_list_set(&n->xattrs, e->xattrs[i].name, e->xattrs[i].value,
				    e->xattrs[i].len);
	n->e.xattrs = n->xattrs.v;
	n->e.nxattrs = n->xattrs.n;
	return rc;
}

/* Inodes of a hostile image may share maps, so that many have far more ranges than it has blocks:
 * files beyond a number for all of them are read whole. */
static int copy_ranges(struct diff *d, struct diff_node *n, const struct tree_entry *e)
{
	size_t count = e->ndata;

	if (e->data == NULL || count > MAX_RANGES - d->nranges)
		return 0;
	n->data = malloc((count + 1) * sizeof(*n->data)); /* of nothing, when all is hole */
	if (n->data == NULL)
		return -ENOMEM;
	if (count != 0)
		memcpy(n->data, e->data, count * sizeof(*n->data));
	n->ndata = count;
	d->nranges += count;
	return 0;
}

static int make_node(struct diff *d, const struct tree_entry *e, struct diff_node **ret)
{
	struct diff_node *n = mem_zero(sizeof(*n));
	int rc = 0;

	if (n == NULL)
		return -ENOMEM;
	n->e = *e;
	n->inode = n;
	n->e.data = NULL;
	n->e.ndata = 0;
	n->e.path = strdup(e->path);
	n->e.target = e->target != NULL ? strdup(e->target) : NULL;
	n->e.link = NULL;
	n->e.xattrs = NULL;
	n->e.nxattrs = 0;
	if (n->e.path == NULL || (e->target != NULL && n->e.target == NULL))
		rc = -ENOMEM;
	if (rc == 0 && e->link != NULL) {
		struct diff_node *first = diff_find(d, e->link);

		n->inode = first != NULL ? first->inode : n;
	}
	if (rc == 0)
		rc = copy_xattrs(n, e);
	if (rc == 0)
		rc = copy_ranges(d, n, e);
	if (rc < 0) {
		free_node(n);
		return rc;
	}
	*ret = n;
	return 0;
}

/* A later entry of a path takes the place of the one before, as in a tree that is built. */
static void put_node(struct diff *d, struct diff_node *n)
{
	struct diff_node *old = diff_find(d, n->e.path);

	if (old != NULL && old->inode == old) {
		struct tree_entry e = old->e;
		struct xattr_list x = old->xattrs;

		old->e = n->e;
		old->xattrs = n->xattrs;
		old->spooled = n->spooled;
		free(old->data);
		old->data = n->data;
		old->ndata = n->ndata;
		n->data = NULL;
		n->e = e;
		n->xattrs = x;
		free_node(n);
		return;
	}
	if (old != NULL)
		old->met = true; /* and is none of the names any more */
	hash_insert(&d->names, &n->node, diff_key(d, n->e.path, strlen(n->e.path)));
}

int diff_gather(struct diff *d)
{
	struct ek_progress step = {.stage = "read names", .unit = "files"};
	struct tree_entry e;
	struct diff_node *n;
	int rc;

	while ((rc = d->a->ops->next(d->a, &e)) == 1) {
		rc = make_node(d, &e, &n);
		if (rc < 0)
			return diag_set(&d->ctx->diag, rc, "out of memory to compare");
		rc = n->inode == n ? diff_spool(d, n, &e) : 0;
		if (rc < 0) {
			free_node(n);
			return rc;
		}
		put_node(d, n);
		step.done++;
		rc = ctx_progress(d->ctx, &step);
		if (rc < 0)
			return rc;
	}
	return rc;
}

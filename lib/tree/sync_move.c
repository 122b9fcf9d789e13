/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that the source has under a name that the image has not: where an inode of the image, under
 * another name, is the same in everything, it gets the new name too and nothing is written again.
 * That is a further name that sorts before the old one, and a file that moved: its old name goes
 * later, so that at no time it is without one.
 *
 * Inodes are found by length and time of change, and believed by comparing all of them.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/diag.h"
#include "base/mem.h"
#include "fs/image.h"
#include "fs/links.h"
#include "tree/sync_impl.h"

#define LOOKS    256u /* nodes of equal length and time that are looked at */
#define COMPARES 4u   /* of which so many are read */

static uint64_t key_of(const struct sync *y, const struct tree_entry *e)
{
	uint64_t k = hash_mix(y->diff.secret ^ e->size) ^ (uint64_t)e->mtime.sec;

	return y->put.img->geom.inode_size == 128 ? k : hash_mix(k) ^ e->mtime.nsec;
}

static bool has_kin(const struct tree_entry *e)
{
	return S_ISREG(e->mode) && e->link == NULL && e->size != 0 && !e->no_mtime;
}

int sync_index(struct sync *y)
{
	size_t n = 0;

	y->kin = mem_array(y->diff.names.count + 1, sizeof(*y->kin), SIZE_MAX, &y->ctx->diag);
	if (y->kin == NULL)
		return -ENOMEM;
	for (struct hash_node *h = hash_next(&y->diff.names, NULL); h != NULL;
	     h = hash_next(&y->diff.names, h)) {
		struct diff_node *node = hash_entry(h, struct diff_node, node);

		if (node->inode != node || !has_kin(&node->e))
			continue;
		y->kin[n].of = node;
		hash_insert(&y->kins, &y->kin[n++].node, key_of(y, &node->e));
	}
	return 0;
}

static struct diff_node *next_kin(const struct sync *y, const struct tree_entry *e,
				  struct hash_node **at)
{
	uint64_t key = key_of(y, e);
	struct hash_node *h = *at == NULL ? hash_find(&y->kins, key) : (*at)->next;

	while (h != NULL && h->key != key)
		h = h->next;
	*at = h;
	return h != NULL ? hash_entry(h, struct sync_kin, node)->of : NULL;
}

static bool looks_same(const struct diff_node *n, const struct tree_entry *e)
{
	return n->e.size == e->size && n->e.mtime.sec == e->mtime.sec && n->e.mode == e->mode &&
	       n->e.uid == e->uid && n->e.gid == e->gid;
}

void sync_want(struct sync *y, const struct tree_entry *e)
{
	struct hash_node *at = NULL;
	struct diff_node *n;

	for (unsigned i = 0; has_kin(e) && i < LOOKS && (n = next_kin(y, e, &at)) != NULL; i++)
		n->wanted = n->wanted || looks_same(n, e);
}

/* Whether the name still leads to the inode that it led to before anything changed. */
static bool is_there(const struct sync *y, const struct diff_node *n)
{
	const char *path = n->e.path;
	const struct sync_place *at = sync_find(y, path, strlen(path));

	if (n->gone || (at != NULL && at->was != n))
		return false;
	for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		at = sync_find(y, path, (size_t)(slash - path));
		if (at != NULL && (at->fresh || !S_ISDIR(at->type)))
			return false;
	}
	return true;
}

/* 1 when both are the same in everything. */
static int is_same(struct sync *y, struct diff_node *n, struct tree_source *s,
		   const struct tree_entry *e)
{
	bool met = n->met;
	int rc;

	y->words = 0;
	y->diff.b = s;
	rc = diff_entry(&y->diff, n, e);
	y->diff.b = NULL;
	n->met = met;
	n->other = NULL;
	if (y->put.img->geom.inode_size == 128)
		y->words &= ~(unsigned)SYNC_TIME;
	return rc < 0 ? rc : y->words == 0;
}

bool sync_has_kin(const struct sync *y, const struct tree_entry *e)
{
	struct hash_node *at = NULL;

	return has_kin(e) && next_kin(y, e, &at) != NULL;
}

/* 1 when the inode has room for all names that the source has for it. */
static int takes_names(struct sync *y, const struct diff_node *n, const struct tree_entry *e)
{
	struct ek_inode *inode;
	int rc = put_inode(&y->put, n->e.path, &inode);

	if (rc < 0)
		return rc;
	rc = inode->rec.links + MAX(e->nlink, 1u) <= LINKS_MAX;
	ek_inode_close(inode);
	return rc;
}

int sync_find_kin(struct sync *y, struct tree_source *s, const struct tree_entry *e,
		  struct diff_node **ret)
{
	struct hash_node *at = NULL;
	unsigned left = COMPARES;
	struct diff_node *n;

	for (unsigned i = 0; i < LOOKS && left != 0 && (n = next_kin(y, e, &at)) != NULL; i++) {
		int rc;

		if (n->other != NULL || !looks_same(n, e) || !is_there(y, n))
			continue;
		rc = takes_names(y, n, e);
		if (rc < 0)
			return rc;
		if (rc == 0)
			continue;
		left--;
		rc = is_same(y, n, s, e);
		if (rc == 1)
			*ret = n;
		if (rc != 0)
			return rc;
	}
	return 0;
}

int sync_join(struct sync *y, struct sync_place *at, struct diff_node *n)
{
	int rc = sync_tell(y, at->path, "link");

	if (rc == 0)
		rc = put_link(&y->put, n->e.path, at->path);
	if (rc < 0)
		return rc;
	/* no name that the image had stands for it: it stays taken when the old one changes */
	n->other = &y->joined;
	return sync_made(y, at, S_IFREG, n->e.token);
}

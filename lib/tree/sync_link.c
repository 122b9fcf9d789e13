/* SPDX-License-Identifier: BSD-2-Clause */
/* A further name of a file that the source has handed out: where the inode takes no more names, a
 * file of its own that is the same, which the names behind it share. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/diag.h"
#include "base/escape.h"
#include "fs/links.h"
#include "tree/sync_impl.h"

/* An inode may have names that the source does not know of, and no room for more. */
static int link_or_copy(struct sync *y, struct sync_place *at, struct sync_place *first)
{
	int rc = put_link(&y->put, first->path, at->path);

	if (rc == 0)
		return sync_made(y, at, first->type, first->inode);
	if (rc != -EMLINK)
		return rc;
	diag_clear(&y->ctx->diag);
	rc = put_copy(&y->put, first->path, at->path);
	if (rc == 0)
		rc = sync_made(y, at, first->type, 0);
	if (rc == 0)
		first->next = at;
	return rc;
}

static int is_full(struct sync *y, const struct sync_place *at)
{
	struct ek_inode *inode;
	int rc = put_inode(&y->put, at->path, &inode);

	if (rc < 0)
		return rc;
	rc = links_full(inode);
	ek_inode_close(inode);
	return rc;
}

/* 1 when the image has a file of its own there already, made by link_or_copy at another time, and
 * it is still what first is. */
static int stands_apart(struct sync *y, struct sync_place *at, const struct sync_place *first)
{
	struct tree_entry e;
	int rc;

	if (at->fresh || at->told || !S_ISREG(at->type) || !first->same || first->was == NULL)
		return 0;
	rc = is_full(y, first);
	if (rc <= 0)
		return rc;
	e = first->was->inode->e;
	e.path = at->path;
	e.data = first->was->inode->data;
	e.ndata = first->was->inode->ndata;
	y->words = 0;
	y->diff.b = y->diff.a;
	rc = diff_entry(&y->diff, at->was, &e);
	y->diff.b = NULL;
	at->same = rc == 0 && y->words == 0;
	return rc < 0 ? rc : at->same;
}

int sync_link(struct sync *y, struct sync_place *at, const struct tree_entry *e)
{
	struct sync_place *first = sync_find(y, e->link, strlen(e->link));
	char shown[160];
	int rc;

	while (first != NULL && first->next != NULL)
		first = first->next;
	if (first == NULL || !first->told || S_ISDIR(first->type))
		return diag_set(&y->ctx->diag, -ENOENT,
				"bad tree: '%s' is no file before another name of it",
				escape_to(shown, sizeof(shown), e->link, strlen(e->link)));
	if (at->type != 0 && at->inode == first->inode)
		return 0;
	rc = stands_apart(y, at, first);
	if (rc == 1)
		first->next = at;
	if (rc != 0)
		return MIN(rc, 0);
	rc = sync_tell(y, at->path, "link");
	if (rc == 0)
		rc = sync_make_room(y, at);
	return rc < 0 ? rc : link_or_copy(y, at, first);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A folder of an image made equal to a source.
 *
 * 1. The names that are below the folder are gathered, with all but contents.
 * 2. The source's names are read, and what it has not goes (sync_first.c).
 * 3. Each entry of the source is compared with what is under its name, and what differs is changed.
 * 4. Names that are still there and were not mentioned go.
 * 5. Folders whose names changed get the source's times.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ctx.h"
#include "base/diag.h"
#include "base/mem.h"
#include "fs/session.h"
#include "tree/source_image.h"
#include "tree/sync_impl.h"

int sync_tell(struct sync *y, const char *path, const char *action)
{
	struct ek_sync_step step = {path, action};
	int rc = y->tell != NULL ? y->tell(y->arg, &step) : 0;

	return rc <= 0 ? rc : -ECANCELED;
}

/* ---- the image before ---- */

static int open_start(struct sync *y, struct ek_inode **ret, bool *made)
{
	int rc = put_inode(&y->put, "", ret);

	if (rc != -ENOENT)
		return rc;
	diag_clear(&y->ctx->diag);
	rc = sync_tell(y, "", "make");
	if (rc == 0)
		rc = ek_mkdir(y->put.img, y->put.to, EK_PUT_PARENTS, NULL);
	if (rc == 0)
		rc = put_inode(&y->put, "", ret);
	*made = rc == 0;
	return rc;
}

/* lost+found belongs to the filesystem, where there is one. */
static bool spares(struct sync *y, const struct ek_stat *start)
{
	const struct diff_node *n = diff_find(&y->diff, "lost+found");

	return start->ino.v == EK_ROOT_INODE && n != NULL && S_ISDIR(n->e.mode);
}

static int gather(struct sync *y)
{
	struct ek_stat st = {.size = sizeof(st)};
	struct ek_inode *inode;
	struct sync_place *start;
	bool made = false;
	int rc = open_start(y, &inode, &made);

	if (rc < 0)
		return rc;
	rc = ek_inode_stat(inode, &st);
	if (rc == 0 && !S_ISDIR(st.mode))
		rc = diag_set(&y->ctx->diag, -ENOTDIR, "%s is no folder", y->put.to);
	if (rc == 0)
		rc = tree_source_of_inode(inode, false, y->put.to, &y->diff.a);
	ek_inode_close(inode);
	if (rc == 0)
		rc = diff_gather(&y->diff);
	if (rc == 0)
		rc = sync_index(y);
	if (rc < 0)
		return rc;
	y->spare = spares(y, &st);
	rc = sync_place(y, "", 0, &start);
	return rc == 0 && made ? sync_made(y, start, S_IFDIR, 0) : rc;
}

/* ---- the source ---- */

static int take_source(struct sync *y)
{
	struct tree_source *s;
	int rc;

	if (y->feed.tree.nsources != 1)
		return diag_set(&y->ctx->diag, -EINVAL, "one source is wanted, not %zu",
				y->feed.tree.nsources);
	rc = tree_open(y->ctx, y->feed.tree.sources[0], &s);
	if (rc < 0)
		return rc;
	rc = gather(y);
	if (rc == 0)
		rc = sync_remove_first(y);
	if (rc == 0)
		rc = feed_source(&y->feed, s);
	s->ops->close(s);
	return rc;
}

/* ---- what is over ---- */

int sync_remove(struct sync *y, const char *name)
{
	int rc = sync_tell(y, name, "remove");
	const char *path;

	if (rc < 0)
		return rc;
	path = put_path(&y->put, name);
	rc = path != NULL ? ek_remove(y->put.img, path, EK_REMOVE_TREE, NULL) : -ENOMEM;
	return rc < 0 ? rc : sync_touch(y, name);
}

/* What is below a name that goes, goes with it: only that one hangs in a folder that stays. */
static int remove_one(struct sync *y, const char *name)
{
	const struct sync_place *up = sync_above(y, name);

	if (up == NULL || up->fresh || !S_ISDIR(up->type) ||
	    (y->spare && strcmp(name, "lost+found") == 0))
		return 0;
	return sync_remove(y, name);
}

/* Any file that begins with zeros, a disk of another kind too, looks like an archive without
 * entries. */
int sync_refuse_nothing(struct sync *y)
{
	return diag_set(&y->ctx->diag, -EINVAL,
			"refused: %s: it holds no names, not that of its start either: all of %s "
			"would go",
			y->feed.tree.sources[0], y->put.to);
}

static int remove_rest(struct sync *y)
{
	struct ek_progress step = {.stage = "remove files", .unit = "files"};
	struct diff_node **rest;
	size_t n;
	int rc;

	if ((y->flags & EK_SYNC_KEEP) != 0 || y->rep->r.failed != 0)
		return 0;
	if (y->rep->r.entries == 0)
		return sync_refuse_nothing(y);
	rc = diff_rest(&y->diff, &rest, &n);
	if (rc < 0)
		return rc;
	for (; step.done < n && rc == 0; step.done++) {
		rc = remove_one(y, rest[step.done]->e.path);
		if (rc == 0)
			rc = ctx_progress(y->ctx, &step);
	}
	free(rest);
	return rc;
}

static int set_times(struct sync *y)
{
	int rc = 0;

	for (size_t i = y->ntouched; i-- > 0 && rc == 0;) {
		const struct sync_place *at = y->touched[i];

		if (at->has_mtime)
			rc = put_time(&y->put, at->path, at->mtime);
	}
	return rc;
}

/* ---- all of it ---- */

static int run(struct sync *y)
{
	int rc = feed_open(&y->feed, y->put.img->now);

	if (rc == 0)
		rc = take_source(y);
	if (rc == 0)
		rc = remove_rest(y);
	if (rc == 0)
		rc = set_times(y);
	return rc;
}

static void release(struct sync *y)
{
	diff_forget(&y->diff);
	if (y->diff.a != NULL)
		y->diff.a->ops->close(y->diff.a);
	free(y->diff.piece);
	sync_forget(y);
	feed_close(&y->feed);
	put_close(&y->put);
}

int ek_sync_tree(struct ek_image *img, const char *path, const struct ek_tree_options *tree,
		 unsigned flags, ek_sync_fn *tell, void *arg, struct ek_tree_report **ret)
{
	struct sync y = {.ctx = img->session->ctx,
			 .put = {.img = img, .feed = &y.feed, .to = path},
			 .flags = flags,
			 .tell = tell,
			 .arg = arg};
	struct diag *d = &y.ctx->diag;
	int rc;

	diag_clear(d);
	y.rep = mem_zero(sizeof(*y.rep));
	y.feed = (struct tree_feed){
	    .ctx = y.ctx, .rep = y.rep, .stage = "compare", .take = sync_entry, .arg = &y};
	feed_options(&y.feed, tree);
	y.diff = (struct diff){.ctx = y.ctx,
			       .tell = sync_collect,
			       .arg = &y,
			       .spool = SPOOL_NONE,
			       .secret = hash_seed()};
	y.diff.piece = malloc(2 * (size_t)DIFF_PIECE);
	rc = y.rep == NULL || y.diff.piece == NULL || put_open(&y.put) < 0
		 ? diag_set(d, -ENOMEM, "out of memory to sync")
		 : run(&y);
	release(&y);
	if (rc < 0) {
		if (y.rep != NULL)
			ek_tree_report_free(&y.rep->r);
		return diag_errno(d, rc, "cannot sync");
	}
	*ret = &y.rep->r;
	return 0;
}

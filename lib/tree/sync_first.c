/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes before anything comes, so that an image needs no room for both: the source's names are
 * read once beforehand.  A file that some new name may be the new place of stays until the end,
 * with the folders above it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ctx.h"
#include "base/diag.h"
#include "base/mem.h"
#include "extkit/image.h"
#include "tree/sync_impl.h"

/* ---- the names that come ---- */

/* The folder that a node is in, NULL for the start. */
static struct diff_node *node_above(const struct sync *y, const struct diff_node *n)
{
	size_t len = strlen(n->e.path);

	return len != 0 ? diff_find_part(&y->diff, n->e.path, sync_up(n->e.path, len)) : NULL;
}

/* Folders that the source implies come too, where the image has them: perhaps not the innermost. */
static void come_above(struct sync *y, const char *path)
{
	for (size_t len = strlen(path); len != 0;) {
		struct diff_node *n;

		len = sync_up(path, len);
		n = diff_find_part(&y->diff, path, len);
		if (n != NULL && n->coming != 0)
			return;
		if (n != NULL)
			n->coming = S_IFDIR;
	}
}

static int note(void *arg, struct tree_source *s, struct tree_entry *e)
{
	struct sync *y = arg;
	struct diff_node *n = diff_find(&y->diff, e->path);

	(void)s;
	if (n == NULL)
		sync_want(y, e);
	else
		n->coming = e->link != NULL ? S_IFREG : e->mode & S_IFMT;
	come_above(y, e->path);
	return 0;
}

static int read_names(struct sync *y, struct tree_report *rep)
{
	struct tree_feed feed = y->feed;
	struct tree_source *s;
	int rc;

	feed.rep = rep;
	feed.stage = "read names";
	feed.take = note;
	rc = tree_open(y->ctx, feed.tree.sources[0], &s);
	if (rc < 0)
		return rc;
	rc = feed_source(&feed, s);
	s->ops->close(s);
	return rc;
}

/* ---- what goes ---- */

/* Names that do not come, sorted: a folder before what is in it. */
static int list_gone(struct sync *y, struct diff_node ***ret, size_t *ret_n)
{
	struct diff_node **list =
	    mem_array(y->diff.names.count + 1, sizeof(void *), SIZE_MAX, &y->ctx->diag);
	size_t n = 0;

	if (list == NULL)
		return -ENOMEM;
	for (struct hash_node *h = hash_next(&y->diff.names, NULL); h != NULL;
	     h = hash_next(&y->diff.names, h)) {
		struct diff_node *node = hash_entry(h, struct diff_node, node);

		if (node->wanted) {
			for (struct diff_node *up = node_above(y, node); up != NULL && !up->wanted;
			     up = node_above(y, up))
				up->wanted = true;
		}
		if (node->coming == 0 && *node->e.path != '\0')
			list[n++] = node;
	}
	diff_sort(list, n);
	*ret = list;
	*ret_n = n;
	return 0;
}

/* Places of the folders above, so that their times are set in the end. */
static int place_above(struct sync *y, const char *path)
{
	struct sync_place *at;
	int rc = 0;

	for (const char *slash = strchr(path, '/'); slash != NULL && rc == 0;
	     slash = strchr(slash + 1, '/'))
		rc = sync_place(y, path, (size_t)(slash - path), &at);
	return rc;
}

static int remove_node(struct sync *y, struct diff_node *n)
{
	const struct diff_node *up = node_above(y, n);
	int rc;

	if (up != NULL && up->gone) {
		n->gone = n->met = true;
		return 0;
	}
	/* what becomes no folder is cleared when it does; what has another name makes no room */
	if (up == NULL || (!S_ISDIR(up->coming) && !up->wanted) || n->wanted ||
	    (y->spare && strcmp(n->e.path, "lost+found") == 0) ||
	    (y->spare && strncmp(n->e.path, "lost+found/", 11) == 0))
		return 0;
	if (!S_ISDIR(up->coming)) /* a folder that stays for a while only */
		up = NULL;
	rc = up != NULL ? place_above(y, n->e.path) : 0;
	if (rc == 0)
		rc = sync_remove(y, n->e.path);
	n->gone = n->met = true;
	return rc;
}

static int remove_gone(struct sync *y)
{
	struct ek_progress step = {.stage = "remove files", .unit = "files"};
	struct diff_node **list;
	size_t n;
	int rc = list_gone(y, &list, &n);

	if (rc < 0)
		return rc;
	for (; step.done < n && rc == 0; step.done++) {
		rc = remove_node(y, list[step.done]);
		if (rc == 0)
			rc = ctx_progress(y->ctx, &step);
	}
	free(list);
	/* blocks are free when the log no longer needs them as they were */
	return rc == 0 && n != 0 ? ek_image_sync(y->put.img) : rc;
}

/* What comes out of a pipe is gone when it was read: two readers would share it. */
static bool can_read_twice(const char *source)
{
	struct stat st;

	return strcmp(source, "-") != 0 && stat(source, &st) == 0 &&
	       (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode));
}

int sync_remove_first(struct sync *y)
{
	struct tree_report *rep;
	int rc;

	if ((y->flags & EK_SYNC_KEEP) != 0 || (y->feed.tree.flags & EK_TREE_KEEP_GOING) != 0 ||
	    !can_read_twice(y->feed.tree.sources[0]))
		return 0;
	rep = mem_zero(sizeof(*rep));
	if (rep == NULL)
		return diag_set(&y->ctx->diag, -ENOMEM, "out of memory to sync");
	rc = read_names(y, rep);
	if (rc == 0 && rep->r.entries == 0)
		rc = sync_refuse_nothing(y);
	if (rc == 0)
		rc = remove_gone(y);
	ek_tree_report_free(&rep->r);
	return rc;
}

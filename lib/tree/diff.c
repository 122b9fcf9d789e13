/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trees compared: the names of one are gathered, the other is walked beside them.  One whose
 * contents can be read at any time is gathered, so that an archive is read once from its beginning
 * to its end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/diag.h"
#include "base/mem.h"
#include "fs/session.h"
#include "tree/diff_impl.h"
#include "tree/source_image.h"

int diff_tell(struct diff *d, const char *path, const char *what, const char *a, const char *b)
{
	struct ek_difference x = {.path = path, .what = what, .a = a, .b = b};
	int rc;

	d->found++;
	rc = d->tell(d->arg, &x);
	return rc == 0 ? 0 : rc < 0 ? rc : -ECANCELED;
}

/* Sides that were exchanged are told as they were given. */
struct exchanged {
	ek_diff_fn *tell;
	void *arg;
};

static int tell_exchanged(void *arg, const struct ek_difference *d)
{
	const struct exchanged *x = arg;
	struct ek_difference turned = {.path = d->path, .what = d->what, .a = d->b, .b = d->a};

	return x->tell(x->arg, &turned);
}

static int open_side(struct ek_ctx *ctx, const struct ek_diff_side *side, struct tree_source **ret)
{
	if (side->inode != NULL)
		return tree_source_of_inode(side->inode, false, side->name, ret);
	return tree_open(ctx, side->name, ret);
}

/* A name that one tree has: the folder that fsck keeps for what it finds is none of the tree's. */
static int tell_missing(struct diff *d, const struct tree_entry *e, bool in_a)
{
	if (strcmp(e->path, "lost+found") == 0 && S_ISDIR(e->mode))
		return 0;
	return diff_tell(d, e->path, "missing", in_a ? "there" : "-", in_a ? "-" : "there");
}

static int walk(struct diff *d)
{
	struct ek_progress step = {.stage = "compare", .unit = "files"};
	struct tree_entry e;
	int rc;

	while ((rc = d->b->ops->next(d->b, &e)) == 1) {
		struct diff_node *n = diff_find(d, e.path);

		rc = n != NULL ? diff_entry(d, n, &e) : tell_missing(d, &e, false);
		step.done++;
		if (rc == 0)
			rc = ctx_progress(d->ctx, &step);
		if (rc < 0)
			return rc;
	}
	return rc;
}

int diff_rest(struct diff *d, struct diff_node ***ret, size_t *ret_n)
{
	struct diff_node **rest =
	    mem_array(d->names.count + 1, sizeof(void *), SIZE_MAX, &d->ctx->diag);
	size_t n = 0;

	if (rest == NULL)
		return -ENOMEM;
	for (struct hash_node *h = hash_next(&d->names, NULL); h != NULL;
	     h = hash_next(&d->names, h)) {
		struct diff_node *node = hash_entry(h, struct diff_node, node);

		if (!node->met)
			rest[n++] = node;
	}
	diff_sort(rest, n);
	*ret = rest;
	*ret_n = n;
	return 0;
}

static int tell_rest(struct diff *d)
{
	struct diff_node **rest;
	size_t n;
	int rc = diff_rest(d, &rest, &n);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = tell_missing(d, &rest[i]->e, true);
	free(rest);
	return rc;
}

static int compare(struct diff *d)
{
	int rc;

	d->piece = malloc(2 * (size_t)DIFF_PIECE);
	if (d->piece == NULL)
		return diag_set(&d->ctx->diag, -ENOMEM, "out of memory to compare");
	rc = diff_gather(d);
	if (rc == 0)
		rc = walk(d);
	if (rc == 0)
		rc = tell_rest(d);
	diff_forget(d);
	free(d->piece);
	return rc < 0 ? rc : d->found != 0;
}

int ek_diff(struct ek_ctx *ctx, const struct ek_diff_side *a, const struct ek_diff_side *b,
	    const struct ek_diff_options *opt, ek_diff_fn *tell, void *arg)
{
	struct ek_diff_options o = {.size = sizeof(o)};
	struct exchanged turned = {tell, arg};
	struct diff d = {
	    .ctx = ctx, .tell = tell, .arg = arg, .spool = SPOOL_NONE, .secret = hash_seed()};
	int rc;

	diag_clear(&ctx->diag);
	if (opt != NULL)
		session_hand_out(&o, opt->size, opt, sizeof(o));
	d.flags = o.flags;
	rc = open_side(ctx, a, &d.a);
	if (rc < 0)
		return rc;
	rc = open_side(ctx, b, &d.b);
	if (rc == 0 && !d.a->later && d.b->later) {
		struct tree_source *s = d.a;

		d.a = d.b;
		d.b = s;
		d.tell = tell_exchanged;
		d.arg = &turned;
	}
	if (rc == 0) {
		rc = compare(&d);
		d.b->ops->close(d.b);
	}
	d.a->ops->close(d.a);
	return rc;
}

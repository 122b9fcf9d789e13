/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trees into an image that is there: entries as they come, each put where it belongs.  Folders get
 * their times when everything is in them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "extkit/tree.h"
#include "fs/session.h"
#include "tree/feed.h"
#include "tree/put.h"
#include "tree/report.h"

/* A folder whose time is set last. */
struct folder {
	char *path;
	struct ek_time mtime;
};

struct importing {
	struct ek_ctx *ctx;
	struct tree_feed feed;
	struct tree_put put;
	struct tree_report *rep;
	struct folder *folders;
	size_t nfolders, folders_cap;
};

static int make_folder(struct tree_put *p, const struct tree_entry *e, struct ek_attr a)
{
	const char *path = put_path(p, e->path);

	if (path == NULL)
		return p->path.err;
	if (put_inherits(p, e))
		a.mask &= ~(unsigned)EK_ATTR_FLAGS;
	return strcmp(path, "/") != 0 ? ek_mkdir(p->img, path, EK_PUT_PARENTS, &a) : 0;
}

static int import_folder(struct importing *m, const struct tree_entry *e)
{
	struct ek_attr a = put_attr(&m->put, e);
	struct folder f = {NULL, e->mtime};
	int rc = make_folder(&m->put, e, a);

	if (rc == 0)
		rc = put_set(&m->put, e, &a);
	if (rc < 0 || e->no_mtime)
		return rc;
	f.path = strdup(e->path);
	if (f.path == NULL ||
	    mem_grow((void **)&m->folders, &m->folders_cap, m->nfolders + 1, sizeof(f)) < 0) {
		free(f.path);
		return diag_set(&m->ctx->diag, -ENOMEM, "out of memory to import");
	}
	m->folders[m->nfolders++] = f;
	return 0;
}

static int import_entry(void *arg, struct tree_source *s, struct tree_entry *e)
{
	struct importing *m = arg;
	struct ek_attr a = put_attr(&m->put, e);

	if (e->link != NULL)
		return put_link(&m->put, e->link, e->path);
	return S_ISDIR(e->mode) ? import_folder(m, e) : put_entry(&m->put, s, e, &a);
}

/* ---- sources ---- */

static int take_sources(struct importing *m)
{
	int rc = 0;

	for (size_t i = 0; i < m->feed.tree.nsources && rc == 0; i++) {
		struct tree_source *s;

		rc = tree_open(m->ctx, m->feed.tree.sources[i], &s);
		if (rc < 0)
			break;
		rc = feed_source(&m->feed, s);
		s->ops->close(s);
	}
	return rc;
}

/* The last first: a folder's time does not change by those of what is in it, but by its names. */
static int set_times(struct importing *m)
{
	int rc = 0;

	for (size_t i = m->nfolders; i-- > 0 && rc == 0;)
		rc = put_time(&m->put, m->folders[i].path, m->folders[i].mtime);
	return rc;
}

static void release(struct importing *m)
{
	for (size_t i = 0; i < m->nfolders; i++)
		free(m->folders[i].path);
	free(m->folders);
	feed_close(&m->feed);
	put_close(&m->put);
}

int ek_import_tree(struct ek_image *img, const char *path, const struct ek_tree_options *tree,
		   struct ek_tree_report **ret)
{
	struct importing m = {.ctx = img->session->ctx,
			      .put = {.img = img, .feed = &m.feed, .to = path}};
	struct diag *d = &m.ctx->diag;
	int rc;

	diag_clear(d);
	m.rep = mem_zero(sizeof(*m.rep));
	m.feed = (struct tree_feed){
	    .ctx = m.ctx, .rep = m.rep, .stage = "write files", .take = import_entry, .arg = &m};
	feed_options(&m.feed, tree);
	rc = m.rep == NULL || put_open(&m.put) < 0 ? diag_set(d, -ENOMEM, "out of memory to import")
						   : feed_open(&m.feed, img->now);
	if (rc == 0)
		rc = take_sources(&m);
	if (rc == 0)
		rc = set_times(&m);
	release(&m);
	if (rc < 0) {
		if (m.rep != NULL)
			ek_tree_report_free(&m.rep->r);
		return diag_errno(d, rc, "cannot import");
	}
	*ret = &m.rep->r;
	return 0;
}

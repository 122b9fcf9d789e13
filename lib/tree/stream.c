/* SPDX-License-Identifier: BSD-2-Clause */
/* A tree of an image into an archive or a manifest: a walk whose entries go to a sink. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "extkit/export.h"
#include "extkit/tree.h"
#include "fs/inode.h"
#include "fs/session.h"
#include "tree/report.h"
#include "tree/sink.h"
#include "tree/source_image.h"

struct streaming {
	struct ek_ctx *ctx;
	struct ek_stream_options opt;
	struct tree_source *s;
	struct tree_sink *k;
	struct tree_report *rep;
};

static int open_sink(struct streaming *x, int fd)
{
	static const char *const formats[] = {"tar", "cpio"};
	struct diag *d = &x->ctx->diag;

	if (x->opt.format == EK_FORMAT_SPEC)
		return tree_sink_spec(fd, d, &x->k);
	if (x->opt.format > EK_FORMAT_SPEC)
		return diag_set(d, -EINVAL, "format %u is unknown", x->opt.format);
	return tree_sink_archive(fd, formats[x->opt.format], x->opt.filter, d, &x->k);
}

static bool goes_on(const struct streaming *x, int rc)
{
	return (x->opt.flags & EK_STREAM_KEEP_GOING) != 0 &&
	       (rc == -EOPNOTSUPP || rc == -EUCLEAN || rc == -EBADMSG);
}

static int put_all(struct streaming *x)
{
	struct ek_progress step = {.stage = "read files", .unit = "files"};
	struct tree_entry e;
	int rc;

	for (;;) {
		e.path = NULL;
		rc = x->s->ops->next(x->s, &e);
		if (rc == 0)
			return x->k->ops->finish(x->k);
		step.done = ++x->rep->r.entries;
		if (rc == 1)
			rc = x->k->ops->put(x->k, x->s, &e);
		if (rc == 0)
			rc = ctx_progress(x->ctx, &step);
		if (rc < 0 && (e.path == NULL || !goes_on(x, rc)))
			return rc;
		if (rc < 0) {
			report_issue(x->rep, rc, e.path, &x->ctx->diag);
			/* what is in a folder does not need it there */
			if (!S_ISDIR(e.mode))
				x->s->ops->prune(x->s);
		}
	}
}

int ek_export_stream(struct ek_inode *inode, int fd, const struct ek_stream_options *opt,
		     struct ek_tree_report **ret)
{
	struct streaming x = {.ctx = inode->img->session->ctx, .opt = {.size = sizeof(x.opt)}};
	struct diag *d = &x.ctx->diag;
	int rc;

	diag_clear(d);
	if (!inode_is_dir(inode))
		return diag_set(d, -ENOTDIR, "cannot export: inode %u is no folder", inode->ino.v);
	session_hand_out(&x.opt, opt->size, opt, sizeof(x.opt));
	x.rep = mem_zero(sizeof(*x.rep));
	rc = x.rep == NULL ? diag_set(d, -ENOMEM, "out of memory to export") : open_sink(&x, fd);
	if (rc == 0)
		rc = tree_source_of_inode(inode, false, "image", &x.s);
	if (rc == 0)
		rc = put_all(&x);
	if (x.s != NULL)
		x.s->ops->close(x.s);
	if (x.k != NULL)
		x.k->ops->close(x.k);
	if (rc < 0) {
		if (x.rep != NULL)
			ek_tree_report_free(&x.rep->r);
		return diag_errno(d, rc, "cannot export");
	}
	*ret = &x.rep->r;
	return 0;
}

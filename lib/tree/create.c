/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trees become images.  Entries of all sources are gathered first.  Contents of folders are read
 * when everything has its place; those of a stream are written when they come, as soon as places
 * are dealt out, and until then wait in a spool: at most 16 MiB, or all of it where the features
 * want group metadata in each group.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "fs/session.h"
#include "io/dev.h"
#include "tree/create_impl.h"

#define CACHE_PART 8u /* of a machine's memory: what else it works on has more of it */

static int copy_waiting(struct making *m)
{
	int rc = 0;

	for (size_t i = 0; i < m->nfiles && rc == 0; i++) {
		struct gather_node *n = m->files[i];

		if (n->has_contents && (n->i.origin != NULL || m->spooled != 0))
			rc = making_copy(m, n->i.origin, n);
	}
	return rc < 0 ? rc : making_flush(m);
}

static void fill_report(struct making *m, const struct build_bill *bill)
{
	struct ek_tree_report *r = &m->rep->r;

	r->bytes = build_bytes(m->b);
	r->blocks = bill->blocks;
	r->data = bill->data;
	r->folders = bill->folders;
	r->links = bill->links;
	r->xattrs = bill->xattrs;
	r->maps = bill->maps;
	r->tables = bill->tables;
	r->supers = bill->heads;
	r->journal = bill->journal;
	r->other = bill->other;
	r->free = bill->free;
	r->block_size = bill->block_size;
	r->inodes = bill->inodes;
	r->inodes_used = bill->inodes_used;
}

static int plan(struct making *m)
{
	uint32_t bs = build_block_size(m->b);
	struct build_inode *lost = NULL;
	struct build_bill bill;
	int rc = 0;

	if ((m->opt.flags & EK_CREATE_NO_LOST_FOUND) == 0)
		rc = gather_lost_found(&m->g, MIN(MAX(16384 / bs, 2u), 12u), &lost);
	if (rc == 0)
		rc = gather_finish(&m->g);
	if (rc == 0)
		rc = build_plan(m->b, m->g.list, m->g.n, lost, &bill);
	if (rc == 0)
		fill_report(m, &bill);
	return rc;
}

static int write_image(struct making *m)
{
	int rc = making_flush(m);

	if (rc == 0)
		rc = tree_target_fit(&m->target, build_bytes(m->b));
	if (rc == 0)
		rc = copy_waiting(m);
	if (rc == 0 && m->log != NULL)
		rc = create_join_log(m->log, m->o.block_size, m->o.uuid);
	if (rc == 0)
		rc = build_write(m->b, m->target.dev, m->target.fresh);
	return rc < 0 ? rc : tree_target_place(&m->target);
}

static int make(struct making *m)
{
	enum build_size how = m->feed.tree.how == EK_SIZE_AUTO  ? BUILD_AUTO
			      : m->feed.tree.how == EK_SIZE_MIN ? BUILD_MIN
								: BUILD_FIXED;
	int rc = 0;

	if (m->o.external_log)
		rc = create_open_log(&m->opt, m->o.block_size, m->path == NULL, &m->o, m->diag,
				     &m->log);
	if (rc == 0)
		rc = build_open(&m->o, how, m->feed.tree.free_bytes, m->diag, &m->b);
	if (rc < 0)
		return rc;
	m->g.b = m->b;
	m->g.diag = m->diag;
	m->g.now = m->o.now;
	rc = gather_begin(&m->g);
	if (rc == 0)
		rc = feed_open(&m->feed, m->o.now);
	if (rc == 0 && m->path != NULL)
		rc = tree_target_open(m->path, &m->opt, m->o.size, m->diag, &m->target);
	if (rc == 0 && m->path != NULL)
		rc = tree_pieces_open(&m->target, &m->out);
	if (rc == 0)
		rc = making_take(m);
	if (rc == 0)
		rc = plan(m);
	if (rc == 0 && m->path != NULL)
		rc = write_image(m);
	return rc;
}

static void release(struct making *m)
{
	for (size_t i = 0; i < m->nsources; i++)
		m->sources[i]->ops->close(m->sources[i]);
	free(m->sources);
	feed_close(&m->feed);
	tree_pieces_close(m->out);
	tree_target_close(&m->target);
	dev_close(m->log);
	gather_end(&m->g);
	build_close(m->b);
	making_unspool(m);
	free(m->files);
}

/* Bytes that a machine will gladly have in its cache. */
static uint64_t cache_bytes(void)
{
	return (uint64_t)MAX(sysconf(_SC_PHYS_PAGES), 0l) / CACHE_PART *
	       (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Options as the layers below want them; blocks are 4 KiB unless something else is said, whatever
 * the size: attributes of trees do not fit smaller ones. */
static int take_options(struct making *m)
{
	uint64_t bytes = 0;
	int rc = 0;

	if (m->opt.block_size == 0)
		m->opt.block_size = 4096;
	if (m->feed.tree.how == EK_SIZE_GIVEN) {
		rc = create_choose_bytes(m->path != NULL ? m->path : "", &m->opt, m->diag, &bytes);
		if (rc < 0)
			return rc;
	}
	rc = create_options(&m->opt, bytes, m->diag, &m->o);
	m->feed.rep = m->rep = mem_zero(sizeof(*m->rep));
	if (rc == 0 && m->rep == NULL)
		rc = diag_set(m->diag, -ENOMEM, "out of memory for the tree");
	return rc;
}

int ek_create_tree(struct ek_ctx *ctx, const char *path, const struct ek_create_options *opt,
		   const struct ek_tree_options *tree, struct ek_tree_report **ret)
{
	struct making m = {.ctx = ctx,
			   .diag = &ctx->diag,
			   .path = path,
			   .spool = SPOOL_NONE,
			   .keep = cache_bytes()};
	int rc;

	diag_clear(m.diag);
	m.opt.size = sizeof(m.opt);
	session_hand_out(&m.opt, opt->size, opt, sizeof(m.opt));
	m.feed =
	    (struct tree_feed){.ctx = ctx, .stage = "read names", .take = making_entry, .arg = &m};
	feed_options(&m.feed, tree);
	if ((m.opt.flags & EK_CREATE_DRY_RUN) != 0)
		m.path = NULL;
	rc = take_options(&m);
	if (rc == 0)
		rc = make(&m);
	release(&m);
	if (rc < 0) {
		if (m.rep != NULL)
			ek_tree_report_free(&m.rep->r);
		return diag_errno(&ctx->diag, rc, "cannot make %s",
				  path != NULL ? path : "an image");
	}
	*ret = &m.rep->r;
	return 0;
}

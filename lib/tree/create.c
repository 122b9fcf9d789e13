/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trees become images.  Entries of all sources are gathered first.  Contents of folders are read
 * when everything has its place; those of a stream are written when they come, as soon as places
 * are dealt out, and until then wait in a spool: at most 32 MiB, or all of it where the features
 * want group metadata in each group.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "extkit/tree.h"
#include "fs/build.h"
#include "fs/session.h"
#include "io/dev.h"
#include "tree/feed.h"
#include "tree/gather.h"
#include "tree/report.h"
#include "tree/spool.h"
#include "tree/target.h"

#define SPOOL_MOST ((uint64_t)32 << 20)
#define PIECE      ((size_t)1 << 20)
#define HOST_LEAST ((uint64_t)1 << 20)
#define HOST_MOST  ((uint64_t)64 << 20)

struct making {
	struct ek_ctx *ctx;
	struct diag *diag;
	struct ek_create_options opt;
	struct tree_feed feed;
	struct create_opts o;
	struct build *b;
	struct gather g;
	struct tree_source **sources;
	size_t nsources;
	struct tree_target target;
	struct dev *log;  /* a journal of its own device, or NULL */
	const char *path; /* NULL: only counts */
	struct tree_report *rep;
	int spool; /* -1: not needed yet */
	uint64_t spooled, bytes;
	struct gather_node **files; /* with contents, in the order they came */
	size_t nfiles, files_cap;
	uint8_t *piece; /* PIECE bytes, of which piece_len wait to be written at piece_at */
	size_t piece_len;
	uint64_t piece_at, written;
};

/* ---- contents out ---- */

static int flush(struct making *m)
{
	struct ek_progress step = {"write files", m->written, m->bytes, "bytes"};
	int rc = 0;

	if (m->piece_len != 0)
		rc = tree_target_write(&m->target, m->piece_at, m->piece, m->piece_len);
	m->written += m->piece_len;
	m->piece_len = 0;
	return rc < 0 ? rc : ctx_progress(m->ctx, &step);
}

/* Room for the next bytes at off, at most *len of them, behind what waits if they are neighbours.
 */
static int room(struct making *m, uint64_t off, size_t *len, uint8_t **ret)
{
	if (m->piece_len != 0 && (m->piece_at + m->piece_len != off || m->piece_len == PIECE ||
				  (*len > PIECE - m->piece_len && *len <= PIECE / 2))) {
		int rc = flush(m);

		if (rc < 0)
			return rc;
	}
	if (m->piece_len == 0)
		m->piece_at = off;
	*len = MIN(*len, PIECE - m->piece_len);
	*ret = m->piece + m->piece_len;
	return 0;
}

/* Where the bytes of a file come from: its source, or the spool. */
static int fetch(struct making *m, struct tree_source *s, const struct gather_node *n, uint64_t off,
		 void *buf, size_t len, uint64_t *spool_at)
{
	if (s != NULL)
		return s->ops->read(s, n->i.token, off, buf, len);
	*spool_at += len;
	return spool_read(m->spool, *spool_at - len, buf, len, m->diag);
}

/* Large pieces the host copies by itself, whole blocks only; *done is how far it came.  Whatever
 * keeps it from doing so comes out when the rest is read. */
static int copy_by_host(struct making *m, struct tree_source *s, const struct gather_node *n,
			const struct build_run *r, uint64_t *done)
{
	uint64_t bs = build_block_size(m->b), from = r->lblk * bs, at = r->pblk * bs, base;
	uint64_t left = MIN(r->len * bs, (n->i.size - from) / bs * bs);
	uint64_t limit = build_limit(m->b) * bs;
	struct ek_progress step = {"write files", m->written, m->bytes, "bytes"};
	int in, out, rc = 0;

	*done = 0;
	if (s == NULL || s->ops->host == NULL || left < HOST_LEAST ||
	    (limit != 0 && at + left > limit) || dev_host(m->target.dev, &out, &base) < 0 ||
	    (in = s->ops->host(s, n->i.token)) < 0)
		return 0;
	while (*done < left && rc == 0) {
		off_t src = (off_t)(from + *done), dst = (off_t)(base + at + *done);
		size_t want = (size_t)MIN(left - *done, (uint64_t)HOST_MOST);
		ssize_t did = copy_file_range(in, &src, out, &dst, want, 0);

		if (did <= 0)
			break;
		*done += (uint64_t)did / bs * bs;
		step.done = m->written += (uint64_t)did;
		rc = ctx_progress(m->ctx, &step);
		if ((uint64_t)did % bs != 0)
			break;
	}
	return rc;
}

/* One run of blocks; its last may end behind the file. */
static int copy_run(struct making *m, struct tree_source *s, const struct gather_node *n,
		    const struct build_run *r, uint64_t *spool_at)
{
	uint32_t bs = build_block_size(m->b);
	uint64_t from = (uint64_t)r->lblk * bs, to = from + (uint64_t)r->len * bs,
		 at = r->pblk * bs;
	uint64_t limit = build_limit(m->b) * bs, done;
	int rc = copy_by_host(m, s, n, r, &done);

	from += done;
	at += done;
	while (from < to && rc == 0) {
		size_t len = (size_t)MIN(to - from, (uint64_t)PIECE), n_read;
		uint8_t *p;

		rc = room(m, at, &len, &p);
		if (rc < 0)
			break;
		n_read = (size_t)MIN((uint64_t)len, n->i.size - from);
		rc = fetch(m, s, n, from, p, n_read, spool_at);
		memset(p + n_read, 0, len - n_read);
		if (limit == 0 || at + len <= limit) /* else it is only counted */
			m->piece_len += len;
		from += len;
		at += len;
	}
	return rc;
}

static int copy_file(struct making *m, struct tree_source *s, const struct gather_node *n)
{
	uint64_t spool_at = n->i.token;
	int rc = 0;

	for (uint32_t i = 0; i < n->i.nruns && rc == 0; i++)
		rc = copy_run(m, s, n, &n->i.runs[i], &spool_at);
	return rc;
}

/* ---- the spool ---- */

/* Memory, or a file without a name beside the target when everything must wait. */
static int open_spool(struct making *m)
{
	const char *slash = m->target.path != NULL ? strrchr(m->target.path, '/') : NULL;
	char folder[4096] = ".";

	if (slash != NULL && (size_t)(slash - m->target.path) < sizeof(folder) - 1) {
		memcpy(folder, m->target.path, (size_t)(slash - m->target.path) + 1);
		folder[slash - m->target.path + 1] = '\0';
	}
	m->spool = build_can_settle(m->b) ? memfd_create("extkit", MFD_CLOEXEC)
					  : open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (m->spool < 0)
		m->spool = memfd_create("extkit", MFD_CLOEXEC);
	return m->spool < 0 ? diag_errno(m->diag, -errno, "cannot spool") : 0;
}

static int spool_run(struct making *m, struct tree_source *s, const struct gather_node *n,
		     const struct build_run *r)
{
	uint32_t bs = build_block_size(m->b);
	uint64_t from = (uint64_t)r->lblk * bs;
	uint64_t to = MIN(from + (uint64_t)r->len * bs, n->i.size);
	int rc = 0;

	while (from < to && rc == 0) {
		size_t len = (size_t)MIN(to - from, (uint64_t)PIECE);

		rc = s->ops->read(s, n->i.token, from, m->piece, len);
		if (rc == 0)
			rc = spool_write(m->spool, m->spooled, m->piece, len, m->diag);
		m->spooled += len;
		from += len;
	}
	return rc;
}

static int spool_file(struct making *m, struct tree_source *s, struct gather_node *n)
{
	uint64_t at = m->spooled;
	int rc = m->spool < 0 ? open_spool(m) : 0;

	for (uint32_t i = 0; i < n->i.nruns && rc == 0; i++)
		rc = spool_run(m, s, n, &n->i.runs[i]);
	n->i.token = at;
	return rc;
}

/* Places are dealt out from here on; what was spooled goes there. */
static int settle(struct making *m)
{
	int rc = build_settle(m->b);

	for (size_t i = 0; i < m->nfiles && rc == 0 && m->path != NULL; i++) {
		struct gather_node *n = m->files[i];

		if (n->has_contents && n->i.origin == NULL)
			rc = copy_file(m, NULL, n);
	}
	if (rc == 0)
		rc = flush(m);
	if (m->spool >= 0)
		close(m->spool);
	m->spool = -1;
	return rc;
}

/* ---- entries in ---- */

static int ask_space(struct making *m, struct gather_node *n, const struct tree_entry *e)
{
	int rc = 0;

	if (e->data == NULL) {
		rc = build_data(m->b, &n->i, 0, e->size);
		m->bytes += e->size;
	}
	for (size_t i = 0; i < e->ndata && rc == 0; i++) {
		rc = build_data(m->b, &n->i, e->data[i].from, e->data[i].to);
		m->bytes += e->data[i].to - e->data[i].from;
	}
	if (rc == 0)
		rc = feed_check_bytes(&m->feed, m->bytes);
	if (rc == 0)
		rc = build_space(m->b, &n->i);
	return rc;
}

static uint64_t run_bytes(const struct making *m, const struct gather_node *n)
{
	uint64_t blocks = 0;

	for (uint32_t i = 0; i < n->i.nruns; i++)
		blocks += n->i.runs[i].len;
	return blocks * build_block_size(m->b);
}

/* Contents of a stream: out, if there is a place; else into the spool while that is small. */
static int take_stream(struct making *m, struct tree_source *s, struct gather_node *n)
{
	int rc = 0;

	n->i.origin = NULL;
	if (!build_settled(m->b) && build_can_settle(m->b) &&
	    m->spooled + run_bytes(m, n) > SPOOL_MOST) {
		/* this one waits as well, but its contents are still to be read */
		n->has_contents = false;
		rc = settle(m);
		n->has_contents = true;
	}
	if (rc < 0)
		return rc;
	if (m->path == NULL) {
		m->spooled += build_settled(m->b) ? 0 : run_bytes(m, n);
		return 0;
	}
	return build_settled(m->b) ? copy_file(m, s, n) : spool_file(m, s, n);
}

/* Contents that lie in the inode are read at once: they wait in memory. */
static int take_inside(struct making *m, struct tree_source *s, struct gather_node *n,
		       const struct tree_entry *e)
{
	int rc;

	m->bytes += n->i.size;
	rc = feed_check_bytes(&m->feed, m->bytes);
	if (rc < 0 || m->path == NULL)
		return rc;
	n->i.contents = malloc(n->i.inside_bytes);
	if (n->i.contents == NULL)
		return diag_set(m->diag, -ENOMEM, "out of memory for contents");
	m->written += n->i.size;
	return s->ops->read(s, e->token, 0, n->i.contents, n->i.inside_bytes);
}

static int take_contents(struct making *m, struct tree_source *s, struct gather_node *n,
			 const struct tree_entry *e)
{
	int rc;

	n->has_contents = true;
	if (build_inside(m->b, &n->i))
		return take_inside(m, s, n, e);
	n->has_contents = false;
	rc = mem_grow((void **)&m->files, &m->files_cap, m->nfiles + 1, sizeof(*m->files));
	if (rc == 0)
		rc = ask_space(m, n, e);
	if (rc < 0)
		return rc;
	n->has_contents = true;
	n->i.token = e->token;
	n->i.origin = s->later ? s : NULL;
	m->files[m->nfiles++] = n;
	return s->later ? 0 : take_stream(m, s, n);
}

static void clamp(struct making *m, struct ek_time *t)
{
	int64_t least, most;

	gather_times(&m->g, &least, &most);
	if (t->sec < least)
		*t = (struct ek_time){least, 0};
	if (t->sec > most)
		*t = (struct ek_time){most, 0};
}

/* What of an entry cannot be kept does not cost all of it, when the caller would go on: a time goes
 * to the nearest that can, attributes stay behind. */
static int add_entry(struct making *m, struct tree_source *s, struct tree_entry *e,
		     struct gather_node **ret)
{
	bool keep_going = (m->feed.tree.flags & EK_TREE_KEEP_GOING) != 0;
	int rc = gather_add(&m->g, s, e, ret);

	if (rc == -ERANGE && keep_going) {
		report_issue(m->rep, rc, e->path, m->diag);
		clamp(m, &e->mtime);
		clamp(m, &e->atime);
		clamp(m, &e->ctime);
		clamp(m, &e->crtime);
		rc = gather_add(&m->g, s, e, ret);
	}
	if ((rc == -E2BIG || rc == -EOPNOTSUPP) && keep_going && e->nxattrs != 0) {
		report_issue(m->rep, rc, e->path, m->diag);
		e->nxattrs = 0;
		rc = gather_add(&m->g, s, e, ret);
	}
	return rc;
}

static int take_entry(void *arg, struct tree_source *s, struct tree_entry *e)
{
	struct making *m = arg;
	struct gather_node *n;
	int rc = add_entry(m, s, e, &n);

	if (rc == 0 && n != NULL)
		rc = take_contents(m, s, n, e);
	return rc == -ERANGE ? -EINVAL : rc;
}

static int take_sources(struct making *m)
{
	int rc = 0;

	m->sources =
	    mem_array(m->feed.tree.nsources + 1, sizeof(struct tree_source *), MEM_CAP, m->diag);
	if (m->sources == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < m->feed.tree.nsources && rc == 0; i++) {
		rc = tree_open(m->ctx, m->feed.tree.sources[i], &m->sources[i]);
		if (rc < 0)
			return rc;
		m->nsources = i + 1;
		m->g.source = (unsigned)i;
		rc = feed_source(&m->feed, m->sources[i]);
	}
	return rc;
}

/* ---- the whole ---- */

static int copy_waiting(struct making *m)
{
	int rc = 0;

	for (size_t i = 0; i < m->nfiles && rc == 0; i++) {
		struct gather_node *n = m->files[i];

		if (n->has_contents && (n->i.origin != NULL || m->spool >= 0))
			rc = copy_file(m, n->i.origin, n);
	}
	return rc < 0 ? rc : flush(m);
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
	int rc = tree_target_fit(&m->target, build_bytes(m->b));

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
	if (rc == 0)
		rc = take_sources(m);
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
	tree_target_close(&m->target);
	dev_close(m->log);
	gather_end(&m->g);
	build_close(m->b);
	if (m->spool >= 0)
		close(m->spool);
	free(m->files);
	free(m->piece);
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
	m->piece = mem_aligned(4096, PIECE);
	m->feed.rep = m->rep = mem_zero(sizeof(*m->rep));
	if (rc == 0 && (m->piece == NULL || m->rep == NULL))
		rc = diag_set(m->diag, -ENOMEM, "out of memory for the tree");
	return rc;
}

int ek_create_tree(struct ek_ctx *ctx, const char *path, const struct ek_create_options *opt,
		   const struct ek_tree_options *tree, struct ek_tree_report **ret)
{
	struct making m = {.ctx = ctx, .diag = &ctx->diag, .path = path, .spool = -1};
	int rc;

	diag_clear(m.diag);
	m.opt.size = sizeof(m.opt);
	session_hand_out(&m.opt, opt->size, opt, sizeof(m.opt));
	m.feed =
	    (struct tree_feed){.ctx = ctx, .stage = "read names", .take = take_entry, .arg = &m};
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

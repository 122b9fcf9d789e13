/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contents of files on their way to a new image: read run by run, sent in pieces; large ones the
 * host copies by itself.
 */
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/ctx.h"
#include "io/dev.h"
#include "tree/create_impl.h"

#define HOST_LEAST ((uint64_t)1 << 20)
#define HOST_MOST  ((uint64_t)64 << 20)

/* Bytes of contents that are on their way or there. */
static uint64_t moved(const struct making *m)
{
	return m->written + tree_pieces_out(m->out);
}

static int tell_progress(struct making *m)
{
	struct ek_progress step = {"write files", moved(m), m->bytes, "bytes"};

	return ctx_progress(m->ctx, &step);
}

/* What a machine could not keep anyway would cost it everything else that it has in its cache. */
static void spare_cache(struct making *m, struct tree_source *s)
{
	if (moved(m) < m->keep)
		return;
	tree_pieces_past_cache(m->out);
	if (s != NULL)
		s->past_cache = true;
}

int making_flush(struct making *m)
{
	int rc = tree_pieces_settle(m->out);

	return rc < 0 ? rc : tell_progress(m);
}

/* Room for the next bytes at off, at most *len of them. */
static int room(struct making *m, uint64_t off, size_t *len, uint8_t **ret)
{
	uint64_t before = tree_pieces_out(m->out);
	int rc = tree_pieces_room(m->out, off, len, ret);

	return rc < 0 || tree_pieces_out(m->out) == before ? rc : tell_progress(m);
}

/* Where the bytes of a file come from: its source, or the spool. */
static int fetch(struct making *m, struct tree_source *s, const struct gather_node *n, uint64_t off,
		 void *buf, size_t len, uint64_t *spool_at)
{
	if (s != NULL)
		return s->ops->read(s, n->i.token, off, buf, len);
	*spool_at += len;
	return making_fetch(m, *spool_at - len, buf, len);
}

/* Large pieces the host copies by itself, whole blocks only; *done is how far it came.  Whatever
 * keeps it from doing so comes out when the rest is read. */
static int copy_by_host(struct making *m, struct tree_source *s, const struct gather_node *n,
			const struct build_run *r, uint64_t *done)
{
	uint64_t bs = build_block_size(m->b), from = r->lblk * bs, at = r->pblk * bs, base;
	uint64_t left = MIN(r->len * bs, (n->i.size - from) / bs * bs);
	uint64_t limit = build_limit(m->b) * bs;
	int in, out, rc = 0;

	*done = 0;
	if (s == NULL || s->ops->host == NULL || left < HOST_LEAST ||
	    (limit != 0 && at + left > limit) || dev_host(m->target.dev, &out, &base) < 0 ||
	    (in = s->ops->host(s, n->i.token)) < 0)
		return 0;
	while (*done < left && rc == 0 && moved(m) < m->keep) {
		off_t src = (off_t)(from + *done), dst = (off_t)(base + at + *done);
		size_t want = (size_t)MIN(left - *done, (uint64_t)HOST_MOST);
		ssize_t did = copy_file_range(in, &src, out, &dst, want, 0);

		if (did <= 0)
			break;
		*done += (uint64_t)did / bs * bs;
		m->written += (uint64_t)did;
		rc = tell_progress(m);
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
		size_t len = (size_t)MIN(to - from, (uint64_t)TREE_PIECE), n_read;
		uint8_t *p;

		spare_cache(m, s);
		rc = room(m, at, &len, &p);
		if (rc < 0)
			break;
		n_read = (size_t)MIN((uint64_t)len, n->i.size - from);
		rc = fetch(m, s, n, from, p, n_read, spool_at);
		memset(p + n_read, 0, len - n_read);
		if (limit == 0 || at + len <= limit) /* else it is only counted */
			tree_pieces_add(m->out, len);
		from += len;
		at += len;
	}
	return rc;
}

int making_copy(struct making *m, struct tree_source *s, const struct gather_node *n)
{
	uint64_t spool_at = n->i.token;
	int rc = 0;

	for (uint32_t i = 0; i < n->i.nruns && rc == 0; i++)
		rc = copy_run(m, s, n, &n->i.runs[i], &spool_at);
	return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entries of sources on their way into the tree that is gathered.  Each file's contents ask for
 * room; those of a stream are read at once, to their place or to the spool, and small ones that
 * lie in their inode wait in memory.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "tree/create_impl.h"

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

/* Bytes that would wait: the last block need not be full. */
static uint64_t wait_bytes(const struct making *m, const struct gather_node *n)
{
	const struct build_run *last = n->i.runs + n->i.nruns;
	uint64_t end;

	if (n->i.nruns == 0)
		return 0;
	end = ((uint64_t)last[-1].lblk + last[-1].len) * build_block_size(m->b);
	return run_bytes(m, n) - (end - MIN(end, n->i.size));
}

/* Contents of a stream: out, if there is a place; else into the spool while that is small. */
static int take_stream(struct making *m, struct tree_source *s, struct gather_node *n)
{
	int rc = 0;

	n->i.origin = NULL;
	if (!build_settled(m->b) && build_can_settle(m->b) &&
	    m->spooled + run_bytes(m, n) > MAKING_WAIT) {
		/* this one waits as well, but its contents are still to be read */
		n->has_contents = false;
		rc = making_settle(m);
		n->has_contents = true;
	}
	if (rc < 0)
		return rc;
	if (m->path == NULL) {
		m->spooled += build_settled(m->b) ? 0 : wait_bytes(m, n);
		return 0;
	}
	return build_settled(m->b) ? making_copy(m, s, n) : making_spool(m, s, n);
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

/* Contents that could not be had: no part of them stays when the caller would go on, nor does the
 * name.  Other names that the file has are of an empty one, as they came. */
static int drop(struct making *m, struct gather_node *n, const char *path)
{
	int rc = n->has_contents ? build_forget(m->b, &n->i) : 0;

	n->has_contents = false;
	n->i.size = n->i.inside_bytes = 0;
	return rc < 0 ? rc : gather_drop(&m->g, path);
}

int making_entry(void *arg, struct tree_source *s, struct tree_entry *e)
{
	struct making *m = arg;
	struct gather_node *n;
	int rc = add_entry(m, s, e, &n);

	if (rc == 0 && n != NULL) {
		rc = take_contents(m, s, n, e);
		if (rc < 0 && drop(m, n, e->path) < 0)
			return -ENOMEM;
	}
	return rc == -ERANGE ? -EINVAL : rc;
}

int making_take(struct making *m)
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

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contents of a comparison's first tree, where that is a stream: what is data waits in one file of
 * the host, range behind range and file behind file.  Holes take no room there, and no time.
 */
#include <string.h>

#include "base/check.h"
#include "base/ctx.h"
#include "tree/diff_impl.h"

/* The ranges of a node that are in the spool: *whole when all of its size is. */
static const struct tree_range *ranges_of(const struct diff_node *n, struct tree_range *whole,
					  size_t *ret_n)
{
	*whole = (struct tree_range){0, n->e.size};
	*ret_n = n->data != NULL ? n->ndata : 1;
	return n->data != NULL ? n->data : whole;
}

static int spool_range(struct diff *d, uint64_t token, struct tree_range r)
{
	int rc = 0;

	while (r.from < r.to && rc == 0) {
		size_t len = (size_t)MIN(r.to - r.from, (uint64_t)DIFF_PIECE);

		rc = d->a->ops->read(d->a, token, r.from, d->piece, len);
		if (rc == 0)
			rc = spool_write(&d->spool, d->spool_end, d->piece, len, &d->ctx->diag);
		d->spool_end += len;
		r.from += len;
	}
	return rc;
}

int diff_spool(struct diff *d, struct diff_node *n, const struct tree_entry *e)
{
	const struct tree_range *r;
	struct tree_range whole;
	size_t count;
	int rc = 0;

	if (d->a->later || !e->has_contents || (d->flags & EK_DIFF_NO_CONTENTS) != 0)
		return 0;
	if (d->spool.fd < 0)
		rc = spool_open(&d->spool, SPOOL_UNKNOWN, &d->ctx->diag);
	if (rc < 0)
		return rc;
	n->spooled = d->spool_end;
	r = ranges_of(n, &whole, &count);
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = spool_range(d, e->token, r[i]);
	return rc;
}

/* Offsets of one file ascend, as a rule: the range that was read last is where to look on. */
static struct diff_cursor *cursor_at(struct diff *d, const struct diff_node *n, uint64_t off)
{
	struct diff_cursor *c = &d->cursor;

	if (c->of != n || off < c->off)
		*c = (struct diff_cursor){.of = n, .spooled = n->spooled};
	c->off = off;
	return c;
}

static int read_spooled(struct diff *d, const struct diff_node *n, uint64_t off, uint8_t *to,
			size_t len)
{
	struct diff_cursor *c = cursor_at(d, n, off);
	struct tree_range whole;
	size_t count, part;
	const struct tree_range *r = ranges_of(n, &whole, &count);
	int rc = 0;

	for (; len != 0 && rc == 0; to += part, off += part, len -= part) {
		for (; c->range < count && r[c->range].to <= off; c->range++)
			c->spooled += r[c->range].to - r[c->range].from;
		if (c->range == count || off < r[c->range].from) {
			part = c->range == count ? len : (size_t)MIN(len, r[c->range].from - off);
			memset(to, 0, part);
			continue;
		}
		part = (size_t)MIN(len, r[c->range].to - off);
		rc = spool_read(d->spool.fd, c->spooled + (off - r[c->range].from), to, part,
				&d->ctx->diag);
	}
	return rc;
}

int diff_read(struct diff *d, const struct diff_node *n, uint64_t off, void *buf, size_t len)
{
	if (d->a->later)
		return d->a->ops->read(d->a, n->e.token, off, buf, len);
	return read_spooled(d, n, off, buf, len);
}

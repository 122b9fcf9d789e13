/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two images compared block by block, as far as the smaller one goes, and what differs told as runs
 * of one owner on each side.  What is a hole of the host's file on both sides is not read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "extkit/diff.h"
#include "fs/image.h"
#include "fs/session.h"
#include "io/dev.h"
#include "tree/owners.h"

#define PIECE ((size_t)1 << 20)

struct side {
	struct ek_image *img;
	struct owners *owners; /* NULL until something differs */
	uint8_t *piece;
	int fd;              /* of the host, or -1: holes are not known */
	uint64_t base, data; /* data: where the next data begins, as far as is known */
};

struct compared {
	struct side a, b;
	uint32_t unit; /* bytes of a block: the smaller one of both */
	uint64_t end;  /* bytes */
	uint64_t from; /* of the run that differs, when to is not 0 */
	uint64_t to;
	uint64_t found; /* differences, that of sizes is one */
	ek_block_diff_fn *tell;
	void *arg;
};

static int open_side(struct side *s, struct ek_image *img)
{
	s->img = img;
	s->piece = mem_aligned(4096, PIECE);
	if (dev_host(img->dev, &s->fd, &s->base) < 0)
		s->fd = -1;
	return s->piece != NULL ? 0 : -ENOMEM;
}

static void close_side(struct side *s)
{
	owners_close(s->owners);
	free(s->piece);
}

/* ---- telling ---- */

static struct ek_block_owner owner_at(const struct side *s, uint64_t at, uint64_t *ret_end)
{
	unsigned bits = s->img->geom.block_bits;
	uint64_t len;
	struct ek_block_owner o = owners_at(s->owners, at >> bits, &len);

	*ret_end =
	    len > (UINT64_MAX >> bits) - (at >> bits) ? UINT64_MAX : ((at >> bits) + len) << bits;
	if (o.has_offset)
		o.offset += at & ((1u << bits) - 1);
	return o;
}

/* The last inode of a run of a table. */
static void set_last(struct ek_block_owner *o, const struct side *s, uint64_t bytes)
{
	uint64_t blocks = DIV_UP(bytes, (uint64_t)s->img->geom.block_size);

	if (o->inodes_per_block != 0)
		o->last_inode = o->inode + (uint32_t)(blocks * o->inodes_per_block) - 1;
}

static int tell_run(struct compared *c)
{
	int rc = 0;

	if (c->a.owners == NULL)
		rc = owners_open(c->a.img, &c->a.owners);
	if (rc == 0 && c->b.owners == NULL)
		rc = owners_open(c->b.img, &c->b.owners);
	while (rc == 0 && c->from < c->to) {
		uint64_t end_a, end_b, end;
		struct ek_block_difference d = {.block = c->from / c->unit};

		d.a = owner_at(&c->a, c->from, &end_a);
		d.b = owner_at(&c->b, c->from, &end_b);
		end = MIN(c->to, MIN(end_a, end_b));
		d.len = (end - c->from) / c->unit;
		set_last(&d.a, &c->a, end - c->from);
		set_last(&d.b, &c->b, end - c->from);
		c->found++;
		rc = c->tell(c->arg, &d);
		rc = rc <= 0 ? rc : -ECANCELED;
		c->from = end;
	}
	c->to = 0;
	return rc;
}

static int differs(struct compared *c, uint64_t at)
{
	int rc = 0;

	if (c->to != 0 && c->to != at)
		rc = tell_run(c);
	if (c->to == 0)
		c->from = at;
	c->to = at + c->unit;
	return rc;
}

/* ---- comparing ---- */

/* The first byte at or after at that may be other than zero. */
static uint64_t next_data(struct side *s, uint64_t at, uint64_t end)
{
	off_t found;

	if (s->fd < 0 || s->data > at)
		return s->fd < 0 ? at : s->data;
	found = lseek(s->fd, (off_t)(s->base + at), SEEK_DATA);
	if (found < 0)
		s->data = errno == ENXIO ? end : at;
	else
		s->data = MIN(end, (uint64_t)found - s->base);
	return s->data;
}

static int compare_piece(struct compared *c, uint64_t at, size_t len)
{
	int rc = dev_read(c->a.img->dev, at, c->a.piece, len);

	if (rc == 0)
		rc = dev_read(c->b.img->dev, at, c->b.piece, len);
	if (rc < 0 || memcmp(c->a.piece, c->b.piece, len) == 0)
		return rc;
	if (c->tell == NULL) {
		c->found++;
		return 0;
	}
	for (size_t i = 0; i < len && rc == 0; i += c->unit) {
		if (memcmp(c->a.piece + i, c->b.piece + i, c->unit) != 0)
			rc = differs(c, at + i);
	}
	return rc;
}

static int compare(struct compared *c)
{
	struct ek_ctx *ctx = c->a.img->session->ctx;
	struct ek_progress step = {.stage = "compare", .unit = "bytes", .total = c->end};
	uint64_t at = 0;
	int rc = 0;

	while (rc == 0 && (c->tell != NULL || c->found == 0)) {
		uint64_t x = next_data(&c->a, at, c->end), y = next_data(&c->b, at, c->end);
		size_t len;

		at = MAX(at, MIN(x, y) / c->unit * c->unit);
		if (at >= c->end)
			break;
		len = (size_t)MIN(c->end - at, (uint64_t)PIECE);
		rc = compare_piece(c, at, len);
		at += len;
		step.done = at;
		if (rc == 0)
			rc = ctx_progress(ctx, &step);
	}
	return rc == 0 && c->to != 0 ? tell_run(c) : rc;
}

static uint64_t bytes_of(const struct ek_image *img)
{
	return img->geom.blocks << img->geom.block_bits;
}

int ek_diff_blocks(struct ek_image *a, struct ek_image *b, ek_block_diff_fn *tell, void *arg)
{
	struct compared c = {.tell = tell, .arg = arg};
	struct diag *d = &a->session->ctx->diag;
	int rc;

	diag_clear(d);
	c.unit = MIN(a->geom.block_size, b->geom.block_size);
	c.end = MIN(bytes_of(a), bytes_of(b));
	c.found = bytes_of(a) != bytes_of(b);
	rc = open_side(&c.a, a);
	if (rc == 0)
		rc = open_side(&c.b, b);
	if (rc == 0)
		rc = compare(&c);
	close_side(&c.a);
	close_side(&c.b);
	if (rc < 0 && rc != -ECANCELED)
		return diag_errno(d, rc, "cannot compare blocks");
	return rc < 0 ? rc : c.found != 0;
}

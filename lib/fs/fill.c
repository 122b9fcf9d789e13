/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes of a descriptor or of memory into a new file: blocks first, one transaction for each
 * extent, then the bytes straight to their place.  What the host knows to be a hole stays one.
 */
#include "fs/fill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/file.h"
#include "fs/inline.h"
#include "fs/inode.h"
#include "fs/map.h"
#include "fs/session.h"
#include "io/dev.h"

#define PIECE ((size_t)1 << 20)

struct fill {
	struct task *t;
	struct ek_inode *inode;
	const struct source *src;
	uint8_t *piece; /* PIECE bytes and a block for what lies behind the end */
	off_t base;     /* of the descriptor when it can seek */
	uint64_t done;
};

/* ---- bytes ---- */

static int tell_progress(struct fill *p, uint64_t n)
{
	struct ek_progress step = {.stage = "write files", .unit = "bytes"};

	p->done += n;
	step.done = p->done;
	return ctx_progress(p->t->img->session->ctx, &step);
}

/* Blocks for [off, off + len) and the bytes into them; what a last block has too much is zeros.
 * data has room for that. */
static int store(struct fill *p, uint64_t off, uint8_t *data, uint64_t len)
{
	uint64_t block = p->t->img->geom.block_size, pos, run;
	int rc = 0;

	while (len > 0 && rc == 0) {
		uint64_t whole;

		rc = file_extend(p->t, p->inode, off, len, &pos, &run);
		if (rc < 0)
			return rc;
		whole = ROUND_UP(run, block);
		if (whole != run)
			memset(data + run, 0, whole - run);
		rc = dev_write(p->t->img->dev, pos, data, whole);
		off += run;
		data += run;
		len -= run;
	}
	return rc;
}

static int read_host(struct fill *p, off_t at, size_t len, size_t *ret)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = at < 0 ? read(p->src->fd, p->piece + got, len - got)
				   : pread(p->src->fd, p->piece + got, len - got, at + (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return diag_errno(&p->t->img->diag, -errno, "cannot read the new contents");
		if (n == 0)
			break;
		got += (size_t)n;
	}
	*ret = got;
	return 0;
}

/* [off, off + len) of a descriptor that can seek: as many blocks as one extent takes, then their
 * bytes piece by piece. */
static int copy_range(struct fill *p, uint64_t off, uint64_t len)
{
	uint64_t block = p->t->img->geom.block_size, pos, run;

	while (len > 0) {
		int rc = file_extend(p->t, p->inode, off, len, &pos, &run);

		for (uint64_t at = 0; rc == 0 && at < run; at += PIECE) {
			size_t n = (size_t)MIN((uint64_t)PIECE, run - at), got = 0;

			rc = read_host(p, p->base + (off_t)(off + at), n, &got);
			/* a file that shrinks meanwhile ends in zeros */
			memset(p->piece + got, 0, ROUND_UP(n, block) - got);
			if (rc == 0)
				rc = dev_write(p->t->img->dev, pos + at, p->piece,
					       ROUND_UP(n, block));
			if (rc == 0)
				rc = tell_progress(p, n);
		}
		if (rc < 0)
			return rc;
		off += run;
		len -= run;
	}
	return 0;
}

/* Where data begin at or after at, and where they end; everything when the host does not know. */
static int next_data(struct fill *p, uint64_t at, uint64_t size, uint64_t *ret_from,
		     uint64_t *ret_to)
{
	uint64_t block = p->t->img->geom.block_size;
	off_t data = lseek(p->src->fd, p->base + (off_t)at, SEEK_DATA), hole;

	if (data < 0) {
		*ret_from = errno == ENXIO ? size : at;
		*ret_to = size;
		return 0;
	}
	hole = lseek(p->src->fd, data, SEEK_HOLE);
	*ret_from = ROUND_DOWN((uint64_t)(data - p->base), block);
	*ret_from = MAX(*ret_from, at);
	*ret_to = hole < 0 ? size : ROUND_UP((uint64_t)(hole - p->base), block);
	*ret_to = MIN(*ret_to, size);
	return 0;
}

static int set_length(struct fill *p, uint64_t size)
{
	struct ek_inode *inode = p->inode;
	uint64_t limit = map_size_limit(inode);

	if (size > limit)
		return -EFBIG;
	if (inode->size >= size)
		return 0;
	inode->size = size;
	inode->rec.size = size;
	return inode_mark_dirty(p->t, inode, MARK_FALLOCATE);
}

/* Contents that the inode may have room for: 1 when they are there. */
static int fill_inode(struct fill *p, const void *bytes, uint64_t len)
{
	return len <= p->t->img->geom.inode_size ? inline_fill(p->t, p->inode, bytes, len) : 0;
}

static int fill_small(struct fill *p, uint64_t size)
{
	size_t got;
	int rc;

	if (!inode_may_inline(p->inode) || size > p->t->img->geom.inode_size)
		return 0;
	rc = read_host(p, p->base, size, &got);
	if (rc < 0)
		return rc;
	memset(p->piece + got, 0, size - got);
	return fill_inode(p, p->piece, size);
}

static int fill_from_file(struct fill *p, uint64_t size)
{
	uint64_t at = 0, from, to;
	int done = fill_small(p, size);

	if (done != 0)
		return MIN(done, 0);
	while (at < size) {
		int rc = next_data(p, at, size, &from, &to);

		if (rc == 0 && from < to)
			rc = copy_range(p, from, to - from);
		if (rc < 0)
			return rc;
		at = MAX(to, at + 1);
	}
	return set_length(p, size);
}

static int fill_from_stream(struct fill *p)
{
	uint64_t off = 0;
	size_t got;
	int rc;

	do {
		rc = read_host(p, -1, PIECE, &got);
		if (rc == 0 && off == 0)
			rc = fill_inode(p, p->piece, got);
		if (rc == 0)
			rc = store(p, off, p->piece, got);
		rc = MIN(rc, 0);
		if (rc == 0)
			rc = tell_progress(p, got);
		off += got;
	} while (rc == 0 && got == PIECE);
	return rc;
}

static int fill_from_bytes(struct fill *p)
{
	uint64_t off = 0;
	int rc = fill_inode(p, p->src->bytes, p->src->len);

	if (rc != 0)
		return MIN(rc, 0);
	while (off < p->src->len && rc == 0) {
		size_t n = (size_t)MIN((uint64_t)PIECE, p->src->len - off);

		memcpy(p->piece, p->src->bytes + off, n);
		rc = store(p, off, p->piece, n);
		off += n;
	}
	return rc;
}

static int fill(struct fill *p)
{
	size_t room = PIECE + p->t->img->geom.block_size;
	struct stat st;
	int rc;

	p->piece = mem_aligned(4096, room);
	if (p->piece == NULL)
		return diag_set(&p->t->img->diag, -ENOMEM, "out of memory for a piece of a file");
	if (p->src->bytes != NULL || p->src->fd < 0) {
		rc = fill_from_bytes(p);
	} else {
		p->base = lseek(p->src->fd, 0, SEEK_CUR);
		if (p->base >= 0 && fstat(p->src->fd, &st) == 0 && S_ISREG(st.st_mode))
			rc = fill_from_file(
			    p, st.st_size > p->base ? (uint64_t)(st.st_size - p->base) : 0);
		else
			rc = fill_from_stream(p);
	}
	free(p->piece);
	return rc;
}

int fill_file(struct task *t, struct ek_inode *inode, const struct source *src)
{
	struct fill f = {.t = t, .inode = inode, .src = src};

	return fill(&f);
}

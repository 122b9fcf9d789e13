/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a copied inode is given: its bytes, run by run with the holes between them, then everything
 * that is not bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "extkit/inode.h"
#include "fs/credits.h"
#include "fs/edit_copy.h"
#include "fs/file.h"
#include "fs/fill.h"
#include "fs/inode.h"
#include "fs/namei.h"
#include "fs/session.h"
#include "fs/xattr.h"
#include "io/dev.h"

#define PIECE ((size_t)1 << 20)

int copy_check(struct copy *c, const struct ek_inode *from)
{
	uint32_t sealed = from->rec.flags & (INODE_ENCRYPT | INODE_VERITY);
	char names[64];

	if (sealed == 0)
		return 0;
	return diag_set(&c->from->img->diag, -EOPNOTSUPP, "unsupported: inode %u is %s",
			from->ino.v, ek_flag_names(sealed, names, sizeof(names)));
}

/* ---- bytes ---- */

static int need_piece(struct copy *c)
{
	if (c->piece == NULL)
		c->piece = mem_aligned(4096, PIECE + 65536); /* and the largest block */
	return c->piece != NULL ? 0 : -ENOMEM;
}

static int tell_progress(struct copy *c, uint64_t n)
{
	struct ek_progress step = {.stage = "write files", .unit = "bytes"};

	c->done.bytes += n;
	step.done = c->done.bytes;
	return ctx_progress(c->to->img->session->ctx, &step);
}

/* n bytes at off of the source to pos of the device, with zeros up to a whole block. */
static int copy_piece(struct copy *c, struct ek_inode *from, uint64_t off, uint64_t pos, size_t n)
{
	size_t whole = ROUND_UP(n, (size_t)c->to->img->geom.block_size), got = 0;
	int rc = file_read(c->from, from, off, c->piece, n, &got);

	if (rc < 0)
		return rc;
	memset(c->piece + got, 0, whole - got);
	rc = dev_write(c->to->img->dev, pos, c->piece, whole);
	return rc < 0 ? rc : tell_progress(c, n);
}

/* [off, end): as many blocks as one extent takes, then their bytes piece by piece. */
static int copy_run(struct copy *c, struct ek_inode *from, struct ek_inode *made, uint64_t off,
		    uint64_t end)
{
	uint64_t pos, run;
	int rc = 0;

	while (off < end && rc == 0) {
		rc = file_extend(c->to, made, off, end - off, &pos, &run);
		for (uint64_t at = 0; rc == 0 && at < run; at += PIECE)
			rc = copy_piece(c, from, off + at, pos + at,
					(size_t)MIN((uint64_t)PIECE, run - at));
		off += rc == 0 ? run : 0;
	}
	return rc;
}

/* What may fit in the inode goes the way that put goes. */
static int copy_small(struct copy *c, struct ek_inode *from, struct ek_inode *made)
{
	struct source src = {.fd = -1, .bytes = c->piece};
	size_t got = 0;
	int rc = file_read(c->from, from, 0, c->piece, (size_t)from->size, &got);

	src.len = got;
	c->done.bytes += got;
	return rc < 0 ? rc : fill_file(c->to, made, &src);
}

int copy_data(struct copy *c, struct ek_inode *from, struct ek_inode *made)
{
	uint64_t block = c->to->img->geom.block_size, at = 0, data, hole;
	int rc = need_piece(c);

	if (rc == 0)
		rc = file_next_data(c->from, from, 0, &data);
	if (rc == 0 && data == 0 && from->size <= c->to->img->geom.inode_size)
		return copy_small(c, from, made);
	while (rc == 0 && at < from->size) {
		rc = file_next_data(c->from, from, at, &data);
		if (rc == 0)
			rc = file_next_hole(c->from, from, data, &hole);
		if (rc < 0)
			return rc;
		/* blocks of the copy may be larger */
		data = MAX(ROUND_DOWN(data, block), at);
		hole = MIN(ROUND_UP(hole, block), from->size);
		rc = copy_run(c, from, made, data, hole);
		at = MAX(hole, at + 1);
	}
	if (rc == 0 && made->size < from->size)
		rc = inode_set_size(c->to, made, from->size);
	return rc;
}

/* ---- the rest ---- */

struct carry {
	struct copy *c;
	struct ek_inode *made;
};

static int carry_xattr(void *ctx, const struct xattr_item *item)
{
	struct carry *k = ctx;

	return xattr_change(k->c->to, k->made, item->name, item->value != NULL ? item->value : "",
			    item->len);
}

static bool has_project(const struct copy *c)
{
	return geom_ro_compat(&c->from->img->geom, RO_COMPAT_PROJECT) &&
	       geom_ro_compat(&c->to->img->geom, RO_COMPAT_PROJECT);
}

int copy_attr(struct copy *c, struct ek_inode *from, struct ek_inode *made)
{
	struct carry k = {c, made};
	uint32_t keep = has_project(c) ? ~0u : ~(uint32_t)INODE_PROJINHERIT;
	struct ek_attr a = {
	    .size = sizeof(a),
	    .mask = EK_ATTR_MODE | EK_ATTR_UID | EK_ATTR_GID | EK_ATTR_ATIME | EK_ATTR_MTIME |
		    EK_ATTR_FLAGS | (has_project(c) ? (unsigned)EK_ATTR_PROJECT : 0),
	    .mode = from->rec.mode & 07777,
	    .uid = from->rec.uid,
	    .gid = from->rec.gid,
	    .atime = from->rec.atime,
	    .mtime = from->rec.mtime,
	    .flags = from->rec.flags & keep,
	    .project = from->rec.projid,
	};
	int rc = xattr_each(c->from, from, carry_xattr, &k);

	return rc < 0 ? rc : edit_set(c->to, made, &a);
}

struct sum {
	const struct ek_image *img;
	unsigned credits;
};

static int add_xattr(void *ctx, const struct xattr_item *item)
{
	struct sum *sum = ctx;

	sum->credits += xattr_credits(sum->img, item->len);
	return 0;
}

int copy_credits(struct copy *c, struct ek_inode *from, unsigned *ret)
{
	struct sum sum = {c->to->img, CREDITS_ATTR + 3};
	int rc = xattr_each(c->from, from, add_xattr, &sum);

	if (rc == 0)
		*ret = sum.credits;
	return rc;
}

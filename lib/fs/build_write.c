/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Everything of a bulk build but contents, in the order of the inodes, which is the order of their
 * places: folders, links, maps and attribute blocks, and beside them the inode tables.  Neighbours
 * leave together.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/build_impl.h"
#include "io/dev.h"

/* ---- pieces ---- */

int build_out_flush(struct build_out *o)
{
	int rc = o->len != 0 ? dev_write(o->dev, o->at, o->buf, o->len) : 0;

	o->len = 0;
	return rc;
}

int build_out(struct build_out *o, uint64_t at, const void *bytes, size_t len)
{
	int rc = 0;

	if (o->len != 0 && (o->at + o->len != at || o->len + len > BUILD_OUT))
		rc = build_out_flush(o);
	if (rc < 0)
		return rc;
	if (o->len == 0)
		o->at = at;
	memcpy(o->buf + o->len, bytes, len);
	o->len += len;
	return 0;
}

/* ---- inodes ---- */

static void fill_record(const struct build *b, const struct build_inode *x, struct inode_rec *r)
{
	memset(r, 0, sizeof(*r));
	r->mode = (uint16_t)x->mode;
	r->uid = x->uid;
	r->gid = x->gid;
	r->projid = x->project;
	r->flags = x->flags;
	r->atime = x->atime;
	r->mtime = x->mtime;
	r->ctime = x->ctime;
	r->crtime = x->crtime;
	r->links = (uint16_t)x->links;
	r->generation = x->generation;
	r->file_acl = x->xattr_block;
	r->extra_isize = b->z.isize > 128 ? 32 : 0;
	r->blocks = build_inode_blocks(b, x) << (b->l.geom.block_bits - 9);
	if (x->value != NULL)
		build_value_record(x->value, r);
	if (S_ISREG(x->mode))
		r->size = x->size;
	else if (S_ISDIR(x->mode))
		r->size = x->inside_bytes + ((uint64_t)x->dir_blocks << b->l.geom.block_bits);
	else if (S_ISLNK(x->mode))
		r->size = strlen(x->target);
	if (S_ISDIR(x->mode) && x->dir_blocks > 1 && (b->o.compat & COMPAT_DIR_INDEX) != 0 &&
	    x->nnames > 2 && x->min_blocks == 0)
		r->flags |= INODE_INDEX;
}

/* A link target that does not fit the inode. */
static int write_link(struct build *b, struct build_out *o, const struct build_inode *x)
{
	uint8_t *block = calloc(1, b->z.bs);
	int rc;

	if (block == NULL)
		return -ENOMEM;
	memcpy(block, x->target, strlen(x->target));
	rc = build_out(o, x->runs[0].pblk << b->l.geom.block_bits, block, b->z.bs);
	free(block);
	return rc;
}

static int write_node(struct build *b, struct build_out *o, const struct build_inode *x,
		      struct inode_rec *r)
{
	int rc = 0;

	fill_record(b, x, r);
	if (S_ISCHR(x->mode) || S_ISBLK(x->mode)) {
		inode_set_rdev(r, x->dev_major, x->dev_minor);
		return 0;
	}
	if (S_ISLNK(x->mode) && x->nruns == 0) {
		memcpy(r->block, x->target, strlen(x->target));
		return 0;
	}
	if (x->inside_bytes != 0)
		return 0;
	if (S_ISDIR(x->mode))
		rc = build_dir_write(b, o, x);
	else if (S_ISLNK(x->mode))
		rc = write_link(b, o, x);
	else if (x->value != NULL)
		rc = build_value_write(b, o, x);
	else if (!S_ISREG(x->mode))
		return 0;
	return rc < 0 ? rc : build_map(b, o, x, r);
}

/* The inode as it lies in its table, attributes and contents behind its fields; spare is as large.
 */
static int encode(const struct build *b, const struct build_inode *x, struct inode_rec *r,
		  uint8_t *raw, uint8_t *spare)
{
	bool body = x->xattrs != NULL && x->xattrs->body != NULL;
	le32 magic = le32_make(XATTR_MAGIC);
	int rc = 0;

	memset(raw, 0, b->z.isize);
	if (body || x->inside_bytes != 0)
		memcpy(raw + BUILD_BODY - sizeof(magic), &magic, sizeof(magic));
	if (body)
		memcpy(raw + BUILD_BODY, x->xattrs->body, b->z.isize - BUILD_BODY);
	if (x->inside_bytes != 0)
		rc = build_inside_put(b, x, spare, r, raw + BUILD_BODY);
	inode_encode(&b->l.geom, (ek_inum){x->ino}, r, raw);
	return rc;
}

static uint64_t inode_place(const struct build *b, uint32_t ino)
{
	const struct geom *g = &b->l.geom;
	uint32_t group = (ino - 1) / g->inodes_per_group, index = (ino - 1) % g->inodes_per_group;

	return (b->l.desc[group].inode_table.v << g->block_bits) + (uint64_t)index * g->inode_size;
}

/* Blocks outside of tables and the tables go their ways side by side. */
static int write_inodes(struct build *b, struct build_out *blocks, struct build_out *tables)
{
	uint8_t *raw = calloc(2, b->z.isize);
	int rc = raw == NULL ? -ENOMEM : 0;

	for (uint32_t i = 0; i < b->n && rc == 0; i++) {
		const struct build_inode *x = b->inodes[i];
		struct inode_rec r;

		rc = write_node(b, blocks, x, &r);
		if (rc == 0)
			rc = encode(b, x, &r, raw, raw + b->z.isize);
		if (rc == 0)
			rc = build_out(tables, inode_place(b, x->ino), raw, b->z.isize);
	}
	free(raw);
	if (rc == 0)
		rc = build_xattrs_write(b, blocks);
	if (rc == 0)
		rc = build_out_flush(blocks);
	return rc < 0 ? rc : build_out_flush(tables);
}

/* ---- the whole ---- */

int build_fill(struct create_writer *w, struct super_raw *sb, void *ctx)
{
	struct build *b = ctx;
	struct build_out blocks = {.dev = w->dev, .buf = mem_aligned(4096, BUILD_OUT)};
	struct build_out tables = {.dev = w->dev, .buf = mem_aligned(4096, BUILD_OUT)};
	int rc = blocks.buf == NULL || tables.buf == NULL ? -ENOMEM : 0;

	build_values_name(b);
	if (rc == 0)
		rc = write_inodes(b, &blocks, &tables);
	if (rc == 0)
		rc = create_own_files(w, sb);
	free(blocks.buf);
	free(tables.buf);
	return rc;
}

int build_write(struct build *b, struct dev *dev, bool fresh)
{
	struct create_opts o = b->o;

	o.fresh = fresh;
	o.unflushed = fresh;
	b->l.fill = build_fill;
	b->l.fill_ctx = b;
	return layout_write(&b->l, &o, dev, b->diag);
}

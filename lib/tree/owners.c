/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owners of blocks: runs in an array, sorted by their first block when all are known.  Where damage
 * gives a block to several, the run that begins first has it.
 */
#include "tree/owners.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "extkit/inode.h"
#include "fs/image.h"
#include "fs/inode.h"
#include "fs/session.h"
#include "ondisk/features.h"
#include "tree/map_blocks.h"
#include "tree/paths.h"

#define PART_AT 65536u /* runs */

/* Runs of each kind, "free" and the like excepted, which are what is between runs. */
enum kind {
	KIND_SUPER,
	KIND_DESCRIPTORS,
	KIND_RESERVED,
	KIND_BLOCK_BITMAP,
	KIND_INODE_BITMAP,
	KIND_TABLE,
	KIND_GUARD,
	KIND_LOG,
	KIND_FOLDER,
	KIND_FILE,
	KIND_LINK,
	KIND_MAP,
	KIND_XATTRS
};

static const char *const words[] = {"superblock",
				    "group descriptors",
				    "reserved descriptors",
				    "block bitmap",
				    "inode bitmap",
				    "inode table",
				    "mount guard",
				    "journal",
				    "folder",
				    "file",
				    "link",
				    "map",
				    "attributes"};

struct run {
	uint64_t block, len, part; /* part: file block, or group */
	uint32_t ino;
	uint32_t order; /* as they were found */
	size_t path;    /* in paths, or 0: none */
	enum kind kind;
};

struct owners {
	struct ek_image *img;
	struct run *v;
	size_t n, cap;
	size_t parted; /* of them, when they were parted last */
	uint32_t found;
	struct paths paths;
	struct map_blocks maps;
	uint8_t *seen; /* a bit for each inode that has a name */
};

/* ---- runs ---- */

static int by_block(const void *x, const void *y)
{
	const struct run *a = x, *b = y;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Contents of an inode, as opposed to what a group has and to single blocks of an inode. */
static bool has_offset(enum kind kind)
{
	return kind >= KIND_LOG && kind <= KIND_LINK;
}

/* What overlaps a run before it loses what that has.  So there are never more runs than twice what
 * an image has blocks for, however often its inodes claim them. */
static void part(struct owners *o)
{
	uint64_t end = 0;
	size_t n = 0;

	if (o->n != 0)
		qsort(o->v, o->n, sizeof(*o->v), by_block);
	for (size_t i = 0; i < o->n; i++) {
		struct run r = o->v[i];
		uint64_t cut = r.block < end ? MIN(end - r.block, r.len) : 0;

		r.block += cut;
		r.part += has_offset(r.kind) ? cut : 0;
		r.len -= cut;
		if (r.len == 0)
			continue;
		end = r.block + r.len;
		o->v[n++] = r;
	}
	o->n = o->parted = n;
}

static int add(struct owners *o, struct run r)
{
	const struct geom *g = &o->img->geom;

	if (r.block >= g->blocks || r.len == 0)
		return 0;
	if (o->n - o->parted > PART_AT + o->parted)
		part(o);
	r.len = MIN(r.len, g->blocks - r.block);
	r.order = o->found++;
	if (mem_grow((void **)&o->v, &o->cap, o->n + 1, sizeof(r)) < 0)
		return -ENOMEM;
	o->v[o->n++] = r;
	return 0;
}

/* ---- groups ---- */

static int add_heads(struct owners *o, uint32_t group)
{
	const struct geom *g = &o->img->geom;
	uint64_t start = geom_group_start(g, group).v;
	uint32_t head = geom_base_meta(g, group), copies;
	int rc = 0;

	if (head != 0 && geom_has_super(g, group)) {
		rc = add(o, (struct run){.block = start++, .len = 1, .part = group});
		head--;
	}
	copies = geom_incompat(g, INCOMPAT_META_BG) ? head : MIN(head, g->gdt_blocks);
	if (rc == 0)
		rc = add(
		    o, (struct run){
			   .block = start, .len = copies, .part = group, .kind = KIND_DESCRIPTORS});
	if (rc == 0)
		rc = add(o, (struct run){.block = start + copies,
					 .len = head - copies,
					 .part = group,
					 .kind = KIND_RESERVED});
	return rc;
}

static int add_group(struct owners *o, uint32_t group)
{
	const struct group_desc *d = &o->img->groups.desc[group];
	const struct run runs[] = {
	    {.block = d->block_bitmap.v, .len = 1, .part = group, .kind = KIND_BLOCK_BITMAP},
	    {.block = d->inode_bitmap.v, .len = 1, .part = group, .kind = KIND_INODE_BITMAP},
	    {.block = d->inode_table.v,
	     .len = o->img->geom.itable_blocks,
	     .part = group,
	     .kind = KIND_TABLE},
	};
	int rc = add_heads(o, group);

	for (size_t i = 0; i < ARRAY_SIZE(runs) && rc == 0; i++)
		rc = add(o, runs[i]);
	return rc;
}

static int add_groups(struct owners *o)
{
	const struct geom *g = &o->img->geom;
	int rc = 0;

	for (uint32_t i = 0; i < g->groups && rc == 0; i++)
		rc = add_group(o, i);
	if (rc == 0 && g->guard_block != 0)
		rc = add(o, (struct run){.block = g->guard_block, .len = 1, .kind = KIND_GUARD});
	return rc;
}

/* ---- inodes ---- */

struct map {
	struct owners *o;
	struct run of;
};

static int add_map_block(void *arg, uint64_t block)
{
	struct map *m = arg;

	m->of.block = block;
	return add(m->o, m->of);
}

static int add_map(struct owners *o, const struct ek_inode *inode, struct run of)
{
	struct map m = {o, of};

	m.of.kind = KIND_MAP;
	m.of.len = 1;
	return map_blocks_each(&o->maps, inode, add_map_block, &m);
}

static int add_extents(struct owners *o, struct ek_inode *inode, struct run of)
{
	ek_lblk at = {0};
	struct ek_extent e;
	int rc = 0;

	while (rc == 0 && ek_inode_extent(inode, at, &e) == 1) {
		of.block = e.pblk.v;
		of.len = e.len;
		of.part = e.lblk.v;
		rc = add(o, of);
		if (e.lblk.v > UINT32_MAX - e.len)
			break;
		at.v = e.lblk.v + e.len;
	}
	return rc;
}

static int add_inode(struct owners *o, struct ek_inode *inode, enum kind kind, size_t path)
{
	struct run of = {.ino = inode->ino.v, .path = path, .kind = kind};
	int rc = add_extents(o, inode, of);

	if (rc == 0)
		rc = add_map(o, inode, of);
	of.kind = KIND_XATTRS;
	of.block = inode->rec.file_acl;
	of.len = 1;
	if (rc == 0 && of.block != 0)
		rc = add(o, of);
	return rc;
}

static int add_number(struct owners *o, uint32_t ino, enum kind kind)
{
	struct ek_inode *inode;
	int rc;

	if (ino == 0 || ek_inode_open_number(o->img, (ek_inum){ino}, &inode) < 0)
		return 0;
	rc = add_inode(o, inode, kind, 0);
	ek_inode_close(inode);
	return rc;
}

/* Further names of a file own nothing more. */
static bool is_known(struct owners *o, const struct ek_inode *inode)
{
	bool known = bitmap_test(o->seen, inode->ino.v);

	bitmap_set(o->seen, inode->ino.v);
	return known;
}

static int add_found(struct owners *o, const struct ek_found *f)
{
	bool folder = S_ISDIR(f->mode), known;
	size_t path;

	if (f->inode == NULL)
		return 0;
	known = is_known(o, f->inode);
	if (known && !folder)
		return 0;
	if (paths_add(&o->paths, f, &path) < 0)
		return -ENOMEM;
	return known ? 0
		     : add_inode(o, f->inode,
				 folder             ? KIND_FOLDER
				 : S_ISLNK(f->mode) ? KIND_LINK
						    : KIND_FILE,
				 path);
}

static int add_tree(struct owners *o)
{
	struct ek_progress step = {.stage = "find owners", .unit = "files"};
	struct ek_inode *root;
	struct ek_walk *walk;
	struct ek_found f;
	int rc;

	if (ek_inode_open_number(o->img, (ek_inum){INUM_ROOT}, &root) < 0)
		return 0;
	rc = ek_walk_open(root, 0, &walk);
	ek_inode_close(root);
	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	while ((rc = ek_walk_next(walk, &f)) == 1) {
		rc = add_found(o, &f);
		step.done++;
		if (rc == 0)
			rc = ctx_progress(o->img->session->ctx, &step);
		if (rc < 0)
			break;
	}
	ek_walk_close(walk);
	return rc == -ENOMEM || rc == -ECANCELED ? rc : 0;
}

/* ---- all of it ---- */

int owners_open(struct ek_image *img, struct owners **ret)
{
	struct owners *o = mem_zero(sizeof(*o));
	int rc = o != NULL ? 0 : -ENOMEM;

	if (rc == 0) {
		o->img = img;
		o->seen = mem_zero((size_t)img->geom.inodes / 64 * 8 + 8);
		rc = o->seen == NULL ? -ENOMEM : map_blocks_open(img, &o->maps);
	}
	if (rc == 0)
		rc = add_groups(o);
	if (rc == 0)
		rc = add_number(o, img->geom.journal_inum, KIND_LOG);
	if (rc == 0)
		rc = add_number(o, img->geom.orphan_inum, KIND_FILE);
	if (rc == 0)
		rc = add_tree(o);
	if (rc == 0)
		rc = paths_end(&o->paths);
	if (rc < 0) {
		owners_close(o);
		return diag_errno(&img->session->ctx->diag, rc, "cannot find the owners of blocks");
	}
	diag_clear(&img->session->ctx->diag);
	part(o);
	*ret = o;
	return 0;
}

void owners_close(struct owners *o)
{
	if (o == NULL)
		return;
	free(o->v);
	paths_free(&o->paths);
	map_blocks_close(&o->maps);
	free(o->seen);
	free(o);
}

/* ---- questions ---- */

/* The first run that ends behind block. */
static size_t find(struct owners *o, uint64_t block)
{
	size_t lo = 0, hi = o->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (o->v[mid].block + o->v[mid].len <= block)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* What nobody has: free or not, by the bitmap, up to block `end`. */
static struct ek_block_owner unowned(struct owners *o, uint64_t block, uint64_t end, uint64_t *len)
{
	const struct geom *g = &o->img->geom;
	struct ek_block_owner ret = {.what = "unknown", .path = ""};
	size_t first, last, next;
	struct buf *b;
	uint64_t start;
	bool used;

	if (block < g->first_data_block) {
		*len = g->first_data_block - block;
		ret.what = "boot block";
		return ret;
	}
	start = geom_group_start(g, geom_group_of(g, (ek_pblk){block})).v;
	*len = MIN(end, start + g->blocks_per_group) - block;
	first = (size_t)(block - start) >> g->cluster_bits;
	last = (size_t)(block + *len - 1 - start) >> g->cluster_bits;
	session_begin(o->img);
	if (groups_block_bitmap(&o->img->groups, geom_group_of(g, (ek_pblk){block}), &b) == 0) {
		used = bitmap_test(b->data, first);
		next = used ? bitmap_find_next_zero(b->data, last + 1, first)
			    : bitmap_find_next_set(b->data, last + 1, first);
		ret.what = used ? "in use" : "free";
		if (next <= last)
			*len = start + ((uint64_t)next << g->cluster_bits) - block;
		buf_put(b);
	}
	session_end(o->img, 0, "", "");
	return ret;
}

struct ek_block_owner owners_at(struct owners *o, uint64_t block, uint64_t *len)
{
	const struct geom *g = &o->img->geom;
	size_t i = find(o, block);
	struct ek_block_owner ret = {.what = "nothing", .path = ""};
	const struct run *r;
	uint64_t in;

	if (block >= g->blocks) {
		*len = UINT64_MAX - block;
		return ret;
	}
	if (i == o->n || o->v[i].block > block)
		return unowned(o, block, i == o->n ? g->blocks : o->v[i].block, len);
	r = &o->v[i];
	in = block - r->block;
	*len = r->len - in;
	ret.what = words[r->kind];
	ret.path = paths_text(&o->paths, r->path);
	ret.inode = r->ino;
	if (r->kind == KIND_TABLE) {
		in = block - o->img->groups.desc[r->part].inode_table.v;
		ret.inode =
		    (uint32_t)(r->part * g->inodes_per_group + in * g->inodes_per_block + 1);
		ret.inodes_per_block = g->inodes_per_block;
	} else if (has_offset(r->kind)) {
		ret.has_offset = true;
		ret.offset = (r->part + in) << g->block_bits;
	} else {
		ret.group = (uint32_t)r->part;
	}
	return ret;
}

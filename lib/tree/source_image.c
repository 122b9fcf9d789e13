/* SPDX-License-Identifier: BSD-2-Clause */
/* An image as a source: a sorted walk, each inode with all it has.  The image is only read; what a
 * dirty log holds is seen without being written. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/hash.h"
#include "base/mem.h"
#include "extkit/image.h"
#include "extkit/inode.h"
#include "fs/inode.h"
#include "fs/session.h"
#include "tree/source.h"
#include "tree/source_image.h"
#include "tree/xattrs.h"

struct first_name {
	struct hash_node node;
	char path[];
};

struct reader {
	struct tree_source s;
	struct ek_image *img;
	bool owned; /* the image was opened for this */
	struct ek_walk *walk;
	struct hash names;
	struct first_name *noted; /* the entry handed out last is a file's first name */
	struct xattr_list xattrs;
	struct tree_range *ranges;
	size_t ranges_cap;
	struct ek_inode *open;
	uint64_t open_token;
	char *target;
};

#define TARGET_MAX 65537u

static struct reader *of(struct tree_source *s)
{
	return container_of(s, struct reader, s);
}

static int take_xattrs(struct reader *r, struct ek_inode *inode, struct tree_entry *e)
{
	struct ek_xattrs *all;
	const struct ek_xattr *x;
	int rc = ek_inode_xattrs(inode, &all);

	if (rc < 0)
		return rc;
	xattr_list_clear(&r->xattrs);
	for (size_t i = 0; rc == 0 && (x = ek_xattrs_get(all, i)) != NULL; i++)
		rc = xattr_list_set(&r->xattrs, x->name, x->value, x->len);
	ek_xattrs_free(all);
	e->xattrs = r->xattrs.v;
	e->nxattrs = r->xattrs.n;
	return rc;
}

/* Where the file has data; a map that goes round ends at the image's size. */
static int take_holes(struct reader *r, struct ek_inode *inode, struct tree_entry *e)
{
	uint64_t at = 0, end, total = 0, whole = r->img->geom.blocks * r->img->geom.block_size;
	bool shared = geom_ro_compat(&r->img->geom, RO_COMPAT_SHARED_BLOCKS);
	int rc = mem_grow((void **)&r->ranges, &r->ranges_cap, 1, sizeof(*r->ranges));

	e->data = r->ranges;
	while (rc == 0 && at < e->size) {
		rc = ek_inode_next_data(inode, at, &at);
		if (rc < 0 || at >= e->size)
			break;
		rc = ek_inode_next_hole(inode, at, &end);
		if (rc == 0)
			rc = mem_grow((void **)&r->ranges, &r->ranges_cap, e->ndata + 1,
				      sizeof(*r->ranges));
		if (rc < 0)
			break;
		end = MIN(end, e->size);
		total += end - at;
		if (total > whole && !shared)
			return diag_set(
			    r->s.diag, -EUCLEAN,
			    "corrupt mapping: inode %u: more bytes than the %llu of the image",
			    inode->ino.v, (unsigned long long)whole);
		r->ranges[e->ndata++] = (struct tree_range){at, end};
		e->data = r->ranges;
		at = end;
	}
	return rc;
}

static void take_stat(const struct ek_stat *st, struct tree_entry *e)
{
	e->mode = st->mode;
	e->uid = st->uid;
	e->gid = st->gid;
	e->project = st->project;
	e->has_project = true;
	e->flags = st->flags & TREE_FLAGS;
	e->atime = st->atime;
	e->mtime = st->mtime;
	e->ctime = st->ctime;
	e->crtime = st->crtime;
	e->has_atime = e->has_ctime = true;
	e->has_crtime = st->has_crtime;
	e->nlink = st->links;
	e->dev_major = st->dev_major;
	e->dev_minor = st->dev_minor;
}

static int note_name(struct reader *r, const struct ek_found *f)
{
	struct first_name *n = malloc(sizeof(*n) + f->path_len + 1);

	if (n == NULL)
		return -ENOMEM;
	memcpy(n->path, f->path, f->path_len + 1);
	hash_insert(&r->names, &n->node, f->ino.v);
	r->noted = n;
	return 0;
}

static int take(struct reader *r, const struct ek_found *f, struct tree_entry *e)
{
	struct ek_stat st = {.size = sizeof(st)};
	struct hash_node *first;
	int rc = f->error != 0 ? f->error : ek_inode_stat(f->inode, &st);

	if (rc < 0)
		return rc;
	take_stat(&st, e);
	e->token = f->ino.v;
	if (!S_ISDIR(st.mode) && st.links > 1) {
		first = hash_find(&r->names, f->ino.v);
		if (first != NULL) {
			e->link = hash_entry(first, struct first_name, node)->path;
			return 0;
		}
		rc = note_name(r, f);
	}
	if (rc == 0 && S_ISREG(st.mode)) {
		e->size = st.bytes;
		e->has_contents = st.bytes != 0;
		rc = take_holes(r, f->inode, e);
	} else if (rc == 0 && S_ISLNK(st.mode)) {
		rc = ek_inode_readlink(f->inode, r->target, TARGET_MAX);
		e->target = r->target;
	}
	return rc < 0 ? rc : take_xattrs(r, f->inode, e);
}

static int image_next(struct tree_source *s, struct tree_entry *ret)
{
	struct reader *r = of(s);
	struct ek_found f;
	int rc = ek_walk_next(r->walk, &f);

	r->noted = NULL;
	if (rc != 1)
		return rc;
	*ret = (struct tree_entry){.path = f.path};
	rc = take(r, &f, ret);
	return rc < 0 ? rc : 1;
}

static void image_prune(struct tree_source *s)
{
	struct reader *r = of(s);

	ek_walk_prune(r->walk);
	if (r->noted != NULL) {
		hash_remove(&r->names, &r->noted->node);
		free(r->noted);
		r->noted = NULL;
	}
}

static int image_read(struct tree_source *s, uint64_t token, uint64_t off, void *buf, size_t len)
{
	struct reader *r = of(s);
	size_t did;
	int rc = 0;

	if (r->open == NULL || r->open_token != token) {
		ek_inode_close(r->open);
		r->open = NULL;
		r->open_token = token;
		rc = ek_inode_open_number(r->img, (ek_inum){(uint32_t)token}, &r->open);
	}
	if (rc == 0)
		rc = ek_inode_read(r->open, off, buf, len, &did);
	if (rc == 0 && did != len)
		rc = diag_set(s->diag, -EUCLEAN, "inode %llu ends before its size",
			      (unsigned long long)token);
	return rc;
}

/* What went wrong elsewhere is still to be told: closing an image forgets it. */
static void image_close_source(struct tree_source *s)
{
	struct reader *r = of(s);
	struct diag *d = s->diag, said = *d;
	struct hash_node *n;
	size_t at = 0;

	while ((n = hash_pop(&r->names, &at)) != NULL)
		free(hash_entry(n, struct first_name, node));
	hash_free(&r->names);
	ek_inode_close(r->open);
	ek_walk_close(r->walk);
	if (r->owned)
		(void)ek_image_close(r->img);
	if (said.code != 0)
		*d = said;
	xattr_list_free(&r->xattrs);
	free(r->ranges);
	free(r->target);
	free(r);
}

static const struct tree_source_ops image_ops = {image_next, image_prune, image_read,
						 image_close_source, NULL};

int tree_source_of_inode(struct ek_inode *inode, bool owned, const char *name,
			 struct tree_source **ret)
{
	struct diag *d = &inode->img->session->ctx->diag;
	struct reader *r = mem_zero(sizeof(*r));
	int rc = 0;

	if (r == NULL)
		return diag_set(d, -ENOMEM, "out of memory for %s", name);
	r->s = (struct tree_source){.ops = &image_ops, .diag = d, .name = name, .later = true};
	r->img = inode->img;
	r->target = malloc(TARGET_MAX);
	if (r->target == NULL)
		rc = diag_set(d, -ENOMEM, "out of memory for %s", name);
	if (rc == 0)
		rc = ek_walk_open(inode, EK_WALK_SORTED, &r->walk);
	if (rc < 0) {
		image_close_source(&r->s);
		return rc;
	}
	r->owned = owned;
	*ret = &r->s;
	return 0;
}

int tree_open_image(struct ek_ctx *ctx, const char *name, struct tree_source **ret)
{
	struct ek_image_options opt = {.size = sizeof(opt)};
	struct ek_image *img;
	struct ek_inode *root;
	int rc = ek_image_open(ctx, name, &opt, &img);

	if (rc < 0)
		return rc;
	rc = ek_inode_open_number(img, (ek_inum){EK_ROOT_INODE}, &root);
	if (rc == 0) {
		rc = tree_source_of_inode(root, true, name, ret);
		ek_inode_close(root);
	}
	if (rc < 0)
		(void)ek_image_close(img);
	return rc;
}

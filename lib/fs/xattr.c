/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Extended attributes of an inode: the area behind its fields first, one block when that is full. A
 * block may be shared by inodes with equal attributes; it is copied before it changes.
 */
#include "fs/xattr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/blocks.h"
#include "fs/extent.h"
#include "fs/xattr_format.h"
#include "fs/xattr_inode.h"

#define VALUE_MAX 65536u

struct name {
	uint8_t index;
	const char *text;
	uint32_t len;
};

static int parse_name(struct task *t, const char *full, struct name *ret)
{
	ret->index = xattr_prefix(full, &ret->text);
	if (ret->index == 0)
		return diag_set(&t->img->diag, -EOPNOTSUPP, "unsupported xattr name: %.64s", full);
	ret->len = (uint32_t)strnlen(ret->text, 256);
	if (ret->len > 255 || (ret->len == 0 && ret->index != 2 && ret->index != 3))
		return -ERANGE;
	return 0;
}

static bool is_acl(const struct name *n)
{
	return n->index == 2 || n->index == 3;
}

/* ---- the two areas ---- */

/* The area behind the inode's fields in raw bytes; false when there is none. */
static bool body_area(const struct ek_inode *inode, uint8_t *raw, struct xattr_area *a,
		      bool make_one)
{
	uint32_t head = 128u + inode->rec.extra_isize, size = inode->img->geom.inode_size;
	le32 magic;

	if (size <= 128 || head + 8 > size || inode->rec.extra_isize == 0)
		return false;
	memcpy(&magic, raw + head, 4);
	if (le32_get(magic) != XATTR_MAGIC) {
		if (!make_one)
			return false;
		memset(raw + head, 0, size - head);
		magic = le32_make(XATTR_MAGIC);
		memcpy(raw + head, &magic, 4);
	}
	*a = (struct xattr_area){raw + head + 4, 0, size - head - 4};
	return true;
}

static int get_block(struct ek_inode *inode, struct buf **ret)
{
	struct ek_image *img = inode->img;
	ek_pblk block;
	int rc =
	    geom_data_run(&img->geom, inode->rec.file_acl, 1, 0, "i_file_acl", &img->diag, &block);

	if (rc < 0)
		return rc;
	return buf_get(img->cache, block, &verify_xattr_block, (struct buf_owner){0, 0}, ret);
}

typedef int area_fn(void *ctx, const struct xattr_area *a, bool body);

/* Calls fn for the body and for the block, if they exist, until it returns non-zero. */
static int each_area(struct ek_inode *inode, area_fn *fn, void *ctx)
{
	struct xattr_area a;
	const void *raw;
	struct buf *b;
	int rc = inode_raw_view(inode, &b, &raw);

	if (rc < 0)
		return rc;
	if (body_area(inode, (uint8_t *)(uintptr_t)raw, &a, false)) {
		rc = xattr_area_verify(&a, "inode", inode->ino.v, &inode->img->diag);
		if (rc == 0)
			rc = fn(ctx, &a, true);
	}
	buf_put(b);
	if (rc != 0 || inode->rec.file_acl == 0)
		return rc;
	rc = get_block(inode, &b);
	if (rc < 0)
		return rc;
	a = (struct xattr_area){b->data, XATTR_BLOCK_HEAD, b->size};
	rc = fn(ctx, &a, false);
	buf_put(b);
	return rc;
}

/* ---- reading ---- */

static int no_ea_inodes(const struct ek_inode *inode)
{
	return diag_set(&inode->img->diag, -EOPNOTSUPP,
			"unsupported: inode %u has an attribute value in an inode of its own",
			inode->ino.v);
}

struct getting {
	struct task *task;
	struct ek_inode *inode;
	struct name name;
	void *value;
	size_t cap;
	int len;
};

static int copy_out(struct getting *g, const void *stored, uint32_t size)
{
	int len = (int)size;

	if (is_acl(&g->name)) {
		len = xattr_acl_unpack(stored, size, g->value, g->cap);
		if (len < 0)
			return diag_set(&g->inode->img->diag, -EUCLEAN,
					"corrupt xattr: inode %u: ACL of %u bytes", g->inode->ino.v,
					size);
	}
	if (g->cap != 0 && (size_t)len > g->cap)
		return -ERANGE;
	if (g->cap != 0 && !is_acl(&g->name))
		memcpy(g->value, stored, size);
	g->len = len;
	return 1;
}

static int copy_from_inode(struct getting *g, const struct xattr_entry *e)
{
	uint8_t *value;
	int rc = xattr_inode_value(g->task, g->inode, e, &value);

	if (rc < 0)
		return rc;
	rc = copy_out(g, value, le32_get(e->e_value_size));
	free(value);
	return rc;
}

static int get_from(void *ctx, const struct xattr_area *a, bool body)
{
	struct getting *g = ctx;
	const struct xattr_entry *e = xattr_area_find(a, g->name.index, g->name.text, g->name.len);

	if (e == NULL)
		return 0;
	if (le32_get(e->e_value_inum) != 0)
		return copy_from_inode(g, e);
	return copy_out(g, a->base + le16_get(e->e_value_offs), le32_get(e->e_value_size));
}

int xattr_get(struct task *t, struct ek_inode *inode, const char *name, void *value, size_t cap)
{
	struct getting g = {.task = t, .inode = inode, .value = value, .cap = cap};
	int rc = parse_name(t, name, &g.name);

	if (rc == 0)
		rc = each_area(inode, get_from, &g);
	return rc < 0 ? rc : rc == 0 ? -ENODATA : g.len;
}

/* The attribute that holds inline data is no attribute to anybody else. */
static bool is_inline_data(const struct xattr_entry *e)
{
	return e->e_name_index == XATTR_SYSTEM && e->e_name_len == 4 &&
	       memcmp(e->e_name, "data", 4) == 0;
}

int xattr_inline_data(struct ek_inode *inode, struct buf **buf, const void **ret, uint32_t *n)
{
	const struct xattr_entry *e = NULL;
	struct xattr_area a;
	const void *raw;
	struct buf *b;
	int rc = inode_raw_view(inode, &b, &raw);

	if (rc < 0)
		return rc;
	if (body_area(inode, (uint8_t *)(uintptr_t)raw, &a, false)) {
		rc = xattr_area_verify(&a, "inode", inode->ino.v, &inode->img->diag);
		if (rc == 0)
			e = xattr_area_find(&a, XATTR_SYSTEM, "data", 4);
	}
	if (rc == 0 && e != NULL && le32_get(e->e_value_inum) != 0)
		rc = no_ea_inodes(inode);
	if (rc < 0) {
		buf_put(b);
		return rc;
	}
	*buf = b;
	*ret = e != NULL ? a.base + le16_get(e->e_value_offs) : NULL;
	*n = e != NULL ? le32_get(e->e_value_size) : 0;
	return 0;
}

struct listing {
	struct task *task;
	struct ek_inode *inode;
	int (*each)(void *ctx, const struct xattr_item *item);
	void *ctx;
};

/* ACLs are told in the kernel's form for programs. */
static int unpack_acl(const struct listing *l, struct xattr_item *item, uint8_t *acl, size_t cap)
{
	int rc = xattr_acl_unpack(item->value, item->len, acl, cap);

	if (rc < 0 || (size_t)rc > cap)
		return diag_set(&l->inode->img->diag, -EUCLEAN,
				"corrupt xattr: inode %u: ACL of %zu bytes", l->inode->ino.v,
				item->len);
	item->value = acl;
	item->len = (size_t)rc;
	return 0;
}

static int list_one(struct listing *l, const struct xattr_area *a, const struct xattr_entry *e)
{
	const char *prefix = xattr_prefix_text(e->e_name_index);
	struct xattr_item item;
	uint8_t acl[4096], *own = NULL;
	int rc = 0;

	snprintf(item.name, sizeof(item.name), "%s%.*s", prefix != NULL ? prefix : "unknown.",
		 e->e_name_len, e->e_name);
	item.len = le32_get(e->e_value_size);
	if (le32_get(e->e_value_inum) != 0)
		rc = xattr_inode_value(l->task, l->inode, e, &own);
	item.value = own != NULL ? own : a->base + le16_get(e->e_value_offs);
	if (rc == 0 && (e->e_name_index == 2 || e->e_name_index == 3))
		rc = unpack_acl(l, &item, acl, sizeof(acl));
	if (rc == 0)
		rc = l->each(l->ctx, &item);
	free(own);
	return rc;
}

static int list_from(void *ctx, const struct xattr_area *a, bool body)
{
	uint32_t at = a->first;
	const struct xattr_entry *e;
	int rc = 0;

	while (rc == 0 && (e = xattr_area_next(a, &at)) != NULL) {
		if (!is_inline_data(e))
			rc = list_one(ctx, a, e);
	}
	return rc;
}

int xattr_each(struct task *t, struct ek_inode *inode,
	       int (*each)(void *ctx, const struct xattr_item *item), void *ctx)
{
	struct listing l = {t, inode, each, ctx};

	return each_area(inode, list_from, &l);
}

/* ---- changing ---- */

struct change {
	struct name name;
	const void *value; /* NULL removes */
	uint32_t size;
};

static int change_body(struct task *t, struct ek_inode *inode, const struct change *c)
{
	struct xattr_area a;
	struct buf *b;
	void *raw;
	int rc = inode_raw_write(t, inode, &b, &raw);

	if (rc < 0)
		return rc;
	if (!body_area(inode, raw, &a, c->value != NULL))
		rc = c->value != NULL ? -ENOSPC : 0;
	else
		rc = xattr_area_set(&a, c->name.index, c->name.text, c->name.len, c->value, c->size,
				    false);
	if (rc == 0) {
		inode_seal(&inode->img->geom, inode->ino, raw);
		rc = handle_dirty(t->user.current, b);
	}
	buf_put(b);
	return rc;
}

static int has_body(void *ctx, const struct xattr_area *a, bool body)
{
	const struct change *c = ctx;

	if (xattr_area_find(a, c->name.index, c->name.text, c->name.len) == NULL)
		return 0;
	return body ? 1 : 2;
}

/* A block of the inode's own with the contents of old (or empty): old loses one user. */
static int own_block(struct task *t, struct ek_inode *inode, struct buf *old, struct buf **ret)
{
	ek_pblk block;
	struct buf *b;
	void *view;
	int rc = ext_new_block(t, inode, inode_goal(inode), 0, &block);

	if (rc == 0)
		rc = buf_new(inode->img->cache, block, &verify_xattr_block,
			     (struct buf_owner){0, 0}, &b);
	if (rc < 0)
		return rc;
	rc = handle_create(t->user.current, b, &view);
	if (rc == 0) {
		struct xattr_head *h = view;

		if (old != NULL)
			memcpy(view, old->data, b->size);
		memset(h, 0, sizeof(*h));
		h->h_magic = le32_make(XATTR_MAGIC);
		h->h_refcount = le32_make(1);
		h->h_blocks = le32_make(1);
		inode->rec.file_acl = block.v;
		*ret = b;
		return 0;
	}
	buf_put(b);
	return rc;
}

/* One user less; the last one frees the block.  Consumes the reference. */
static int release_block(struct task *t, struct ek_inode *inode, struct buf *b)
{
	struct xattr_head *h;
	void *view;
	uint32_t users;
	int rc = handle_write(t->user.current, b, &view);

	if (rc < 0) {
		buf_put(b);
		return rc;
	}
	h = view;
	users = le32_get(h->h_refcount);
	if (users <= 1)
		return inode_free_metadata(t, inode, b, b->pblk);
	h->h_refcount = le32_make(users - 1);
	rc = handle_dirty(t->user.current, b);
	buf_put(b);
	inode_add_blocks(inode, -1);
	return rc;
}

/* Writable block of the inode: its own, a copy of a shared one, or a new one. */
static int writable_block(struct task *t, struct ek_inode *inode, struct buf **ret)
{
	struct buf *b = NULL, *own = NULL;
	const struct xattr_head *h;
	void *view;
	int rc = inode->rec.file_acl != 0 ? get_block(inode, &b) : 0;

	if (rc < 0)
		return rc;
	h = b != NULL ? (const struct xattr_head *)(const void *)b->data : NULL;
	if (h != NULL && le32_get(h->h_refcount) <= 1) {
		rc = handle_write(t->user.current, b, &view);
		*ret = b;
		return rc;
	}
	rc = own_block(t, inode, b, &own);
	if (b != NULL) {
		int end = rc == 0 ? release_block(t, inode, b) : (buf_put(b), 0);

		rc = rc < 0 ? rc : end;
	}
	if (rc == 0)
		*ret = own;
	return rc;
}

static int change_block(struct task *t, struct ek_inode *inode, const struct change *c)
{
	struct xattr_area a;
	struct buf *b = NULL;
	bool empty;
	int rc = writable_block(t, inode, &b);

	if (rc < 0)
		return rc;
	a = (struct xattr_area){b->data, XATTR_BLOCK_HEAD, b->size};
	rc = xattr_area_set(&a, c->name.index, c->name.text, c->name.len, c->value, c->size, true);
	empty = xattr_area_empty(&a);
	if (!empty) {
		int end;

		xattr_block_rehash(b->data, b->size);
		end = handle_dirty(t->user.current, b);
		buf_put(b);
		return rc < 0 ? rc : end;
	}
	inode->rec.file_acl = 0;
	{
		int end = inode_free_metadata(t, inode, b, b->pblk);

		return rc < 0 ? rc : end;
	}
}

/* Where the attribute is: 0 nowhere, 1 body, 2 block. */
static int place_of(struct ek_inode *inode, struct change *c)
{
	return each_area(inode, has_body, c);
}

static int apply(struct task *t, struct ek_inode *inode, struct change *c, int place)
{
	struct change gone = {c->name, NULL, 0};
	int rc;

	if (c->value == NULL)
		return place == 1 ? change_body(t, inode, c) : change_block(t, inode, c);
	rc = change_body(t, inode, c);
	if (rc == 0)
		return place == 2 ? change_block(t, inode, &gone) : 0;
	if (rc != -ENOSPC)
		return rc;
	rc = change_block(t, inode, c);
	return rc < 0 || place != 1 ? rc : change_body(t, inode, &gone);
}

static int finish(struct task *t, struct ek_inode *inode)
{
	inode->rec.ctime = inode_change_now(inode);
	return inode_mark_dirty(t, inode, MARK_XATTR);
}

static int no_room(struct task *t, struct ek_inode *inode, const char *name, size_t len)
{
	return diag_set(
	    &t->img->diag, -ENOSPC,
	    "no room: inode %u: attribute %.64s of %zu bytes fits neither the inode nor a "
	    "block of %u",
	    inode->ino.v, name, len, t->img->geom.block_size);
}

int xattr_set(struct task *t, struct ek_inode *inode, const char *name, const void *value,
	      size_t len, unsigned flags)
{
	struct change c = {.value = value != NULL ? value : "", .size = (uint32_t)len};
	uint8_t acl[4096];
	int place, rc = parse_name(t, name, &c.name);

	if (rc < 0)
		return rc;
	if (len > VALUE_MAX)
		return -ERANGE;
	if (is_acl(&c.name)) {
		rc = xattr_acl_pack(value, len, acl, sizeof(acl));
		if (rc < 0)
			return rc;
		c.value = acl;
		c.size = (uint32_t)rc;
	}
	place = place_of(inode, &c);
	if (place < 0)
		return place;
	if (place != 0 && (flags & XATTR_ONLY_CREATE) != 0)
		return -EEXIST;
	if (place == 0 && (flags & XATTR_ONLY_REPLACE) != 0)
		return -ENODATA;
	rc = apply(t, inode, &c, place);
	if (rc == -ENOSPC)
		return no_room(t, inode, name, len);
	return handle_spoil(t->user.current, rc < 0 ? rc : finish(t, inode));
}

int xattr_remove(struct task *t, struct ek_inode *inode, const char *name)
{
	struct change c = {.value = NULL};
	int place, rc = parse_name(t, name, &c.name);

	if (rc < 0)
		return rc;
	place = place_of(inode, &c);
	if (place <= 0)
		return place < 0 ? place : -ENODATA;
	rc = apply(t, inode, &c, place);
	return handle_spoil(t->user.current, rc < 0 ? rc : finish(t, inode));
}

int xattr_drop_block(struct task *t, struct ek_inode *inode)
{
	struct buf *b;
	int rc;

	if (inode->rec.file_acl == 0)
		return 0;
	rc = get_block(inode, &b);
	if (rc < 0)
		return rc;
	inode->rec.file_acl = 0;
	return release_block(t, inode, b);
}

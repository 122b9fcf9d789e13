/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of extended attributes.  A block may be shared by inodes with equal attributes; it is
 * copied before it changes.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "fs/blocks.h"
#include "fs/extent.h"
#include "fs/xattr.h"
#include "fs/xattr_area.h"

#define VALUE_MAX 65536u

struct change {
	struct xattr_name name;
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
	if (!xattr_body_area(inode, raw, &a, c->value != NULL))
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
	int rc = inode->rec.file_acl != 0 ? xattr_get_block(inode, &b) : 0;

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
	return xattr_each_area(inode, has_body, c);
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
	int place, rc = xattr_parse_name(t, name, &c.name);

	if (rc < 0)
		return rc;
	if (len > VALUE_MAX)
		return -ERANGE;
	if (xattr_is_acl(&c.name)) {
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
	int place, rc = xattr_parse_name(t, name, &c.name);

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
	rc = xattr_get_block(inode, &b);
	if (rc < 0)
		return rc;
	inode->rec.file_acl = 0;
	return release_block(t, inode, b);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of extended attributes.  A block may be shared by inodes with equal attributes; it is
 * copied before it changes.
 */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "fs/blocks.h"
#include "fs/credits.h"
#include "fs/extent.h"
#include "fs/xattr.h"
#include "fs/xattr_area.h"
#include "fs/xattr_inode.h"

#define VALUE_MAX 65536u

struct change {
	struct xattr_name name;
	const struct xattr_value *value; /* NULL removes */
	bool same;                       /* it has that value already */
};

/* Sets or removes in the area; *old is where an old value lies. */
static int change_area(struct xattr_area *a, const struct change *c, bool sorted,
		       struct xattr_ref *old)
{
	const struct xattr_entry *e = xattr_area_find(a, c->name.index, c->name.text, c->name.len);

	*old = e != NULL ? xattr_ref_of(e) : (struct xattr_ref){0, 0};
	return xattr_area_set(a, c->name.index, c->name.text, c->name.len, c->value, sorted);
}

static int leave_old(struct task *t, struct ek_inode *inode, struct xattr_ref old)
{
	return old.inum != 0 ? xattr_inode_leave(t, inode, old) : 0;
}

static int change_body(struct task *t, struct ek_inode *inode, const struct change *c)
{
	uint32_t need = c->value != NULL ? xattr_need(c->name.len, c->value) : 0;
	struct xattr_ref old = {0, 0};
	struct xattr_area a;
	struct buf *b;
	void *raw;
	int rc = inode_raw_write(t, inode, &b, &raw);

	if (rc < 0)
		return rc;
	if (!xattr_body_area(inode, raw, &a, need))
		rc = c->value != NULL ? -ENOSPC : 0;
	else
		rc = change_area(&a, c, false, &old);
	if (rc == 0) {
		inode_seal(&inode->img->geom, inode->ino, raw);
		rc = handle_dirty(t->user.current, b);
	}
	buf_put(b);
	return rc < 0 ? rc : leave_old(t, inode, old);
}

static bool is_same(const struct xattr_area *a, const struct xattr_entry *e,
		    const struct xattr_value *v)
{
	return v != NULL && le32_get(e->e_value_inum) == 0 &&
	       le32_get(e->e_value_size) == v->size &&
	       memcmp(a->base + le16_get(e->e_value_offs), v->bytes, v->size) == 0;
}

static int has_body(void *ctx, const struct xattr_area *a, bool body)
{
	struct change *c = ctx;
	const struct xattr_entry *e = xattr_area_find(a, c->name.index, c->name.text, c->name.len);

	if (e == NULL)
		return 0;
	c->same = is_same(a, e, c->value);
	return body ? 1 : 2;
}

/* Values in inodes have a user more with the copy. */
static int use_values(struct task *t, struct ek_inode *inode, const struct buf *b)
{
	struct xattr_area a = {b->data, XATTR_BLOCK_HEAD, b->size};
	uint32_t at = a.first;
	const struct xattr_entry *e;
	int rc = 0;

	while (rc == 0 && (e = xattr_area_next(&a, &at)) != NULL) {
		if (le32_get(e->e_value_inum) != 0)
			rc = xattr_inode_use(t, inode, xattr_ref_of(e));
	}
	return rc;
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
		rc = use_values(t, inode, b);
	}
	if (rc == 0)
		*ret = b;
	else
		buf_put(b);
	return rc;
}

int xattr_release_block(struct task *t, struct ek_inode *inode, struct buf *b)
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
	inode_add_blocks(inode, -((int64_t)1 << inode->img->geom.cluster_bits));
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
		int end = rc == 0 ? xattr_release_block(t, inode, b) : (buf_put(b), 0);

		rc = rc < 0 ? rc : end;
	}
	if (rc == 0)
		*ret = own;
	return rc;
}

/* Where values can lie in inodes, long ones leave room in the block for more entries. */
static bool leaves_reserve(const struct ek_inode *inode, const struct xattr_area *a,
			   const struct change *c)
{
	uint32_t reserve = MIN(inode->img->geom.block_size / 8, 1024u), room, old = 0;
	const struct xattr_entry *e = xattr_area_find(a, c->name.index, c->name.text, c->name.len);

	if (c->value == NULL || c->value->inum != 0 || c->value->size == 0 ||
	    !geom_incompat(&inode->img->geom, INCOMPAT_EA_INODE))
		return true;
	room = (c->value->size + 3) & ~3u;
	if (e != NULL)
		old = xattr_entry_room(e);
	return xattr_area_low(a) + old >= room + reserve;
}

/* Files the block, or frees it when nothing is left in it.  Consumes the reference. */
static int close_block(struct task *t, struct ek_inode *inode, struct buf *b)
{
	struct xattr_area a = {b->data, XATTR_BLOCK_HEAD, b->size};
	int rc;

	if (xattr_area_empty(&a)) {
		inode->rec.file_acl = 0;
		return inode_free_metadata(t, inode, b, b->pblk);
	}
	xattr_block_rehash(b->data, b->size);
	rc = handle_dirty(t->user.current, b);
	buf_put(b);
	return rc;
}

static int change_block(struct task *t, struct ek_inode *inode, const struct change *c)
{
	struct xattr_ref old = {0, 0};
	struct xattr_area a;
	struct buf *b = NULL;
	int rc = writable_block(t, inode, &b), end;

	if (rc < 0)
		return rc;
	a = (struct xattr_area){b->data, XATTR_BLOCK_HEAD, b->size};
	rc = leaves_reserve(inode, &a, c) ? change_area(&a, c, true, &old) : -ENOSPC;
	end = close_block(t, inode, b);
	if (rc == 0)
		rc = end;
	return rc < 0 ? rc : leave_old(t, inode, old);
}

/* Where the attribute is: 0 nowhere, 1 body, 2 block. */
static int place_of(struct ek_inode *inode, struct change *c)
{
	return xattr_each_area(inode, has_body, c);
}

static int apply(struct task *t, struct ek_inode *inode, struct change *c, int place)
{
	struct change gone = {c->name, NULL, false};
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

/* The same with the bytes in an inode, which goes again when there is no room for the entry. */
static int apply_apart(struct task *t, struct ek_inode *inode, struct change *c, int place)
{
	struct xattr_value v = *c->value;
	struct change apart = {c->name, &v, false};
	int rc = xattr_inode_take(t, inode, &v), end;

	if (rc < 0)
		return rc;
	rc = apply(t, inode, &apart, place);
	if (rc == -ENOSPC) {
		end = leave_old(t, inode, (struct xattr_ref){v.inum, v.size});
		rc = end < 0 ? end : rc;
	}
	return rc;
}

static int set_value(struct task *t, struct ek_inode *inode, struct change *c, int place)
{
	bool apart = geom_incompat(&t->img->geom, INCOMPAT_EA_INODE) && c->value->size != 0;
	int rc;

	if (apart && ((c->value->size + 3) & ~3u) > xattr_inode_threshold(t->img))
		return apply_apart(t, inode, c, place);
	rc = apply(t, inode, c, place);
	if (rc != -ENOSPC || !apart)
		return rc;
	diag_clear(&t->img->diag);
	return apply_apart(t, inode, c, place);
}

static int finish(struct task *t, struct ek_inode *inode)
{
	int rc;

	inode->rec.ctime = inode_change_now(inode);
	rc = image_add_features(t, COMPAT_EXT_ATTR, 0);
	return rc < 0 ? rc : inode_store(t, inode); /* Linux does not count this as a mark */
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
	struct xattr_value v = {.bytes = value != NULL ? value : "", .size = (uint32_t)len};
	struct change c = {.value = &v};
	uint8_t acl[4096];
	int place, rc = xattr_parse_name(t, name, &c.name);

	if (rc < 0)
		return rc;
	if (len > VALUE_MAX)
		return -E2BIG;
	if (xattr_is_acl(&c.name)) {
		rc = xattr_acl_pack(value, len, acl, sizeof(acl));
		if (rc < 0)
			return rc;
		v.bytes = acl;
		v.size = (uint32_t)rc;
	}
	place = place_of(inode, &c);
	if (place < 0)
		return place;
	if (place != 0 && (flags & XATTR_ONLY_CREATE) != 0)
		return -EEXIST;
	if (place == 0 && (flags & XATTR_ONLY_REPLACE) != 0)
		return -ENODATA;
	if (c.same)
		return 0;
	rc = set_value(t, inode, &c, place);
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

/* ---- in a transaction of its own ---- */

/* Two bitmaps and two descriptors for each group that bytes of a value may lie in. */
unsigned xattr_credits(const struct ek_image *img, size_t len)
{
	unsigned c = credits_data(img) + 6;
	size_t blocks = 1 + DIV_UP(len, (size_t)img->geom.block_size);

	if (!geom_incompat(&img->geom, INCOMPAT_EA_INODE))
		return c;
	return c + 8 + 2 * XATTR_CREDITS_USER + 2 * (unsigned)MIN(blocks, (size_t)img->geom.groups);
}

int xattr_change(struct task *t, struct ek_inode *inode, const char *name, const void *value,
		 size_t len)
{
	struct handle *h;
	int rc = task_start_inode(t, inode, HANDLE_XATTR, xattr_credits(t->img, len), 0, &h);

	if (rc < 0)
		return rc;
	rc =
	    value != NULL ? xattr_set(t, inode, name, value, len, 0) : xattr_remove(t, inode, name);
	rc = handle_end(h, rc);
	xattr_inode_reap(t);
	return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attributes of an inode that is deleted.  Values that lie in inodes lose a user each, entry by
 * entry, so that the transaction may end after any of them; then the block goes.
 */
#include <string.h>

#include "base/check.h"
#include "fs/xattr.h"
#include "fs/xattr_area.h"
#include "fs/xattr_inode.h"

/* The first entry of the area whose value lies in an inode. */
static const struct xattr_entry *next_apart(const struct xattr_area *a)
{
	uint32_t at = a->first;
	const struct xattr_entry *e;

	do {
		e = xattr_area_next(a, &at);
	} while (e != NULL && le32_get(e->e_value_inum) == 0);
	return e;
}

/* What was done so far is whole: it may be committed before the rest. */
static int renew(struct task *t)
{
	struct handle *h = t->user.current;
	int rc = handle_has_credits(h, XATTR_CREDITS_USER + 2)
		     ? 0
		     : handle_extend(h, XATTR_CREDITS_USER + 2, 8);

	return rc == 1 ? handle_restart(h, XATTR_CREDITS_USER + 2, 8) : rc;
}

/* Takes one such entry out of the area and a user from its inode: 1, 0 when there is none. */
static int drop_one(struct xattr_area *a, struct xattr_ref *old)
{
	const struct xattr_entry *e = next_apart(a);
	char name[256];
	uint8_t len, index;

	if (e == NULL)
		return 0;
	*old = xattr_ref_of(e);
	index = e->e_name_index;
	len = e->e_name_len;
	memcpy(name, e->e_name, len);
	xattr_area_set(a, index, name, len, NULL, true);
	return 1;
}

static int drop_in_body(struct task *t, struct ek_inode *inode)
{
	struct xattr_ref old = {0, 0};
	struct xattr_area a;
	struct buf *b;
	void *raw;
	int rc = renew(t), found = 0;

	if (rc == 0)
		rc = inode_raw_write(t, inode, &b, &raw);
	if (rc < 0)
		return rc;
	if (xattr_body_area(inode, raw, &a, 0)) {
		rc = xattr_area_verify(&a, "inode", inode->ino.v, &t->img->diag);
		found = rc == 0 ? drop_one(&a, &old) : 0;
	}
	if (found != 0) {
		inode_seal(&t->img->geom, inode->ino, raw);
		rc = handle_dirty(t->user.current, b);
	}
	buf_put(b);
	if (rc == 0 && found != 0)
		rc = xattr_inode_leave(t, inode, old);
	return rc < 0 ? rc : found;
}

static int drop_in_block(struct task *t, struct ek_inode *inode, struct buf *b)
{
	struct xattr_area a = {b->data, XATTR_BLOCK_HEAD, b->size};
	struct xattr_ref old = {0, 0};
	void *view;
	int rc = renew(t);

	if (rc < 0 || next_apart(&a) == NULL)
		return rc;
	rc = handle_write(t->user.current, b, &view);
	if (rc < 0)
		return rc;
	drop_one(&a, &old);
	xattr_block_rehash(b->data, b->size);
	rc = handle_dirty(t->user.current, b);
	if (rc == 0)
		rc = xattr_inode_leave(t, inode, old);
	return rc < 0 ? rc : 1;
}

static int drop_block(struct task *t, struct ek_inode *inode)
{
	const struct xattr_head *h;
	struct buf *b;
	int rc;

	if (inode->rec.file_acl == 0)
		return 0;
	rc = xattr_get_block(inode, &b);
	if (rc < 0)
		return rc;
	h = (const struct xattr_head *)(const void *)b->data;
	/* A block that stays keeps its values, and their users. */
	rc = le32_get(h->h_refcount) <= 1 ? 1 : 0;
	while (rc == 1)
		rc = drop_in_block(t, inode, b);
	if (rc < 0) {
		buf_put(b);
		return rc;
	}
	inode->rec.file_acl = 0;
	return xattr_release_block(t, inode, b);
}

int xattr_drop(struct task *t, struct ek_inode *inode)
{
	int rc = geom_incompat(&t->img->geom, INCOMPAT_EA_INODE) ? 1 : 0;

	while (rc == 1)
		rc = drop_in_body(t, inode);
	return rc < 0 ? rc : drop_block(t, inode);
}

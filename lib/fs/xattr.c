/* SPDX-License-Identifier: BSD-2-Clause */
/* Extended attributes as readers see them: the area behind the inode's fields first, then the
 * block. */
#include "fs/xattr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fs/xattr_area.h"
#include "fs/xattr_inode.h"

struct getting {
	struct task *task;
	struct ek_inode *inode;
	struct xattr_name name;
	void *value;
	size_t cap;
	int len;
};

static int copy_out(struct getting *g, const void *stored, uint32_t size)
{
	int len = (int)size;

	if (xattr_is_acl(&g->name)) {
		len = xattr_acl_unpack(stored, size, g->value, g->cap);
		if (len < 0)
			return diag_set(&g->inode->img->diag, -EUCLEAN,
					"corrupt xattr: inode %u: ACL of %u bytes", g->inode->ino.v,
					size);
	}
	if (g->cap != 0 && (size_t)len > g->cap)
		return -ERANGE;
	if (g->cap != 0 && !xattr_is_acl(&g->name))
		memcpy(g->value, stored, size);
	g->len = len;
	return 1;
}

static int copy_from_inode(struct getting *g, const struct xattr_entry *e)
{
	uint8_t *value;
	int rc = xattr_inode_value(g->task, g->inode, xattr_ref_of(e), &value);

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
	int rc = xattr_parse_name(t, name, &g.name);

	if (rc == 0)
		rc = xattr_each_area(inode, get_from, &g);
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
	int rc = xattr_body_open(inode, buf, &a);

	if (rc == 1)
		e = xattr_area_find(&a, XATTR_SYSTEM, "data", 4);
	if (e != NULL && le32_get(e->e_value_inum) != 0) {
		buf_put(*buf);
		return diag_set(&inode->img->diag, -EUCLEAN,
				"corrupt xattr: inode %u: system.data lies in inode %u",
				inode->ino.v, le32_get(e->e_value_inum));
	}
	if (rc == 0)
		*buf = NULL;
	*ret = e != NULL ? a.base + le16_get(e->e_value_offs) : NULL;
	*n = e != NULL ? le32_get(e->e_value_size) : 0;
	return MIN(rc, 0);
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
		rc = xattr_inode_value(l->task, l->inode, xattr_ref_of(e), &own);
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

	return xattr_each_area(inode, list_from, &l);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The attribute system.data in the inode's body: its room, its size, its bytes. */
#include "fs/inline_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/xattr.h"
#include "fs/xattr_area.h"

#define NAME     "data"
#define NAME_LEN 4u
#define SLACK    3u  /* what rounding up to 4 may take */
#define ENTRY    20u /* of the attribute, without its value */

static uint32_t round_up(uint32_t size)
{
	return (size + SLACK) & ~SLACK;
}

static int prove_place(const struct ek_inode *inode, const struct xattr_entry *e)
{
	if (le32_get(e->e_value_inum) == 0)
		return 0;
	return diag_set(&inode->img->diag, -EUCLEAN,
			"corrupt xattr: inode %u: system.data lies in inode %u", inode->ino.v,
			le32_get(e->e_value_inum));
}

/* The proved area of an inode that was joined; 0 when there is none. */
static int writable_area(struct ek_inode *inode, void *raw, struct xattr_area *a)
{
	int rc;

	if (!xattr_body_area(inode, raw, a, 0))
		return 0;
	rc = xattr_area_verify(a, "inode", inode->ino.v, &inode->img->diag);
	return rc < 0 ? rc : 1;
}

int inline_value_open(struct task *t, struct ek_inode *inode, struct inline_value *ret)
{
	struct inline_value v = {NULL, NULL, NULL, 0};
	const struct xattr_entry *e = NULL;
	struct xattr_area a;
	int rc = inode_raw_write(t, inode, &v.buf, &v.raw);

	if (rc < 0)
		return rc;
	rc = writable_area(inode, v.raw, &a);
	if (rc == 1)
		e = xattr_area_find(&a, XATTR_SYSTEM, NAME, NAME_LEN);
	if (e != NULL)
		rc = prove_place(inode, e);
	if (rc < 0) {
		buf_put(v.buf);
		return rc;
	}
	if (e != NULL) {
		v.bytes = a.base + le16_get(e->e_value_offs);
		v.size = le32_get(e->e_value_size);
	}
	*ret = v;
	return 0;
}

int inline_value_close(struct task *t, struct ek_inode *inode, struct inline_value *v, int rc)
{
	if (rc == 0) {
		inode_seal(&inode->img->geom, inode->ino, v->raw);
		rc = handle_dirty(t->user.current, v->buf);
	}
	buf_put(v->buf);
	return rc;
}

int inline_value_resize(struct task *t, struct ek_inode *inode, uint32_t size)
{
	struct inline_value v;
	struct xattr_area a;
	uint8_t *bytes = mem_zero(size + 1);
	struct xattr_value value = {.bytes = bytes, .size = size};
	int rc = bytes != NULL ? inline_value_open(t, inode, &v)
			       : diag_set(&t->img->diag, -ENOMEM, "out of memory for inline data");

	if (rc == 0) {
		if (v.bytes != NULL)
			memcpy(bytes, v.bytes, MIN(v.size, size));
		rc = xattr_body_area(inode, v.raw, &a, xattr_need(NAME_LEN, &value)) ? 0 : -ENOSPC;
		if (rc == 0)
			rc = xattr_area_set(&a, XATTR_SYSTEM, NAME, NAME_LEN, &value, false);
		rc = inline_value_close(t, inode, &v, rc);
	}
	free(bytes);
	return rc;
}

int inline_value_remove(struct task *t, struct ek_inode *inode)
{
	struct inline_value v;
	struct xattr_area a;
	int rc = inline_value_open(t, inode, &v);

	if (rc < 0)
		return rc;
	if (v.bytes != NULL && xattr_body_area(inode, v.raw, &a, 0))
		rc = xattr_area_set(&a, XATTR_SYSTEM, NAME, NAME_LEN, NULL, false);
	return inline_value_close(t, inode, &v, rc);
}

/* Room of an inode whose body has no attributes yet. */
static uint32_t untouched_room(const struct ek_inode *inode)
{
	uint32_t head = 128u + inode->rec.extra_isize + 4, size = inode->img->geom.inode_size;

	if (inode->rec.extra_isize == 0 || head + ENTRY + SLACK + 4 >= size)
		return 0;
	return round_up(size - head - ENTRY - SLACK - 4);
}

static uint32_t room_beside(const struct xattr_area *a, const struct xattr_entry *e)
{
	uint32_t room = xattr_area_room(a);

	if (e != NULL)
		return room + round_up(le32_get(e->e_value_size));
	return room > ENTRY + SLACK ? round_up(room - ENTRY - SLACK) : 0;
}

int inline_value_room(struct ek_inode *inode, uint32_t *ret, bool *there)
{
	const struct xattr_entry *e;
	struct xattr_area a;
	struct buf *b;
	int rc = xattr_body_open(inode, &b, &a);

	*there = false;
	if (rc < 0)
		return rc;
	if (rc == 0) {
		*ret = untouched_room(inode);
		return 0;
	}
	e = xattr_area_find(&a, XATTR_SYSTEM, NAME, NAME_LEN);
	rc = e != NULL ? prove_place(inode, e) : 0;
	if (rc == 0) {
		*ret = room_beside(&a, e);
		*there = e != NULL;
	}
	buf_put(b);
	return rc;
}

int inline_value_size(struct ek_inode *inode, uint32_t *ret)
{
	const void *bytes;
	struct buf *b;
	int rc = xattr_inline_data(inode, &b, &bytes, ret);

	if (rc == 0)
		buf_put(b);
	return rc;
}

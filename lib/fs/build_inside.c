/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contents and folders that lie in their inode, as inline_data has it: the first 60 bytes where
 * blocks would be mapped, the rest as the attribute system.data beside the other attributes.
 *
 * A folder has two rows of names, one in either place.  Each name goes to the first row that has
 * room for it; a second row takes all that the inode has.
 */
#include <assert.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "fs/build_impl.h"
#include "fs/dir_block.h"
#include "fs/inline.h"

#define PARENT    4u  /* bytes of a folder's first row that name its parent */
#define ENTRY     20u /* of system.data, without its value */
#define ROW_LEAST 16u /* an entry with a name of a few letters */

static struct xattr_area body_of(const struct build *b, uint8_t *bytes)
{
	return (struct xattr_area){bytes, 0, b->z.isize - BUILD_BODY};
}

/* Bytes that the inode can hold beside its attributes; 0: none. */
static uint32_t room_beside(const struct build *b, const struct build_xattrs *set)
{
	struct xattr_area a;
	uint32_t room;

	if ((b->o.incompat & INCOMPAT_INLINE_DATA) == 0 || b->z.isize <= BUILD_BODY)
		return 0;
	a = body_of(b, set != NULL ? set->body : NULL);
	room = set != NULL && set->body != NULL ? xattr_area_room(&a) : a.size - 4;
	return room >= ENTRY + 4 ? INLINE_HEAD + (room - ENTRY) / 4 * 4 : 0;
}

bool build_inside(const struct build *b, struct build_inode *inode)
{
	inode->inside_bytes =
	    inode->size <= room_beside(b, inode->xattrs) ? (uint32_t)inode->size : 0;
	return inode->inside_bytes != 0;
}

/* ---- folders ---- */

/* A row of names that is filled, or with no bytes only counted. */
struct row {
	uint8_t *bytes;
	uint32_t size, used, last; /* last: where the last name begins */
};

static void put(const struct build *b, struct row *r, const struct build_name *n)
{
	if (r->bytes != NULL)
		build_dir_put(b, r->bytes, r->used, n, dir_entry_size(n->len));
	r->last = r->used;
	r->used += dir_entry_size(n->len);
}

/* False when there are more names than both rows hold. */
static bool fill_rows(const struct build *b, const struct build_inode *dir, struct row *rows)
{
	for (uint32_t i = 0; i < dir->nnames; i++) {
		uint32_t size = dir_entry_size(dir->names[i]->len);
		struct row *r = rows;

		if (r->size - r->used < size)
			r++;
		if (r->size - r->used < size)
			return false;
		put(b, r, dir->names[i]);
	}
	return true;
}

/* The last name of a row reaches to its end; a row without names is one unused entry. */
static void close_row(const struct build *b, struct row *r)
{
	if (r->size != 0)
		dir_set_rec_len(&b->l.geom, (struct dirent_raw *)(void *)(r->bytes + r->last),
				r->size - r->last);
}

bool build_dir_inside(const struct build *b, struct build_inode *dir)
{
	uint32_t room = room_beside(b, dir->xattrs);
	struct row rows[2] = {{.size = INLINE_HEAD - PARENT}, {.size = 0}};

	dir->inside_bytes = 0;
	if (room == 0 || dir->parent == NULL || dir->min_blocks != 0)
		return false;
	if (room - INLINE_HEAD >= ROW_LEAST)
		rows[1].size = room - INLINE_HEAD;
	if (!fill_rows(b, dir, rows))
		return false;
	dir->inside_bytes = INLINE_HEAD + (rows[1].used != 0 ? rows[1].size : 0);
	return true;
}

static void write_rows(const struct build *b, const struct build_inode *dir, uint8_t *bytes)
{
	struct row rows[2] = {{bytes + PARENT, INLINE_HEAD - PARENT, 0, 0},
			      {bytes + INLINE_HEAD, dir->inside_bytes - INLINE_HEAD, 0, 0}};
	le32 parent = le32_make(dir->parent->ino);
	bool all;

	memcpy(bytes, &parent, sizeof(parent));
	all = fill_rows(b, dir, rows);
	assert(all);
	(void)all;
	close_row(b, &rows[0]);
	close_row(b, &rows[1]);
}

/* ---- bytes ---- */

int build_inside_put(const struct build *b, const struct build_inode *x, uint8_t *bytes,
		     struct inode_rec *r, uint8_t *body)
{
	uint32_t n = x->inside_bytes;
	struct xattr_area a = body_of(b, body);
	struct xattr_value v = {.bytes = bytes + INLINE_HEAD,
				.size = n > INLINE_HEAD ? n - INLINE_HEAD : 0};

	memset(bytes, 0, b->z.isize);
	if (S_ISDIR(x->mode))
		write_rows(b, x, bytes);
	else
		memcpy(bytes, x->contents, n);
	memcpy(r->block, bytes, INLINE_HEAD);
	r->flags |= INODE_INLINE_DATA;
	return xattr_area_set(&a, XATTR_SYSTEM, "data", 4, &v, false);
}

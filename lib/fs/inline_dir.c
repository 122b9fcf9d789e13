/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of inline folders.  Entries lie in two rows, behind the parent's number in the first 60
 * bytes and in the attribute, each filled without gaps; the second row is made as large as the
 * inode allows when the first is full, and a block takes over when both are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fs/dir.h"
#include "fs/dir_block.h"
#include "fs/htree.h"
#include "fs/inline.h"
#include "fs/inline_value.h"

#define PARENT_BYTES 4u
#define HEAD_ROW     (INLINE_HEAD - PARENT_BYTES)
#define ENTRY_MIN    12u

/* A row of entries, writable; value is open when the row lies in it. */
struct row {
	uint8_t *bytes;
	uint32_t size;
	bool in_value;
	struct inline_value value;
};

static struct dirent_raw *entry_at(const struct row *r, uint32_t off)
{
	return (struct dirent_raw *)(void *)(r->bytes + off);
}

static uint32_t length_of(const struct dirent_raw *e)
{
	return le16_get(e->rec_len);
}

/* Bytes that an entry does not need itself. */
static uint32_t slack(const struct dirent_raw *e)
{
	return le32_get(e->inode) == 0 ? length_of(e) : length_of(e) - dir_entry_size(e->name_len);
}

/* Entries are proved before any is used: they fill the row. */
static int prove(const struct ek_inode *dir, const struct row *r)
{
	for (uint32_t off = 0; off < r->size;) {
		const struct dirent_raw *e = entry_at(r, off);

		if (r->size - off < ENTRY_MIN || length_of(e) < ENTRY_MIN ||
		    length_of(e) % 4 != 0 || length_of(e) > r->size - off ||
		    dir_entry_size(e->name_len) > length_of(e))
			return diag_set(&dir->img->diag, -EUCLEAN,
					"corrupt folder: inode %u: inline entry at byte %u of row "
					"%u does not fit",
					dir->ino.v, off, r->in_value ? 1u : 0u);
		off += length_of(e);
	}
	return 0;
}

static int open_head(struct ek_inode *dir, struct row *r)
{
	*r = (struct row){.bytes = dir->rec.block + PARENT_BYTES, .size = HEAD_ROW};
	return prove(dir, r);
}

/* A row of size 0 when there is no second one. */
static int open_second(struct task *t, struct ek_inode *dir, struct row *r)
{
	int rc;

	*r = (struct row){.in_value = true};
	rc = inline_value_open(t, dir, &r->value);
	if (rc < 0)
		return rc;
	r->bytes = r->value.bytes;
	r->size = r->value.size;
	rc = prove(dir, r);
	if (rc < 0)
		buf_put(r->value.buf);
	return rc;
}

static int open_row(struct task *t, struct ek_inode *dir, unsigned n, struct row *r)
{
	return n == 0 ? open_head(dir, r) : open_second(t, dir, r);
}

/* The first row goes with the record, which the caller marks. */
static int close_row(struct task *t, struct ek_inode *dir, struct row *r, int rc)
{
	return r->in_value ? inline_value_close(t, dir, &r->value, rc) : rc;
}

/* ---- search ---- */

static struct dirent_raw *find_in(const struct row *r, const char *name, uint32_t len,
				  struct dirent_raw **prev)
{
	*prev = NULL;
	for (uint32_t off = 0; off < r->size;) {
		struct dirent_raw *e = entry_at(r, off);

		if (le32_get(e->inode) != 0 && e->name_len == len &&
		    memcmp(e->name, name, len) == 0)
			return e;
		*prev = e;
		off += length_of(e);
	}
	return NULL;
}

/* Opens the row that has the name: 0 and the row, to be closed. */
static int find(struct task *t, struct ek_inode *dir, const char *name, uint32_t len, struct row *r,
		struct dirent_raw **e, struct dirent_raw **prev)
{
	for (unsigned n = 0; n < 2; n++) {
		int rc = open_row(t, dir, n, r);

		if (rc < 0)
			return rc;
		*e = find_in(r, name, len, prev);
		if (*e != NULL)
			return 0;
		if (r->in_value)
			buf_put(r->value.buf);
	}
	return -ENOENT;
}

/* ---- insertion ---- */

static void put_entry(const struct geom *g, struct dirent_raw *gap, const struct new_entry *n)
{
	if (le32_get(gap->inode) != 0) {
		uint32_t own = dir_entry_size(gap->name_len), all = length_of(gap);

		gap->rec_len = le16_make((uint16_t)own);
		gap = (struct dirent_raw *)(void *)((uint8_t *)gap + own);
		gap->rec_len = le16_make((uint16_t)(all - own));
	}
	gap->inode = le32_make(n->ino);
	gap->name_len = (uint8_t)n->len;
	gap->file_type = geom_incompat(g, INCOMPAT_FILETYPE) ? n->type : 0;
	memcpy(gap->name, n->name, n->len);
}

static int add_to_row(struct task *t, struct ek_inode *dir, unsigned which,
		      const struct new_entry *n)
{
	struct row r;
	int rc = open_row(t, dir, which, &r), found = -ENOSPC;

	if (rc < 0)
		return rc;
	for (uint32_t off = 0; off < r.size && found != 0; off += length_of(entry_at(&r, off))) {
		if (slack(entry_at(&r, off)) >= dir_entry_size(n->len)) {
			put_entry(&dir->img->geom, entry_at(&r, off), n);
			found = 0;
			break;
		}
	}
	return close_row(t, dir, &r, found);
}

/* The second row, one free entry as large as there is room; -ENOSPC. */
static int make_second_row(struct task *t, struct ek_inode *dir)
{
	uint32_t room, have;
	struct row r = {.in_value = true};
	bool there;
	int rc = inline_value_room(dir, &room, &there);

	if (rc == 0)
		rc = inline_value_size(dir, &have);
	if (rc < 0)
		return rc;
	if (have != 0 || room <= ENTRY_MIN)
		return -ENOSPC;
	room = MIN(room, (uint32_t)UINT16_MAX & ~3u);
	rc = inline_value_resize(t, dir, room);
	if (rc == 0)
		rc = inline_value_open(t, dir, &r.value);
	if (rc < 0)
		return rc;
	r.bytes = r.value.bytes;
	entry_at(&r, 0)->rec_len = le16_make((uint16_t)room);
	dir->size = INLINE_HEAD + room;
	dir->rec.size = dir->size;
	return inline_value_close(t, dir, &r.value, 0);
}

/* ---- moving to a block ---- */

/* Behind "." and "..": the rows one after the other, the last entry up to the block's end. */
static void fill_block(const struct ek_inode *dir, uint8_t *data, const struct inline_copy *c)
{
	const struct geom *g = &dir->img->geom;
	const struct new_entry self = {".", 1, dir->ino.v, DIRENT_DIR, true};
	struct new_entry parent = {"..", 2, 0, DIRENT_DIR, true};
	uint32_t end = 2 * ENTRY_MIN + c->size - PARENT_BYTES, off = 0;
	struct row r = {.bytes = data, .size = dir_usable(g)};
	le32 number;

	memcpy(&number, c->bytes, sizeof(number));
	parent.ino = le32_get(number);
	memset(data, 0, r.size);
	put_entry(g, entry_at(&r, 0), &self);
	entry_at(&r, 0)->rec_len = le16_make(ENTRY_MIN);
	put_entry(g, entry_at(&r, ENTRY_MIN), &parent);
	entry_at(&r, ENTRY_MIN)->rec_len = le16_make(ENTRY_MIN);
	memcpy(data + (size_t)2 * ENTRY_MIN, c->bytes + PARENT_BYTES, c->size - PARENT_BYTES);
	while (off + length_of(entry_at(&r, off)) < end)
		off += length_of(entry_at(&r, off));
	dir_set_rec_len(g, entry_at(&r, off), r.size - off);
}

static int move_entries(struct task *t, struct ek_inode *dir, const struct inline_copy *c)
{
	uint64_t size = dir->size;
	struct buf *b;
	uint32_t n;
	int rc = inline_destroy(t, dir);

	if (rc < 0)
		return rc;
	dir->size = 0;
	rc = dir_block_append(t, dir, &n, &b);
	if (rc == -ENOSPC) {
		int undone = inline_restore(t, dir, c);

		dir->size = size;
		dir->rec.size = size;
		undone = undone < 0 ? undone : inode_mark_dirty(t, dir, MARK_DIR);
		return undone < 0 ? undone : rc;
	}
	if (rc < 0)
		return rc;
	fill_block(dir, b->data, c);
	rc = handle_dirty(t->user.current, b);
	buf_put(b);
	return rc;
}

/* What a block may not name must not get there. */
static int prove_numbers(const struct ek_inode *dir, const struct row *r)
{
	const struct geom *g = &dir->img->geom;

	for (uint32_t off = 0; off < r->size; off += length_of(entry_at(r, off))) {
		const struct dirent_raw *e = entry_at(r, off);
		uint32_t ino = le32_get(e->inode);

		if (ino > g->inodes || (ino != 0 && e->name_len == 0))
			return diag_set(&dir->img->diag, -EUCLEAN,
					"corrupt folder: inode %u: inline entry at byte %u of row "
					"%u: inode %u, name of %u bytes",
					dir->ino.v, off, r->in_value ? 1u : 0u, ino, e->name_len);
	}
	return 0;
}

static int prove_parent(const struct ek_inode *dir, const struct inline_copy *c)
{
	ek_inum parent;
	le32 number;

	memcpy(&number, c->bytes, sizeof(number));
	return geom_inum(&dir->img->geom, le32_get(number), "inline folder's parent",
			 &dir->img->diag, &parent);
}

/* All that is copied is proved, and must leave room for a block's own entries. */
static int prove_copy(const struct ek_inode *dir, const struct inline_copy *c)
{
	struct row head = {.bytes = c->bytes + PARENT_BYTES, .size = HEAD_ROW};
	struct row second = {
	    .bytes = c->bytes + INLINE_HEAD, .size = c->size - INLINE_HEAD, .in_value = true};
	int rc = prove(dir, &head);

	if (rc == 0)
		rc = prove(dir, &second);
	if (rc == 0)
		rc = prove_parent(dir, c);
	if (rc == 0)
		rc = prove_numbers(dir, &head);
	if (rc == 0)
		rc = prove_numbers(dir, &second);
	if (rc == 0 && c->size + 2 * ENTRY_MIN > dir_usable(&dir->img->geom))
		rc = diag_set(&dir->img->diag, -EUCLEAN,
			      "corrupt folder: inode %u: %u inline bytes do not fit a block",
			      dir->ino.v, c->size);
	return rc;
}

static int to_block(struct task *t, struct ek_inode *dir)
{
	struct inline_copy c;
	int rc = inline_save(dir, &c);

	if (rc < 0)
		return rc;
	rc = prove_copy(dir, &c);
	if (rc == 0)
		rc = move_entries(t, dir, &c);
	free(c.bytes);
	return rc;
}

/* ---- operations ---- */

int inline_dir_init(struct task *t, struct ek_inode *dir, ek_inum parent)
{
	le32 number = le32_make(parent.v);
	struct row r;
	int rc = inline_prepare(t, dir, INLINE_HEAD);

	if (rc < 0)
		return rc;
	memcpy(dir->rec.block, &number, sizeof(number));
	r = (struct row){.bytes = dir->rec.block + PARENT_BYTES, .size = HEAD_ROW};
	entry_at(&r, 0)->rec_len = le16_make(HEAD_ROW);
	dir->size = INLINE_HEAD;
	dir->rec.size = INLINE_HEAD;
	return 0;
}

static int check_new(struct task *t, struct ek_inode *dir, const struct new_entry *n)
{
	struct dirent_raw *e, *prev;
	struct row r;
	int rc = n->is_new ? -ENOENT : find(t, dir, n->name, n->len, &r, &e, &prev);

	if (rc == 0) {
		if (r.in_value)
			buf_put(r.value.buf);
		return -EEXIST;
	}
	return rc == -ENOENT ? 0 : rc;
}

int inline_dir_add(struct task *t, struct ek_inode *dir, const struct new_entry *n)
{
	int rc = check_new(t, dir, n);

	if (rc == 0)
		rc = add_to_row(t, dir, 0, n);
	if (rc == -ENOSPC) {
		rc = make_second_row(t, dir);
		if (rc == 0 || rc == -ENOSPC)
			rc = add_to_row(t, dir, 1, n);
	}
	if (rc != -ENOSPC)
		return rc;
	rc = to_block(t, dir);
	if (rc == 0) /* once for the block, which was done, once for the way there */
		rc = inode_mark_dirty(t, dir, MARK_DIR);
	return rc < 0 ? rc : 1;
}

int inline_dir_remove(struct task *t, struct ek_inode *dir, const char *name, uint32_t len)
{
	struct dirent_raw *e, *prev;
	struct row r;
	int rc = find(t, dir, name, len, &r, &e, &prev);

	if (rc < 0)
		return rc;
	if (prev != NULL)
		prev->rec_len = le16_make((uint16_t)(length_of(prev) + length_of(e)));
	else
		e->inode = le32_make(0);
	rc = close_row(t, dir, &r, 0);
	return rc < 0 ? rc : inode_mark_dirty(t, dir, MARK_DIR);
}

int inline_dir_set(struct task *t, struct ek_inode *dir, const char *name, uint32_t len,
		   uint32_t ino, uint8_t type)
{
	le32 number = le32_make(ino);
	struct dirent_raw *e, *prev;
	struct row r;
	int rc;

	if (len == 2 && memcmp(name, "..", 2) == 0) {
		memcpy(dir->rec.block, &number, sizeof(number));
		return inode_mark_dirty(t, dir, MARK_DIR);
	}
	rc = find(t, dir, name, len, &r, &e, &prev);
	if (rc < 0)
		return rc;
	e->inode = number;
	if (geom_incompat(&dir->img->geom, INCOMPAT_FILETYPE))
		e->file_type = type;
	return close_row(t, dir, &r, 0);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Removal from a tree of pointers: one descent over the part of the tree that the range touches.
 * What a row names of data is cleared and freed in runs; a pointer block below goes when the range
 * reaches to the end of what it maps and nothing is left in it (Linux frees exactly those).
 *
 * A block's pointers are cleared before it is freed, and it is freed in the transaction that clears
 * the pointer to it, so that between two steps the tree is whole and the handle may be restarted.
 */
#include <errno.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/mem.h"
#include "fs/blocks.h"
#include "fs/credits.h"
#include "fs/indirect.h"
#include "fs/map.h"

#define STEP_CREDITS 12u /* bitmaps, descriptors, pointer block, inode, superblock */

struct removal {
	struct task *t;
	struct ek_inode *inode;
	uint64_t from, to; /* blocks of the file, both inclusive */
};

/* A row of pointers, the rows on the way to it, and what it maps. */
struct row {
	const struct row *up;
	struct buf *buf; /* NULL: the inode's */
	uint32_t count;
	uint64_t first, span; /* the file's block below pointer 0; blocks below each */
	bool changed;         /* pointers were cleared that are not filed yet */
};

static const le32 *pointers(const struct removal *r, const struct row *row)
{
	const void *p = row->buf != NULL ? row->buf->data : r->inode->rec.block;

	return p;
}

static uint32_t pointer(const struct removal *r, const struct row *row, uint32_t i)
{
	return le32_get(pointers(r, row)[i]);
}

/* ---- changes of a row ---- */

static int clear(struct removal *r, struct row *row, uint32_t i, uint32_t n)
{
	void *view = r->inode->rec.block;
	int rc = row->buf != NULL ? handle_write(r->t->user.current, row->buf, &view) : 0;

	if (rc < 0)
		return rc;
	memset((le32 *)view + i, 0, n * sizeof(le32));
	row->changed = true;
	return 0;
}

/* Files the row with the transaction.  The inode's own is marked by whoever began the removal, and
 * by each block that is freed. */
static int file_row(struct removal *r, struct row *row)
{
	if (!row->changed || row->buf == NULL)
		return 0;
	row->changed = false;
	return handle_dirty(r->t->user.current, row->buf);
}

/* Room in the handle for one more step; a restart leaves everything as a crash may find it. */
static int more_credits(struct removal *r, struct row *row, unsigned revokes)
{
	struct handle *h = r->t->user.current;
	unsigned want = credits_removal(r->inode);
	int rc;

	if (handle_has_credits(h, STEP_CREDITS) && h->revoke_credits >= revokes)
		return 0;
	rc = handle_extend(h, want - MIN(want, h->credits),
			   revokes - MIN(revokes, h->revoke_credits));
	if (rc <= 0)
		return rc;
	rc = file_row(r, row);
	if (rc == 0)
		rc = inode_mark_dirty(r->t, r->inode, MARK_TRUNCATE);
	return rc < 0 ? rc : handle_restart(h, want, revokes);
}

/* ---- data ---- */

/* The longest run of neighbours from pointer *i on, before end; 0 when nothing is left. */
static uint32_t next_run(const struct removal *r, const struct row *row, uint32_t *i, uint32_t end)
{
	const le32 *p = pointers(r, row);
	uint32_t first, n = 1;

	while (*i < end && le32_get(p[*i]) == 0)
		(*i)++;
	if (*i == end)
		return 0;
	first = le32_get(p[*i]);
	while (*i + n < end && le32_get(p[*i + n]) == first + n)
		n++;
	return n;
}

static int free_run(struct removal *r, struct row *row, uint32_t i, uint32_t n)
{
	ek_pblk at;
	int rc = geom_data_run(&r->inode->img->geom, pointer(r, row, i), n, r->inode->ino.v,
			       "corrupt block pointer", &r->inode->img->diag, &at);

	if (rc == 0)
		rc = more_credits(r, row, inode_logs_blocks(r->inode) ? n : 0);
	if (rc == 0)
		rc = clear(r, row, i, n);
	return rc < 0 ? rc : inode_free_blocks(r->t, r->inode, at, n, 0);
}

/* Frees the data that pointers [i, end) name.  Blocks that went through the log are revoked one
 * by one, and a transaction must be able to hold that. */
static int free_data(struct removal *r, struct row *row, uint32_t i, uint32_t end)
{
	uint32_t n;

	while ((n = next_run(r, row, &i, end)) != 0) {
		int rc;

		if (inode_logs_blocks(r->inode))
			n = MIN(n, jnl_revoke_step(r->inode->img->jnl));
		rc = free_run(r, row, i, n);
		if (rc < 0)
			return rc;
		i += n;
	}
	return file_row(r, row);
}

/* ---- pointer blocks ---- */

/* The block that pointer i names; not one of those above it, as only damage would have it. */
static int open_child(struct removal *r, struct row *row, uint32_t i, struct row *ret)
{
	const struct geom *g = &r->inode->img->geom;
	unsigned bits = ind_bits(r->inode);
	ek_pblk at;
	int rc = geom_data_run(g, pointer(r, row, i), 1, r->inode->ino.v,
			       "corrupt block of pointers", &r->inode->img->diag, &at);

	if (rc < 0)
		return rc;
	for (const struct row *up = row; up->buf != NULL; up = up->up) {
		if (up->buf->pblk.v == at.v)
			return diag_set(
			    &r->inode->img->diag, -EUCLEAN,
			    "corrupt block of pointers: inode %u: block %llu names itself",
			    r->inode->ino.v, (unsigned long long)at.v);
	}
	*ret = (struct row){.up = row,
			    .count = 1u << bits,
			    .first = row->first + i * row->span,
			    .span = row->span >> bits};
	return buf_get(r->inode->img->cache, at, &verify_any, inode_owner(r->inode), &ret->buf);
}

/* The empty block below pointer i goes, and the pointer in the same transaction. */
static int free_child(struct removal *r, struct row *row, uint32_t i, struct row *child)
{
	ek_pblk at = child->buf->pblk;
	int rc = more_credits(r, row, 1);

	if (rc == 0) {
		rc = inode_free_metadata(r->t, r->inode, child->buf, at);
		child->buf = NULL;
	}
	if (rc == 0)
		rc = clear(r, row, i, 1);
	return rc < 0 ? rc : file_row(r, row);
}

static int remove_in_row(struct removal *r, struct row *row, uint32_t first, uint32_t count);

static int remove_child(struct removal *r, struct row *row, uint32_t i)
{
	struct row child;
	int rc = open_child(r, row, i, &child);

	if (rc < 0)
		return rc;
	rc = remove_in_row(r, &child, 0, child.count);
	if (rc == 0 && r->to >= child.first + row->span - 1 &&
	    mem_is_zero(child.buf->data, child.buf->size))
		rc = free_child(r, row, i, &child);
	buf_put(child.buf);
	return rc;
}

/* Removes the part of the range below pointers [i, end) of the row; the last one first, as the rows
 * below are wanted from the end of the file. */
static int remove_in_row(struct removal *r, struct row *row, uint32_t i, uint32_t end)
{
	uint64_t last = row->first + row->span * end - 1;
	uint64_t from = MAX(r->from, row->first + row->span * i), to = MIN(r->to, last);
	int rc = 0;

	if (from > to)
		return 0;
	i = (uint32_t)((from - row->first) / row->span);
	end = (uint32_t)((to - row->first) / row->span) + 1;
	if (row->span == 1)
		return free_data(r, row, i, end);
	while (rc == 0 && end-- > i) {
		if (pointer(r, row, end) != 0)
			rc = remove_child(r, row, end);
	}
	return rc;
}

int ind_remove(struct task *t, struct ek_inode *inode, ek_lblk from, ek_lblk to)
{
	struct removal r = {t, inode, from.v, to.v == UINT32_MAX ? UINT64_MAX : to.v};
	struct row row = {.count = IND_DIRECT + IND_LEVELS, .span = 1};
	uint64_t first = IND_DIRECT;
	int rc = remove_in_row(&r, &row, 0, IND_DIRECT);

	for (unsigned l = 1; l <= IND_LEVELS && rc == 0; l++) {
		uint32_t i = IND_DIRECT + l - 1;

		row.span = (uint64_t)1 << ind_bits(inode) * l;
		row.first = first - i * row.span; /* may wrap: only sums with i * span are used */
		if (first <= r.to && first + row.span > r.from && pointer(&r, &row, i) != 0)
			rc = remove_child(&r, &row, i);
		first += row.span;
	}
	return rc;
}

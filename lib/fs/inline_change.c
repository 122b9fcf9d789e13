/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inline data of files: made, grown, written, cut, and moved to a block when something else than a
 * plain write needs one.  The bytes of a block are written before the transaction that names it
 * commits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/blocks.h"
#include "fs/data.h"
#include "fs/extent.h"
#include "fs/inline.h"
#include "fs/inline_value.h"
#include "fs/map.h"
#include "io/dev.h"

int inline_size(struct ek_inode *inode, uint32_t *ret)
{
	int rc = inline_value_size(inode, ret);

	if (rc == 0)
		*ret += INLINE_HEAD;
	return rc;
}

int inline_capacity(struct ek_inode *inode, uint32_t *ret)
{
	bool there;
	int rc = inline_value_room(inode, ret, &there);

	if (rc == 0 && *ret != 0)
		*ret += INLINE_HEAD;
	return rc;
}

/* ---- growing ---- */

static void become_inline(struct ek_inode *inode)
{
	memset(inode->rec.block, 0, sizeof(inode->rec.block));
	inode->rec.flags = (inode->rec.flags & ~INODE_EXTENTS) | INODE_INLINE_DATA;
	inode->state |= INODE_STATE_MAY_INLINE;
}

int inline_prepare(struct task *t, struct ek_inode *inode, uint64_t end)
{
	uint32_t room, have = 0, need = end > INLINE_HEAD ? (uint32_t)(end - INLINE_HEAD) : 0;
	bool there;
	int rc;

	if (!inode_may_inline(inode))
		return -ENOSPC;
	rc = inline_value_room(inode, &room, &there);
	if (rc < 0)
		return rc;
	if (room == 0 || end > room + INLINE_HEAD)
		return -ENOSPC;
	if (there)
		rc = inline_value_size(inode, &have);
	if (rc == 0 && (!there || need > have))
		rc = inline_value_resize(t, inode, need);
	if (rc == 0 && !inode_is_inline(inode))
		become_inline(inode);
	return rc;
}

int inline_write(struct task *t, struct ek_inode *inode, uint64_t off, const void *bytes,
		 size_t len)
{
	const uint8_t *from = bytes;
	struct inline_value v;
	int rc;

	if (off < INLINE_HEAD) {
		size_t n = MIN(len, (size_t)(INLINE_HEAD - off));

		memcpy(inode->rec.block + off, from, n);
		from += n;
		off += n;
		len -= n;
	}
	if (len == 0)
		return 0;
	rc = inline_value_open(t, inode, &v);
	if (rc < 0)
		return rc;
	off -= INLINE_HEAD;
	if (v.bytes == NULL || off + len > v.size)
		rc = diag_set(&t->img->diag, -EUCLEAN,
			      "corrupt inline data: inode %u: room of %u bytes, not %zu",
			      inode->ino.v, v.size, (size_t)off + len);
	else
		memcpy(v.bytes + off, from, len);
	return inline_value_close(t, inode, &v, rc);
}

/* ---- leaving the inode ---- */

int inline_save(struct ek_inode *inode, struct inline_copy *ret)
{
	struct inline_copy c;
	int rc = inline_size(inode, &c.size);

	if (rc < 0)
		return rc;
	c.bytes = mem_zero(c.size);
	if (c.bytes == NULL)
		return diag_set(&inode->img->diag, -ENOMEM, "out of memory for inline data");
	rc = inline_read(inode, 0, c.bytes, c.size);
	if (rc < 0)
		free(c.bytes);
	else
		*ret = c;
	return rc;
}

void inline_copy_free(struct inline_copy *c)
{
	free(c->bytes);
	c->bytes = NULL;
}

int inline_restore(struct task *t, struct ek_inode *inode, const struct inline_copy *c)
{
	int rc;

	inode->state |= INODE_STATE_MAY_INLINE;
	rc = inline_prepare(t, inode, c->size);
	return rc < 0 ? rc : inline_write(t, inode, 0, c->bytes, c->size);
}

int inline_destroy(struct task *t, struct ek_inode *inode)
{
	int rc = inline_value_remove(t, inode);

	if (rc < 0)
		return rc;
	memset(inode->rec.block, 0, sizeof(inode->rec.block));
	inode->rec.flags &= ~INODE_INLINE_DATA;
	inode->state &= ~(unsigned)INODE_STATE_MAY_INLINE;
	if (map_by_extents(inode->img)) {
		inode->rec.flags |= INODE_EXTENTS;
		ext_root_init(inode);
	}
	return inode_mark_dirty(t, inode, MARK_EXT_INSERT);
}

/* The block's bytes: what the file has, then zeros. */
static int write_block(struct ek_inode *inode, ek_pblk pblk, const struct inline_copy *c)
{
	const struct geom *g = &inode->img->geom;
	uint8_t *block = mem_aligned(4096, g->block_size);
	size_t n = (size_t)MIN((uint64_t)MIN(c->size, g->block_size), inode->size);
	int rc;

	if (block == NULL)
		return diag_set(&inode->img->diag, -ENOMEM, "out of memory for a block");
	memcpy(block, c->bytes, n);
	memset(block + n, 0, g->block_size - n);
	rc = dev_write(inode->img->dev, pblk.v << g->block_bits, block, g->block_size);
	free(block);
	return rc;
}

static int move_to_block(struct task *t, struct ek_inode *inode, const struct inline_copy *c)
{
	struct map m = {.lblk = {0}, .len = 1};
	int rc = inline_destroy(t, inode), undone;

	if (rc < 0)
		return rc;
	rc = map_blocks(t, inode, &m, MAP_CREATE);
	if (rc == -ENOSPC) {
		undone = inline_restore(t, inode, c);
		undone = undone < 0 ? undone : inode_mark_dirty(t, inode, MARK_EXT_INSERT);
		return undone < 0 ? undone : rc;
	}
	return rc < 0 ? rc : write_block(inode, m.pblk, c);
}

static int convert(struct task *t, struct ek_inode *inode)
{
	struct inline_copy c;
	struct handle *h;
	int rc = inline_save(inode, &c);

	if (rc < 0)
		return rc;
	rc = task_start_inode(t, inode, HANDLE_WRITE_PAGE, map_credits(inode, 1, 1), 0, &h);
	if (rc == 0)
		rc = handle_end(h, move_to_block(t, inode, &c));
	free(c.bytes);
	return rc;
}

int inline_to_blocks(struct task *t, struct ek_inode *inode)
{
	int rc = 0;

	if (inode_is_inline(inode) && !inode_may_inline(inode))
		rc = data_write_out(inode, 0, UINT64_MAX);
	if (rc == 0 && inode_is_inline(inode))
		rc = convert(t, inode);
	if (rc == 0)
		inode->state &= ~(unsigned)INODE_STATE_MAY_INLINE;
	return rc;
}

/* ---- cutting ---- */

/* Delayed blocks behind the end will not get places. */
static int forget_delayed(struct task *t, struct ek_inode *inode)
{
	const struct geom *g = &inode->img->geom;
	uint32_t first = (uint32_t)DIV_UP(inode->size, (uint64_t)g->block_size);

	return inode_forget(t, inode, (ek_lblk){first}, UINT32_MAX - first);
}

static int cut_bytes(struct task *t, struct ek_inode *inode)
{
	uint64_t size = inode->size;
	uint32_t have;
	int rc = inline_size(inode, &have);

	if (rc < 0 || size >= have)
		return rc;
	if (have > INLINE_HEAD)
		rc = inline_value_resize(t, inode,
					 size > INLINE_HEAD ? (uint32_t)(size - INLINE_HEAD) : 0);
	if (rc == 0 && size < INLINE_HEAD)
		memset(inode->rec.block + size, 0, INLINE_HEAD - size);
	return rc;
}

static int cut(struct task *t, struct ek_inode *inode)
{
	int rc = orphan_add(t, inode);

	inode->rec.size = inode->size;
	if (rc == 0 && !inode_may_inline(inode))
		rc = forget_delayed(t, inode);
	if (rc == 0)
		rc = cut_bytes(t, inode);
	if (rc == 0 && inode->rec.links != 0)
		rc = orphan_remove(t, inode);
	if (rc < 0)
		return rc;
	inode->rec.mtime = inode_change_now(inode);
	inode->rec.ctime = inode->rec.mtime;
	return inode_mark_dirty(t, inode, MARK_TRUNCATE);
}

int inline_truncate(struct task *t, struct ek_inode *inode)
{
	struct handle *h;
	int rc = task_start_inode(t, inode, HANDLE_INODE, map_credits(inode, 1, 1), 0, &h);

	return rc < 0 ? rc : handle_end(h, cut(t, inode));
}

/* ---- whole files ---- */

static int store(struct task *t, struct ek_inode *inode, const void *bytes, uint64_t len)
{
	int rc = inline_prepare(t, inode, len);

	if (rc == 0)
		rc = inline_write(t, inode, 0, bytes, (size_t)len);
	if (rc < 0)
		return rc;
	inode->size = len;
	inode->rec.size = len;
	return inode_mark_dirty(t, inode, MARK_WRITE_END);
}

int inline_fill(struct task *t, struct ek_inode *inode, const void *bytes, uint64_t len)
{
	struct handle *h;
	int rc;

	if (!inode_may_inline(inode) || len == 0)
		return 0;
	rc = task_start_inode(t, inode, HANDLE_INODE, 1, 0, &h);
	if (rc < 0)
		return rc;
	rc = handle_end(h, store(t, inode, bytes, len));
	if (rc == 0)
		return 1;
	inode->state &= ~(unsigned)INODE_STATE_MAY_INLINE;
	return rc == -ENOSPC ? 0 : rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * O_DIRECT: cached data of the range is written and dropped first; holes get unwritten extents that
 * are converted when the data is there; the size follows.  What is not aligned goes through the
 * cache, as Linux falls back, and so does what goes through the log.
 *
 * Pointers have no unwritten blocks.  Behind the end of the file they get written ones, the inode
 * being among the orphans until its size covers them; holes before it go through the cache.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/data.h"
#include "fs/inline.h"
#include "fs/map.h"
#include "io/bio.h"
#include "io/dev.h"
#include "pagecache/hooks.h"
#include "pagecache/pagecache.h"

#define PIECE ((uint64_t)1 << 20)

static int settle_cache(struct pagecache *pc, struct ek_inode *inode, uint64_t pos, uint64_t len)
{
	struct data_ops *ops = &inode->img->data;
	int rc = ops->write_out(ops->ctx, inode, pos, pos + len);

	if (rc < 0)
		return rc;
	pc_invalidate(inode, pos, len);
	return 0;
}

/* Places for [lblk, lblk + len): one handle a piece.  -ENOTBLK when they cannot be had this way. */
static int allocate(struct task *t, struct ek_inode *inode, struct map *m)
{
	unsigned flags = MAP_CREATE | MAP_UNWRITTEN | MAP_PRE_IO;
	struct handle *h;
	int rc = map_lookup(t, inode, m);

	if (rc < 0 || m->state == MAP_MAPPED)
		return rc;
	if (inode_has_pointers(inode)) {
		if ((uint64_t)m->lblk.v << inode->img->geom.block_bits < inode->size)
			return -ENOTBLK;
		flags = MAP_CREATE;
	}
	rc = task_start_inode(t, inode, HANDLE_MAP_BLOCKS, map_credits(inode, m->len, 1), 0, &h);
	if (rc < 0)
		return rc;
	rc = map_blocks(t, inode, m, flags);
	return handle_end(h, rc);
}

static int convert(struct task *t, struct ek_inode *inode, struct map *m)
{
	struct handle *h;
	int rc =
	    task_start_inode(t, inode, HANDLE_MAP_BLOCKS, map_credits(inode, m->len, 1), 0, &h);

	if (rc < 0)
		return rc;
	rc = map_blocks(t, inode, m, MAP_CONVERT);
	if (rc == 0)
		rc = inode_mark_dirty(t, inode, MARK_CONVERT_END);
	return handle_end(h, rc);
}

static const uint8_t *bytes_of(const struct pc_source *src, uint64_t done, uint64_t n, uint8_t *buf)
{
	if (src->ptr == NULL)
		return memset(buf, 0, n);
	if (src->period == 0)
		return src->ptr + done;
	for (uint64_t i = 0; i < n; i++)
		buf[i] = src->ptr[(done + i) % src->period];
	return buf;
}

static int write_piece(struct task *t, struct ek_inode *inode, struct map *m, uint64_t done,
		       const struct pc_source *src, uint8_t *buf)
{
	unsigned bits = inode->img->geom.block_bits;
	uint64_t n = (uint64_t)m->len << bits;
	int rc = allocate(t, inode, m);

	if (rc < 0)
		return rc;
	n = (uint64_t)m->len << bits;
	rc = dev_write(inode->img->dev, m->pblk.v << bits, bytes_of(src, done, n, buf), n);
	if (rc == 0 && m->state == MAP_IS_UNWRITTEN)
		rc = convert(t, inode, m);
	return rc;
}

/* Written blocks behind the end of the file must not outlive a crash. */
static int guard(struct task *t, struct ek_inode *inode, uint64_t end)
{
	struct handle *h;
	int rc;

	if (!inode_has_pointers(inode) || end <= inode->size)
		return 0;
	rc = task_start_inode(t, inode, HANDLE_INODE, 2, 0, &h);
	if (rc < 0)
		return rc;
	return handle_end(h, orphan_add(t, inode));
}

static int grow(struct task *t, struct ek_inode *inode, uint64_t end)
{
	struct handle *h;
	int rc;

	if (end <= inode->size &&
	    (!inode_has_pointers(inode) || (inode->state & INODE_STATE_ORPHAN) == 0))
		return 0;
	rc = task_start_inode(t, inode, HANDLE_INODE, 2, 0, &h);
	if (rc < 0)
		return rc;
	inode->size = MAX(inode->size, end);
	inode->rec.size = MAX(inode->rec.size, end);
	if ((inode->state & INODE_STATE_ORPHAN) != 0 && inode->rec.links != 0)
		rc = orphan_remove(t, inode);
	if (rc == 0)
		rc = inode_mark_dirty(t, inode, MARK_WRITE_END);
	return handle_end(h, rc);
}

/* The rest through the cache, and at once to disk. */
static int64_t write_cached(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len,
			    const struct pc_source *src, uint64_t done)
{
	struct pc_source rest = *src;
	uint8_t *turned = NULL;
	int64_t n;
	int rc;

	if (rest.ptr != NULL && rest.period == 0) {
		rest.ptr += done;
	} else if (rest.ptr != NULL && done % rest.period != 0) {
		turned = malloc(rest.period);
		if (turned == NULL)
			return diag_set(&inode->img->diag, -ENOMEM, "out of memory for a pattern");
		for (uint32_t i = 0; i < rest.period; i++)
			turned[i] = src->ptr[(done + i) % rest.period];
		rest.ptr = turned;
	}
	n = pc_write(t, inode, pos, len, &rest, 0);
	free(turned);
	rc = n > 0 ? settle_cache(pc_of(inode), inode, pos, (uint64_t)n) : 0;
	return rc < 0 ? rc : n;
}

int64_t pc_direct_write(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len,
			const struct pc_source *src, unsigned flags)
{
	struct pagecache *pc = pc_of(inode);
	unsigned bits = inode->img->geom.block_bits;
	uint64_t mask = (1u << bits) - 1, done = 0;
	uint8_t *buf;
	int rc;

	if (((pos | len) & mask) != 0 || mapping_of(inode) == NULL || inode_is_inline(inode) ||
	    inode_logs_data(inode))
		return pc_write(t, inode, pos, len, src, flags);
	if (pos > map_size_limit(inode) || len > map_size_limit(inode) - pos)
		return -EFBIG;
	rc = inode_check_contents(inode);
	if (rc < 0)
		return rc;
	buf = mem_aligned(4096, PIECE);
	if (buf == NULL)
		return diag_set(&inode->img->diag, -ENOMEM, "out of memory for direct I/O");
	rc = inline_to_blocks(t, inode); /* it is not inline, and may not become so */
	if (rc == 0)
		rc = inode_touch_modify(t, inode);
	if (rc == 0)
		rc = settle_cache(pc, inode, pos, len);
	if (rc == 0)
		rc = guard(t, inode, pos + len);
	while (rc == 0 && done < len) {
		struct map m = {.lblk = {(uint32_t)((pos + done) >> bits)},
				.len = (uint32_t)(MIN(len - done, PIECE) >> bits)};

		rc = write_piece(t, inode, &m, done, src, buf);
		if (rc == 0)
			done += (uint64_t)m.len << bits;
	}
	free(buf);
	if (done != 0 || rc < 0) {
		int end = grow(t, inode, done != 0 ? pos + done : 0);

		rc = rc < 0 ? rc : end;
	}
	if (rc == -ENOTBLK) {
		int64_t n = write_cached(t, inode, pos + done, len - done, src, done);

		rc = n < 0 ? (int)n : 0;
		done += n > 0 ? (uint64_t)n : 0;
	}
	if (rc == 0 && (flags & (PC_SYNC | PC_DSYNC)) != 0)
		rc = pc_fsync(t, inode, (flags & PC_SYNC) == 0);
	return rc < 0 ? rc : (int64_t)done;
}

int64_t pc_direct_read(struct task *t, struct ek_inode *inode, uint64_t pos, uint64_t len,
		       void *buf)
{
	unsigned bits = inode->img->geom.block_bits;
	uint64_t mask = (1u << bits) - 1, done = 0;
	int rc;

	if (pos >= inode->size)
		return 0;
	len = MIN(len, inode->size - pos);
	if ((pos & mask) != 0 || buf == NULL || inode_is_inline(inode) || inode_logs_data(inode))
		return pc_read(t, inode, pos, len, buf, NULL);
	rc = settle_cache(pc_of(inode), inode, pos, len);
	if (rc == 0)
		rc = pc_wait(pc_of(inode));
	while (rc == 0 && done < len) {
		struct map m = {.lblk = {(uint32_t)((pos + done) >> bits)},
				.len = (uint32_t)((len - done + mask) >> bits)};
		uint64_t n;

		rc = map_lookup(t, inode, &m);
		if (rc < 0)
			break;
		n = MIN((uint64_t)m.len << bits, len - done);
		if (m.state == MAP_MAPPED)
			rc = dev_read(inode->img->dev, m.pblk.v << bits, (uint8_t *)buf + done, n);
		else
			memset((uint8_t *)buf + done, 0, n);
		done += n;
	}
	return rc < 0 ? rc : (int64_t)done;
}

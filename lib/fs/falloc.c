/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fallocate(2): preallocate, punch, zero, collapse, insert.  Whole blocks are handled in the tree,
 * bytes at unaligned edges are zeroed in their blocks.
 */
#include <errno.h>
#include <linux/falloc.h>

#include "base/check.h"
#include "fs/blocks.h"
#include "fs/credits.h"
#include "fs/data.h"
#include "fs/extent.h"
#include "fs/inline.h"
#include "fs/inode_cache.h"
#include "fs/map.h"

#define LINUX_PAGE 4096u /* whose page cache decides where a hole ends */

struct range {
	uint64_t off, end;         /* bytes */
	uint64_t first, last;      /* blocks touched: [first, last) */
	uint64_t inner, inner_end; /* whole blocks inside: [inner, inner_end), may be empty */
};

static struct range range_of(const struct ek_inode *inode, uint64_t off, uint64_t len)
{
	const struct geom *g = &inode->img->geom;
	uint64_t end = off + len;
	struct range r = {off,
			  end,
			  off >> g->block_bits,
			  (end + g->block_size - 1) >> g->block_bits,
			  (off + g->block_size - 1) >> g->block_bits,
			  end >> g->block_bits};

	if (r.inner_end < r.inner)
		r.inner_end = r.inner;
	return r;
}

static void times(struct ek_inode *inode)
{
	inode->rec.mtime = inode_change_now(inode);
	inode->rec.ctime = inode->rec.mtime;
}

/* One piece of preallocation in a transaction of its own; size grows with it unless keep. */
static int allocate_piece(struct task *t, struct ek_inode *inode, struct map *m, unsigned flags,
			  uint64_t new_size)
{
	const struct geom *g = &inode->img->geom;
	struct handle *h;
	int rc =
	    task_start_inode(t, inode, HANDLE_MAP_BLOCKS, map_credits(inode, m->len, 1), 0, &h);
	uint64_t end;

	if (rc < 0)
		return rc;
	rc = map_blocks(t, inode, m, flags);
	if (rc == 0) {
		inode->rec.ctime = inode_change_now(inode);
		end = MIN((uint64_t)(m->lblk.v + m->len) << g->block_bits, new_size);
		if (end > inode->size) {
			inode->size = end;
			inode->rec.mtime = inode->rec.ctime;
		}
		if (new_size != 0 && inode->size > inode->rec.size && end > inode->rec.size)
			inode->rec.size = MIN(end, inode->size);
		rc = inode_mark_dirty(t, inode, MARK_FALLOCATE);
		inode_note_datasync(t, inode);
	}
	return handle_end(h, rc);
}

static int allocate(struct task *t, struct ek_inode *inode, uint64_t first, uint64_t last,
		    unsigned flags, uint64_t new_size)
{
	if (last - first <= EXTENT_MAX_UNWRITTEN)
		flags |= MAP_NO_NORMALIZE;
	while (first < last) {
		struct map m = {.lblk = {(uint32_t)first}, .len = (uint32_t)(last - first)};
		int rc = allocate_piece(t, inode, &m, flags, new_size);

		if (rc < 0)
			return rc;
		first += m.len;
	}
	return 0;
}

static int preallocate(struct task *t, struct ek_inode *inode, const struct range *r, bool keep)
{
	return allocate(t, inode, r->first, r->last, MAP_CREATE | MAP_UNWRITTEN,
			keep || r->end <= inode->size ? 0 : r->end);
}

/* The size on disk may lag behind delayed blocks that this range removes. */
static int settle_size(struct task *t, struct ek_inode *inode, const struct range *r)
{
	struct handle *h;
	int rc;

	if (r->off > inode->size || r->end < inode->size || inode->rec.size >= inode->size)
		return 0;
	rc = task_start_inode(t, inode, HANDLE_MISC, 1, 0, &h);
	if (rc < 0)
		return rc;
	inode->rec.size = inode->size;
	rc = inode_mark_dirty(t, inode, MARK_FALLOCATE);
	return handle_end(h, rc);
}

static int remove_inner(struct task *t, struct ek_inode *inode, const struct range *r)
{
	mb_discard_inode(t->img->mb, &inode->mb);
	count(&t->img->counters, COUNTER_DISCARD_PREALLOCATIONS, 1);
	return map_remove(t, inode, (ek_lblk){(uint32_t)r->inner},
			  (ek_lblk){(uint32_t)(r->inner_end - 1)});
}

/* A hole ends with the page that holds the end of the file: what is preallocated behind it stays.
 */
static struct range hole_of(const struct ek_inode *inode, const struct range *r)
{
	uint64_t page = MAX((uint64_t)inode->img->geom.block_size, (uint64_t)LINUX_PAGE);
	uint64_t end = ROUND_UP(inode->size, page);

	return r->end > inode->size && r->off < inode->size ? range_of(inode, r->off, end - r->off)
							    : *r;
}

static int punch(struct task *t, struct ek_inode *inode, const struct range *r)
{
	struct handle *h;
	int rc;

	count(&t->img->counters, COUNTER_PUNCH_HOLE, 1);
	if (r->off >= inode->size)
		return 0;
	rc = settle_size(t, inode, r);
	if (rc == 0) /* edges too: large folios are split there */
		rc = data_invalidate(inode, r->off, r->end);
	if (rc == 0)
		rc = task_start_inode(t, inode, HANDLE_TRUNCATE, credits_truncate(inode), 0, &h);
	if (rc < 0)
		return rc;
	rc = data_zero_edges(t, inode, r->off, r->end);
	if (rc == 0 && r->inner < r->inner_end)
		rc = remove_inner(t, inode, r);
	if (rc == 0) {
		times(inode);
		rc = inode_mark_dirty(t, inode, MARK_FALLOCATE);
		inode_note_datasync(t, inode);
	}
	return handle_end(h, rc);
}

/* Edges and times of a zeroed range, with the size when it grows. */
static int zero_finish(struct task *t, struct ek_inode *inode, const struct range *r,
		       uint64_t new_size)
{
	struct handle *h;
	int rc = task_start_inode(t, inode, HANDLE_MISC, 3, 0, &h);

	if (rc < 0)
		return rc;
	rc = data_zero_edges(t, inode, r->off, MIN(r->end, MAX(inode->size, r->off)));
	if (rc == 0) {
		times(inode);
		if (new_size > inode->size)
			inode->size = new_size;
		if (new_size > inode->rec.size)
			inode->rec.size = new_size;
		rc = inode_mark_dirty(t, inode, MARK_FALLOCATE);
		inode_note_datasync(t, inode);
	}
	return handle_end(h, rc);
}

static int zero(struct task *t, struct ek_inode *inode, const struct range *r, bool keep)
{
	uint64_t new_size = keep || r->end <= inode->size ? 0 : r->end;
	int rc;

	count(&t->img->counters, COUNTER_ZERO_RANGE, 1);
	rc = settle_size(t, inode, r);
	if (rc == 0 && (r->first != r->inner || r->last != r->inner_end))
		rc = allocate(t, inode, r->first, r->last, MAP_CREATE | MAP_UNWRITTEN, new_size);
	if (rc == 0)
		rc = data_invalidate(inode, r->off, r->end);
	if (rc == 0 && r->inner < r->inner_end)
		rc = allocate(t, inode, r->inner, r->inner_end,
			      MAP_CREATE | MAP_UNWRITTEN | MAP_TO_UNWRITTEN, new_size);
	return rc < 0 ? rc : zero_finish(t, inode, r, new_size);
}

static int check_shift(struct ek_inode *inode, uint64_t off, uint64_t len, bool insert)
{
	const struct geom *g = &inode->img->geom;
	uint64_t mask = ((uint64_t)g->block_size << g->cluster_bits) - 1;
	uint64_t limit = map_size_limit(inode);

	if ((off & mask) != 0 || (len & mask) != 0)
		return -EINVAL;
	if (!insert)
		return off + len >= inode->size ? -EINVAL : 0;
	if (off >= inode->size)
		return -EINVAL;
	return len > limit - inode->size ? -EFBIG : 0;
}

static int set_shifted_size(struct task *t, struct ek_inode *inode, uint64_t size)
{
	inode->size = size;
	inode->rec.size = size;
	times(inode);
	inode_note_datasync(t, inode);
	return inode_mark_dirty(t, inode, MARK_FALLOCATE);
}

/* Whole pages from the one with off on are written and dropped: their contents move. */
static int settle_pages(struct ek_inode *inode, uint64_t off)
{
	uint64_t from =
	    ROUND_DOWN(off, MAX((uint64_t)inode->img->geom.block_size, (uint64_t)LINUX_PAGE));
	int rc = data_write_out(inode, from, UINT64_MAX);

	return rc < 0 ? rc : data_invalidate(inode, from, UINT64_MAX);
}

static int collapse(struct task *t, struct ek_inode *inode, const struct range *r)
{
	uint32_t first = (uint32_t)r->first, last = (uint32_t)r->last;
	struct handle *h;
	int rc = check_shift(inode, r->off, r->end - r->off, false);

	count(&t->img->counters, COUNTER_COLLAPSE_RANGE, 1);
	if (rc == 0)
		rc = settle_pages(inode, r->off);
	if (rc == 0)
		rc = task_start_inode(t, inode, HANDLE_TRUNCATE, credits_truncate(inode), 0, &h);
	if (rc < 0)
		return rc;
	mb_discard_inode(t->img->mb, &inode->mb);
	rc = map_remove(t, inode, (ek_lblk){first}, (ek_lblk){last - 1});
	if (rc == 0)
		rc = map_shift(t, inode, (ek_lblk){last}, last - first, false);
	if (rc == 0)
		rc = set_shifted_size(t, inode, inode->size - (r->end - r->off));
	return handle_end(h, rc);
}

/* An extent that spans the insertion point is cut there. */
static int split_at(struct task *t, struct ek_inode *inode, uint32_t lblk)
{
	struct ext_path p;
	struct extent x;
	int rc = ext_path_find(inode, (ek_lblk){lblk}, &p);

	if (rc == 0 && ext_path_extent(&p, &x) && x.lblk.v < lblk && lblk < x.lblk.v + x.len)
		rc = ext_split_at(t, &p, (ek_lblk){lblk}, x.unwritten, x.unwritten, EXT_NO_MERGE);
	ext_path_put(&p);
	return rc;
}

static int insert(struct task *t, struct ek_inode *inode, const struct range *r)
{
	uint32_t first = (uint32_t)r->first, distance = (uint32_t)(r->last - r->first);
	struct handle *h;
	int rc = check_shift(inode, r->off, r->end - r->off, true);

	count(&t->img->counters, COUNTER_INSERT_RANGE, 1);
	if (rc == 0)
		rc = settle_pages(inode, r->off);
	if (rc == 0)
		rc = task_start_inode(t, inode, HANDLE_TRUNCATE, credits_truncate(inode), 0, &h);
	if (rc < 0)
		return rc;
	mb_discard_inode(t->img->mb, &inode->mb);
	rc = set_shifted_size(t, inode, inode->size + (r->end - r->off));
	if (rc == 0)
		rc = split_at(t, inode, first);
	if (rc == 0)
		rc = map_shift(t, inode, (ek_lblk){first}, distance, true);
	return handle_end(h, rc);
}

int inode_fallocate(struct task *t, struct ek_inode *inode, int mode, uint64_t off, uint64_t len)
{
	bool keep = (mode & FALLOC_FL_KEEP_SIZE) != 0;
	uint64_t limit = map_size_limit(inode);
	struct range r;
	int rc;

	if (!inode_is_file(inode))
		return inode_is_dir(inode) ? -EISDIR : -ENODEV;
	if (len == 0)
		return -EINVAL;
	if (off > limit || len > limit - off)
		return -EFBIG;
	rc = inode_check_contents(inode);
	if (rc == 0)
		rc = inline_to_blocks(t, inode);
	if (rc < 0)
		return rc;
	count(&t->img->counters, COUNTER_FALLOCATE, 1);
	if (inode_has_pointers(inode) && (mode & FALLOC_FL_PUNCH_HOLE) == 0)
		return diag_set(&t->img->diag, -EOPNOTSUPP,
				"unsupported: inode %u is not mapped by extents", inode->ino.v);
	r = range_of(inode, off, len);
	switch (mode & ~FALLOC_FL_KEEP_SIZE) {
	case 0:
		return preallocate(t, inode, &r, keep);
	case FALLOC_FL_PUNCH_HOLE:
		r = hole_of(inode, &r);
		return keep ? punch(t, inode, &r) : -EOPNOTSUPP;
	case FALLOC_FL_ZERO_RANGE:
		return zero(t, inode, &r, keep);
	case FALLOC_FL_COLLAPSE_RANGE:
		return keep ? -EINVAL : collapse(t, inode, &r);
	case FALLOC_FL_INSERT_RANGE:
		return keep ? -EINVAL : insert(t, inode, &r);
	default:
		return -EOPNOTSUPP;
	}
}

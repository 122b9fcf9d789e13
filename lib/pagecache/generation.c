/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The five generations, oldest first.  What changed from one to the next:
 *
 * g0  a handle over the copy, even for an overwrite; the explicit mark compares with the size on
 *     disk, the generic end marks again when the file grew.
 * g1  the explicit comparison is with the size in memory, and its mark left to the generic end.
 * g3  no handle over the copy: the generic end opens one for each growth.
 * g4  growth alone marks nothing, since writeback will; only when the last byte's block has its
 *     place already, and writeback will not touch the size, is there a handle with one mark.
 * g5  the same handle zeroes what lies behind the old end in its block, when a gap is left.
 */
#include "pagecache/generation.h"

#include "base/check.h"
#include "fs/data.h"

/* True when writeback will not move the size on disk past this byte: its block has a written place.
 */
static bool tail_mapped(struct folio *f, uint64_t end)
{
	uint32_t block = (uint32_t)((end - 1 - folio_pos(f)) >> pc_block_bits(f->map->pc));

	return folio_test(f, BLOCK_MAPPED, block) && !folio_test(f, BLOCK_DELAY, block) &&
	       !folio_test(f, BLOCK_UNWRITTEN, block);
}

int generic_mark(struct task *t, struct ek_inode *inode)
{
	struct handle *h;
	int rc;

	data_dirtied(inode);
	rc = task_start_inode(t, inode, HANDLE_INODE, 2, 0, &h);
	return rc < 0 ? rc : handle_end(h, inode_mark_dirty(t, inode, MARK_GENERIC_END));
}

/* ---- g0, g1 ---- */

/* A file that becomes large for the first time changes the superblock too. */
static int begin_over_copy(struct task *t, struct ek_inode *inode, uint64_t end,
			   struct handle **ret)
{
	bool first_large =
	    end > INT32_MAX && !geom_ro_compat(&inode->img->geom, RO_COMPAT_LARGE_FILE);

	return task_start_inode(t, inode, HANDLE_WRITE_PAGE, first_large ? 2 : 1, 0, ret);
}

static int generic_end(struct task *t, struct ek_inode *inode, uint64_t end)
{
	if (end <= inode->size)
		return 0;
	inode->size = end;
	return generic_mark(t, inode);
}

static int end_g0(struct task *t, struct folio *f, uint64_t pos, uint64_t len)
{
	struct ek_inode *inode = f->map->inode;
	int rc = 0;

	if (pos + len > inode->rec.size && tail_mapped(f, pos + len)) {
		inode->rec.size = pos + len;
		rc = inode_mark_dirty(t, inode, MARK_WRITE_END);
	}
	return rc < 0 ? rc : generic_end(t, inode, pos + len);
}

static int end_g1(struct task *t, struct folio *f, uint64_t pos, uint64_t len)
{
	struct ek_inode *inode = f->map->inode;

	if (pos + len > inode->size && tail_mapped(f, pos + len))
		inode->rec.size = pos + len;
	return generic_end(t, inode, pos + len);
}

/* ---- g4, g5 ---- */

/* Under a handle of its own: the size on disk when nothing else will move it, and zeros in the
 * blocks that hold the ends of a gap. */
static int store_growth(struct task *t, struct folio *f, uint64_t end, uint64_t zero_from,
			uint64_t zero_to)
{
	struct ek_inode *inode = f->map->inode;
	struct handle *h;
	int rc = task_start_inode(t, inode, HANDLE_INODE, 2, 0, &h);

	if (rc < 0)
		return rc;
	if (zero_from < zero_to)
		rc = data_zero_edges(t, inode, zero_from, zero_to);
	if (rc == 0 && tail_mapped(f, end))
		inode->rec.size = end;
	if (rc == 0)
		rc = inode_mark_dirty(t, inode, MARK_WRITE_END);
	return handle_end(h, rc);
}

static int end_g4(struct task *t, struct folio *f, uint64_t pos, uint64_t len)
{
	struct ek_inode *inode = f->map->inode;

	if (pos + len <= inode->size)
		return 0;
	inode->size = pos + len;
	return tail_mapped(f, pos + len) ? store_growth(t, f, pos + len, 0, 0) : 0;
}

static int end_g5(struct task *t, struct folio *f, uint64_t pos, uint64_t len)
{
	struct ek_inode *inode = f->map->inode;
	uint64_t old = inode->size;

	if (pos + len <= old)
		return 0;
	inode->size = pos + len;
	if (pos <= old && !tail_mapped(f, pos + len))
		return 0;
	return store_growth(t, f, pos + len, old, pos);
}

/* ---- the table ---- */

const struct generation *generation_of(enum write_generation g)
{
	static const struct generation generations[] = {
	    [WRITE_G0] = {begin_over_copy, end_g0, 1},
	    [WRITE_G1] = {begin_over_copy, end_g1, 1},
	    [WRITE_G3] = {NULL, end_g1, 1},
	    [WRITE_G4] = {NULL, end_g4, 1},
	    [WRITE_G5] = {NULL, end_g5, 2},
	};

	return &generations[g];
}

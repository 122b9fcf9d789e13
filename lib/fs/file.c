/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * File data in place: the map says where a run lies, and the run moves in one transfer between the
 * device and the caller's memory.
 */
#include "fs/file.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "extkit/inode.h"
#include "fs/inline.h"
#include "fs/inode.h"
#include "fs/map.h"
#include "fs/session.h"
#include "io/dev.h"

#define RUN_BLOCKS 32768u /* a written extent's limit: more would be cut anyway */

static int check_data(struct ek_inode *inode)
{
	if (inode_is_dir(inode))
		return -EISDIR;
	if (!inode_is_file(inode))
		return -EINVAL;
	/* verity seals against changes only */
	return (inode->rec.flags & INODE_ENCRYPT) != 0 ? inode_check_contents(inode) : 0;
}

/* The largest run at off with one state: where it lies (UINT64_MAX: zeros) and how long it is, at
 * most len.  Files end where block numbers end, whatever i_size claims. */
static int run_at(struct task *t, struct ek_inode *inode, uint64_t off, uint64_t len,
		  uint64_t *ret_pos, uint64_t *ret_run)
{
	const struct geom *g = &inode->img->geom;
	uint64_t first = off >> g->block_bits, in = off & (g->block_size - 1);
	uint64_t blocks = DIV_UP(in + len, (uint64_t)g->block_size);
	struct map m;
	int rc;

	if (first >= UINT32_MAX) {
		*ret_pos = UINT64_MAX;
		*ret_run = len;
		return 0;
	}
	m = (struct map){.lblk = {(uint32_t)first}};
	m.len = (uint32_t)MIN(blocks, UINT32_MAX - first);
	rc = map_lookup(t, inode, &m);
	if (rc < 0)
		return rc;
	*ret_pos = m.state == MAP_MAPPED ? (m.pblk.v << g->block_bits) + in : UINT64_MAX;
	*ret_run = MIN(len, ((uint64_t)m.len << g->block_bits) - in);
	return 0;
}

int file_read(struct task *t, struct ek_inode *inode, uint64_t off, void *buf, size_t len,
	      size_t *ret)
{
	uint8_t *to = buf;
	size_t done = 0;
	int rc = check_data(inode);

	if (rc < 0)
		return rc;
	if (off >= inode->size)
		len = 0;
	else
		len = (size_t)MIN((uint64_t)len, inode->size - off);
	if (len != 0 && inode_is_inline(inode)) {
		rc = inline_read(inode, off, buf, len);
		done = len;
	}
	while (rc == 0 && done < len) {
		uint64_t pos, run;

		rc = run_at(t, inode, off + done, len - done, &pos, &run);
		if (rc < 0)
			return rc;
		if (pos == UINT64_MAX)
			memset(to + done, 0, run);
		else
			rc = dev_read(inode->img->dev, pos, to + done, run);
		if (rc < 0)
			return rc;
		done += run;
	}
	if (rc < 0)
		return rc;
	*ret = done;
	return 0;
}

int file_next_data(struct task *t, struct ek_inode *inode, uint64_t off, uint64_t *ret)
{
	const struct geom *g = &inode->img->geom;
	uint64_t first = off >> g->block_bits, at;
	int rc = check_data(inode);

	if (rc < 0)
		return rc;
	if (inode_is_inline(inode)) {
		*ret = MIN(off, inode->size);
		return 0;
	}
	while (off < inode->size && first < UINT32_MAX) {
		struct map m;

		rc = map_next(t, inode, (ek_lblk){(uint32_t)first}, &m);
		if (rc < 0)
			return rc;
		if (rc == 0)
			break;
		at = (uint64_t)m.lblk.v << g->block_bits;
		if (m.state == MAP_MAPPED) {
			*ret = MIN(MAX(off, at), inode->size);
			return 0;
		}
		first = (uint64_t)m.lblk.v + m.len;
	}
	*ret = inode->size;
	return 0;
}

int file_next_hole(struct task *t, struct ek_inode *inode, uint64_t off, uint64_t *ret)
{
	int rc = check_data(inode);

	if (rc < 0)
		return rc;
	if (inode_is_inline(inode))
		off = inode->size;
	while (off < inode->size) {
		uint64_t pos, run;

		rc = run_at(t, inode, off, inode->size - off, &pos, &run);
		if (rc < 0)
			return rc;
		if (pos == UINT64_MAX)
			break;
		off += run;
	}
	*ret = MIN(off, inode->size);
	return 0;
}

/* The run m of blocks that nothing has, in a handle of its own. */
static int extend(struct task *t, struct ek_inode *inode, uint64_t off, uint64_t len, struct map *m)
{
	unsigned bits = inode->img->geom.block_bits;
	struct handle *h;
	int rc =
	    task_start_inode(t, inode, HANDLE_MAP_BLOCKS, map_credits(inode, m->len, 1), 0, &h);

	if (rc < 0)
		return rc;
	rc = map_blocks(t, inode, m, MAP_CREATE | MAP_NO_NORMALIZE);
	if (rc == 0) {
		inode->size = MAX(inode->size, off + MIN(len, (uint64_t)m->len << bits));
		inode->rec.size = inode->size;
		rc = inode_mark_dirty(t, inode, MARK_FALLOCATE);
	}
	return handle_end(h, rc);
}

/* Freed blocks come back with a commit, unless a handle of the caller's is in its way. */
static bool commit_gives_room(struct task *t)
{
	if (t->user.current != NULL || jnl_commit_running(t->img->jnl) != 1)
		return false;
	diag_clear(&t->img->diag);
	return true;
}

int file_extend(struct task *t, struct ek_inode *inode, uint64_t off, uint64_t len,
		uint64_t *ret_pos, uint64_t *ret_run)
{
	const struct geom *g = &inode->img->geom;
	uint64_t blocks = DIV_UP(len, (uint64_t)g->block_size);
	struct map want = {.len = (uint32_t)MIN(blocks, (uint64_t)RUN_BLOCKS)}, m;
	int rc;

	if (len > (uint64_t)UINT32_MAX << g->block_bits ||
	    (off + len) >> g->block_bits >= UINT32_MAX)
		return -EFBIG;
	want.lblk = (ek_lblk){(uint32_t)(off >> g->block_bits)};
	m = want;
	rc = extend(t, inode, off, len, &m);
	if (rc == -ENOSPC && commit_gives_room(t)) {
		m = want;
		rc = extend(t, inode, off, len, &m);
	}
	if (rc < 0)
		return rc;
	*ret_pos = m.pblk.v << g->block_bits;
	*ret_run = MIN(len, (uint64_t)m.len << g->block_bits);
	return 0;
}

/* ---- public ---- */

int ek_inode_read(struct ek_inode *inode, uint64_t off, void *buf, size_t len, size_t *ret)
{
	struct task *t = session_begin(inode->img);
	int rc = file_read(t, inode, off, buf, len, ret);

	return session_end_on(inode, rc, "cannot read");
}

int ek_inode_next_data(struct ek_inode *inode, uint64_t off, uint64_t *ret)
{
	struct task *t = session_begin(inode->img);
	int rc = file_next_data(t, inode, off, ret);

	return session_end_on(inode, rc, "cannot read extents");
}

int ek_inode_next_hole(struct ek_inode *inode, uint64_t off, uint64_t *ret)
{
	struct task *t = session_begin(inode->img);
	int rc = file_next_hole(t, inode, off, ret);

	return session_end_on(inode, rc, "cannot read extents");
}

int ek_inode_extent(struct ek_inode *inode, ek_lblk from, struct ek_extent *ret)
{
	struct task *t = session_begin(inode->img);
	struct map m;
	int rc = 0;

	/* what lies in the inode and device nodes have no blocks */
	if (!inode_is_inline(inode) &&
	    (inode_is_file(inode) || inode_is_dir(inode) ||
	     (S_ISLNK(inode->rec.mode) && !inode_is_fast_symlink(inode))))
		rc = map_next(t, inode, from, &m);
	if (rc == 1)
		*ret = (struct ek_extent){m.lblk, m.pblk, m.len, m.state == MAP_IS_UNWRITTEN};
	return session_end_on(inode, rc, "cannot read extents");
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inodes of fast commits: their slots, and the ranges that they map.
 *
 * A record has an inode as it was in memory, without its map: that follows as ranges.  So i_block
 * stays what it was in inodes that map blocks, and a new one begins with an empty map.
 */
#include "fs/fast_inode.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/blocks.h"
#include "fs/cluster.h"
#include "fs/extent.h"
#include "fs/fast_map.h"
#include "fs/fast_space.h"
#include "fs/indirect.h"
#include "fs/inline.h"
#include "fs/inode_cache.h"
#include "fs/map.h"
#include "journal/fast.h"

#define I_BLOCK      offsetof(struct inode_raw, i_block)
#define VISITS_MAX   (1u << 26)
#define BEHIND_BLOCK (I_BLOCK + INODE_BLOCK_BYTES)

int fast_in_use(struct task *t, ek_inum ino, bool *ret)
{
	return ialloc_in_use(&t->img->ialloc, ino, ret);
}

/* Records that take a block and come back to the inode, over and over, end somewhere. */
static int keep_run(struct task *t, ek_pblk pblk, uint32_t len)
{
	if (++t->img->fast->visits > VISITS_MAX)
		return diag_set(&t->img->diag, -EOPNOTSUPP,
				"unsupported fast commits: maps change so often that more than %u "
				"runs are to be kept",
				VISITS_MAX);
	return fast_keep(t->img, pblk, len);
}

static int mark_run(struct task *t, ek_pblk pblk, uint32_t len)
{
	return fast_mark(t, pblk, len, true);
}

/* It has a map, of extents or of pointers. */
static bool is_mapped(const struct ek_inode *inode)
{
	return inode_maps_blocks(inode) && !inode_is_inline(inode);
}

int fast_unmap(struct task *t, struct ek_inode *inode)
{
	return is_mapped(inode) ? map_remove(t, inode, (ek_lblk){0}, (ek_lblk){UINT32_MAX}) : 0;
}

/* ---- the slot ---- */

static int take_number(struct task *t, ek_inum ino, uint16_t mode)
{
	struct ialloc_request req = {.parent = ino, .mode = mode, .goal = ino.v};
	ek_inum got;
	int rc = ialloc_new(&t->img->ialloc, t->user.current, &req, &got);

	if (rc == 0 && got.v != ino.v)
		rc = diag_set(&t->img->diag, -EUCLEAN,
			      "corrupt inode bitmap: inode %u cannot be taken", ino.v);
	return rc;
}

/* The record leaves nothing of the map of an inode of such flags and mode: it is mapped in another
 * way, or in none. */
static bool maps_anew(uint32_t flags, uint32_t mode, const struct inode_raw *record)
{
	uint32_t ways = INODE_EXTENTS | INODE_INLINE_DATA;

	return ((flags ^ le32_get(record->i_flags)) & ways) != 0 ||
	       ((mode ^ le16_get(record->i_mode)) & S_IFMT) != 0;
}

/* Where the map lies, which goes on in the slot or begins anew. */
static void merge_block(uint8_t *slot, const uint8_t *raw, bool anew)
{
	const struct inode_raw *now = (const struct inode_raw *)(const void *)raw;
	struct extent_node *root = (struct extent_node *)(void *)(slot + I_BLOCK);
	uint32_t flags = le32_get(now->i_flags);
	bool maps = S_ISREG(le16_get(now->i_mode)) || S_ISDIR(le16_get(now->i_mode));

	if ((flags & INODE_EXTENTS) != 0) {
		if (le16_get(root->h.eh_magic) == EXTENT_MAGIC &&
		    (!anew || extent_entries(root) == 0))
			return;
		memset(slot + I_BLOCK, 0, INODE_BLOCK_BYTES);
		extent_node_init(root, EXTENT_ROOT_ENTRIES, 0);
	} else if ((flags & INODE_INLINE_DATA) != 0 || !maps) {
		memcpy(slot + I_BLOCK, raw + I_BLOCK, INODE_BLOCK_BYTES);
	} else if (anew) {
		memset(slot + I_BLOCK, 0, INODE_BLOCK_BYTES);
	}
}

/* Folders are counted in their parents as their names come and go, and not by what the record has:
 * one that is here already has its count. */
static bool keeps_links(const struct inode_raw *slot, const struct inode_raw *record)
{
	return S_ISDIR(le16_get(slot->i_mode)) && S_ISDIR(le16_get(record->i_mode)) &&
	       memcmp(&slot->i_generation, &record->i_generation, sizeof(slot->i_generation)) == 0;
}

/* The link to the next orphan belongs to a list that fast commits do not change. */
static void merge(const struct geom *g, ek_inum ino, uint8_t *slot, const struct fast_record *r,
		  bool was_used)
{
	struct inode_raw *raw = (struct inode_raw *)(void *)slot;
	le32 dtime = was_used ? raw->i_dtime : le32_make(0);
	le16 links = raw->i_links_count;
	const struct inode_raw *record = (const struct inode_raw *)(const void *)r->raw;
	bool keep = was_used && keeps_links(raw, record);
	bool anew = !was_used || maps_anew(le32_get(raw->i_flags), le16_get(raw->i_mode), record);

	merge_block(slot, r->raw, anew);
	if (!was_used)
		memset(slot + BEHIND_BLOCK, 0, g->inode_size - BEHIND_BLOCK);
	memcpy(slot, r->raw, I_BLOCK);
	memcpy(slot + BEHIND_BLOCK, r->raw + BEHIND_BLOCK, r->raw_len - BEHIND_BLOCK);
	raw->i_dtime = dtime;
	if (keep)
		raw->i_links_count = links;
	inode_seal(g, ino, slot);
}

static int write_slot(struct task *t, struct ek_inode *inode, const struct fast_record *r,
		      bool was_used)
{
	struct buf *b;
	void *slot;
	int rc = inode_raw_write(t, inode, &b, &slot);

	if (rc < 0)
		return rc;
	merge(&t->img->geom, inode->ino, slot, r, was_used);
	rc = handle_dirty(t->user.current, b);
	buf_put(b);
	return rc;
}

/* What the inode has now stays its own, whatever the records after this one take away.  Once is
 * enough until it is given a block: ranges of records are kept from the beginning. */
static int keep_blocks(struct task *t, ek_inum ino, const struct inode_raw *record)
{
	struct ek_inode *inode;
	uint64_t blocks = 0;
	int rc = inode_get(t->img, ino, &inode);

	if (rc < 0)
		return rc;
	if (is_mapped(inode)) {
		if ((inode->state & INODE_STATE_KEPT) == 0)
			rc = fast_walk_map(t, inode, keep_run, &blocks);
		if (rc == 0 && maps_anew(inode->rec.flags, inode->rec.mode, record))
			rc = fast_unmap(t, inode);
	}
	inode_put(t, inode);
	return rc;
}

int fast_set_inode(struct task *t, ek_inum ino, const struct fast_record *r)
{
	const struct inode_raw *raw = (const struct inode_raw *)(const void *)r->raw;
	struct ek_inode *inode;
	bool used;
	int rc = fast_in_use(t, ino, &used);

	if (rc == 0)
		rc = used ? keep_blocks(t, ino, raw) : take_number(t, ino, le16_get(raw->i_mode));
	if (rc == 0)
		rc = inode_make(t->img, ino, &inode);
	if (rc < 0)
		return rc;
	rc = write_slot(t, inode, r, used);
	if (rc == 0)
		rc = inode_reread(inode);
	if (rc == 0)
		inode->state |= INODE_STATE_KEPT;
	inode_put(t, inode);
	return rc;
}

/* ---- ranges ---- */

static int check_mappable(struct ek_inode *inode)
{
	if (!is_mapped(inode))
		return diag_set(
		    &inode->img->diag, -EUCLEAN,
		    "corrupt fast commit: inode %u maps blocks and has no map (mode 0%o, "
		    "i_flags 0x%x)",
		    inode->ino.v, inode->rec.mode, inode->rec.flags);
	return inode_has_extents(inode) || !has_clusters(inode) ? 0 : cluster_no_pointers(inode);
}

/* The tree changes under what is remembered of it. */
static int forget_map(struct ek_inode *inode)
{
	uint64_t released;

	return es_remove(&inode->es, (ek_lblk){0}, UINT32_MAX, &released);
}

static int insert(struct task *t, struct ek_inode *inode, const struct extent *e)
{
	struct ext_path p;
	int rc = ext_path_find(inode, e->lblk, &p);

	if (rc == 0)
		rc = ext_insert(t, &p, e, 0);
	ext_path_put(&p);
	return rc;
}

/* A tree that has become small enough for the root goes there. */
static int shrink(struct task *t, struct ek_inode *inode)
{
	struct ext_path p;
	int rc = ext_path_find(inode, (ek_lblk){0}, &p);

	if (rc == 0 && p.depth == 1 && extent_entries(p.at[0].node) == 1 &&
	    extent_entries(p.at[1].node) <= EXTENT_ROOT_ENTRIES) {
		p.at[1].pos = 0;
		rc = ext_level_write(t, &p, 1);
		if (rc == 0)
			ext_try_merge(t, &p);
		if (rc == 0)
			rc = ext_level_dirty(t, &p, p.depth, MARK_TRUNCATE);
	}
	ext_path_put(&p);
	return rc < 0 ? rc : forget_map(inode);
}

/* Maps a piece that is a hole, or mapped all over by old. */
static int set_piece(struct task *t, struct ek_inode *inode, const struct extent *e,
		     const struct map *old)
{
	bool unwritten = old != NULL && old->state == MAP_IS_UNWRITTEN;
	ek_lblk last = {e->lblk.v + e->len - 1};
	int rc = 0;

	if (old != NULL && old->pblk.v == e->pblk.v && unwritten == e->unwritten)
		return 0;
	if (old != NULL)
		rc = ext_remove(t, inode, e->lblk, last);
	if (rc == 0)
		rc = insert(t, inode, e);
	return rc < 0 ? rc : fast_mark(t, e->pblk, e->len, true);
}

/* Piece by piece, as the tree has it now. */
static int set_extents(struct task *t, struct ek_inode *inode, const struct extent *e)
{
	struct extent left = *e;
	int rc = cluster_check(inode, e);

	while (rc == 0 && left.len > 0) {
		struct extent piece = left;
		struct map m;

		rc = map_next(t, inode, left.lblk, &m);
		if (rc < 0)
			return rc;
		if (rc == 0 || m.lblk.v >= left.lblk.v + left.len) {
			rc = set_piece(t, inode, &piece, NULL);
		} else if (m.lblk.v > left.lblk.v) {
			piece.len = m.lblk.v - left.lblk.v;
			rc = set_piece(t, inode, &piece, NULL);
		} else {
			piece.len = MIN(m.len, left.len);
			rc = set_piece(t, inode, &piece, &m);
		}
		left.lblk.v += piece.len;
		left.pblk.v += piece.len;
		left.len -= piece.len;
	}
	return rc < 0 ? rc : shrink(t, inode);
}

int fast_add_range(struct task *t, struct ek_inode *inode, const struct fast_record *r)
{
	int rc = check_mappable(inode);

	if (rc < 0)
		return rc;
	if (inode_has_extents(inode))
		return set_extents(t, inode, &r->range);
	rc = fast_set_pointers(t, inode, &r->range);
	return rc < 0 ? rc : forget_map(inode);
}

int fast_remove_range(struct task *t, struct ek_inode *inode, const struct fast_record *r)
{
	ek_lblk last = {r->range.lblk.v + r->range_len - 1};
	int rc;

	if (r->range_len == 0 || !is_mapped(inode))
		return 0;
	rc = check_mappable(inode);
	if (rc < 0)
		return rc;
	if (inode_has_extents(inode)) {
		rc = ext_remove(t, inode, r->range.lblk, last);
		return rc < 0 ? rc : shrink(t, inode);
	}
	rc = ind_remove(t, inode, r->range.lblk, last);
	if (rc == 0)
		rc = inode_mark_dirty(t, inode, MARK_TRUNCATE);
	return rc < 0 ? rc : forget_map(inode);
}

/* ---- what is left to do at the end ---- */

int fast_settle(struct task *t, struct ek_inode *inode)
{
	const struct geom *g = &inode->img->geom;
	unsigned shift = g->block_bits - 9u;
	uint64_t blocks = (uint64_t)(inode->rec.file_acl != 0) << g->cluster_bits;
	int64_t change;
	int rc;

	if (!is_mapped(inode))
		return 0;
	rc = fast_walk_map(t, inode, mark_run, &blocks);
	change = (int64_t)blocks - (int64_t)(inode_sectors(inode) >> shift);
	if (rc < 0 || change == 0)
		return rc;
	inode_add_blocks(inode, change);
	return inode_mark_dirty(t, inode, MARK_NEW_INODE);
}

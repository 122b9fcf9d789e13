/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths through an extent tree: find by binary search on each level, step to the next leaf, and
 * file changed levels.  A child must be one level shallower than its parent and lie in the parent's
 * key range, so a walk ends after at most six levels whatever the image says.
 */
#include "fs/extent.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"

struct extent_node *ext_root(struct ek_inode *inode)
{
	return (struct extent_node *)(void *)inode->rec.block;
}

void ext_root_init(struct ek_inode *inode)
{
	memset(inode->rec.block, 0, sizeof(inode->rec.block));
	extent_node_init(ext_root(inode), EXTENT_ROOT_ENTRIES, 0);
}

int ext_root_verify(struct ek_inode *inode)
{
	return extent_node_verify(&inode->img->geom, ext_root(inode), sizeof(inode->rec.block),
				  inode->ino.v, "extent root", 0, &inode->img->diag);
}

/* Last entry whose key is at or before lblk; -1 when there is none. */
static int search(const struct extent_node *n, uint32_t lblk)
{
	int lo = 0, hi = (int)extent_entries(n);

	while (lo < hi) {
		int mid = lo + (hi - lo) / 2;

		if (extent_key(n, (unsigned)mid) <= lblk)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

static int bad_child(const struct ext_path *p, unsigned level, const char *why)
{
	const struct ext_level *l = &p->at[level];

	return diag_set(&p->inode->img->diag, -EUCLEAN,
			"corrupt extent block: inode %u block %llu: %s", p->inode->ino.v,
			(unsigned long long)l->buf->pblk.v, why);
}

/* The child's keys against the parent's entry at its position. */
static int check_child(const struct ext_path *p, unsigned level)
{
	const struct ext_level *up = &p->at[level - 1];
	const struct extent_node *n = p->at[level].node;
	unsigned last = extent_entries(n);

	if (extent_depth(n) + 1 != extent_depth(up->node))
		return bad_child(p, level, "eh_depth is not one less than its parent's");
	if (last == 0)
		return 0;
	if (extent_key(n, 0) < extent_key(up->node, (unsigned)up->pos))
		return bad_child(p, level, "first key precedes its index entry");
	if ((unsigned)up->pos + 1 < extent_entries(up->node) &&
	    extent_key(n, last - 1) >= extent_key(up->node, (unsigned)up->pos + 1))
		return bad_child(p, level, "last key reaches into the next index entry");
	return 0;
}

/* Reads the child at the position of level - 1 into level. */
static int descend(struct ext_path *p, unsigned level)
{
	struct ext_level *up = &p->at[level - 1], *l = &p->at[level];
	uint64_t child = extent_child(&up->node->e.index[up->pos]);
	int rc = buf_get(p->inode->img->cache, (ek_pblk){child}, &verify_extent_block,
			 inode_owner(p->inode), &l->buf);

	if (rc < 0)
		return rc;
	l->node = (struct extent_node *)(void *)l->buf->data;
	return check_child(p, level);
}

int ext_path_find(struct ek_inode *inode, ek_lblk lblk, struct ext_path *p)
{
	memset(p, 0, sizeof(*p));
	p->inode = inode;
	p->at[0].node = ext_root(inode);
	p->depth = extent_depth(p->at[0].node);
	p->at[0].pos = search(p->at[0].node, lblk.v);
	for (unsigned i = 1; i <= p->depth; i++) {
		int rc;

		if (p->at[i - 1].pos < 0)
			p->at[i - 1].pos = 0;
		rc = descend(p, i);
		if (rc < 0)
			return rc;
		p->at[i].pos = search(p->at[i].node, lblk.v);
	}
	return 0;
}

void ext_path_put(struct ext_path *p)
{
	for (unsigned i = 0; i < PATH_LEVELS; i++) {
		buf_put(p->at[i].buf);
		p->at[i].buf = NULL;
	}
}

bool ext_path_extent(const struct ext_path *p, struct extent *ret)
{
	const struct ext_level *l = &p->at[p->depth];

	if (l->pos < 0 || (unsigned)l->pos >= extent_entries(l->node))
		return false;
	*ret = extent_decode(&l->node->e.leaf[l->pos]);
	return true;
}

uint32_t ext_path_next(const struct ext_path *p)
{
	for (int i = (int)p->depth; i >= 0; i--) {
		const struct ext_level *l = &p->at[i];

		if ((unsigned)(l->pos + 1) < extent_entries(l->node))
			return extent_key(l->node, (unsigned)(l->pos + 1));
	}
	return UINT32_MAX;
}

int ext_path_step(struct ext_path *p)
{
	int i = (int)p->depth - 1;

	while (i >= 0 && (unsigned)(p->at[i].pos + 1) >= extent_entries(p->at[i].node))
		i--;
	if (i < 0)
		return 0;
	p->at[i].pos++;
	for (unsigned k = (unsigned)i + 1; k <= p->depth; k++) {
		int rc;

		buf_put(p->at[k].buf);
		p->at[k].buf = NULL;
		rc = descend(p, k);
		if (rc < 0)
			return rc;
		p->at[k].pos = 0;
	}
	return 1;
}

int ext_level_write(struct task *t, struct ext_path *p, unsigned level)
{
	struct ext_level *l = &p->at[level];
	void *view;
	int rc;

	if (l->buf == NULL)
		return 0;
	rc = handle_write(t->user.current, l->buf, &view);
	if (rc == 0)
		l->node = view;
	return rc;
}

int ext_level_dirty(struct task *t, struct ext_path *p, unsigned level, enum mark_site site)
{
	if (p->at[level].buf == NULL)
		return inode_mark_dirty(t, p->inode, site);
	return handle_dirty(t->user.current, p->at[level].buf);
}

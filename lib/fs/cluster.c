/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the clusters of a file hold.  Delayed blocks are found in the extent-status tree, mapped
 * ones in the extent tree.  Only clusters at the ends of a run are looked up: those inside hold
 * nothing else.
 */
#include "fs/cluster.h"

#include <errno.h>

#include "base/check.h"
#include "fs/extent.h"

static uint32_t mask_of(const struct ek_inode *inode)
{
	return (1u << inode->img->geom.cluster_bits) - 1;
}

/* The last extent that begins at or before the end of the cluster and reaches into it. */
static int last_extent(struct ek_inode *inode, uint32_t first, uint32_t last, struct extent *ret)
{
	uint32_t at = last;

	for (;;) {
		struct ext_path p;
		int rc = ext_path_find(inode, (ek_lblk){at}, &p);
		bool found = rc == 0 && ext_path_extent(&p, ret);
		uint32_t key = 0;

		/* An index entry may begin before the first extent below it. */
		if (rc == 0 && !found && p.depth > 0)
			key = extent_key(p.at[p.depth - 1].node, (unsigned)p.at[p.depth - 1].pos);
		ext_path_put(&p);
		if (rc < 0)
			return rc;
		if (found)
			return (uint64_t)ret->lblk.v + ret->len > first;
		if (key <= first || key > at)
			return 0;
		at = key - 1;
	}
}

int cluster_mapped(struct ek_inode *inode, ek_lblk lblk)
{
	uint32_t mask = mask_of(inode), first = lblk.v & ~mask;
	struct extent x;

	return inode_has_extents(inode) ? last_extent(inode, first, first | mask, &x) : 0;
}

/* ---- delayed blocks ---- */

/* The first delayed piece of [from, end); false when there is none. */
static bool next_delayed(struct ek_inode *inode, uint64_t from, uint64_t end, uint64_t *ret_from,
			 uint64_t *ret_end)
{
	struct es_extent e;

	while (from < MIN(end, (uint64_t)UINT32_MAX) &&
	       es_next(&inode->es, (ek_lblk){(uint32_t)from}, &e) && e.lblk.v < end) {
		uint64_t e_end = (uint64_t)e.lblk.v + e.len;

		if (e.type == ES_DELAYED) {
			*ret_from = MAX((uint64_t)e.lblk.v, from);
			*ret_end = MIN(e_end, end);
			return true;
		}
		from = e_end;
	}
	return false;
}

bool cluster_delayed(struct ek_inode *inode, ek_lblk lblk)
{
	uint64_t mask = mask_of(inode), first = lblk.v & ~mask, from, end;

	return next_delayed(inode, first, first + mask + 1, &from, &end);
}

uint32_t clusters_delayed(struct ek_inode *inode, ek_lblk lblk, uint32_t len)
{
	uint64_t mask = mask_of(inode), at = lblk.v & ~mask, from, to;
	uint64_t end = ((uint64_t)lblk.v + len + mask) & ~mask;
	unsigned bits = inode->img->geom.cluster_bits;
	uint64_t n = 0;

	while (at < end && next_delayed(inode, at, end, &from, &to)) {
		from &= ~mask;
		at = (to + mask) & ~mask;
		n += (at - from) >> bits;
	}
	return (uint32_t)n;
}

/* ---- reservations ---- */

/* 1 when the cluster, of which more blocks become delayed, is not reserved yet and has no place. */
static int wants_cluster(struct ek_inode *inode, uint32_t lblk)
{
	int rc =
	    cluster_delayed(inode, (ek_lblk){lblk}) ? 1 : cluster_mapped(inode, (ek_lblk){lblk});

	return rc < 0 ? rc : rc == 0;
}

int clusters_wanted(struct ek_inode *inode, ek_lblk lblk, uint32_t len, uint32_t *ret)
{
	const struct geom *g = &inode->img->geom;
	uint32_t mask = mask_of(inode), last = lblk.v + len - 1;
	uint32_t n = geom_clusters(g, lblk.v, len);
	bool head = (lblk.v & mask) != 0, tail = (last & mask) != mask;
	int rc;

	if (head || (n == 1 && tail)) {
		rc = wants_cluster(inode, lblk.v);
		if (rc < 0)
			return rc;
		n -= rc == 0;
	}
	if (tail && (last & ~mask) != (lblk.v & ~mask)) {
		rc = wants_cluster(inode, last);
		if (rc < 0)
			return rc;
		n -= rc == 0;
	}
	*ret = n;
	return 0;
}

/* 1 when the cluster at first is reserved and loses with [from, end) all its delayed blocks. */
static int gives_up(struct ek_inode *inode, uint64_t first, uint64_t from, uint64_t end)
{
	uint64_t behind = first + mask_of(inode) + 1, a, b;
	int rc;

	if ((first < from && next_delayed(inode, first, from, &a, &b)) ||
	    (end < behind && next_delayed(inode, end, behind, &a, &b)))
		return 0;
	rc = cluster_mapped(inode, (ek_lblk){(uint32_t)first});
	return rc < 0 ? rc : rc == 0;
}

int clusters_given_up(struct ek_inode *inode, ek_lblk lblk, uint32_t len, uint64_t *ret)
{
	uint64_t mask = mask_of(inode), start = lblk.v, end = start + len, at = start, from, to;
	unsigned bits = inode->img->geom.cluster_bits;
	uint64_t n = 0;

	while (next_delayed(inode, at, end, &from, &to)) {
		uint64_t whole = (from + mask) & ~mask, rest = to & ~mask;
		int head = 0, tail = 0;

		if (from != whole)
			head = gives_up(inode, from & ~mask, start, end);
		if (to != rest && rest >= whole)
			tail = gives_up(inode, rest, start, end);
		if (head < 0 || tail < 0)
			return MIN(head, tail);
		n += (unsigned)head + (unsigned)tail + (rest > whole ? (rest - whole) >> bits : 0);
		/* what else the last cluster holds has been looked at */
		at = (to + mask) & ~mask;
	}
	*ret = n;
	return 0;
}

/* ---- places ---- */

int cluster_no_pointers(struct ek_inode *inode)
{
	if (!has_clusters(inode))
		return 0;
	return diag_set(&inode->img->diag, -EUCLEAN,
			"corrupt inode: inode %u: mapped by pointers, with bigalloc", inode->ino.v);
}

int cluster_check(struct ek_inode *inode, const struct extent *e)
{
	if (((e->lblk.v ^ e->pblk.v) & mask_of(inode)) == 0)
		return 0;
	return diag_set(&inode->img->diag, -EUCLEAN,
			"corrupt extent: inode %u block %u: place %llu is elsewhere in its cluster",
			inode->ino.v, e->lblk.v, (unsigned long long)e->pblk.v);
}

/* False when the path shows that nothing else of the cluster is mapped. */
static bool may_share(const struct ext_path *p, uint32_t first, uint32_t last, uint32_t next)
{
	struct extent x;

	if (next <= last)
		return true;
	if (!ext_path_extent(p, &x))
		return p->depth > 0;
	return x.lblk.v + x.len > first;
}

int cluster_place(struct ek_inode *inode, const struct ext_path *p, ek_lblk lblk, ek_pblk *ret,
		  uint32_t *len)
{
	const struct geom *g = &inode->img->geom;
	uint32_t mask = mask_of(inode), first = lblk.v & ~mask, last = first | mask;
	uint32_t next = ext_path_next(p), n = MIN(next, last) - lblk.v + (next > last ? 1 : 0);
	struct extent x;
	uint64_t at;
	int rc;

	if (mask == 0 || !may_share(p, first, last, next))
		return 0;
	rc = last_extent(inode, first, last, &x);
	if (rc > 0 && cluster_check(inode, &x) < 0)
		return -EUCLEAN;
	if (rc <= 0)
		return rc;
	at = x.pblk.v + lblk.v - x.lblk.v;
	if (x.lblk.v < first) /* the extent comes from the cluster before */
		at = ((x.pblk.v + first - x.lblk.v) & ~(uint64_t)mask) + (lblk.v & mask);
	rc = geom_data_run(g, at, n, inode->ino.v, "extent", &inode->img->diag, ret);
	if (rc < 0)
		return rc;
	*len = n;
	return 1;
}

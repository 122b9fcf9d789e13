/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The begin of a write on folios with blocks (s1): find or make the folio, map or reserve its
 * blocks, read what the write leaves of a block (delalloc-facts 2.2, 5.2).
 */
#include "pagecache/prepare.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "fs/blocks.h"
#include "fs/cluster.h"
#include "fs/map.h"
#include "pagecache/generation.h"
#include "pagecache/hooks.h"
#include "pagecache/pagecache.h"

#define GROWN_ORDER 4u /* of folios that are larger than the write */

/* Order for a write of len bytes at page: the largest power of two in len, made to fit. */
static unsigned choose_order(struct mapping *m, uint32_t page, uint64_t len)
{
	struct pagecache *pc = m->pc;
	unsigned order = len > PAGE_BYTES ? ilog2(len) - PAGE_BITS : 0;

	/* As far as the file goes already, a sequential writer will come too; many of them at once
	 * would fill the cache with what they do not reach yet. */
	if (pc->policy->folio == FOLIO_S3 && m->streaming && page != 0)
		order = MAX(order, MIN(ilog2(page), GROWN_ORDER));
	order = MIN(order, pc->max_order);
	return MAX(mapping_free_order(m, page, order), pc->min_order);
}

struct folio *prepare_folio(struct task *t, struct mapping *m, uint64_t pos, uint64_t len, int *rc)
{
	uint32_t page = (uint32_t)(pos >> PAGE_BITS);
	struct folio *f = mapping_find(m, page);

	if (f == NULL) {
		page &= ~((1u << m->pc->min_order) - 1);
		return folio_make(m, page, choose_order(m, page, len), rc);
	}
	*rc = folio_back(t, f, pos != folio_pos(f) || len < folio_bytes(f));
	return *rc < 0 ? NULL : f;
}

int delay_blocks(struct task *t, struct ek_inode *inode, uint32_t lblk, uint32_t n)
{
	uint32_t clusters = n;
	int rc = has_clusters(inode) ? clusters_wanted(inode, (ek_lblk){lblk}, n, &clusters) : 0;

	if (rc == 0 && clusters != 0)
		rc = inode_reserve(t, inode, clusters);
	if (rc < 0)
		return rc;
	rc = es_insert_delayed(&inode->es, (ek_lblk){lblk}, n);
	if (rc < 0) {
		inode_release(t, inode, clusters);
		return rc;
	}
	tap_send(&inode->img->tap, STAGE_DELAYED, "", inode->ino.v, lblk, n, 0);
	return (int)clusters;
}

/* New delayed blocks [from, from + n) of the folio: the kernel asks the status tree, reserves and
 * inserts block by block; the same is counted here for the run. */
static int reserve_run(struct task *t, struct folio *f, uint32_t from, uint32_t n)
{
	struct ek_inode *inode = f->map->inode;
	struct counters *c = f->map->pc->counters;
	uint64_t lookups = f->map->pc->generation->lookups * (uint64_t)n - 1; /* one was counted */
	int clusters = delay_blocks(t, inode, folio_lblk(f, pc_block_bits(f->map->pc)) + from, n);

	if (clusters < 0)
		return clusters;
	count(c, COUNTER_DA_RESERVE_SPACE, clusters != 0 ? (uint64_t)clusters - 1 : 0);
	count(c, COUNTER_ES_INSERT_DELAYED, n - 1);
	count(c, COUNTER_ES_LOOKUP, lookups);
	if (inode_has_pointers(inode)) /* holes are not remembered: each lookup asks the pointers */
		count(c, COUNTER_IND_MAP_BLOCKS, lookups);
	folio_set(f, BLOCK_MAPPED, from, n);
	folio_set(f, BLOCK_DELAY, from, n);
	return 0;
}

/* The space left may be enough for some of the run only. */
static int reserve_some(struct task *t, struct folio *f, uint32_t from, uint32_t n)
{
	int rc = reserve_run(t, f, from, n);

	while (rc == -ENOSPC && n > 1) {
		n /= 2;
		diag_clear(&f->map->pc->img->diag);
		rc = reserve_run(t, f, from, n);
	}
	return rc < 0 ? rc : (int)n;
}

/* Maps or reserves the run of unmapped blocks at from, at most n: how many. */
static int map_run(struct task *t, struct folio *f, uint32_t from, uint32_t n)
{
	struct ek_inode *inode = f->map->inode;
	uint32_t base = folio_lblk(f, pc_block_bits(f->map->pc));
	struct map m = {.lblk = {base + from}, .len = n};
	int rc = map_lookup(t, inode, &m);

	if (rc < 0)
		return rc;
	switch (m.state) {
	case MAP_HOLE:
		return reserve_some(t, f, from, m.len);
	case MAP_IS_DELAYED:
		folio_set(f, BLOCK_DELAY, from, m.len);
		break;
	case MAP_IS_UNWRITTEN:
		folio_set(f, BLOCK_UNWRITTEN, from, m.len);
		break;
	case MAP_MAPPED:
		break;
	}
	folio_set(f, BLOCK_MAPPED, from, m.len);
	count(f->map->pc->counters, COUNTER_ES_LOOKUP, m.len - 1);
	return (int)m.len;
}

int folio_reserve(struct task *t, struct folio *f, uint32_t from, uint32_t n)
{
	uint32_t at = from, end = from + n;

	count(f->map->pc->counters, COUNTER_BUFFERS_WALKED, f->blocks);
	while (at < end) {
		uint32_t run;
		int rc;

		if (folio_test(f, BLOCK_MAPPED, at)) {
			at += folio_run(f, BLOCK_MAPPED, at);
			continue;
		}
		run = MIN(folio_run(f, BLOCK_MAPPED, at), end - at);
		rc = map_run(t, f, at, run);
		if (rc < 0)
			return rc;
		at += (uint32_t)rc;
	}
	return 0;
}

/* Blocks that the write covers only partly must be whole before it: zeros when new, read when old.
 */
static int prepare_edge(struct task *t, struct folio *f, uint32_t block, uint64_t from, uint64_t to,
			enum edge edge)
{
	unsigned bits = pc_block_bits(f->map->pc);
	uint8_t *at = f->data + ((size_t)block << bits);
	uint64_t start = folio_pos(f) + ((uint64_t)block << bits), end = start + (1u << bits);

	if (folio_test(f, BLOCK_UPTODATE, block) || (f->flags & FOLIO_UPTODATE) != 0)
		return 0;
	if (edge == EDGE_STATES)
		edge = folio_test(f, BLOCK_DELAY, block) || folio_test(f, BLOCK_UNWRITTEN, block)
			   ? EDGE_EMPTY
			   : EDGE_READ;
	if (edge == EDGE_READ)
		return folio_read(t, f, block, 1);
	if (from > start)
		memset(at, 0, from - start);
	if (to < end)
		memset(at + (to - start), 0, end - to);
	folio_set(f, BLOCK_UPTODATE, block, 1);
	return 0;
}

int prepare_edges(struct task *t, struct folio *f, uint64_t pos, uint64_t len, enum edge edge)
{
	unsigned bits = pc_block_bits(f->map->pc);
	uint64_t mask = (1u << bits) - 1, end = pos + len;
	uint32_t first = (uint32_t)((pos - folio_pos(f)) >> bits);
	uint32_t last = (uint32_t)((end - 1 - folio_pos(f)) >> bits);
	int rc = 0;

	if ((pos & mask) != 0 || (first == last && (end & mask) != 0))
		rc = prepare_edge(t, f, first, pos, end, edge);
	if (rc == 0 && first != last && (end & mask) != 0)
		rc = prepare_edge(t, f, last, pos, end, edge);
	return rc;
}

int prepare_blocks(struct task *t, struct folio *f, uint64_t pos, uint64_t len)
{
	unsigned bits = pc_block_bits(f->map->pc);
	uint32_t first, last;
	int rc = 0;

	folio_span(f, bits, pos, len, &first, &last);
	count(f->map->pc->counters, COUNTER_PAGE_LOCKS, 1);
	if (!folio_all(f, BLOCK_MAPPED, first, last - first + 1)) {
		rc = folio_reserve(t, f, first, last - first + 1);
		if (rc < 0)
			return rc;
	}
	return prepare_edges(t, f, pos, len, EDGE_STATES);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Block bitmaps while fast commits are applied: marked as told, searched from the goal on. */
#include "fs/fast_space.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/mem.h"
#include "fs/image.h"
#include "journal/fast.h"

#define JOIN_AT   4096u /* runs */
#define TAIL_MOST 64u

static int by_start(const void *x, const void *y)
{
	const struct fast_run *a = x, *b = y;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void join(struct fast_space *s)
{
	size_t n = 0;

	if (s->joined == s->count)
		return;
	qsort(s->kept, s->count, sizeof(*s->kept), by_start);
	for (size_t i = 1; i < s->count; i++) {
		if (s->kept[i].start <= s->kept[n].end)
			s->kept[n].end = MAX(s->kept[n].end, s->kept[i].end);
		else
			s->kept[++n] = s->kept[i];
	}
	s->count = s->joined = n + 1;
}

int fast_keep(struct ek_image *img, ek_pblk pblk, uint32_t len)
{
	struct fast_space *s = img->fast;
	uint64_t mask = ((uint64_t)1 << img->geom.cluster_bits) - 1;

	if (s->count - s->joined > JOIN_AT + s->joined)
		join(s);
	if (mem_grow((void **)&s->kept, &s->cap, s->count + 1, sizeof(*s->kept)) < 0)
		return diag_set(&img->diag, -ENOMEM, "out of memory for fast commits");
	s->kept[s->count++] = (struct fast_run){pblk.v & ~mask, (pblk.v + len + mask) & ~mask};
	return 0;
}

int fast_space_open(struct ek_image *img, const struct fast_log *log)
{
	int rc = 0;

	img->fast = mem_zero(sizeof(*img->fast));
	if (img->fast == NULL)
		return diag_set(&img->diag, -ENOMEM, "out of memory for fast commits");
	for (size_t i = 0; i < log->count && rc == 0; i++) {
		const struct extent *e = &log->records[i].range;

		if (log->records[i].tag == JBD2_FC_ADD_RANGE)
			rc = fast_keep(img, e->pblk, e->len);
	}
	return rc;
}

void fast_space_close(struct ek_image *img)
{
	if (img->fast != NULL)
		free(img->fast->kept);
	free(img->fast);
	img->fast = NULL;
}

/* The end of a kept run that block lies in; block itself when it lies in none.  Few that came last
 * are looked through as they are: to sort all of them for each block that is taken would never end
 * in a large log. */
static uint64_t behind_kept(struct fast_space *s, uint64_t block)
{
	size_t low = 0, high;

	if (s->count - s->joined > TAIL_MOST + s->joined / 64)
		join(s);
	for (size_t i = s->joined; i < s->count; i++) {
		if (s->kept[i].start <= block && block < s->kept[i].end)
			return s->kept[i].end;
	}
	high = s->joined;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->kept[mid].end <= block)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->joined && s->kept[low].start <= block ? s->kept[low].end : block;
}

/* Changes the bits of n clusters from start on, of which those that are `used` already do not
 * count. */
static int change_bits(struct task *t, uint32_t group, uint32_t start, uint32_t n, bool used)
{
	struct groups *gs = &t->img->groups;
	struct group_desc *x = &gs->desc[group];
	struct buf *b;
	void *view;
	uint32_t set, change;
	int rc = groups_block_bitmap(gs, group, &b);

	if (rc < 0)
		return rc;
	set = (uint32_t)bitmap_count(b->data, start, n);
	change = used ? n - set : set;
	if (change == 0) {
		buf_put(b);
		return 0;
	}
	rc = handle_write(t->user.current, b, &view);
	if (rc == 0) {
		if (used) {
			bitmap_set_range(view, start, n);
			x->free_clusters -= MIN(change, x->free_clusters);
			gs->space.free -= MIN((uint64_t)change, gs->space.free);
		} else {
			bitmap_clear_range(view, start, n);
			x->free_clusters += change;
			gs->space.free += change;
		}
		x->flags &= (uint16_t)~GROUP_BLOCK_UNINIT;
		groups_block_bitmap_changed(gs, group);
		rc = handle_dirty(t->user.current, b);
	}
	buf_put(b);
	return rc < 0 ? rc : groups_update(gs, t->user.current, group);
}

int fast_mark(struct task *t, ek_pblk pblk, uint32_t len, bool used)
{
	const struct geom *g = &t->img->geom;
	int rc = 0;

	while (len != 0 && rc == 0) {
		uint32_t at = geom_offset_in_group(g, pblk);
		uint32_t n = MIN(len, g->blocks_per_group - at);

		rc = change_bits(t, geom_group_of(g, pblk), at >> g->cluster_bits,
				 geom_clusters(g, at, n), used);
		pblk.v += n;
		len -= n;
	}
	return rc;
}

/* The first block of a free cluster of the group, not before bit from: 1 found, 0 none. */
static int find_in_group(struct ek_image *img, uint32_t group, uint32_t from, uint64_t *ret)
{
	const struct geom *g = &img->geom;
	uint64_t start = geom_group_start(g, group).v;
	uint32_t bits = geom_clusters(g, 0, geom_group_blocks(g, group));
	struct buf *b;
	int rc = groups_block_bitmap(&img->groups, group, &b);

	if (rc < 0)
		return rc;
	while (from < bits) {
		uint32_t bit = (uint32_t)bitmap_find_next_zero(b->data, bits, from);
		uint64_t at = start + ((uint64_t)bit << g->cluster_bits);
		uint64_t next = behind_kept(img->fast, at);

		if (bit >= bits)
			break;
		if (next == at) {
			*ret = at;
			buf_put(b);
			return 1;
		}
		from = (uint32_t)MIN((next - start) >> g->cluster_bits, (uint64_t)bits);
	}
	buf_put(b);
	return 0;
}

int fast_take(struct task *t, ek_pblk goal, ek_pblk *ret)
{
	const struct geom *g = &t->img->geom;
	uint64_t at = 0;
	uint32_t group, from;
	int rc = 0;

	if (goal.v < g->first_data_block || goal.v >= g->blocks)
		goal.v = g->first_data_block;
	group = geom_group_of(g, goal);
	from = geom_offset_in_group(g, goal) >> g->cluster_bits;
	for (uint32_t i = 0; i <= g->groups && rc == 0; i++) {
		rc = find_in_group(t->img, group, from, &at);
		group = (group + 1) % g->groups;
		from = 0;
	}
	if (rc == 0)
		rc = diag_set(&t->img->diag, -ENOSPC,
			      "no space: fast commits need a block and none is free");
	if (rc > 0)
		rc = fast_mark(t, (ek_pblk){at}, 1, true);
	if (rc == 0)
		*ret = (ek_pblk){at};
	return rc;
}

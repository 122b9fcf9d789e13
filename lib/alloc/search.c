/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The search for free clusters (delalloc-facts 7.4), where no preallocation serves:
 * 1. exactly at the goal, when the request touches a neighbour; 2. groups from the goal's on, by
 * ever weaker criteria: an aligned power of two; a group whose average free run is long enough; a
 * shorter goal; the best run in a group with enough free space; anything.  What is found beyond the
 * request becomes a preallocation.
 */
#include <errno.h>

#include "alloc/mb.h"
#include "base/bitmap.h"
#include "base/check.h"

#define FLEX_MIN_LOG    2u /* from 4 groups a flex on, its first group is kept for folders */
#define PREFETCH_GROUPS 32u
#define SHRINK_MAX      3u /* orders that a goal may shrink by */

/* ---- taking ---- */

/* The best place found so far is taken: marked used, remembered as the stream's last group; what is
 * more than was asked for becomes a preallocation. */
static int use_best(struct search *s)
{
	struct mb *mb = s->mb;

	s->best.len = MIN(s->best.len, s->goal.len);
	s->best.logical = s->goal.logical;
	buddy_mark_used(&mb->buddies[s->best.group], (uint32_t)s->best.start, s->best.len);
	s->status = SCAN_FOUND;
	if ((s->flags & MB_STREAM) != 0)
		mb->last_group[s->req->ino % mb->goals] = s->best.group;
	count(mb->counters, COUNTER_MBALLOC_ALLOC, 1);
	if (s->orig.len < s->best.len)
		return mb_new_prealloc(s);
	return 0;
}

static int take(struct search *s, uint32_t group, struct buddy_run r)
{
	s->found++;
	s->best = (struct place){group, r.start, r.len, 0};
	return use_best(s);
}

/* ---- the goal itself ---- */

static int find_by_goal(struct search *s)
{
	struct buddy_run r;
	struct buddy *b;
	int rc;

	if ((s->flags & (MB_TRY_GOAL | MB_GOAL_ONLY)) == 0 || s->goal.start < 0)
		return 0;
	rc = mb_load(s->mb, s->goal.group, &b);
	if (rc < 0 || b->free == 0)
		return rc == -EUCLEAN || rc == -EBADMSG ? 0 : rc;
	r = buddy_extent(b, (uint32_t)s->goal.start, s->goal.len);
	if (r.len >= s->goal.len || (r.len != 0 && (s->flags & MB_MERGE) != 0))
		return take(s, s->goal.group, r);
	return 0;
}

/* ---- groups ---- */

static bool cheap(enum criteria cr)
{
	return cr < CR_GOAL_SLOW;
}

/* By counts alone. */
static bool good_counts(const struct search *s, const struct buddy *b, uint32_t group)
{
	unsigned log_flex = s->mb->geom->log_flex;

	if (b->free == 0 || b->fragments == 0)
		return false;
	switch (s->cr) {
	case CR_POWER2:
		if ((s->flags & MB_DATA) != 0 && log_flex >= FLEX_MIN_LOG &&
		    group % (1u << log_flex) == 0)
			return false;
		return b->free >= s->goal.len && b->largest >= (int)s->order;
	case CR_GOAL_FAST:
	case CR_BEST_AVAIL:
		return b->free / b->fragments >= s->goal.len;
	case CR_GOAL_SLOW:
		return b->free >= s->goal.len;
	default:
		return true;
	}
}

/* A group that was never looked at is read for the cheap criteria only when that costs nothing (it
 * is uninitialised) or it is the first of its flex, where metadata goes. */
static bool worth_loading(const struct search *s, uint32_t group)
{
	const struct mb *mb = s->mb;
	unsigned log_flex = mb->geom->log_flex;

	if (mb->buddies[group].map != NULL || !cheap(s->cr))
		return true;
	if (log_flex != 0 && group % (1u << log_flex) == 0)
		return true;
	return geom_gdt_csum(mb->geom) && (mb->gs->desc[group].flags & GROUP_BLOCK_UNINIT) != 0;
}

static bool good_group(struct search *s, uint32_t group, struct buddy **ret)
{
	struct mb *mb = s->mb;

	if (mb->buddies[group].map == NULL && mb->gs->desc[group].free_clusters == 0)
		return false;
	if (!worth_loading(s, group) || mb_load(mb, group, ret) < 0)
		return false;
	return good_counts(s, *ret, group);
}

/* ---- inside a group ---- */

static int scan_power2(struct search *s, struct buddy *b, uint32_t group)
{
	struct buddy_run r = buddy_chunk(b, s->order);

	return r.len != 0 ? take(s, group, r) : 0;
}

static int check_limits(struct search *s, bool group_done)
{
	if (s->status == SCAN_FOUND)
		return 0;
	if (s->found > s->mb->cfg.max_to_scan && (s->flags & MB_FIRST) == 0) {
		s->status = SCAN_BREAK;
		return 0;
	}
	if (s->best.len < s->goal.len)
		return 0;
	if (group_done || s->found > s->mb->cfg.min_to_scan)
		return use_best(s);
	return 0;
}

/* Compares a run with the best one so far. */
static int measure(struct search *s, uint32_t group, struct buddy_run r)
{
	struct place here = {group, r.start, r.len, 0};

	s->found++;
	if ((s->flags & MB_FIRST) != 0 || r.len == s->goal.len) {
		s->best = here;
		return use_best(s);
	}
	if (s->best.len == 0) {
		s->best = here;
		return 0;
	}
	if (s->best.len < s->goal.len) {
		if (r.len > s->best.len)
			s->best = here;
	} else if (r.len > s->goal.len && r.len < s->best.len) {
		s->best = here;
	}
	return check_limits(s, false);
}

static int scan_runs(struct search *s, struct buddy *b, uint32_t group)
{
	uint32_t at = b->first_free, left = b->free;
	int rc = 0;

	while (left != 0 && s->status == SCAN_GO && rc == 0) {
		struct buddy_run run, r;

		if (!buddy_next_run(b, at, &run))
			break;
		if (cheap(s->cr) && run.len < s->goal.len) {
			at = run.start + run.len;
			left -= MIN(left, run.len);
			continue;
		}
		r = buddy_extent(b, run.start, s->goal.len);
		rc = measure(s, group, r);
		at = r.start + r.len;
		left -= MIN(left, r.len);
	}
	return rc < 0 ? rc : check_limits(s, true);
}

static int scan_group(struct search *s, uint32_t group)
{
	struct buddy *b;

	if (!good_group(s, group, &b))
		return 0;
	return s->cr == CR_POWER2 ? scan_power2(s, b, group) : scan_runs(s, b, group);
}

/* ---- the search ---- */

static int scan_all(struct search *s)
{
	const struct geom *g = s->mb->geom;
	uint32_t low = UINT32_MAX / g->blocks_per_group;
	uint32_t n = s->req->low ? MIN(g->groups, low) : g->groups;
	int rc = 0;

	for (uint32_t i = 0; i < n && s->status == SCAN_GO && rc == 0; i++)
		rc = scan_group(s, (s->goal.group + i) % n);
	return rc;
}

/* Large filesystems settle for a shorter run rather than look at every group: the goal shrinks to a
 * power of two, by at most three orders and not below the request. */
static int scan_best_avail(struct search *s)
{
	unsigned order = ilog2(s->goal.len), min = order > SHRINK_MAX ? order - SHRINK_MAX : 0;
	int rc = 0;

	if (1u << min < s->orig.len)
		min = ilog2(s->orig.len) + (is_pow2(s->orig.len) ? 0 : 1);
	for (unsigned k = order; k + 1 > min && s->status == SCAN_GO && rc == 0; k--) {
		s->goal.len = MIN(1u << k, s->goal.len);
		if (s->goal.len < s->orig.len)
			s->goal.len = s->orig.len;
		rc = scan_all(s);
	}
	if (s->status == SCAN_GO)
		s->goal.len = s->orig_goal_len;
	return rc;
}

static int scan_criteria(struct search *s)
{
	int rc = 0;

	for (; s->cr < CR_COUNT && s->status == SCAN_GO && rc == 0; s->cr++) {
		if (s->cr == CR_BEST_AVAIL && s->mb->cfg.optimize_scan)
			rc = scan_best_avail(s);
		else
			rc = scan_all(s);
	}
	return rc;
}

static void start_criteria(struct search *s)
{
	s->order = s->goal.len >= 2 && is_pow2(s->goal.len) ? ilog2(s->goal.len) : 0;
	if ((s->flags & MB_STREAM) != 0) {
		s->goal.group = s->mb->last_group[s->req->ino % s->mb->goals];
		s->goal.start = -1;
		s->flags &= ~(unsigned)MB_TRY_GOAL;
	}
	s->cr = s->order != 0 ? CR_POWER2 : CR_GOAL_FAST;
	if (s->order > s->mb->geom->block_bits + 1u)
		s->cr = CR_GOAL_FAST;
}

/* Linux reads the bitmaps of the rest of the flex group ahead while it scans, so that later
 * searches do not pass those groups over.  They count at once when the first criterion found a
 * place, else from the next search on: that is what recordings of 6.18 show. */
static void prefetch(struct mb *mb, uint32_t group, bool at_once)
{
	uint32_t flex = 1u << mb->geom->log_flex, n = MIN(flex, PREFETCH_GROUPS);
	uint32_t end = group + (mb->geom->log_flex != 0 ? n : PREFETCH_GROUPS);
	uint32_t first = mb->geom->log_flex != 0 ? group & ~(flex - 1) : group;
	struct buddy *b;

	if (mb->geom->log_flex != 0)
		end = first + n;
	for (group = first; group < end && group < mb->geom->groups; group++) {
		if (mb->buddies[group].map != NULL || mb->gs->desc[group].free_clusters == 0)
			continue;
		if (at_once || bitmap_test(mb->asked, group))
			mb_load(mb, group, &b); /* a damaged group is told when it is wanted */
		bitmap_set(mb->asked, group);
	}
}

int mb_search(struct search *s)
{
	enum criteria first;
	int rc = find_by_goal(s);

	if (rc < 0 || s->status == SCAN_FOUND || (s->flags & MB_GOAL_ONLY) != 0)
		return rc;
	start_criteria(s);
	first = s->cr;
	rc = scan_criteria(s);
	prefetch(s->mb, s->goal.group, s->cr == first + 1);
	if (rc == 0 && s->status != SCAN_FOUND && s->best.len != 0 && (s->flags & MB_FIRST) == 0)
		rc = use_best(s);
	return rc;
}

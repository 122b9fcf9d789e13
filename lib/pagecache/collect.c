/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collecting one extent of dirty blocks that need places (delalloc-facts 4.3), and the three rules
 * about when a call has used up its budget (4.9):
 *
 * r0  3.11: after a page was taken its distance from the first one is compared with what is left of
 *     the budget, as numbers without a sign.  A budget of 0 lets one page through, and with -1 left
 *     the comparison can never be true again: the call goes on while there are dirty pages.
 * r1  3.13: what may be looked at is counted down, and tested before a page is.
 * r2  6.3: tested before a folio; what was collected and not sent yet counts too.  A folio is taken
 *     as a whole, so a call may go over by less than one.
 */
#include "base/check.h"
#include "pagecache/pass.h"

static bool spent_r0(const struct pass *p)
{
	return (uint64_t)(p->next - p->first_page) >= (uint64_t)p->wbc->nr_to_write;
}

static bool spent_r1(const struct pass *p)
{
	return p->left <= 0;
}

static bool spent_r2(const struct pass *p)
{
	uint64_t collected = (uint64_t)p->len << pc_block_bits(p->pc) >> PAGE_BITS;

	return p->wbc->nr_to_write <= (int64_t)collected;
}

const struct budget *budget_of(enum budget_rule rule)
{
	static const struct budget budgets[] = {
	    [BUDGET_R0] = {.after = spent_r0},
	    [BUDGET_R1] = {.before = spent_r1},
	    [BUDGET_R2] = {.before = spent_r2},
	};

	return &budgets[rule];
}

/* The run of blocks from at, within limit, that are all in one state; *needy when they are dirty
 * and wait for a place, *delay when that place was only reserved. */
static uint32_t state_run(struct folio *f, uint32_t at, uint32_t limit, bool *needy, bool *delay)
{
	uint32_t n = MIN(limit - at, folio_run(f, BLOCK_DIRTY, at));

	*needy = false;
	*delay = false;
	if (!folio_test(f, BLOCK_DIRTY, at))
		return n;
	*delay = folio_test(f, BLOCK_DELAY, at);
	*needy = *delay || folio_test(f, BLOCK_UNWRITTEN, at);
	n = MIN(n, folio_run(f, BLOCK_DELAY, at));
	return MIN(n, folio_run(f, BLOCK_UNWRITTEN, at));
}

enum step { STEP_GO, STEP_STOP };

/* Blocks [at, ...) of the folio go into the extent; a folio that needs nothing is submitted. */
static int collect_folio(struct pass *p, struct folio *f, uint32_t at, enum step *step)
{
	unsigned bits = pc_block_bits(p->pc);
	uint64_t eof = (p->m->inode->size + (1u << bits) - 1) >> bits;
	uint32_t base = folio_lblk(f, bits), limit;

	*step = STEP_STOP;
	limit = eof > base ? (uint32_t)MIN(eof - base, (uint64_t)f->blocks) : 0;
	while (at < limit) {
		bool needy, delay;
		uint32_t run = state_run(f, at, limit, &needy, &delay);

		if (!needy) {
			if (p->len != 0)
				return 0;
			at += run;
			continue;
		}
		if (!p->do_map)
			return 0;
		if (p->len == 0) {
			p->lblk = base + at;
			p->delay = delay;
		} else if (base + at != p->lblk + p->len || delay != p->delay) {
			return 0;
		}
		if (p->len == EXTENT_BLOCKS)
			return 0;
		run = MIN(run, EXTENT_BLOCKS - p->len);
		p->len += run;
		at += run;
	}
	if (p->len == 0) {
		int rc = pass_submit_folio(p, f);

		if (rc < 0)
			return rc;
	}
	if (eof <= base + f->blocks) {
		p->done = true;
		return 0;
	}
	*step = STEP_GO;
	return 0;
}

int pass_collect_rest(struct pass *p, struct folio *f, uint32_t at)
{
	enum step step;

	p->len = 0;
	return collect_folio(p, f, at, &step);
}

static bool stops(const struct pass *p, bool (*rule)(const struct pass *))
{
	return rule != NULL && !p->wbc->sync_all && rule(p);
}

/* The next folio of the walk goes into the extent, if it may and fits. */
static int collect_next(struct pass *p, enum step *step)
{
	struct folio *f = p->next <= p->last ? mapping_next(p->m, p->tag, p->next, p->last) : NULL;
	int rc;

	*step = STEP_STOP;
	if (f == NULL) {
		p->done = true;
		return 0;
	}
	if (stops(p, p->budget->before) || (p->len != 0 && f->index != p->next))
		return 0;
	p->next = f->index + folio_pages(f);
	p->left -= folio_pages(f);
	if (p->len == 0) {
		p->start_pos = folio_pos(f);
		p->first_page = f->index;
	}
	count(p->pc->counters, COUNTER_PAGE_LOCKS, 1);
	rc = collect_folio(p, f, 0, step);
	if (rc == 0 && *step == STEP_GO && stops(p, p->budget->after))
		*step = STEP_STOP;
	return rc;
}

int pass_collect(struct pass *p)
{
	enum step step = STEP_GO;
	int rc = 0;

	p->len = 0;
	p->left = p->wbc->nr_to_write;
	p->next = page_of(p->start_pos);
	while (rc == 0 && step == STEP_GO)
		rc = collect_next(p, &step);
	return rc;
}

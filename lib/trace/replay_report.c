/* SPDX-License-Identifier: BSD-2-Clause */
/* What a replay counted, as rows: ops, failures, what was passed over, times, extents, counters. */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "trace/replay_impl.h"
#include "trace/target.h"

struct ek_replay_report {
	struct ek_replay_row *rows;
	size_t count, cap;
	struct notes notes; /* hold names of rows */
};

static int add_row(struct ek_replay_report *r, const char *group, const char *name, uint64_t value)
{
	if (mem_grow((void **)&r->rows, &r->cap, r->count + 1, sizeof(*r->rows)) < 0)
		return -ENOMEM;
	r->rows[r->count++] = (struct ek_replay_row){group, name, value};
	return 0;
}

const struct ek_replay_row *ek_replay_report_row(const struct ek_replay_report *r, size_t i)
{
	return i < r->count ? &r->rows[i] : NULL;
}

void ek_replay_report_free(struct ek_replay_report *r)
{
	if (r == NULL)
		return;
	free(r->rows);
	notes_free(&r->notes);
	free(r);
}

static int add_target_row(void *data, const char *group, const char *name, uint64_t value)
{
	return add_row(data, group, name, value);
}

static int add_counters(struct ek_replay_report *r, const struct counters *c)
{
	static const char *const orders[] = {"order 0", "order 1", "order 2", "order 3", "order 4",
					     "order 5", "order 6", "order 7", "order 8", "order 9"};
	int rc = 0;

	for (unsigned i = 0; i < COUNTER_COUNT && rc == 0; i++)
		rc = add_row(r, "counter", counter_names[i], c->v[i]);
	for (unsigned i = 0; i < MARK_COUNT && rc == 0; i++)
		rc = add_row(r, "mark", mark_names[i], c->marks[i]);
	for (unsigned i = 0; i < HANDLE_TYPES && rc == 0; i++)
		rc = add_row(r, "handle", handle_names[i], c->handles[i]);
	for (unsigned i = 0; i < ARRAY_SIZE(orders) && rc == 0; i++)
		rc = add_row(r, "folio", orders[i], c->folio_orders[i]);
	return rc;
}

static int add_extents(struct ek_replay_report *r, struct target *t)
{
	const struct target_extents *e = t->ops->extents != NULL ? t->ops->extents(t) : NULL;
	int rc;

	if (e == NULL)
		return 0;
	rc = add_row(r, "extent", "files", e->files);
	if (rc == 0)
		rc = add_row(r, "extent", "extents", e->extents);
	if (rc == 0)
		rc = add_row(r, "extent", "blocks", e->blocks);
	return rc < 0 ? rc : add_row(r, "extent", "blocks of the largest", e->largest);
}

/* The report keeps the notes. */
static int add_notes(struct ek_replay_report *r, struct notes *notes)
{
	int rc = 0;

	r->notes = *notes;
	*notes = (struct notes){.n = 0};
	for (unsigned i = 0; i < r->notes.n && rc == 0; i++)
		rc = add_row(r, "skipped", r->notes.text[i], 1);
	if (rc == 0 && r->notes.total > r->notes.n)
		rc = add_row(r, "skipped", "others", r->notes.total - r->notes.n);
	return rc;
}

int replay_report(struct replay *rp, struct ek_replay_report **ret)
{
	struct ek_replay_report *r = mem_zero(sizeof(*r));
	const struct counters *c = rp->target->ops->counters(rp->target);
	int rc = r == NULL ? -ENOMEM : 0;

	for (unsigned i = 0; i < OP_COUNT && rc == 0; i++) {
		if (rp->ops[i] != 0)
			rc = add_row(r, "op", op_word((enum op_code)i), rp->ops[i]);
	}
	for (unsigned i = 0; i < OP_COUNT && rc == 0; i++) {
		if (rp->failed[i] != 0)
			rc = add_row(r, "failed", op_word((enum op_code)i), rp->failed[i]);
	}
	if (rc == 0 && rp->lost != 0)
		rc = add_row(r, "missed", "events lost while recording", rp->lost);
	if (rc == 0 && rp->missed != 0)
		rc = add_row(r, "missed", "ops on unknown handles", rp->missed);
	if (rc == 0)
		rc = add_notes(r, &rp->notes);
	if (rc == 0)
		rc = add_row(r, "time", "ops", rp->done);
	if (rc == 0)
		rc = add_row(r, "time", "wall_ns", host_ns(CLOCK_MONOTONIC) - rp->wall_start);
	if (rc == 0)
		rc = add_row(r, "time", "trace_ns", rp->clock);
	if (rc == 0)
		rc = add_extents(r, rp->target);
	if (rc == 0 && c != NULL)
		rc = add_counters(r, c);
	if (rc == 0 && rp->target->ops->rows != NULL)
		rc = rp->target->ops->rows(rp->target, add_target_row, r);
	if (rc < 0) {
		ek_replay_report_free(r);
		return diag_set(&rp->ctx->diag, -ENOMEM, "out of memory for a report");
	}
	*ret = r;
	return 0;
}

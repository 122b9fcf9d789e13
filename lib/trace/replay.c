/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The replay loop: source to target.  Initial files first, then ops in the order of the trace under
 * the chosen clock, then everything becomes durable and the counters become rows.
 */
#include "extkit/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/counters.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "trace/job.h"
#include "trace/manifest.h"
#include "trace/notes.h"
#include "trace/target.h"

#define DEFAULT_HZ    250u
#define PROGRESS_STEP 256u       /* ops; some take a millisecond, and a stop should not wait */
#define NAP_NS        100000000u /* the longest sleep between two looks for a stop */
#define PLACE_MAX     200u

struct ek_replay_report {
	struct ek_replay_row *rows;
	size_t count, cap;
	struct notes notes; /* hold names of rows */
};

struct replay {
	struct ek_ctx *ctx;
	struct ek_replay_options opt;
	struct op_source *source;
	struct target *target;
	uint64_t ops[OP_COUNT], failed[OP_COUNT];
	uint64_t done, lost, missed, bytes;
	uint64_t wall_start;
	struct notes notes;
	const char *trace;
	uint64_t clock;    /* where the replayed program's clock stands, ns */
	uint32_t unopened; /* handle of the first open that failed, and why */
	int unopened_why;
	bool begun;
};

/* ---- report ---- */

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

static uint64_t wall_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
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

static int make_report(struct replay *rp, struct ek_replay_report **ret)
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
		rc = add_row(r, "time", "wall_ns", wall_ns() - rp->wall_start);
	if (rc == 0)
		rc = add_row(r, "time", "trace_ns", rp->clock);
	if (rc == 0)
		rc = add_extents(r, rp->target);
	if (rc == 0 && c != NULL)
		rc = add_counters(r, c);
	if (rc < 0) {
		ek_replay_report_free(r);
		return diag_set(&rp->ctx->diag, -ENOMEM, "out of memory for a report");
	}
	*ret = r;
	return 0;
}

/* ---- the loop ---- */

static int tell_progress(struct replay *rp)
{
	struct ek_progress p = {"replay", rp->done, 0, "ops"};

	return ctx_progress(rp->ctx, &p);
}

/* Sleeps until the wall clock says at. */
static int wait_until(struct replay *rp, uint64_t at)
{
	for (uint64_t now = wall_ns(); now < at; now = wall_ns()) {
		uint64_t until = MIN(at, now + NAP_NS);
		struct timespec ts = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
		int rc;

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		rc = tell_progress(rp);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The clock reaches the op's time; with the recorded pace the wall does too. */
static int advance(struct replay *rp, const struct op *o)
{
	uint64_t ns = o->time;

	if (rp->opt.clock == EK_CLOCK_ASAP) {
		ns = wall_ns() - rp->wall_start;
	} else if (rp->opt.clock == EK_CLOCK_REAL) {
		int rc = wait_until(rp, rp->wall_start + ns);

		if (rc < 0)
			return rc;
	}
	rp->clock = MAX(rp->clock, ns);
	return rp->target->ops->tick(rp->target, ns);
}

/* Where the op stands in the trace: "FILE:LINE:COLUMN", or "FILE: op N" where nobody knows. */
static void find_place(const struct replay *rp, char *text, size_t size)
{
	if (rp->source->ops->where != NULL)
		rp->source->ops->where(rp->source, text, size);
	else
		snprintf(text, size, "%s: op %llu", rp->trace, (unsigned long long)rp->done);
}

/* The trace's fault: the end of the run, or a note. */
static int trace_fault(struct replay *rp, const struct op *o, const char *why)
{
	struct diag *d = &rp->ctx->diag;
	char at[PLACE_MAX];

	find_place(rp, at, sizeof(at));
	if ((rp->opt.flags & EK_REPLAY_LENIENT) == 0)
		return diag_replace(d, -EINVAL, "%s: %s: %s", at, op_word(o->code), why);
	notes_add(&rp->notes, "%s: %s: %s", at, op_word(o->code), why);
	diag_clear(d);
	return 0;
}

/* An op on a handle that is not open: the trace's fault, unless its open failed here. */
static int note_missed(struct replay *rp, const struct op *o)
{
	uint32_t handle = o->handle2 != 0 ? o->handle2 : o->handle;
	char why[DIAG_TEXT];

	rp->missed++;
	if (o->handle == 0)
		snprintf(why, sizeof(why), "h0 is no handle");
	else if (rp->unopened_why != 0 && rp->unopened == o->handle)
		snprintf(why, sizeof(why), "handle h%u could not be opened: %s", o->handle,
			 strerror(-rp->unopened_why));
	else if (handle != o->handle)
		snprintf(why, sizeof(why), "handle h%u or h%u is not open", o->handle, handle);
	else
		snprintf(why, sizeof(why), "handle h%u is not open", o->handle);
	return trace_fault(rp, o, why);
}

static bool ends_run(int rc)
{
	return rc == -ENOSPC || rc == -EIO || rc == -EUCLEAN || rc == -EBADMSG || rc == -ENOMEM ||
	       rc == -EROFS;
}

/* An attribute that has no room in its inode: other ops are not harmed by that. */
static bool lacks_nothing(const struct replay *rp, int rc)
{
	const struct diag *d = &rp->ctx->diag;

	return (rp->opt.flags & EK_REPLAY_LENIENT) != 0 && rc == -ENOSPC && !d->host &&
	       d->need_blocks == 0 && d->need_inodes == 0;
}

/* A call that failed in the replay but not in the recording is counted; some failures end the run.
 */
static int note_failure(struct replay *rp, const struct op *o, int rc)
{
	struct diag *d = &rp->ctx->diag;
	char why[DIAG_TEXT], at[PLACE_MAX];
	bool host;

	rp->failed[o->code]++;
	if (rc == -EBADF)
		return note_missed(rp, o);
	if (o->code == OP_OPEN && rp->unopened_why == 0) {
		rp->unopened = o->handle;
		rp->unopened_why = rc;
	}
	snprintf(why, sizeof(why), "%s", d->code != 0 ? d->text : strerror(-rc));
	if (rc == -EINVAL || lacks_nothing(rp, rc))
		return trace_fault(rp, o, why);
	find_place(rp, at, sizeof(at));
	if (!ends_run(rc)) {
		notes_add(&rp->notes, "%s: %s: %s", at, op_word(o->code), why);
		diag_clear(d);
		return 0;
	}
	host = d->host;
	diag_replace(d, rc, "%.300s: %s, %s", why, at, op_word(o->code));
	d->host = host;
	return rc;
}

static int begin(struct replay *rp)
{
	if (rp->begun)
		return 0;
	rp->begun = true;
	rp->wall_start = wall_ns();
	return rp->target->ops->begin(rp->target);
}

static int run_op(struct replay *rp, const struct op *o)
{
	int rc = begin(rp);

	if (rc == 0)
		rc = advance(rp, o);
	if (rc < 0)
		return rc;
	if (o->code == OP_GAP)
		rp->lost += o->arg;
	rp->ops[o->code]++;
	rp->done++;
	rc = rp->target->ops->op(rp->target, o);
	if (rc < 0)
		rc = note_failure(rp, o, rc);
	return rc < 0 || rp->done % PROGRESS_STEP != 0 ? rc : tell_progress(rp);
}

static int open_manifest(struct replay *rp, struct op_source **ret)
{
	return manifest_open(rp->opt.initial, rp->opt.extents,
			     rp->opt.root != NULL ? rp->opt.root : "/", &rp->ctx->diag, ret);
}

/* 1 when the table has a lost+found. */
static int has_lost_found(struct replay *rp)
{
	struct op_source *m;
	const struct op *o;
	int rc = open_manifest(rp, &m), found = 0;

	if (rc < 0)
		return rc;
	while (!found && (rc = op_next(m, &o)) == 1)
		found = o->code == OP_NODE && strcmp(o->node->path.p, "/lost+found") == 0;
	op_source_close(m);
	return rc < 0 ? rc : found;
}

static int run_initial(struct replay *rp)
{
	struct op_source *m;
	const struct op *o;
	int rc;

	if (rp->opt.initial == NULL)
		return 0;
	rc = has_lost_found(rp);
	if (rc == 0 && rp->target->ops->bare != NULL)
		rc = rp->target->ops->bare(rp->target);
	if (rc >= 0)
		rc = open_manifest(rp, &m);
	if (rc < 0)
		return rc;
	while ((rc = op_next(m, &o)) == 1) {
		if (o->code != OP_NODE)
			continue;
		rc = rp->target->ops->node(rp->target, o->node);
		if (rc < 0)
			break;
	}
	op_source_close(m);
	return rc < 0 ? rc : 0;
}

static bool skip_node(const struct replay *rp)
{
	return (rp->opt.flags & EK_REPLAY_NO_INITIAL) != 0 || rp->opt.initial != NULL;
}

static int run_all(struct replay *rp)
{
	const struct op *o;
	int rc = run_initial(rp);

	while (rc >= 0 && (rc = op_next(rp->source, &o)) == 1) {
		if (o->code == OP_NODE) {
			rc = skip_node(rp) ? 0 : rp->target->ops->node(rp->target, o->node);
			continue;
		}
		if (!op_is_work((enum op_code)o->code))
			continue;
		if (rp->opt.stop_after != 0 && rp->done == rp->opt.stop_after)
			break;
		rc = run_op(rp, o);
	}
	if (rc >= 0)
		rc = begin(rp);
	return rc < 0 ? rc : rp->target->ops->finish(rp->target);
}

/* "#clock realtime start=SECONDS.NANOSECONDS" tells when it was recorded. */
static struct ek_time start_time(const struct replay *rp)
{
	const char *p = strstr(rp->source->header.text, "clock realtime start=");
	struct ek_time t = rp->opt.now;
	uint64_t sec = 0, nsec = 0, scale = 100000000;

	if (p == NULL)
		return t;
	p += strlen("clock realtime start=");
	while (*p >= '0' && *p <= '9' && sec < 100000000000u)
		sec = sec * 10 + (uint64_t)(*p++ - '0');
	if (*p == '.')
		p++;
	while (*p >= '0' && *p <= '9' && scale != 0) {
		nsec += (uint64_t)(*p++ - '0') * scale;
		scale /= 10;
	}
	return (struct ek_time){(int64_t)sec, (uint32_t)nsec};
}

static int open_target(struct replay *rp, const char *target)
{
	uint32_t hz = rp->opt.hz != 0 ? rp->opt.hz : rp->source->header.hz;

	if (hz == 0 || hz > 1000000)
		hz = DEFAULT_HZ;
	if (strncmp(target, "dir:", 4) == 0 && (rp->opt.flags & EK_REPLAY_DRY_RUN) != 0)
		return diag_set(&rp->ctx->diag, -EINVAL, "a dry run needs an image: %s is a folder",
				target);
	if (strncmp(target, "dir:", 4) == 0 && rp->opt.stage != 0)
		return diag_set(&rp->ctx->diag, -EINVAL,
				"stages are those of an image: %s is a folder", target);
	if (rp->opt.stage > EK_STAGE_COMPLETION || (rp->opt.stage != 0 && rp->opt.item == NULL))
		return diag_set(&rp->ctx->diag, -EINVAL, "stage %u is unknown or nobody listens",
				rp->opt.stage);
	if (strncmp(target, "dir:", 4) == 0)
		return target_open_folder(target + 4, &rp->opt, &rp->ctx->diag, &rp->target);
	return target_open_image(target, &rp->opt, start_time(rp), hz, &rp->ctx->diag, &rp->target);
}

static int read_options(const struct ek_replay_options *opt, struct diag *d,
			struct ek_replay_options *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (opt == NULL)
		return 0;
	if (opt->size < sizeof(opt->size) || opt->size > 4096)
		return diag_set(d, -EINVAL, "replay options of %zu bytes", opt->size);
	memcpy(ret, opt, MIN(opt->size, sizeof(*ret)));
	return 0;
}

int ek_replay(struct ek_ctx *ctx, const char *trace, const char *target,
	      const struct ek_replay_options *opt, struct ek_replay_report **ret)
{
	struct ek_trace_options to = {.size = sizeof(to)};
	struct replay rp = {.ctx = ctx, .trace = trace};
	enum ek_trace_format format;
	int rc;

	diag_clear(&ctx->diag);
	rc = read_options(opt, &ctx->diag, &rp.opt);
	if (rc == 0) {
		to.flags = (rp.opt.flags & EK_REPLAY_LENIENT) != 0 ? EK_TRACE_LENIENT : 0;
		rc = job_source(&trace, 1, &to, false, &ctx->diag, &rp.source, &format);
	}
	if (rc == 0)
		rp.source->notes = &rp.notes;
	if (rc == 0)
		rc = open_target(&rp, target);
	if (rc == 0)
		rc = run_all(&rp);
	if (rc == 0 && ret != NULL)
		rc = make_report(&rp, ret);
	if (rp.target != NULL)
		rp.target->ops->close(rp.target);
	op_source_close(rp.source);
	notes_free(&rp.notes);
	return rc < 0 ? rc : 0;
}

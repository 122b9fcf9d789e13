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
#include "base/clock.h"
#include "base/ctx.h"
#include "trace/crew.h"
#include "trace/job.h"
#include "trace/manifest.h"
#include "trace/notes.h"
#include "trace/replay_impl.h"
#include "trace/target.h"

#define DEFAULT_HZ    250u
#define PROGRESS_STEP 256u       /* ops; some take a millisecond, and a stop should not wait */
#define NAP_NS        100000000u /* the longest sleep between two looks for a stop */

static int tell_progress(struct replay *rp)
{
	struct ek_progress p = {"replay", rp->done, 0, "ops"};

	return ctx_progress(rp->ctx, &p);
}

/* Sleeps until the wall clock says at. */
static int wait_until(struct replay *rp, uint64_t at)
{
	for (uint64_t now = host_ns(CLOCK_MONOTONIC); now < at; now = host_ns(CLOCK_MONOTONIC)) {
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
		ns = host_ns(CLOCK_MONOTONIC) - rp->wall_start;
	} else if (rp->opt.clock == EK_CLOCK_REAL) {
		int rc = wait_until(rp, rp->wall_start + ns);

		if (rc < 0)
			return rc;
	}
	rp->clock = MAX(rp->clock, ns);
	return rp->target->ops->tick(rp->target, ns);
}

static int begin(struct replay *rp)
{
	if (rp->begun)
		return 0;
	rp->begun = true;
	rp->wall_start = host_ns(CLOCK_MONOTONIC);
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
	if (rc < 0 && !rp->told)
		rc = replay_failure(rp, o, rc);
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

#define FOLDER "dir:"
#define REGION "region:"

static bool is_image(const char *target)
{
	return strncmp(target, FOLDER, sizeof(FOLDER) - 1) != 0 &&
	       strncmp(target, REGION, sizeof(REGION) - 1) != 0;
}

/* What only an image has is not passed over in silence.  A region reads the switches that are its
 * own and refuses others. */
static int check_no_image(struct replay *rp, const char *target)
{
	const struct ek_replay_options *o = &rp->opt;
	bool folder = strncmp(target, FOLDER, sizeof(FOLDER) - 1) == 0;
	const char *what = NULL;

	if ((o->flags & EK_REPLAY_DRY_RUN) != 0)
		what = "a dry run";
	else if (o->stage != 0)
		what = "a stage";
	else if (o->threads > 1)
		what = "a number of threads";
	else if (o->pace_extent_ns != 0 || o->pace_page_ns != 0)
		what = "a pace";
	else if (o->fault_locate_every != 0 || o->fault_copy_every != 0)
		what = "a fault";
	else if (o->policy != NULL || (folder && o->nset != 0))
		what = "a policy";
	else if ((o->flags & (EK_REPLAY_NODELALLOC | EK_REPLAY_DIOREAD_LOCK)) != 0)
		what = "an allocation";
	else if (folder && (o->flags & EK_REPLAY_CRASH) != 0)
		what = "a power cut";
	return what == NULL ? 0
			    : diag_set(&rp->ctx->diag, -EINVAL, "%s needs an image: %s is none",
				       what, target);
}

static int tell_failed(void *ctx, const struct op *o, int rc)
{
	struct replay *rp = ctx;

	rc = replay_failure(rp, o, rc);
	rp->told = rc < 0;
	return rc;
}

/* Workers between the replay and its image. */
static int hire(struct replay *rp)
{
	struct target *image = rp->target;

	if (rp->opt.stage != 0)
		return diag_set(&rp->ctx->diag, -EINVAL, "stages are looked at by one thread");
	if (rp->opt.pace_extent_ns != 0 || rp->opt.pace_page_ns != 0)
		return diag_set(
		    &rp->ctx->diag, -EINVAL,
		    "a pace is of the virtual clock, and threads run in their own time");
	return crew_open(image, rp->opt.threads, rp->opt.clock == EK_CLOCK_REAL, tell_failed, rp,
			 &rp->ctx->diag, &rp->target);
}

static int open_target(struct replay *rp, const char *target)
{
	uint32_t hz = rp->opt.hz != 0 ? rp->opt.hz : rp->source->header.hz;
	int rc;

	if (hz == 0 || hz > 1000000)
		hz = DEFAULT_HZ;
	if (!is_image(target)) {
		rc = check_no_image(rp, target);
		if (rc < 0)
			return rc;
	}
	if (strncmp(target, REGION, sizeof(REGION) - 1) != 0 && rp->opt.region != NULL)
		return diag_set(&rp->ctx->diag, -EINVAL, "region knobs need a region: %s is none",
				target);
	if (rp->opt.stage > EK_STAGE_COMPLETION || (rp->opt.stage != 0 && rp->opt.item == NULL))
		return diag_set(&rp->ctx->diag, -EINVAL, "stage %u is unknown or nobody listens",
				rp->opt.stage);
	if (strncmp(target, FOLDER, sizeof(FOLDER) - 1) == 0)
		return target_open_folder(target + sizeof(FOLDER) - 1, &rp->opt, &rp->ctx->diag,
					  &rp->target);
	if (strncmp(target, REGION, sizeof(REGION) - 1) == 0)
		return target_open_region(target + sizeof(REGION) - 1, &rp->opt, rp->ctx,
					  &rp->target);
	rc = target_open_image(target, &rp->opt, start_time(rp), hz, &rp->ctx->diag, &rp->target);
	return rc == 0 && rp->opt.threads > 1 ? hire(rp) : rc;
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
		rc = replay_report(&rp, ret);
	if (rp.target != NULL)
		rp.target->ops->close(rp.target);
	op_source_close(rp.source);
	notes_free(&rp.notes);
	return rc < 0 ? rc : 0;
}

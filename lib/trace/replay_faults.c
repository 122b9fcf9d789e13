/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ops that fail in a replay though they did not in the recording.  Whose fault it is decides: the
 * trace's ends the run with the place in the trace, or is passed over when the caller is lenient;
 * the image's and the host's end it with theirs; what ext4 itself may refuse is counted and listed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ctx.h"
#include "trace/replay_impl.h"

#define PLACE_MAX 200u

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

/* Why the open of a handle failed, 0 when it did not or that is long ago. */
static int why_unopened(const struct replay *rp, uint32_t handle)
{
	for (unsigned i = 0; i < UNOPENED_MAX; i++) {
		if (rp->unopened[i].why != 0 && rp->unopened[i].handle == handle)
			return rp->unopened[i].why;
	}
	return 0;
}

static void note_unopened(struct replay *rp, uint32_t handle, int why)
{
	unsigned i = rp->unopened_next++ % UNOPENED_MAX;

	rp->unopened[i].handle = handle;
	rp->unopened[i].why = why;
}

/* An op on a handle that is not open: the trace's fault, unless its open failed here. */
static int note_missed(struct replay *rp, const struct op *o)
{
	uint32_t handle = o->handle2 != 0 ? o->handle2 : o->handle;
	int unopened = why_unopened(rp, o->handle);
	char why[DIAG_TEXT];

	rp->missed++;
	if (o->handle == 0)
		snprintf(why, sizeof(why), "h0 is no handle");
	else if (unopened != 0)
		snprintf(why, sizeof(why), "handle h%u could not be opened: %s", o->handle,
			 strerror(-unopened));
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

/* What the image has and we have not, by name; an attribute's namespace is the trace's choice. */
static bool lacks_feature(const struct replay *rp, const struct op *o, int rc)
{
	return rc == -EOPNOTSUPP && rp->ctx->diag.code == rc && o->code != OP_SETXATTR &&
	       o->code != OP_REMOVEXATTR && (rp->opt.flags & EK_REPLAY_LENIENT) == 0;
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
int replay_failure(struct replay *rp, const struct op *o, int rc)
{
	struct diag *d = &rp->ctx->diag;
	char why[DIAG_TEXT], at[PLACE_MAX];
	bool host;

	rp->failed[o->code]++;
	if (rc == -EBADF)
		return note_missed(rp, o);
	if (o->code == OP_OPEN)
		note_unopened(rp, o->handle, rc);
	snprintf(why, sizeof(why), "%s", d->code != 0 ? d->text : strerror(-rc));
	if (rc == -EINVAL || lacks_nothing(rp, rc))
		return trace_fault(rp, o, why);
	find_place(rp, at, sizeof(at));
	if (!ends_run(rc) && !lacks_feature(rp, o, rc)) {
		notes_add(&rp->notes, "%s: %s: %s", at, op_word(o->code), why);
		diag_clear(d);
		return 0;
	}
	host = d->host;
	diag_replace(d, rc, "%.300s: %s, %s", why, at, op_word(o->code));
	d->host = host;
	return rc;
}

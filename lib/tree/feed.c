/* SPDX-License-Identifier: BSD-2-Clause */
/* The loop that every taker of sources has. */
#include "tree/feed.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ctx.h"
#include "fs/session.h"
#include "tree/filter.h"
#include "tree/report.h"

#define ENTRIES 16777216u
#define BYTES   ((uint64_t)16 << 40)

void feed_options(struct tree_feed *f, const struct ek_tree_options *tree)
{
	f->tree.size = sizeof(f->tree);
	session_hand_out(&f->tree, tree->size, tree, sizeof(f->tree));
	if (f->tree.max_entries == 0)
		f->tree.max_entries = ENTRIES;
	if (f->tree.max_bytes == 0)
		f->tree.max_bytes = BYTES;
}

int feed_open(struct tree_feed *f, struct ek_time now)
{
	return filter_open(&f->tree, now, &f->ctx->diag, &f->filter);
}

void feed_close(struct tree_feed *f)
{
	filter_close(f->filter);
	f->filter = NULL;
}

static int too_much(const struct tree_feed *f, const char *what, uint64_t limit)
{
	return diag_set(&f->ctx->diag, -EFBIG, "tree: %s: more than %llu", what,
			(unsigned long long)limit);
}

int feed_check_bytes(const struct tree_feed *f, uint64_t bytes)
{
	return bytes <= f->tree.max_bytes ? 0 : too_much(f, "bytes", f->tree.max_bytes);
}

/* 1: taken, 0: left out. */
static int feed_entry(struct tree_feed *f, struct tree_source *s, struct tree_entry *e)
{
	struct ek_progress step = {.stage = f->stage, .unit = "files"};
	int rc = filter_apply(f->filter, e);

	if (rc <= 0)
		return rc;
	step.done = ++f->rep->r.entries;
	if (step.done > f->tree.max_entries)
		return too_much(f, "entries", f->tree.max_entries);
	rc = f->take(f->arg, s, e);
	if (rc == 0)
		rc = ctx_progress(f->ctx, &step);
	return rc < 0 ? rc : 1;
}

/* Whether nothing can follow, even when the caller would go on. */
static bool ends_all(int rc)
{
	return rc == -ENOMEM || rc == -ENOSPC || rc == -ECANCELED || rc == -EFBIG || rc == -EIO;
}

int feed_source(struct tree_feed *f, struct tree_source *s)
{
	bool keep_going = (f->tree.flags & EK_TREE_KEEP_GOING) != 0;
	struct tree_entry e;
	int rc;

	for (;;) {
		e.path = NULL;
		rc = s->ops->next(s, &e);
		if (rc == 0)
			return 0;
		if (rc == 1)
			rc = feed_entry(f, s, &e);
		if (rc == 1)
			continue;
		if (rc < 0) {
			if (!keep_going || ends_all(rc) || e.path == NULL)
				return rc;
			report_issue(f->rep, rc, e.path, &f->ctx->diag);
		}
		if (s->ops->prune != NULL)
			s->ops->prune(s);
	}
}

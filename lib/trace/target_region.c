/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replay onto region writeback: the trace's files are files of a store of bytes.
 *
 * A store has files and names and nothing else: folders, links, owners and attributes of the trace
 * pass without effect, a handle of something that is no file does nothing.  A thread of the trace
 * is a writer; ops still run one after another, so counters are equal in every run.
 */
#include "trace/target_region.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "base/str.h"
#include "extkit/replay.h"
#include "fs/policy.h"
#include "pagecache/region.h"

static struct region_target *of(struct target *t)
{
	return container_of(t, struct region_target, target);
}

unsigned region_writer(struct region_target *t, const struct op *o)
{
	unsigned i = 0;

	while (i < t->thread_count && t->threads[i] != o->thread)
		i++;
	if (i == t->thread_count && i < EK_REGION_WRITERS)
		t->threads[t->thread_count++] = o->thread;
	return MIN(i, (unsigned)EK_REGION_WRITERS - 1);
}

static struct region_handle *handle_of(const struct region_target *t, uint32_t handle)
{
	struct hash_node *n = hash_find(&t->handles, handle);

	return n != NULL ? hash_entry(n, struct region_handle, node) : NULL;
}

/* ---- names ---- */

static unsigned open_flags(const struct op *o)
{
	return ((o->flags & OPF_CREAT) != 0 ? (unsigned)EK_REGION_CREATE : 0) |
	       ((o->flags & OPF_TRUNC) != 0 ? (unsigned)EK_REGION_TRUNCATE : 0) |
	       ((o->flags & OPF_EXCL) != 0 ? (unsigned)EK_REGION_EXCLUSIVE : 0);
}

/* A file without a name has one for a moment. */
static int open_unnamed(struct region_target *t, const struct op *o, struct ek_region_file **ret)
{
	char name[32];
	int rc;

	snprintf(name, sizeof(name), ".unnamed-%u", o->handle);
	rc = ek_region_file_open(t->region, name, EK_REGION_CREATE | EK_REGION_EXCLUSIVE, ret);
	return rc < 0 ? rc : ek_region_unlink(t->region, name);
}

/* Whether an error says that the store has no file of that name, nor could have one. */
static bool no_such_file(int rc)
{
	return rc == -ENOENT || rc == -EINVAL || rc == -EISDIR || rc == -ENAMETOOLONG;
}

/* What is missing and only read may be a folder. */
static int open_file(struct region_target *t, const struct op *o, struct ek_region_file **ret)
{
	int rc;

	if ((o->flags & OPF_TMPFILE) != 0)
		return open_unnamed(t, o, ret);
	if ((o->flags & (OPF_DIRECTORY | OPF_PATH)) != 0)
		return 0;
	rc = ek_region_file_open(t->region, o->path.p, open_flags(o), ret);
	if (no_such_file(rc) && (o->flags & (OPF_WRITE | OPF_CREAT)) == 0) {
		diag_clear(t->target.d);
		rc = 0;
	}
	return rc;
}

static int op_open(struct region_target *t, const struct op *o)
{
	struct ek_region_file *file = NULL;
	struct region_handle *h;
	int rc;

	if (o->handle == 0)
		return -EBADF;
	if (handle_of(t, o->handle) != NULL)
		return diag_set(t->target.d, -EINVAL, "handle h%u is opened twice", o->handle);
	rc = open_file(t, o, &file);
	h = rc < 0 ? NULL : mem_zero(sizeof(*h));
	if (h == NULL) {
		ek_region_file_close(file);
		return rc < 0 ? rc : -ENOMEM;
	}
	h->file = file;
	h->sync = (o->flags & (OPF_SYNC | OPF_DSYNC)) != 0;
	hash_insert(&t->handles, &h->node, o->handle);
	return 0;
}

static void free_handle(struct region_handle *h)
{
	ek_region_file_close(h->file);
	free(h);
}

static int op_close(struct region_target *t, const struct op *o)
{
	struct region_handle *h = handle_of(t, o->handle);

	if (h == NULL)
		return -EBADF;
	hash_remove(&t->handles, &h->node);
	free_handle(h);
	return 0;
}

static int op_rename(struct region_target *t, const struct op *o)
{
	if ((o->flags & (OPF_EXCHANGE | OPF_WHITEOUT)) != 0)
		return -EOPNOTSUPP;
	return ek_region_rename(t->region, o->path.p, o->path2.p);
}

static int op_unlink(struct region_target *t, const struct op *o)
{
	return ek_region_unlink(t->region, o->path.p);
}

static int op_truncate(struct region_target *t, const struct op *o)
{
	struct ek_region_file *f;
	int rc = ek_region_file_open(t->region, o->path.p, 0, &f);

	if (rc < 0)
		return rc;
	rc = ek_region_truncate(f, region_writer(t, o), o->len);
	ek_region_file_close(f);
	return rc;
}

static int op_sync_all(struct region_target *t, const struct op *o)
{
	return ek_region_sync(t->region, region_writer(t, o));
}

static int op_copy_range(struct region_target *t, const struct op *o)
{
	struct region_handle *from = handle_of(t, o->handle), *to = handle_of(t, o->handle2);

	if (to == NULL || (from == NULL && o->handle != 0))
		return -EBADF;
	if (to->file == NULL || (from != NULL && from->file == NULL))
		return -EINVAL;
	return region_op_copy(t, o, from, to);
}

static int op_truncate_handle(struct region_target *t, struct region_handle *h, const struct op *o)
{
	return ek_region_truncate(h->file, region_writer(t, o), o->len);
}

/* ---- ops ---- */

/* Those of one open file; of anything else they do nothing. */
static region_op_fn *const on_file[OP_COUNT] = {
    [OP_WRITE] = region_op_write,          [OP_READ] = region_op_read,
    [OP_MWRITE] = region_op_store,         [OP_MSYNC] = region_op_msync,
    [OP_FTRUNCATE] = op_truncate_handle,   [OP_FALLOC] = region_op_falloc,
    [OP_FSYNC] = region_op_sync,           [OP_FDATASYNC] = region_op_sync,
    [OP_SYNCRANGE] = region_op_sync_range, [OP_ADVISE] = region_op_advise,
};

static int (*const others[OP_COUNT])(struct region_target *t, const struct op *o) = {
    [OP_OPEN] = op_open,        [OP_CLOSE] = op_close,       [OP_COPY] = op_copy_range,
    [OP_CLONE] = op_copy_range, [OP_TRUNCATE] = op_truncate, [OP_UNLINK] = op_unlink,
    [OP_RENAME] = op_rename,    [OP_SYNCFS] = op_sync_all,   [OP_SYNC] = op_sync_all,
    [OP_FREEZE] = op_sync_all,
};

static int region_op(struct target *target, const struct op *o)
{
	struct region_target *t = of(target);
	region_op_fn *fn = o->code < OP_COUNT ? on_file[o->code] : NULL;
	struct region_handle *h;

	if (fn == NULL)
		return o->code < OP_COUNT && others[o->code] != NULL ? others[o->code](t, o) : 0;
	h = handle_of(t, o->handle);
	if (h == NULL)
		return -EBADF;
	return h->file != NULL ? fn(t, h, o) : 0;
}

/* ---- life ---- */

static int region_node(struct target *target, const struct op_node *n)
{
	struct region_target *t = of(target);
	struct ek_region_file *f;
	int rc;

	if (n->type != 'f')
		return 0;
	rc = ek_region_file_open(t->region, n->path.p, EK_REGION_CREATE | EK_REGION_TRUNCATE, &f);
	if (rc < 0)
		return rc;
	rc = region_fill(t, f, 0, n->size);
	ek_region_file_close(f);
	return rc;
}

static int region_begin(struct target *target)
{
	struct region_target *t = of(target);
	int rc = ek_region_sync(t->region, 0);

	region_start_over(t->region);
	return rc;
}

static int region_tick(struct target *target, uint64_t ns)
{
	(void)target, (void)ns; /* nothing here depends on time */
	return 0;
}

static void close_handles(struct region_target *t)
{
	struct hash_node *n;
	size_t at = 0;

	while ((n = hash_pop(&t->handles, &at)) != NULL)
		free_handle(hash_entry(n, struct region_handle, node));
}

static int region_finish(struct target *target)
{
	struct region_target *t = of(target);

	close_handles(t);
	return t->crash ? 0 : ek_region_sync(t->region, 0);
}

static const struct counters *region_counters(struct target *target)
{
	(void)target;
	return NULL;
}

static int region_rows(struct target *target, target_row_fn *add, void *data)
{
	struct region_target *t = of(target);
	const struct ek_region_row *row;
	struct ek_region_report *rep;
	int rc = ek_region_report(t->region, &rep);

	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && (row = ek_region_report_row(rep, i)) != NULL; i++) {
		if (strcmp(row->group, "writer") != 0) /* their names go with the report */
			rc = add(data, row->group, row->name, row->value);
	}
	ek_region_report_free(rep);
	return rc;
}

static void region_close(struct target *target)
{
	struct region_target *t = of(target);

	close_handles(t);
	hash_free(&t->handles);
	ek_region_close(t->region);
	free(t->pattern);
	free(t->scratch);
	free(t);
}

static const struct target_ops region_ops = {
    .node = region_node,
    .begin = region_begin,
    .tick = region_tick,
    .op = region_op,
    .finish = region_finish,
    .counters = region_counters,
    .rows = region_rows,
    .close = region_close,
};

/* The switches of the policy, then what the text says. */
static int open_region(struct region_target *t, const char *store,
		       const struct ek_replay_options *opt, struct ek_ctx *ctx)
{
	struct ek_region_options ro = {.size = sizeof(ro)};
	struct str knobs = {0};
	struct policy p;
	int rc = policy_choose(opt->policy, opt->set, opt->nset, &ctx->diag, &p);

	if (rc == 0)
		rc = policy_check_region(&p, true, &ctx->diag);
	if (rc < 0)
		return rc;
	str_addf(&knobs, "walk=%s,track=%s,stable=%s,%s", policy_word(&p, SWITCH_WALK),
		 policy_word(&p, SWITCH_TRACK), policy_word(&p, SWITCH_STABLE),
		 opt->region != NULL ? opt->region : "");
	ro.knobs = str_text(&knobs);
	rc = ek_region_open(ctx, store, &ro, &t->region);
	str_free(&knobs);
	return rc;
}

int target_open_region(const char *store, const struct ek_replay_options *opt, struct ek_ctx *ctx,
		       struct target **ret)
{
	struct region_target *t = mem_zero(sizeof(*t));
	int rc = -ENOMEM;

	if (t == NULL)
		return diag_set(&ctx->diag, -ENOMEM, "out of memory for a replay");
	t->target.ops = &region_ops;
	t->target.d = &ctx->diag;
	t->no_stores = (opt->flags & EK_REPLAY_NO_STORES) != 0;
	t->crash = (opt->flags & EK_REPLAY_CRASH) != 0;
	t->pattern = malloc(REGION_PIECE);
	t->scratch = malloc(REGION_PIECE);
	if (t->pattern != NULL && t->scratch != NULL) {
		for (size_t i = 0; i < REGION_PIECE; i++)
			t->pattern[i] = (uint8_t)i;
		rc = open_region(t, store, opt, ctx);
	}
	if (rc < 0) {
		region_close(&t->target);
		return diag_set(&ctx->diag, rc, "out of memory for a replay");
	}
	*ret = &t->target;
	return 0;
}

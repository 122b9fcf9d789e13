/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replay onto an image: ops become calls of the page cache and of the filesystem below it, under a
 * clock that the trace drives.
 */
#include "trace/target_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "extkit/replay.h"
#include "fs/namei.h"
#include "io/bio.h"
#include "io/dev.h"

#define TICK_NS 1000000u /* how often timers are looked at */

static struct image_target *of(struct target *t)
{
	return container_of(t, struct image_target, target);
}

struct open_file *image_file(struct image_target *t, uint32_t handle)
{
	struct open_file **recent = &t->recent[handle % RECENT_FILES];
	struct hash_node *n;

	if (*recent != NULL && (*recent)->node.key == handle)
		return *recent;
	n = hash_find(&t->files, handle);
	if (n == NULL)
		return NULL;
	*recent = hash_entry(n, struct open_file, node);
	return *recent;
}

void image_forget_recent(struct image_target *t)
{
	memset(t->recent, 0, sizeof(t->recent));
}

/* ---- data ---- */

static int op_nothing(struct image_target *t, const struct op *o)
{
	return 0;
}

/* A window over an inode needs nothing here: stores name the handle. */

static image_op_fn *const handlers[OP_COUNT] = {
    [OP_OPEN] = image_op_open,
    [OP_CLOSE] = image_op_close,
    [OP_WRITE] = image_op_write,
    [OP_READ] = image_op_read,
    [OP_MMAP] = op_nothing,
    [OP_MUNMAP] = op_nothing,
    [OP_MWRITE] = image_op_store,
    [OP_MSYNC] = image_op_msync,
    [OP_COPY] = image_op_copy,
    [OP_CLONE] = image_op_copy,
    [OP_DEDUPE] = op_nothing,
    [OP_TRUNCATE] = image_op_attr,
    [OP_FTRUNCATE] = image_op_attr,
    [OP_FALLOC] = image_op_falloc,
    [OP_FSYNC] = image_op_fsync,
    [OP_FDATASYNC] = image_op_fsync,
    [OP_SYNCRANGE] = image_op_sync_range,
    [OP_SYNCFS] = image_op_sync_all,
    [OP_SYNC] = image_op_sync_all,
    [OP_MKDIR] = image_op_name,
    [OP_RMDIR] = image_op_name,
    [OP_UNLINK] = image_op_name,
    [OP_RENAME] = image_op_name,
    [OP_LINK] = image_op_name,
    [OP_SYMLINK] = image_op_name,
    [OP_MKNOD] = image_op_name,
    [OP_CHMOD] = image_op_attr,
    [OP_CHOWN] = image_op_attr,
    [OP_UTIMENS] = image_op_attr,
    [OP_SETXATTR] = image_op_attr,
    [OP_REMOVEXATTR] = image_op_attr,
    [OP_SETFLAGS] = image_op_attr,
    [OP_SETPROJECT] = image_op_attr,
    [OP_ADVISE] = image_op_advise,
    [OP_DROPCACHES] = image_op_drop_caches,
    [OP_REMOUNT] = op_nothing,
    [OP_FREEZE] = image_op_sync_all,
    [OP_THAW] = op_nothing,
    [OP_FORK] = op_nothing,
    [OP_EXIT] = op_nothing,
    [OP_MARK] = op_nothing,
    [OP_GAP] = op_nothing,
    [OP_STAT] = image_op_attr,
};

/* The image's story becomes the target's, unless the device told one before. */
static void pass_on(struct image_target *t, int rc)
{
	struct diag *d = t->target.d;

	if (d->code != 0 || t->img->diag.code == 0)
		return;
	*d = t->img->diag;
	d->code = rc;
}

static int image_op(struct target *target, const struct op *o)
{
	struct image_target *t = of(target);
	image_op_fn *fn = o->code < OP_COUNT ? handlers[o->code] : NULL;
	int rc;

	if (fn == NULL)
		return 0;
	diag_clear(&t->img->diag);
	if (t->tap.stage == STAGE_OP)
		tap_send(&t->tap, STAGE_OP, op_word((enum op_code)o->code), 0, o->off, o->len,
			 o->handle);
	rc = fn(t, o);
	if (t->item_rc < 0)
		return diag_replace(target->d, t->item_rc, "stopped by the caller");
	if (rc < 0)
		pass_on(t, rc);
	return rc;
}

/* ---- clock ---- */

static struct ek_time wall_time(const struct image_target *t, uint64_t ns)
{
	uint64_t sub = t->start.nsec + ns % 1000000000u;

	return (struct ek_time){t->start.sec + (int64_t)(ns / 1000000000u + sub / 1000000000u),
				(uint32_t)(sub % 1000000000u)};
}

struct ek_time image_time_at(const struct image_target *t, uint64_t ns)
{
	return image_coarse(t->img, wall_time(t, ns));
}

/* It moves on with each operation, most often by little. */
void image_set_clock(struct image_target *t, uint64_t ns)
{
	uint64_t step = ns - t->now_ns, sub = t->img->now.nsec + step;

	if (ns <= t->now_ns)
		return;
	t->now_ns = ns;
	if (step < 1000000000u && sub < 1000000000u)
		t->img->now.nsec = (uint32_t)sub;
	else
		t->img->now = wall_time(t, ns);
}

static int image_tick(struct target *target, uint64_t ns)
{
	struct image_target *t = of(target);

	if (ns <= t->now_ns)
		return 0;
	image_set_clock(t, ns);
	if (ns < t->next_tick)
		return 0;
	t->next_tick = ns + TICK_NS;
	return pc_tick(&t->task);
}

/* ---- life ---- */

static int image_bare(struct target *target)
{
	struct image_target *t = of(target);
	struct ek_inode *root;
	int rc = inode_get(t->img, (ek_inum){INUM_ROOT}, &root);

	if (rc < 0)
		return rc;
	rc = fs_rmdir(&t->task, root, "lost+found", 10);
	inode_put(&t->task, root);
	return rc == -ENOENT || rc == -ENOTEMPTY ? 0 : rc;
}

static int target_node(struct target *target, const struct op_node *n)
{
	of(target)->nodes++;
	return image_node(of(target), n);
}

static int mount_image(struct image_target *t)
{
	int rc = image_open(t->dev, &t->opts, t->target.d, &t->img);

	if (rc < 0)
		return rc;
	t->img->tap = t->tap;
	bioq_tap(t->img->bioq, &t->img->tap);
	task_init(&t->task, t->img);
	t->task.umask = t->umask;
	return pc_open(t->img, &t->task, &t->pc_config, t->target.d, &t->pc);
}

static int unmount_image(struct image_target *t)
{
	struct diag *d = t->target.d;
	int rc, end;

	diag_clear(&t->img->diag);
	rc = pc_sync(&t->task);
	if (rc == 0)
		rc = image_count_extents(t);
	if (rc < 0)
		pass_on(t, rc);
	pc_close(t->pc);
	t->pc = NULL;
	end = image_close(t->img);
	t->img = NULL;
	if (end < 0)
		diag_set(d, end, "%s: closing the image failed", t->dev->name);
	return rc < 0 ? rc : end;
}

/* The initial files were made before the recording: a mount lies between them and the first op. */
static int image_begin(struct target *target)
{
	struct image_target *t = of(target);
	int rc = t->nodes != 0 ? unmount_image(t) : 0;

	image_forget_links(t);
	if (rc == 0 && t->nodes != 0)
		rc = mount_image(t);
	if (rc == 0) {
		t->base = t->img->counters;
		t->counting = true;
	}
	return rc;
}

static void subtract(struct counters *c, const struct counters *base)
{
	uint64_t *v = (uint64_t *)c;
	const uint64_t *b = (const uint64_t *)base;

	for (size_t i = 0; i < sizeof(*c) / sizeof(*v); i++)
		v[i] -= b[i];
}

static void close_files(struct image_target *t)
{
	struct hash_node *n;
	size_t at = 0;

	image_forget_recent(t);
	while ((n = hash_pop(&t->files, &at)) != NULL)
		image_close_file(t, hash_entry(n, struct open_file, node));
}

/* A power cut closes nothing: what the cache of inodes holds goes with the image. */
static void forget_files(struct image_target *t)
{
	struct hash_node *n;
	size_t at = 0;

	image_forget_recent(t);
	while ((n = hash_pop(&t->files, &at)) != NULL)
		free(hash_entry(n, struct open_file, node));
}

/* The trace's counters end before what closing the image writes. */
static int image_finish(struct target *target)
{
	struct image_target *t = of(target);

	t->result = t->img->counters;
	subtract(&t->result, &t->base);
	if (!t->crash) {
		close_files(t);
		return unmount_image(t);
	}
	forget_files(t);
	pc_close(t->pc);
	t->pc = NULL;
	image_kill(t->img);
	t->img = NULL;
	return 0;
}

/* So far, while it runs. */
static const struct counters *image_counters(struct target *target)
{
	struct image_target *t = of(target);

	if (t->img != NULL) {
		t->result = t->img->counters;
		subtract(&t->result, &t->base);
	}
	return &t->result;
}

static const struct target_extents *image_extents(struct target *target)
{
	return &of(target)->extents;
}

static void image_target_close(struct target *target)
{
	struct image_target *t = of(target);

	if (t->img != NULL) {
		/* A failed replay: the image stays consistent, what was not synced is dropped. */
		close_files(t);
		if (t->pc != NULL)
			pc_close(t->pc);
		image_close(t->img);
	}
	hash_free(&t->files);
	image_forget_links(t);
	image_forget_written(t);
	dev_close(t->dev);
	dev_close(t->under);
	free(t->pattern);
	free(t->copy);
	free(t);
}

static const struct target_ops image_ops = {
    .bare = image_bare,
    .node = target_node,
    .begin = image_begin,
    .tick = image_tick,
    .op = image_op,
    .finish = image_finish,
    .counters = image_counters,
    .extents = image_extents,
    .close = image_target_close,
};

static void give_item(void *ctx, const struct tap_item *item)
{
	struct image_target *t = ctx;
	struct ek_replay_item out = {.ns = t->now_ns,
				     .what = item->what,
				     .inode = item->ino,
				     .at = item->at,
				     .len = item->len,
				     .place = item->place};

	if (t->counting && t->item_rc == 0)
		t->item_rc = t->item(t->item_data, &out);
}

/* The device to replay onto; one that only memory changes when a stage is looked at, and
 * when all is. */
static int open_dev(struct image_target *t, const char *path, bool dry, struct diag *d)
{
	int rc;

	if (t->tap.stage == STAGE_NONE && !dry)
		return dev_open(path, DEV_WRITE | DEV_DIRECT, d, &t->dev);
	rc = dev_open(path, 0, d, &t->under);
	return rc < 0 ? rc : dev_open_overlay(t->under, &t->dev);
}

static void set_options(struct image_target *t, const struct ek_replay_options *opt, uint32_t hz)
{
	t->opts = (struct image_opts){.flags = IMAGE_WRITE,
				      .offset = opt->offset,
				      .now = t->start,
				      .tick_ns = 1000000000u / hz,
				      .tick_phase = opt->tick_phase % (1000000000u / hz),
				      .policy = &t->policy};
	t->pc_config = (struct pc_config){.memory = opt->memory,
					  .populate = (opt->flags & EK_REPLAY_POPULATE) != 0,
					  .pace = {opt->pace_extent_ns, opt->pace_page_ns},
					  .faults = {.locate = {.every = opt->fault_locate_every},
						     .copy = {.every = opt->fault_copy_every}},
					  .background_pages = opt->background_bytes / PAGE_BYTES,
					  .dirty_pages = opt->dirty_bytes / PAGE_BYTES};
	t->umask = opt->umask == 0 ? 022 : opt->umask == UINT32_MAX ? 0 : opt->umask;
	t->no_stores = (opt->flags & EK_REPLAY_NO_STORES) != 0;
	t->crash = (opt->flags & EK_REPLAY_CRASH) != 0;
	if (opt->item != NULL && opt->stage < (unsigned)STAGE_COUNT) {
		t->tap = (struct tap){(enum stage)opt->stage, give_item, t};
		t->item = opt->item;
		t->item_data = opt->item_data;
	}
}

/* The flags are older than the settings and say the same as two of them. */
static int set_policy(struct image_target *t, const struct ek_replay_options *opt, struct diag *d)
{
	const char **set = mem_array(opt->nset + 2, sizeof(*set), SIZE_MAX, d);
	size_t n = opt->nset;
	int rc;

	if (set == NULL)
		return -ENOMEM;
	if (n != 0)
		memcpy(set, opt->set, n * sizeof(*set));
	if ((opt->flags & EK_REPLAY_NODELALLOC) != 0)
		set[n++] = "allocation=nodelalloc";
	if ((opt->flags & EK_REPLAY_DIOREAD_LOCK) != 0)
		set[n++] = "completion=written";
	rc = policy_choose(opt->policy, set, n, d, &t->policy);
	free(set);
	return rc == 0 ? policy_check_region(&t->policy, false, d) : rc;
}

int target_open_image(const char *path, const struct ek_replay_options *opt, struct ek_time start,
		      uint32_t hz, struct diag *d, struct target **ret)
{
	struct image_target *t = mem_zero(sizeof(*t));
	int rc = -ENOMEM;

	if (t == NULL)
		return diag_set(d, -ENOMEM, "out of memory for a replay");
	t->target.ops = &image_ops;
	t->target.d = d;
	t->start = start;
	set_options(t, opt, hz);
	t->pattern = malloc(PATTERN_BYTES);
	t->copy = malloc(COPY_BYTES);
	if (t->pattern != NULL && t->copy != NULL) {
		for (unsigned i = 0; i < PATTERN_BYTES; i++)
			t->pattern[i] = (uint8_t)i;
		t->any = (struct pc_source){t->pattern, PATTERN_BYTES};
		rc = set_policy(t, opt, d);
		if (rc == 0)
			rc = open_dev(t, path, (opt->flags & EK_REPLAY_DRY_RUN) != 0, d);
		if (rc == 0)
			rc = mount_image(t);
	}
	if (rc < 0) {
		image_target_close(&t->target);
		return diag_set(d, rc, "out of memory for a replay");
	}
	*ret = &t->target;
	return 0;
}

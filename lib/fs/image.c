/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening and closing images.
 *
 * 1. The superblock is read and proved (fs/image_super.c); its block becomes a buffer like any
 * other.
 * 2. Geometry, group descriptors, the metadata map.
 * 3. The journal: its inode's map, then recovery - in place for writers, into an overlay in memory
 * for readers - after which everything is read again from the start.
 * 4. Writers: the allocator, orphans left by a crash, the superblock marked as in use.
 */
#include "fs/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fs/fast_replay.h"
#include "fs/guard.h"
#include "fs/image_impl.h"
#include "fs/inode_cache.h"
#include "fs/journal_dev.h"
#include "fs/names.h"
#include "fs/orphan_file.h"
#include "fs/policy.h"
#include "fs/xattr_inode.h"
#include "io/bio.h"
#include "io/dev.h"
#include "journal/fast.h"

#define WRITER_CACHE ((size_t)64 << 20)
#define READER_CACHE ((size_t)16 << 20) /* walks come by once: less memory is touched first */

void task_init(struct task *t, struct ek_image *img)
{
	memset(t, 0, sizeof(*t));
	t->img = img;
	t->privileged = true;
}

/* ---- layers ---- */

static int load_layers(struct ek_image *img)
{
	size_t usual = img->writable ? WRITER_CACHE : READER_CACHE;
	size_t cache = img->opts.cache_bytes != 0 ? img->opts.cache_bytes : usual;
	int rc = buf_cache_open(img->dev, &img->geom, cache, &img->diag, &img->cache);

	if (rc < 0)
		return rc;
	rc = image_hold_super(img);
	if (rc < 0)
		return rc;
	rc = groups_load(img->cache, &img->geom, &img->counters, &img->diag, &img->groups);
	if (rc == 0)
		rc = names_open(&img->diag, &img->names);
	return rc < 0 ? rc : inode_cache_open(img);
}

static void unload_layers(struct ek_image *img)
{
	xattr_inodes_close(img);
	inode_cache_close(img);
	names_close(img->names);
	img->names = NULL;
	orphan_file_close(img);
	if (img->mb != NULL)
		mb_close(img->mb);
	img->mb = NULL;
	groups_free(&img->groups);
	if (img->super_buf != NULL)
		buf_put(img->super_buf);
	img->super_buf = NULL;
	buf_cache_close(img->cache);
	img->cache = NULL;
	geom_free(&img->geom);
}

/* ---- recovery ---- */

/* Everything as it is on disk now, and the journal over it. */
static int look_again(struct task *t)
{
	struct ek_image *img = t->img;
	int rc;

	jnl_kill(img->jnl);
	img->jnl = NULL;
	unload_layers(img);
	rc = image_read_super(img);
	if (rc == 0)
		rc = load_layers(img);
	return rc < 0 ? rc : image_open_journal(t);
}

/* From here on a reader's changes stay in memory. */
static int lay_over(struct ek_image *img)
{
	int rc = image_lay_over(img);

	if (rc == 0 && img->bioq != NULL) {
		bioq_close(img->bioq);
		img->bioq = NULL;
	}
	return rc < 0 ? rc : bioq_open(img->dev, &img->counters, &img->diag, &img->bioq);
}

static int open_allocator(struct ek_image *img)
{
	struct mb_config cfg;

	mb_config_default(&img->geom, &cfg);
	if (img->opts.cpus != 0)
		cfg.cpus = img->opts.cpus;
	img->ialloc.gs = &img->groups;
	img->ialloc.last_alloc_group = UINT32_MAX;
	return mb_open(&img->groups, img->jnl, &cfg, &img->diag, &img->mb);
}

/* Fast commits become one transaction on top of what was recovered; readers have it in memory. */
static int recover_fast(struct task *t)
{
	struct ek_image *img = t->img;
	uint32_t none;
	int rc = look_again(t);

	if (rc == 0)
		rc = jnl_recover(img->jnl, &none);
	if (rc == 0)
		rc = open_allocator(img);
	if (rc == 0)
		rc = fast_replay(t, jnl_fast(img->jnl));
	if (rc < 0)
		return rc;
	rc = jnl_close(img->jnl);
	img->jnl = NULL;
	return rc;
}

/* After a crash: bring committed transactions home and look at everything anew. */
static int recover(struct task *t)
{
	struct ek_image *img = t->img;
	bool writable = img->writable;
	uint32_t transactions;
	int rc = lay_over(img);

	if (rc == 0)
		rc = look_again(t);
	if (rc == 0)
		rc = jnl_recover(img->jnl, &transactions);
	img->recovered = rc == 0;
	if (rc == 0 && jnl_fast(img->jnl) != NULL) {
		img->writable = true; /* a reader too, over its device */
		rc = recover_fast(t);
		img->writable = writable;
	}
	return rc < 0 ? rc : look_again(t);
}

/* ---- use ---- */

static int check_writable(struct ek_image *img)
{
	char names[256];
	uint32_t lacking;

	lacking = feature_lacking(FEATURE_INCOMPAT, img->geom.incompat, FEATURE_WRITE);
	if (lacking != 0)
		return diag_set(&img->diag, -EOPNOTSUPP, "unsupported feature for writing: %s",
				feature_list(FEATURE_INCOMPAT, lacking, names, sizeof(names)));
	lacking = feature_lacking(FEATURE_RO_COMPAT, img->geom.ro_compat, FEATURE_WRITE);
	if (lacking != 0)
		return diag_set(&img->diag, -EOPNOTSUPP, "unsupported feature for writing: %s",
				feature_list(FEATURE_RO_COMPAT, lacking, names, sizeof(names)));
	if (geom_ro_compat(&img->geom, RO_COMPAT_BIGALLOC) &&
	    !geom_incompat(&img->geom, INCOMPAT_EXTENTS))
		return diag_set(&img->diag, -EOPNOTSUPP,
				"unsupported feature for writing: bigalloc without extents");
	lacking = feature_lacking(FEATURE_COMPAT, img->geom.compat, FEATURE_WRITE);
	if ((lacking & COMPAT_SPARSE_SUPER2) != 0)
		return diag_set(&img->diag, -EOPNOTSUPP, "unsupported feature for writing: %s",
				feature_list(FEATURE_COMPAT, lacking, names, sizeof(names)));
	return 0;
}

static int start_writing(struct task *t)
{
	struct ek_image *img = t->img;
	uint32_t deleted, truncated;
	int rc = check_writable(img);

	if (rc == 0)
		rc = open_allocator(img);
	if (rc == 0)
		rc = orphan_file_open(t);
	if (rc == 0)
		rc = image_mark_in_use(t);
	return rc < 0 ? rc : orphan_process(t, &deleted, &truncated);
}

static int open_device(struct ek_image *img, struct dev *dev)
{
	uint64_t off = img->opts.offset;
	int rc;

	img->dev = dev;
	if (off == 0)
		return 0;
	if (off >= dev->size)
		return diag_set(&img->diag, -EINVAL, "%s: offset %llu is past its %llu bytes",
				dev->name, (unsigned long long)off, (unsigned long long)dev->size);
	rc = dev_open_slice(dev, off, dev->size - off, &img->dev);
	if (rc == 0)
		img->base = dev;
	return rc;
}

static bool needs_recovery(const struct ek_image *img)
{
	return geom_incompat(&img->geom, INCOMPAT_RECOVER) &&
	       (img->opts.flags & IMAGE_NO_RECOVERY) == 0;
}

static int open_layers(struct task *t)
{
	struct ek_image *img = t->img;
	int rc = image_read_super(img);

	if (rc == 0)
		rc = guard_take(img);
	if (rc == 0)
		rc = bioq_open(img->dev, &img->counters, &img->diag, &img->bioq);
	if (rc == 0)
		rc = load_layers(img);
	if (rc == 0)
		rc = image_open_journal(t);
	if (rc == 0 && (needs_recovery(img) || jnl_dirty(img->jnl)))
		rc = recover(t);
	if (rc == 0 && img->writable)
		rc = start_writing(t);
	return rc;
}

static void release(struct ek_image *img)
{
	struct dev *dev = img->dev, *under = img->overlay;

	unload_layers(img);
	bioq_close(img->bioq);
	journal_dev_close(img);
	if (under != NULL) {
		dev_close(dev);
		dev = under;
	}
	if (img->base != NULL)
		dev_close(dev);
	if (img->heir != NULL && img->heir->code == 0)
		*img->heir = img->diag;
	free(img);
}

int image_open(struct dev *dev, const struct image_opts *opts, struct diag *d,
	       struct ek_image **ret)
{
	struct ek_image *img = mem_zero(sizeof(*img));
	struct task t;
	int rc;

	if (img == NULL)
		return diag_set(d, -ENOMEM, "out of memory for an image");
	img->opts = *opts;
	if (img->opts.policy == NULL)
		img->opts.policy = &policy_default;
	img->writable = (opts->flags & IMAGE_WRITE) != 0;
	img->now = opts->now;
	img->tick_ns = opts->tick_ns;
	img->tick_phase = opts->tick_phase;
	img->next_generation = 1;
	list_init(&img->orphans);
	task_init(&t, img);
	rc = open_device(img, dev);
	if (rc == 0)
		rc = open_layers(&t);
	if (rc == 0) {
		*ret = img;
		return 0;
	}
	if (guard_release(img) < 0)
		rc = rc < 0 ? rc : -EIO;
	if (img->diag.text[0] != '\0') /* else the device has told its own */
		diag_set(d, rc, "%s", img->diag.text);
	if (img->jnl != NULL)
		jnl_kill(img->jnl);
	release(img);
	return rc;
}

/* ---- closing ---- */

int image_sync(struct task *t)
{
	struct ek_image *img = t->img;
	int rc;

	if (!img->writable)
		return 0;
	count(&img->counters, COUNTER_SYNC_FS, 1);
	rc = jnl_commit_running(img->jnl);
	if (rc >= 0 && jnl_is_none(img->jnl))
		rc = dev_flush(img->dev);
	return rc < 0 ? rc : 0;
}

static int close_journal(struct ek_image *img)
{
	int rc = jnl_close(img->jnl);

	img->jnl = NULL;
	return rc < 0 ? rc : buf_flush(img->cache);
}

static int finish_writing(struct ek_image *img)
{
	bool none = jnl_is_none(img->jnl);
	int rc = jnl_error(img->jnl), end;
	struct task t;

	task_init(&t, img);
	if (rc == 0 && !none)
		rc = image_settle_super(&t);
	end = close_journal(img);
	if (rc < 0 || end < 0)
		return rc < 0 ? rc : end;
	return image_mark_clean(img, none);
}

int image_close(struct ek_image *img)
{
	int rc = 0;

	if (img->writable) {
		int guard;

		rc = finish_writing(img);
		guard = guard_release(img);
		rc = rc < 0 ? rc : guard < 0 ? guard : img->late_error;
	} else {
		jnl_kill(img->jnl);
	}
	release(img);
	return rc;
}

void image_kill(struct ek_image *img)
{
	jnl_kill(img->jnl);
	release(img);
}

/* ---- handles ---- */

static int start(struct task *t, enum handle_type type, unsigned credits, unsigned rsv,
		 struct handle **ret)
{
	count(&t->img->counters, COUNTER_JOURNAL_START_REQUESTED, 1);
	return handle_start(t->img->jnl, &t->user, type, credits, rsv, 8, ret);
}

int task_start(struct task *t, enum handle_type type, unsigned credits, struct handle **ret)
{
	count(&t->img->counters, COUNTER_JOURNAL_START_SB, 1);
	return start(t, type, credits, 0, ret);
}

int task_start_inode(struct task *t, struct ek_inode *inode, enum handle_type type,
		     unsigned credits, unsigned rsv, struct handle **ret)
{
	count(&t->img->counters, COUNTER_JOURNAL_START_INODE, 1);
	return start(t, type, credits, rsv, ret);
}

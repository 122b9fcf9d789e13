/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening and closing images.
 *
 * 1. The superblock is read and proved; its block becomes a buffer like any other.  Its two sectors
 * may be of two ages after a power cut.  Outside the log only its RECOVER bit ever changes, so
 * that such a tear is told from damage; every other change of it is in the log, and recovery must
 * bring it back.
 * 2. Geometry, group descriptors, the metadata map.
 * 3. The journal: its inode's map, then recovery - in place for writers, into an overlay in memory
 * for readers - after which everything is read again from the start.
 * 4. Writers: the allocator, orphans left by a crash, the superblock marked as in use.
 */
#include "fs/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/inode_cache.h"
#include "fs/map.h"
#include "fs/names.h"
#include "fs/orphan_file.h"
#include "io/bio.h"
#include "io/dev.h"
#include "ondisk/super.h"

#define DEFAULT_CACHE ((size_t)64 << 20)

void task_init(struct task *t, struct ek_image *img)
{
	memset(t, 0, sizeof(*t));
	t->img = img;
	t->privileged = true;
}

/* ---- superblock ---- */

static const struct super_raw *super_in(const struct geom *g, const struct buf *b)
{
	return buf_view(b, g->block_size == 1024 ? 0 : SUPER_OFFSET, SUPER_SIZE);
}

static int check_super(const struct geom *g, const struct buf *b, struct diag *d)
{
	return super_verify(super_in(g, b), UINT64_MAX, "superblock", d);
}

static int check_torn_super(const struct geom *g, const struct buf *b, struct diag *d)
{
	return super_verify_torn(super_in(g, b), UINT64_MAX, "superblock", d);
}

static void seal_super(const struct geom *g, struct buf *b)
{
	super_seal(
	    (struct super_raw *)(void *)(b->data + (g->block_size == 1024 ? 0 : SUPER_OFFSET)));
}

static const struct verifier verify_super_block = {"superblock", check_super, seal_super};
static const struct verifier verify_torn_super = {"torn superblock", check_torn_super, seal_super};

const struct super_raw *image_super(const struct ek_image *img)
{
	return (const struct super_raw *)(const void *)(img->super_buf->data + img->super_off);
}

int image_super_write(struct ek_image *img, struct handle *h, struct super_raw **ret)
{
	void *view;
	int rc = handle_write(h, img->super_buf, &view);

	if (rc == 0)
		*ret = (struct super_raw *)(void *)((uint8_t *)view + img->super_off);
	return rc;
}

int image_super_dirty(struct ek_image *img, struct handle *h)
{
	return handle_dirty(h, img->super_buf);
}

int image_note_mount(struct ek_image *img, struct handle *h)
{
	struct super_raw *sb = NULL;
	int rc = image_super_write(img, h, &sb);

	if (rc < 0 || sb == NULL)
		return rc;
	memset(sb->s_last_mounted, 0, sizeof(sb->s_last_mounted));
	sb->s_last_mounted[0] = '/';
	return image_super_dirty(img, h);
}

/* A reader must not change the image: what recovery writes stays in memory. */
static int lay_over(struct ek_image *img)
{
	struct dev *over;
	int rc;

	if (img->writable || img->overlay != NULL)
		return 0;
	rc = dev_open_overlay(img->dev, &over);
	if (rc < 0)
		return rc;
	img->overlay = img->dev;
	img->dev = over;
	return 0;
}

/* The checksum is wrong: a tear of the RECOVER bit is mended here and now, any other is left to the
 * log if there is one. */
static int mend_super(struct ek_image *img, struct super_raw *sb)
{
	int rc;

	if (super_mend(sb)) {
		rc = lay_over(img);
		if (rc == 0)
			rc = dev_write(img->dev, SUPER_OFFSET, sb, sizeof(*sb));
		return rc < 0 ? rc : super_verify(sb, img->dev->size, "superblock", &img->diag);
	}
	if ((img->opts.flags & IMAGE_NO_RECOVERY) != 0 || img->recovered ||
	    (le32_get(sb->s_feature_compat) & COMPAT_HAS_JOURNAL) == 0 ||
	    (le32_get(sb->s_feature_incompat) & INCOMPAT_RECOVER) == 0 ||
	    super_verify_torn(sb, img->dev->size, "superblock", &img->diag) < 0)
		return super_verify(sb, img->dev->size, "superblock", &img->diag);
	img->torn_super = true;
	return 0;
}

static int read_super(struct ek_image *img)
{
	struct super_raw sb;
	int rc;

	if (img->dev->size < SUPER_OFFSET + SUPER_SIZE)
		return diag_set(&img->diag, -EINVAL,
				"no ext filesystem: %s: %llu bytes are too few for a superblock",
				img->dev->name, (unsigned long long)img->dev->size);
	rc = dev_read(img->dev, SUPER_OFFSET, &sb, sizeof(sb));
	if (rc == 0)
		rc = super_verify(&sb, img->dev->size, "superblock", &img->diag);
	if (rc == -EBADMSG)
		rc = mend_super(img, &sb);
	else if (rc == 0)
		img->torn_super = false;
	if (rc < 0)
		return rc;
	geom_free(&img->geom);
	geom_from_super(&sb, &img->geom);
	return 0;
}

/* ---- layers ---- */

static int load_layers(struct ek_image *img)
{
	size_t cache = img->opts.cache_bytes != 0 ? img->opts.cache_bytes : DEFAULT_CACHE;
	uint64_t block = img->geom.block_size == 1024 ? 1 : 0;
	int rc = buf_cache_open(img->dev, &img->geom, cache, &img->diag, &img->cache);

	if (rc < 0)
		return rc;
	rc = buf_get(img->cache, (ek_pblk){block},
		     img->torn_super ? &verify_torn_super : &verify_super_block,
		     (struct buf_owner){0, 0}, &img->super_buf);
	if (rc < 0)
		return rc;
	img->super_off = img->geom.block_size == 1024 ? 0 : SUPER_OFFSET;
	rc = groups_load(img->cache, &img->geom, &img->counters, &img->diag, &img->groups);
	if (rc == 0)
		rc = names_open(&img->diag, &img->names);
	return rc < 0 ? rc : inode_cache_open(img);
}

static void unload_layers(struct ek_image *img)
{
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

/* ---- journal ---- */

static int ordered_data(void *ctx, struct jnl_inode *ji)
{
	struct ek_image *img = ctx;
	struct ek_inode *inode = container_of(ji, struct ek_inode, jinode);

	if (img->data.ordered == NULL)
		return 0;
	return img->data.ordered(img->data.ctx, inode, ji->start, ji->end, ji->wait_only);
}

static struct ek_time journal_now(void *ctx)
{
	const struct ek_image *img = ctx;

	return img->now;
}

static void journal_config(struct ek_image *img, struct jnl_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	cfg->cache = img->cache;
	cfg->bioq = img->bioq;
	cfg->counters = &img->counters;
	cfg->diag = &img->diag;
	cfg->hooks.ordered = ordered_data;
	cfg->hooks.now = journal_now;
	cfg->hooks.ctx = img;
	cfg->commit_interval = img->opts.commit_interval != 0 ? img->opts.commit_interval : 5;
	cfg->read_only = !img->writable;
}

/* The log as runs of blocks, from the journal inode's map. */
static int map_log(struct task *t, struct ek_inode *inode, struct jnl_run **runs, unsigned *n)
{
	uint32_t blocks = (uint32_t)(inode->size >> t->img->geom.block_bits), at = 0;
	size_t cap = 0;

	while (at < blocks) {
		struct map m;
		int rc = map_next(t, inode, (ek_lblk){at}, &m);

		if (rc == 1 && (m.lblk.v != at || m.state != MAP_MAPPED))
			rc = 0;
		if (rc == 0)
			rc = diag_set(&t->img->diag, -EUCLEAN,
				      "corrupt journal: log block %u is not mapped", at);
		if (rc > 0 && mem_grow((void **)runs, &cap, (size_t)*n + 1, sizeof(**runs)) < 0)
			rc = diag_set(&t->img->diag, -ENOMEM, "out of memory for the log's map");
		if (rc < 0)
			return rc;
		(*runs)[(*n)++] = (struct jnl_run){at, MIN(m.len, blocks - at), m.pblk.v};
		at += m.len;
	}
	return 0;
}

static int log_zones(struct ek_image *img, const struct jnl_run *runs, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		int rc = geom_add_zone(&img->geom, runs[i].pblk, runs[i].len,
				       img->geom.journal_inum, "journal", &img->diag);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int open_log(struct task *t, struct ek_inode *inode)
{
	struct ek_image *img = t->img;
	struct jnl_config cfg;
	struct jnl_run *runs = NULL;
	unsigned n = 0;
	int rc = 0;

	if (!inode_is_file(inode) || inode->size == 0 ||
	    inode->size >> img->geom.block_bits > UINT32_MAX)
		rc = diag_set(&img->diag, -EUCLEAN, "corrupt journal: inode %u: mode 0%o size %llu",
			      inode->ino.v, inode->rec.mode, (unsigned long long)inode->size);
	if (rc == 0)
		rc = map_log(t, inode, &runs, &n);
	if (rc == 0)
		rc = log_zones(img, runs, n);
	if (rc == 0) {
		journal_config(img, &cfg);
		cfg.runs = runs;
		cfg.run_count = n;
		cfg.blocks = (uint32_t)(inode->size >> img->geom.block_bits);
		rc = jnl_open(&cfg, &img->jnl);
	}
	free(runs);
	return rc;
}

static int open_journal(struct task *t)
{
	struct ek_image *img = t->img;
	struct jnl_config cfg;
	struct ek_inode *inode;
	ek_inum ino;
	int rc;

	if (!geom_compat(&img->geom, COMPAT_HAS_JOURNAL) ||
	    (img->opts.flags & IMAGE_NO_RECOVERY) != 0) {
		journal_config(img, &cfg);
		return jnl_open_none(&cfg, &img->jnl);
	}
	if (img->geom.journal_inum == 0)
		return diag_set(&img->diag, -EOPNOTSUPP, "unsupported: the journal is external");
	rc = geom_inum(&img->geom, img->geom.journal_inum, "s_journal_inum", &img->diag, &ino);
	if (rc == 0)
		rc = inode_get(img, ino, &inode);
	if (rc < 0)
		return rc;
	rc = open_log(t, inode);
	inode_put(t, inode);
	return rc;
}

/* After a crash: bring committed transactions home and look at everything anew. */
static int recover(struct task *t)
{
	struct ek_image *img = t->img;
	uint32_t transactions;
	int rc;

	jnl_kill(img->jnl);
	img->jnl = NULL;
	unload_layers(img);
	rc = lay_over(img);
	if (rc == 0 && img->bioq != NULL) {
		bioq_close(img->bioq);
		img->bioq = NULL;
	}
	if (rc == 0)
		rc = bioq_open(img->dev, &img->counters, &img->diag, &img->bioq);
	if (rc == 0)
		rc = read_super(img);
	if (rc == 0)
		rc = load_layers(img);
	if (rc == 0)
		rc = open_journal(t);
	if (rc == 0)
		rc = jnl_recover(img->jnl, &transactions);
	if (rc < 0)
		return rc;
	img->recovered = true;
	jnl_kill(img->jnl);
	img->jnl = NULL;
	unload_layers(img);
	rc = read_super(img);
	if (rc == 0)
		rc = load_layers(img);
	return rc < 0 ? rc : open_journal(t);
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
	lacking = feature_lacking(FEATURE_COMPAT, img->geom.compat, FEATURE_WRITE);
	if ((lacking & (COMPAT_SPARSE_SUPER2 | COMPAT_FAST_COMMIT)) != 0)
		return diag_set(&img->diag, -EOPNOTSUPP, "unsupported feature for writing: %s",
				feature_list(FEATURE_COMPAT, lacking, names, sizeof(names)));
	return 0;
}

/* The superblock as it is on disk, with the RECOVER bit (which only a log asks for) and nothing
 * else changed: see the top of this file. */
static int write_recover_bit(struct ek_image *img, bool on)
{
	struct super_raw sb;
	uint32_t bits, want;
	int rc = dev_read(img->dev, SUPER_OFFSET, &sb, sizeof(sb));

	if (rc < 0)
		return rc;
	bits = le32_get(sb.s_feature_incompat);
	want = on ? bits | INCOMPAT_RECOVER : bits & ~INCOMPAT_RECOVER;
	if (bits == want)
		return 0;
	sb.s_feature_incompat = le32_make(want);
	super_seal(&sb);
	rc = dev_flush(img->dev);
	if (rc == 0)
		rc = dev_write(img->dev, SUPER_OFFSET, &sb, sizeof(sb));
	return rc < 0 ? rc : dev_flush(img->dev);
}

/* Without a log there is no way but to write the whole of it at once. */
static int write_super_home(struct ek_image *img, struct super_raw *sb)
{
	int rc = dev_flush(img->dev);

	super_seal(sb);
	if (rc == 0)
		rc = dev_write(img->dev, SUPER_OFFSET, sb, sizeof(*sb));
	return rc < 0 ? rc : dev_flush(img->dev);
}

typedef void super_fn(struct ek_image *img, struct super_raw *sb);

static int change_super(struct task *t, super_fn *change)
{
	struct super_raw *sb;
	struct handle *h;
	int rc = task_start(t, HANDLE_MISC, 1, &h);

	if (rc < 0)
		return rc;
	rc = image_super_write(t->img, h, &sb);
	if (rc == 0) {
		change(t->img, sb);
		rc = image_super_dirty(t->img, h);
	}
	return handle_end(h, rc);
}

/* What a mount writes: the log is in use, and orphans may be in the file. */
static void note_use(struct ek_image *img, struct super_raw *sb)
{
	uint32_t bits;

	if (jnl_is_none(img->jnl)) {
		bits = le16_get(sb->s_state) & ~SUPER_STATE_VALID;
		sb->s_state = le16_make((uint16_t)bits);
	} else {
		bits = le32_get(sb->s_feature_incompat) | INCOMPAT_RECOVER;
		sb->s_feature_incompat = le32_make(bits);
	}
	if (img->orphan_file != NULL) {
		bits = le32_get(sb->s_feature_ro_compat) | RO_COMPAT_ORPHAN_PRESENT;
		sb->s_feature_ro_compat = le32_make(bits);
	}
	sb->s_mtime = le32_make((uint32_t)img->now.sec);
	sb->s_mtime_hi = (uint8_t)(img->now.sec >> 32);
	sb->s_mnt_count = le16_make((uint16_t)(le16_get(sb->s_mnt_count) + 1));
}

static int mark_in_use(struct task *t)
{
	struct ek_image *img = t->img;
	bool none = jnl_is_none(img->jnl);
	struct super_raw sb;
	int rc = none ? 0 : write_recover_bit(img, true);

	if (rc == 0)
		rc = change_super(t, note_use);
	if (rc < 0 || !none)
		return rc;
	memcpy(&sb, image_super(img), sizeof(sb));
	return write_super_home(img, &sb);
}

static int start_writing(struct task *t)
{
	struct ek_image *img = t->img;
	uint32_t deleted, truncated;
	struct mb_config cfg;
	int rc = check_writable(img);

	if (rc < 0)
		return rc;
	mb_config_default(&img->geom, &cfg);
	if (img->opts.cpus != 0)
		cfg.cpus = img->opts.cpus;
	rc = mb_open(&img->groups, img->jnl, &cfg, &img->diag, &img->mb);
	if (rc < 0)
		return rc;
	img->ialloc.gs = &img->groups;
	img->ialloc.last_alloc_group = UINT32_MAX;
	rc = orphan_file_open(t);
	if (rc == 0)
		rc = mark_in_use(t);
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
	int rc = read_super(img);

	if (rc == 0)
		rc = bioq_open(img->dev, &img->counters, &img->diag, &img->bioq);
	if (rc == 0)
		rc = load_layers(img);
	if (rc == 0)
		rc = open_journal(t);
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
	img->writable = (opts->flags & IMAGE_WRITE) != 0;
	img->now = opts->now;
	img->tick_ns = opts->tick_ns;
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
	if (img->diag.text[0] != '\0') /* else the device has told its own */
		diag_set(d, rc, "%s", img->diag.text);
	if (img->jnl != NULL)
		jnl_kill(img->jnl);
	release(img);
	return rc;
}

/* ---- closing ---- */

/* Counts that the superblock keeps, and the flags of a clean filesystem. */
static void settle(struct ek_image *img, struct super_raw *sb)
{
	uint64_t free_blocks = img->groups.space.free << img->geom.cluster_bits;
	uint32_t bits;

	sb->s_free_blocks_count_lo = le32_make((uint32_t)free_blocks);
	if (geom_incompat(&img->geom, INCOMPAT_64BIT))
		sb->s_free_blocks_count_hi = le32_make((uint32_t)(free_blocks >> 32));
	sb->s_free_inodes_count = le32_make((uint32_t)img->groups.free_inodes);
	sb->s_wtime = le32_make((uint32_t)img->now.sec);
	sb->s_wtime_hi = (uint8_t)(img->now.sec >> 32);
	if (orphan_file_used(img) == 0) {
		bits = le32_get(sb->s_feature_ro_compat) & ~RO_COMPAT_ORPHAN_PRESENT;
		sb->s_feature_ro_compat = le32_make(bits);
	}
}

int image_sync(struct task *t)
{
	struct ek_image *img = t->img;
	int rc;

	if (!img->writable)
		return 0;
	count(&img->counters, COUNTER_SYNC_FS, 1);
	rc = jnl_commit_running(img->jnl);
	if (rc >= 0 && jnl_is_none(img->jnl)) {
		rc = buf_flush(img->cache);
		if (rc == 0)
			rc = dev_flush(img->dev);
	}
	return rc < 0 ? rc : 0;
}

static int close_journal(struct ek_image *img)
{
	int rc = jnl_close(img->jnl);

	img->jnl = NULL;
	return rc < 0 ? rc : buf_flush(img->cache);
}

/* The last write of all, when everything else is home, is the one that says so. */
static int finish_writing(struct ek_image *img)
{
	bool none = jnl_is_none(img->jnl);
	int rc = jnl_error(img->jnl), end;
	struct super_raw sb;
	struct task t;

	task_init(&t, img);
	if (rc == 0 && !none)
		rc = change_super(&t, settle);
	end = close_journal(img);
	if (rc < 0 || end < 0)
		return rc < 0 ? rc : end;
	if (!none)
		return write_recover_bit(img, false);
	memcpy(&sb, image_super(img), sizeof(sb));
	settle(img, &sb);
	sb.s_state = le16_make((uint16_t)(le16_get(sb.s_state) | SUPER_STATE_VALID));
	return write_super_home(img, &sb);
}

int image_close(struct ek_image *img)
{
	int rc = 0;

	if (img->writable) {
		rc = finish_writing(img);
		rc = rc < 0 ? rc : img->late_error;
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

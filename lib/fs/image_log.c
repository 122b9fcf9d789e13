/* SPDX-License-Identifier: BSD-2-Clause */
/* The log of an open image: the journal inode's map as runs, and the journal over them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/image_impl.h"
#include "fs/inode.h"
#include "fs/journal_dev.h"
#include "fs/map.h"
#include "fs/policy.h"

static int ordered_data(void *ctx, struct jnl_inode *ji)
{
	struct ek_image *img = ctx;
	struct ek_inode *inode = container_of(ji, struct ek_inode, jinode);

	if (img->data.ordered == NULL)
		return 0;
	return img->data.ordered(img->data.ctx, inode, ji->start, ji->end, !ji->writes);
}

static struct ek_time journal_now(void *ctx)
{
	const struct ek_image *img = ctx;

	return img->now;
}

static void commit_begins(void *ctx, uint32_t tid)
{
	const struct ek_image *img = ctx;

	if (img->opts.before_commit != NULL)
		img->opts.before_commit(img->opts.commit_ctx);
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
	cfg->hooks.locked = commit_begins;
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

static int open_external(struct ek_image *img)
{
	struct jnl_config cfg;
	struct jnl_run run;
	int rc;

	journal_config(img, &cfg);
	rc = journal_dev_open(img, &cfg, &run);
	return rc < 0 ? rc : jnl_open(&cfg, &img->jnl);
}

/* What the policy's name asks of a journal needs one. */
static int miss_journal(struct ek_image *img)
{
	const struct policy *p = img->opts.policy;

	if ((p->asked & 1u << SWITCH_DATA) == 0 || p->data == DATA_MODE_ORDERED ||
	    p->data == DATA_MODE_NONE)
		return 0;
	return diag_set(&img->diag, -EINVAL, "refused: the image has no journal for data=%s",
			policy_word(p, SWITCH_DATA));
}

/* The journal is there and stays as it is.  What it holds would be replayed over what is written
 * now, so it must hold nothing. */
static int leave_journal(struct ek_image *img)
{
	if (geom_incompat(&img->geom, INCOMPAT_RECOVER))
		return diag_set(&img->diag, -EROFS,
				"refused: the journal cannot be left alone, it wants recovery");
	return 0;
}

int image_open_journal(struct task *t)
{
	struct ek_image *img = t->img;
	struct jnl_config cfg;
	struct ek_inode *inode;
	ek_inum ino;
	bool there = geom_compat(&img->geom, COMPAT_HAS_JOURNAL);
	bool read = (img->opts.flags & IMAGE_NO_RECOVERY) == 0;
	bool left = there && read && img->opts.policy->data == DATA_MODE_NONE;
	int rc = left ? leave_journal(img) : there ? 0 : miss_journal(img);

	if (rc < 0)
		return rc;
	if (!there || !read || left) {
		journal_config(img, &cfg);
		return jnl_open_none(&cfg, &img->jnl);
	}
	if (journal_is_external(img))
		return open_external(img);
	rc = geom_inum(&img->geom, img->geom.journal_inum, "s_journal_inum", &img->diag, &ino);
	if (rc == 0)
		rc = inode_get(img, ino, &inode);
	if (rc < 0)
		return rc;
	rc = open_log(t, inode);
	inode_put(t, inode);
	return rc;
}

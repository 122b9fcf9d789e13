/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fast commits, applied record by record in the transaction that they would have become part of,
 * which may fill the whole log.
 *
 * 1. Blocks that records map must lie outside of metadata.
 * 2. Records are applied in order.  A folder is made with "." and ".." and counted in its parent,
 * a name that is there already stays, one that is gone was removed already.
 * 3. Inodes without links are deleted, unless they are orphans on disk already, which waits for the
 * orphans: whoever had them open is gone.
 * The blocks of the others are marked as used once more.
 *
 * Linux 6.18 does 2 alike for files.  It refuses inodes without links, and with them the whole log;
 * it does not count folders in their parents, and does not delete those that were removed.
 *
 * When the log is too small for all of it, what was applied so far is committed and brought home
 * between two records (journal/steps.c), and the fast commits stay: a power cut after that has all
 * of them applied again, to an image of a later time.  The end is the same because records say what
 * is, not what changes: where a range lies, which inode a name has, how many links.  What they
 * leave out is made up for here.
 * - An inode whose links come to nothing on the way is only deleted when no later record of its
 * life (fs/fast_lives.h) has more.
 * - Records of an earlier life of a number are passed over when the image has a later one.
 * - A folder that has its name already is not made again, and a name that leads elsewhere by now is
 *   not removed.
 * - Blocks, links and counts are settled at the end, whatever they were in between.
 * A record that is refused after a step leaves what the steps before it made, and the fast commits.
 */
#include "fs/fast_replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/dir.h"
#include "fs/fast_impl.h"
#include "fs/fast_inode.h"
#include "fs/fast_space.h"
#include "fs/inline.h"
#include "fs/inode.h"
#include "fs/map.h"
#include "fs/orphan_file.h"
#include "journal/fast.h"

/* ---- 1: proof ---- */

/* The journal has proved that all of it lies inside the filesystem. */
static int prove_record(const struct fast *f, const struct fast_record *r)
{
	struct ek_image *img = f->t->img;
	ek_pblk pblk;

	if (r->tag != JBD2_FC_ADD_RANGE)
		return 0;
	return geom_data_run(&img->geom, r->range.pblk.v, r->range.len, r->ino,
			     "range of a fast commit", &img->diag, &pblk);
}

static int prove(const struct fast *f)
{
	int rc = 0;

	for (size_t i = 0; i < f->log->count && rc == 0; i++)
		rc = prove_record(f, &f->log->records[i]);
	return rc;
}

/* ---- 2: records ---- */

static int note(struct fast *f, uint32_t ino)
{
	if (f->count != 0 && f->inodes[f->count - 1] == ino)
		return 0;
	if (mem_grow((void **)&f->inodes, &f->cap, f->count + 1, sizeof(*f->inodes)) < 0)
		return diag_set(&f->t->img->diag, -ENOMEM, "out of memory for fast commits");
	f->inodes[f->count++] = ino;
	return 0;
}

static int by_number(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static void sort(uint32_t *numbers, size_t n)
{
	if (n > 1)
		qsort(numbers, n, sizeof(*numbers), by_number);
}

bool fast_is_orphan(const struct fast *f, uint32_t ino)
{
	return f->orphans.count != 0 &&
	       bsearch(&ino, f->orphans.ino, f->orphans.count, sizeof(ino), by_number) != NULL;
}

static int apply_range(struct fast *f, const struct fast_record *r)
{
	struct ek_inode *inode = NULL;
	int rc = fast_get(f, r->ino, &inode);

	if (rc < 0 || inode == NULL)
		return rc;
	rc = r->tag == JBD2_FC_ADD_RANGE ? fast_add_range(f->t, inode, r)
					 : fast_remove_range(f->t, inode, r);
	inode_put(f->t, inode);
	return rc;
}

/* The number is given to a new inode and the image has an old one there, which went without a
 * record: as an orphan, or in a replay that was cut off. */
static int end_life(struct fast *f, struct ek_inode *inode)
{
	if (fast_is_orphan(f, inode->ino.v))
		return fast_unmap(f->t, inode);
	inode->rec.links = 0;
	return fast_end_inode(f, inode);
}

/* 1 when the record is of the inode that has the number now, or of one that is to be made. */
static int meets(struct fast *f, const struct fast_record *r)
{
	const struct inode_raw *raw = (const struct inode_raw *)(const void *)r->raw;
	struct ek_inode *inode = NULL;
	int rc = fast_get(f, r->ino, &inode);

	if (rc < 0 || inode == NULL)
		return rc < 0 ? rc : 1;
	if (fast_lives_later(&f->lives, r->ino, inode->rec.generation, f->at)) {
		inode_put(f->t, inode);
		return 0;
	}
	if (r->tag == JBD2_FC_INODE && fast_lives_begin(f->log, f->at) &&
	    le32_get(raw->i_generation) != inode->rec.generation)
		rc = end_life(f, inode);
	inode_put(f->t, inode);
	return rc < 0 ? rc : 1;
}

static int apply(struct fast *f, const struct fast_record *r)
{
	int rc = note(f, r->ino);

	if (rc == 0)
		rc = meets(f, r);
	if (rc <= 0)
		return rc;
	switch (r->tag) {
	case JBD2_FC_INODE:
		return fast_set_inode(f->t, (ek_inum){r->ino}, r);
	case JBD2_FC_ADD_RANGE:
	case JBD2_FC_DEL_RANGE:
		return apply_range(f, r);
	default:
		return fast_apply_name(f, r);
	}
}

/* ---- steps ---- */

static int begin_step(struct fast *f)
{
	struct jnl *j = f->t->img->jnl;
	unsigned revokes = f->most / 4;

	return handle_start(j, &f->t->user, HANDLE_MISC, f->most - revokes / 16 - 2, 0, revokes,
			    &f->h);
}

/* A quarter of the log is left for what one record may change. */
static bool is_full(const struct fast *f)
{
	unsigned step = f->t->img->opts.fast_step;

	return f->h->credits < f->most / 4 || f->h->revoke_credits < f->most / 16 ||
	       (step != 0 && f->h->dirtied >= step);
}

static int next_step(struct fast *f)
{
	int rc;

	if (!is_full(f))
		return 0;
	rc = handle_stop(f->h);
	f->h = NULL;
	if (rc == 0)
		rc = jnl_fast_step(f->t->img->jnl);
	return rc < 0 ? rc : begin_step(f);
}

/* ---- 3: the end ---- */

static int settle_one(struct fast *f, uint32_t ino)
{
	struct ek_inode *inode = NULL;
	int rc = fast_get(f, ino, &inode);

	if (rc < 0 || inode == NULL)
		return rc;
	rc = inode->rec.links == 0 ? fast_end_inode(f, inode) : fast_settle(f->t, inode);
	inode_put(f->t, inode);
	return rc;
}

/* Twice: what an inode that goes frees may be another's by now. */
static int settle(struct fast *f)
{
	int rc = 0;

	sort(f->inodes, f->count);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < f->count && rc == 0; i++) {
			if (i == 0 || f->inodes[i] != f->inodes[i - 1])
				rc = settle_one(f, f->inodes[i]);
			if (rc == 0)
				rc = next_step(f);
		}
	}
	return rc;
}

/* ---- all of it ---- */

/* Operations on names leave it to their callers to tell why they cannot be; the device and the
 * allocators told theirs. */
static int tell(const struct fast *f, const struct fast_record *r, int rc)
{
	struct diag *d = &f->t->img->diag;

	if (rc >= 0 || d->code != 0 || rc == -EIO || rc == -ENOMEM || rc == -ENOSPC)
		return rc;
	return diag_set(d, rc == -EOPNOTSUPP ? rc : -EUCLEAN,
			"%s fast commit: record %u of inode %u cannot be applied: %s",
			rc == -EOPNOTSUPP ? "unsupported" : "corrupt", (unsigned)r->tag, r->ino,
			strerror(-rc));
}

static int apply_all(struct fast *f)
{
	int rc = prove(f);

	for (f->at = 0; f->at < f->log->count && rc == 0; f->at++) {
		const struct fast_record *r = &f->log->records[f->at];

		rc = tell(f, r, apply(f, r));
		if (rc == 0)
			rc = next_step(f);
	}
	return rc < 0 ? rc : settle(f);
}

static int prepare(struct fast *f)
{
	struct ek_image *img = f->t->img;
	int rc = orphan_file_open(f->t);

	if (rc == 0)
		rc = orphan_numbers(f->t, &f->orphans);
	sort(f->orphans.ino, f->orphans.count);
	if (rc == 0)
		rc = fast_lives_open(f->log, &img->diag, &f->lives);
	return rc < 0 ? rc : fast_space_open(img, f->log);
}

int fast_replay(struct task *t, const struct fast_log *log)
{
	struct ek_image *img = t->img;
	struct fast f = {.t = t, .log = log};
	int rc;

	jnl_fill_log(img->jnl);
	f.most = jnl_max_credits(img->jnl);
	rc = begin_step(&f);
	if (rc < 0)
		return rc;
	img->recovering = true;
	rc = prepare(&f);
	if (rc == 0)
		rc = apply_all(&f);
	if (f.h != NULL)
		rc = handle_end(f.h, rc);
	fast_space_close(img);
	fast_lives_close(&f.lives);
	img->recovering = false;
	free(f.inodes);
	free(f.orphans.ino);
	if (rc == -ENOSPC && jnl_error(img->jnl) != 0)
		rc = diag_replace(&img->diag, -EOPNOTSUPP,
				  "unsupported fast commits: one of them changes more than a "
				  "quarter of the %u blocks that this log has",
				  f.most);
	return rc;
}

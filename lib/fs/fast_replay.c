/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fast commits, applied record by record in one transaction, in which nothing reaches the disk
 * until all of them have succeeded.
 *
 * 1. Blocks that records map must lie outside of metadata.
 * 2. Records are applied in order.  A folder is made with "." and ".." and counted in its parent,
 * a name that is there already stays, one that is gone was removed already.
 * 3. Inodes without links that were not orphans before are deleted: whoever had them open is gone.
 * The blocks of the others are marked as used once more.
 *
 * Linux 6.18 does 2 alike for files.  It refuses inodes without links, and with them the whole log;
 * it does not count folders in their parents, and does not delete those that were removed.
 */
#include "fs/fast_replay.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/dir.h"
#include "fs/fast_inode.h"
#include "fs/fast_space.h"
#include "fs/inode.h"
#include "fs/map.h"
#include "journal/fast.h"

struct touched {
	uint32_t ino;
	uint32_t at;     /* which record came first */
	bool was_orphan; /* without links before that */
};

struct fast {
	struct task *t;
	const struct fast_log *log;
	struct touched *inodes;
	size_t count, cap;
};

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

/* The inode, or NULL when it is not in use. */
static int get(struct fast *f, uint32_t ino, struct ek_inode **ret)
{
	struct ek_inode *inode;
	bool used;
	int rc = fast_in_use(f->t, (ek_inum){ino}, &used);

	if (rc == 0 && used)
		rc = inode_get(f->t->img, (ek_inum){ino}, &inode);
	if (rc == 0)
		*ret = used ? inode : NULL;
	return rc;
}

static int note(struct fast *f, uint32_t ino)
{
	struct ek_inode *inode;
	int rc;

	if (f->count != 0 && f->inodes[f->count - 1].ino == ino)
		return 0;
	if (mem_grow((void **)&f->inodes, &f->cap, f->count + 1, sizeof(*f->inodes)) < 0)
		return diag_set(&f->t->img->diag, -ENOMEM, "out of memory for fast commits");
	rc = get(f, ino, &inode);
	if (rc < 0)
		return rc;
	f->inodes[f->count] =
	    (struct touched){.ino = ino,
			     .at = (uint32_t)f->count,
			     .was_orphan = inode != NULL && inode->rec.links == 0};
	f->count++;
	inode_put(f->t, inode);
	return 0;
}

static int end_inode(struct fast *f, struct ek_inode *inode)
{
	int rc = fast_settle(f->t, inode);

	if (rc == 0)
		rc = inode_delete(f->t, inode);
	if (rc == 0)
		inode->state |= INODE_STATE_DELETED;
	return rc;
}

static bool counts_links(const struct ek_inode *dir)
{
	return dir->rec.links != 1 || !geom_ro_compat(&dir->img->geom, RO_COMPAT_DIR_NLINK);
}

/* A new folder: its blocks are not in the log. */
static int make_dir(struct task *t, struct ek_inode *inode, struct ek_inode *parent)
{
	int rc =
	    inode->rec.blocks != 0 ? map_remove(t, inode, (ek_lblk){0}, (ek_lblk){UINT32_MAX}) : 0;

	inode->rec.flags &= ~INODE_INDEX;
	inode->size = inode->rec.size = 0;
	if (rc == 0)
		rc = dir_init(t, inode, parent->ino);
	return rc;
}

static int add_name(struct fast *f, const struct fast_record *r, struct ek_inode *dir,
		    struct ek_inode *inode)
{
	struct task *t = f->t;
	bool is_dir = inode_is_dir(inode);
	int rc;

	inode->rec.ctime = inode_change_now(inode);
	rc = dir_add(t, dir, r->name, r->name_len, inode);
	if (rc < 0)
		return rc == -EEXIST ? 0 : rc;
	if (is_dir && counts_links(dir)) {
		dir->rec.links++;
		rc = inode_mark_dirty(t, dir, MARK_DIR);
	}
	if (r->tag == JBD2_FC_LINK)
		inode->rec.links++;
	return rc;
}

static int name_inode(struct fast *f, const struct fast_record *r, struct ek_inode *dir,
		      struct ek_inode *inode)
{
	struct task *t = f->t;
	bool is_dir = inode_is_dir(inode);
	int rc = 0;

	if (r->tag == JBD2_FC_LINK && is_dir)
		return diag_set(&t->img->diag, -EUCLEAN,
				"corrupt fast commit: inode %u is a folder and gets a second name",
				r->ino);
	if (r->tag == JBD2_FC_CREATE)
		inode->rec.links = is_dir ? 2 : 1;
	if (r->tag == JBD2_FC_CREATE && is_dir)
		rc = make_dir(t, inode, dir);
	if (rc == 0)
		rc = add_name(f, r, dir, inode);
	return rc < 0 ? rc : inode_mark_dirty(t, inode, MARK_LINK);
}

static int drop_link(struct fast *f, struct ek_inode *dir, struct ek_inode *inode)
{
	struct task *t = f->t;
	int rc = 0;

	if (inode_is_dir(inode)) {
		inode->rec.links = 0;
		if (dir->rec.links > 2) {
			dir->rec.links--;
			rc = inode_mark_dirty(t, dir, MARK_DIR);
		}
	} else if (inode->rec.links > 0) {
		inode->rec.links--;
	}
	inode->rec.ctime = inode_change_now(inode);
	if (rc == 0)
		rc = inode_mark_dirty(t, inode, MARK_LINK);
	return rc == 0 && inode->rec.links == 0 ? end_inode(f, inode) : rc;
}

static int remove_name(struct fast *f, const struct fast_record *r, struct ek_inode *dir,
		       struct ek_inode *inode)
{
	struct task *t = f->t;
	ek_inum found;
	int rc = dir_lookup(t, dir, r->name, r->name_len, &found);

	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	if (inode_is_dir(inode) && dir_empty(t, inode) == 0)
		return diag_set(&t->img->diag, -EUCLEAN,
				"corrupt fast commit: folder %u is removed and not empty", r->ino);
	if (found.v == r->ino) {
		rc = dir_remove(t, dir, r->name, r->name_len);
		if (rc == 0)
			rc = inode_mark_dirty(t, dir, MARK_DIR);
	}
	return rc < 0 ? rc : drop_link(f, dir, inode);
}

static int apply_name(struct fast *f, const struct fast_record *r)
{
	struct ek_inode *dir = NULL, *inode = NULL;
	int rc = get(f, r->parent, &dir);

	if (rc == 0 && r->parent != r->ino)
		rc = get(f, r->ino, &inode);
	/* One that was made and removed again in between has left names only. */
	if (rc == 0 && dir != NULL && inode != NULL)
		rc = r->tag == JBD2_FC_UNLINK ? remove_name(f, r, dir, inode)
					      : name_inode(f, r, dir, inode);
	inode_put(f->t, inode);
	inode_put(f->t, dir);
	return rc;
}

static int apply_range(struct fast *f, const struct fast_record *r)
{
	struct ek_inode *inode = NULL;
	int rc = get(f, r->ino, &inode);

	if (rc < 0 || inode == NULL)
		return rc;
	rc = r->tag == JBD2_FC_ADD_RANGE ? fast_add_range(f->t, inode, r)
					 : fast_remove_range(f->t, inode, r);
	inode_put(f->t, inode);
	return rc;
}

static int apply(struct fast *f, const struct fast_record *r)
{
	int rc = note(f, r->ino);

	if (rc < 0)
		return rc;
	switch (r->tag) {
	case JBD2_FC_INODE:
		return fast_set_inode(f->t, (ek_inum){r->ino}, r);
	case JBD2_FC_ADD_RANGE:
	case JBD2_FC_DEL_RANGE:
		return apply_range(f, r);
	default:
		return apply_name(f, r);
	}
}

/* ---- 3: the end ---- */

static int by_ino(const void *x, const void *y)
{
	const struct touched *a = x, *b = y;

	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static int settle_one(struct fast *f, const struct touched *x)
{
	struct ek_inode *inode = NULL;
	int rc = get(f, x->ino, &inode);

	if (rc < 0 || inode == NULL)
		return rc;
	if (inode->rec.links == 0 && !x->was_orphan)
		rc = end_inode(f, inode);
	else
		rc = fast_settle(f->t, inode);
	inode_put(f->t, inode);
	return rc;
}

/* Those that go come first: what they free may be another's by now. */
static int settle(struct fast *f)
{
	size_t n = 0;
	int rc = 0;

	if (f->count != 0)
		qsort(f->inodes, f->count, sizeof(*f->inodes), by_ino);
	for (size_t i = 0; i < f->count; i++) {
		if (n == 0 || f->inodes[n - 1].ino != f->inodes[i].ino)
			f->inodes[n++] = f->inodes[i];
	}
	f->count = n;
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < f->count && rc == 0; i++)
			rc = settle_one(f, &f->inodes[i]);
	}
	return rc;
}

/* ---- all of it ---- */

static int apply_all(struct fast *f)
{
	int rc = prove(f);

	for (size_t i = 0; i < f->log->count && rc == 0; i++)
		rc = apply(f, &f->log->records[i]);
	return rc < 0 ? rc : settle(f);
}

int fast_replay(struct task *t, const struct fast_log *log)
{
	struct ek_image *img = t->img;
	struct fast f = {.t = t, .log = log};
	unsigned most = jnl_max_credits(img->jnl), revokes = most / 4;
	struct handle *h;
	int rc;

	rc = handle_start(img->jnl, &t->user, HANDLE_MISC, most - revokes / 16 - 2, 0, revokes, &h);
	if (rc < 0)
		return rc;
	img->recovering = true;
	rc = fast_space_open(img, log);
	if (rc == 0)
		rc = apply_all(&f);
	rc = handle_end(h, rc);
	fast_space_close(img);
	img->recovering = false;
	free(f.inodes);
	return rc;
}

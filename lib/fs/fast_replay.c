/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fast commits, applied record by record in one transaction, in which nothing reaches the disk
 * until all of them have succeeded.
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
 */
#include "fs/fast_replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/dir.h"
#include "fs/fast_inode.h"
#include "fs/fast_space.h"
#include "fs/inode.h"
#include "fs/map.h"
#include "fs/orphan_file.h"
#include "journal/fast.h"

struct fast {
	struct task *t;
	const struct fast_log *log;
	struct orphan_numbers orphans;
	uint32_t *inodes; /* what records are about */
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

static bool is_orphan(const struct fast *f, uint32_t ino)
{
	return f->orphans.count != 0 &&
	       bsearch(&ino, f->orphans.ino, f->orphans.count, sizeof(ino), by_number) != NULL;
}

/* An orphan is deleted as one, by whoever opens the image for writing. */
static int end_inode(struct fast *f, struct ek_inode *inode)
{
	int rc = fast_settle(f->t, inode);

	if (rc < 0 || is_orphan(f, inode->ino.v))
		return rc;
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

static int settle_one(struct fast *f, uint32_t ino)
{
	struct ek_inode *inode = NULL;
	int rc = get(f, ino, &inode);

	if (rc < 0 || inode == NULL)
		return rc;
	rc = inode->rec.links == 0 ? end_inode(f, inode) : fast_settle(f->t, inode);
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

	for (size_t i = 0; i < f->log->count && rc == 0; i++)
		rc = tell(f, &f->log->records[i], apply(f, &f->log->records[i]));
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
	rc = orphan_file_open(t);
	if (rc == 0)
		rc = orphan_numbers(t, &f.orphans);
	if (rc == 0)
		rc = fast_space_open(img, log);
	sort(f.orphans.ino, f.orphans.count);
	if (rc == 0)
		rc = apply_all(&f);
	rc = handle_end(h, rc);
	fast_space_close(img);
	img->recovering = false;
	free(f.inodes);
	free(f.orphans.ino);
	if (rc == -ENOSPC && jnl_error(img->jnl) != 0)
		rc = diag_replace(
		    &img->diag, -EOPNOTSUPP,
		    "unsupported fast commits: they change more than the %u blocks that "
		    "a transaction of this log may have",
		    most);
	return rc;
}

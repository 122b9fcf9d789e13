/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inode cache: runs of neighbours in a hash, since neighbours are wanted together, and a list
 * of those that nobody holds, oldest last.  A record is decoded when the inode is first asked for;
 * how it goes back is inode_table.c's.
 */
#include "fs/inode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/blocks.h"
#include "fs/data.h"
#include "fs/extent.h"
#include "fs/inode_cache.h"

#define KEEP_UNUSED 8192u
#define TRIM_TRIES  2u /* one more than a put adds, so that it shrinks again when they are clean */

int inode_cache_open(struct ek_image *img)
{
	img->inodes = mem_zero(sizeof(*img->inodes));
	if (img->inodes == NULL)
		return diag_set(&img->diag, -ENOMEM, "out of memory for the inode cache");
	img->inodes->pool.size = sizeof(struct ek_inode);
	img->inodes->runs.size = sizeof(struct inode_run);
	list_init(&img->inodes->unused);
	return 0;
}

static struct inode_run *run_of(const struct inode_cache *c, ek_inum ino)
{
	struct hash_node *n = hash_find(&c->hash, ino.v / INODE_RUN);

	return n != NULL ? hash_entry(n, struct inode_run, node) : NULL;
}

struct ek_inode *inode_cached(struct ek_image *img, ek_inum ino)
{
	const struct inode_run *r = run_of(img->inodes, ino);

	return r != NULL ? r->slot[ino.v % INODE_RUN] : NULL;
}

static int put_in(struct inode_cache *c, struct ek_inode *inode)
{
	struct inode_run *r = run_of(c, inode->ino);

	if (r == NULL) {
		r = pool_take(&c->runs);
		if (r == NULL)
			return -ENOMEM;
		hash_insert(&c->hash, &r->node, inode->ino.v / INODE_RUN);
	}
	r->slot[inode->ino.v % INODE_RUN] = inode;
	r->count++;
	return 0;
}

static void take_out(struct inode_cache *c, const struct ek_inode *inode)
{
	struct inode_run *r = run_of(c, inode->ino);

	r->slot[inode->ino.v % INODE_RUN] = NULL;
	if (--r->count > 0)
		return;
	hash_remove(&c->hash, &r->node);
	pool_give(&c->runs, r);
}

static void drop(struct ek_inode *inode)
{
	struct inode_cache *c = inode->img->inodes;

	inode_settle(inode);
	if (inode->mapping != NULL && inode->img->data.evict != NULL)
		inode->img->data.evict(inode->img->data.ctx, inode);
	mb_discard_inode(inode->img->mb, &inode->mb);
	jnl_unorder(inode->img->jnl, &inode->jinode);
	es_free(&inode->es);
	list_remove(&inode->lru);
	list_remove(&inode->orphan);
	take_out(c, inode);
	pool_give(&c->pool, inode);
}

static void release(struct ek_image *img, struct ek_inode *inode)
{
	if (inode->mapping != NULL && img->data.evict != NULL)
		img->data.evict(img->data.ctx, inode);
	if (img->mb != NULL)
		mb_discard_inode(img->mb, &inode->mb);
	es_free(&inode->es);
}

void inode_cache_close(struct ek_image *img)
{
	struct inode_cache *c = img->inodes;
	size_t at = 0;
	struct hash_node *n;

	if (c == NULL)
		return;
	while ((n = hash_pop(&c->hash, &at)) != NULL) {
		struct inode_run *r = hash_entry(n, struct inode_run, node);

		for (unsigned i = 0; i < INODE_RUN; i++) {
			if (r->slot[i] != NULL)
				release(img, r->slot[i]);
		}
	}
	hash_free(&c->hash);
	pool_end(&c->runs);
	pool_end(&c->pool);
	free(c);
	img->inodes = NULL;
}

static bool is_dirty(const struct ek_inode *inode)
{
	const struct data_ops *ops = &inode->img->data;

	return ops->is_dirty != NULL && ops->is_dirty(ops->ctx, inode);
}

/* What has dirty data goes to the end of the line; when there is nothing else near its head, the
 * cache grows until some of it is written. */
void inode_cache_trim(struct ek_image *img)
{
	struct inode_cache *c = img->inodes;

	for (unsigned tries = 0; c->unused_count > KEEP_UNUSED && tries < TRIM_TRIES; tries++) {
		struct ek_inode *old = list_entry(c->unused.prev, struct ek_inode, lru);

		if (is_dirty(old)) {
			list_remove(&old->lru);
			list_push(&c->unused, &old->lru);
			continue;
		}
		c->unused_count--;
		drop(old);
	}
}

static struct ek_inode *make(struct ek_image *img, ek_inum ino)
{
	struct ek_inode *inode = pool_take(&img->inodes->pool);

	if (inode == NULL)
		return NULL;
	inode->img = img;
	inode->ino = ino;
	inode->refs = 1;
	inode->seq = ++img->next_seq;
	inode->orphan_slot = UINT32_MAX;
	inode->last_alloc_group = UINT32_MAX;
	es_init(&inode->es, &img->counters);
	mb_inode_init(&inode->mb);
	list_init(&inode->lru);
	list_init(&inode->orphan);
	list_init(&inode->jinode.link);
	if (put_in(img->inodes, inode) < 0) {
		pool_give(&img->inodes->pool, inode);
		return NULL;
	}
	return inode;
}

struct ek_inode *inode_ref(struct ek_inode *inode)
{
	if (inode->refs++ == 0) {
		list_remove(&inode->lru);
		inode->img->inodes->unused_count--;
	}
	return inode;
}

void inode_put(struct task *t, struct ek_inode *inode)
{
	struct ek_image *img;
	int rc;

	if (inode == NULL || --inode->refs > 0)
		return;
	img = inode->img;
	if (inode->rec.links == 0 && img->writable && (inode->state & INODE_STATE_DELETED) == 0 &&
	    (inode->state & INODE_STATE_ORPHAN) != 0) {
		inode->refs = 1;
		count(&img->counters, COUNTER_EVICT_INODE, 1);
		rc = inode_delete(t, inode);
		if (rc == 0)
			inode->state |= INODE_STATE_DELETED;
		else if (img->late_error == 0)
			img->late_error = rc; /* nobody to tell but who closes the image */
		inode->refs = 0;
	}
	if ((inode->state & INODE_STATE_DELETED) != 0) {
		drop(inode);
		return;
	}
	list_push(&img->inodes->unused, &inode->lru);
	img->inodes->unused_count++;
	inode_cache_trim(img);
}

/* The walk of a large tree finds the memory of the inode before in the processor's cache. */
void inode_put_off(struct task *t, struct ek_inode *inode)
{
	if (inode == NULL || inode->img->writable || inode->refs > 1) {
		inode_put(t, inode);
		return;
	}
	inode->refs = 0;
	drop(inode);
}

/* ---- reading ---- */

static int verify_shape(struct ek_inode *inode)
{
	const struct inode_rec *r = &inode->rec;
	struct diag *d = &inode->img->diag;
	uint32_t both = INODE_EXTENTS | INODE_INLINE_DATA;

	if (r->size > INT64_MAX)
		return diag_set(d, -EUCLEAN, "corrupt inode: inode %u: i_size %llu exceeds 2^63-1",
				inode->ino.v, (unsigned long long)r->size);
	if ((r->flags & both) == both)
		return diag_set(
		    d, -EUCLEAN,
		    "corrupt inode: inode %u: i_flags 0x%x has both extents and inline data",
		    inode->ino.v, r->flags);
	if (!S_ISREG(r->mode) && !S_ISDIR(r->mode) && !S_ISLNK(r->mode) && (r->flags & both) != 0)
		return diag_set(d, -EUCLEAN, "corrupt inode: inode %u: i_flags 0x%x on mode 0%o",
				inode->ino.v, r->flags, r->mode);
	if (S_ISLNK(r->mode) && r->size > inode->img->geom.block_size)
		return diag_set(
		    d, -EUCLEAN, "corrupt link: inode %u: i_size %llu exceeds a block of %u",
		    inode->ino.v, (unsigned long long)r->size, inode->img->geom.block_size);
	return (r->flags & INODE_EXTENTS) != 0 ? ext_root_verify(inode) : 0;
}

static int read_record(struct ek_inode *inode)
{
	struct ek_image *img = inode->img;
	const void *raw;
	struct buf *b;
	int rc = inode_raw_view(inode, &b, &raw);

	if (rc < 0)
		return rc;
	rc = inode_decode(&img->geom, inode->ino, raw, &img->diag, &inode->rec);
	buf_put(b);
	if (rc < 0)
		return rc;
	if (inode->rec.links == 0 && !img->recovering && inode->ino.v != INUM_BAD &&
	    (inode->rec.mode == 0 || inode->ino.v >= img->geom.first_ino))
		return diag_set(&img->diag, -ESTALE, "inode %u is not in use", inode->ino.v);
	inode->size = inode->rec.size;
	inode->serialised_size = inode->rec.size;
	if ((inode->rec.flags & INODE_INLINE_DATA) != 0)
		inode->state |= INODE_STATE_MAY_INLINE;
	return verify_shape(inode);
}

int inode_reread(struct ek_inode *inode)
{
	es_free(&inode->es);
	inode->state = 0;
	return read_record(inode);
}

int inode_get(struct ek_image *img, ek_inum ino, struct ek_inode **ret)
{
	struct ek_inode *inode = inode_cached(img, ino);
	int rc;

	if (inode != NULL) {
		*ret = inode_ref(inode);
		return 0;
	}
	inode = make(img, ino);
	if (inode == NULL)
		return diag_set(&img->diag, -ENOMEM, "out of memory for inode %u", ino.v);
	rc = read_record(inode);
	if (rc < 0) {
		drop(inode);
		return rc;
	}
	*ret = inode;
	return 0;
}

int inode_make(struct ek_image *img, ek_inum ino, struct ek_inode **ret)
{
	struct ek_inode *inode = inode_cached(img, ino);

	if (inode != NULL) {
		if (inode->refs != 0)
			return diag_set(&img->diag, -EUCLEAN,
					"corrupt inode bitmap: inode %u was allocated while in use",
					ino.v);
		inode_ref(inode);
		drop(inode);
	}
	inode = make(img, ino);
	if (inode == NULL)
		return diag_set(&img->diag, -ENOMEM, "out of memory for inode %u", ino.v);
	*ret = inode;
	return 0;
}

/* The data that fsync must wait for includes this change although the size did not move. */
void inode_note_datasync(struct task *t, struct ek_inode *inode)
{
	if (t->user.current != NULL)
		inode->datasync_tid = handle_tid(t->user.current);
}

/* ---- block counts ---- */

uint64_t inode_sectors(const struct ek_inode *inode)
{
	unsigned shift = inode->img->geom.block_bits - 9u;

	if ((inode->rec.flags & INODE_HUGE_FILE) != 0)
		return inode->rec.blocks << shift;
	return inode->rec.blocks;
}

void inode_add_blocks(struct ek_inode *inode, int64_t blocks)
{
	const struct geom *g = &inode->img->geom;
	unsigned shift = g->block_bits - 9u;
	uint64_t sectors = inode_sectors(inode);
	uint64_t change = (uint64_t)(blocks < 0 ? -blocks : blocks) << shift;

	sectors = blocks < 0 ? sectors - MIN(sectors, change) : sectors + change;
	if (geom_ro_compat(g, RO_COMPAT_HUGE_FILE) && sectors >> 48 != 0) {
		inode->rec.flags |= INODE_HUGE_FILE;
		inode->rec.blocks = sectors >> shift;
	} else {
		inode->rec.flags &= ~INODE_HUGE_FILE;
		inode->rec.blocks = sectors;
	}
}

/* ---- what may change ---- */

int inode_check_contents(const struct ek_inode *inode)
{
	struct diag *d = &inode->img->diag;

	if ((inode->rec.flags & INODE_ENCRYPT) != 0)
		return diag_set(d, -EOPNOTSUPP, "unsupported: the data of inode %u are encrypted",
				inode->ino.v);
	if ((inode->rec.flags & INODE_VERITY) != 0)
		return diag_set(d, -EPERM, "refused: the data of inode %u are sealed by verity",
				inode->ino.v);
	return 0;
}

int inode_check_names(const struct ek_inode *dir)
{
	if ((dir->rec.flags & INODE_ENCRYPT) == 0)
		return 0;
	return diag_set(&dir->img->diag, -EOPNOTSUPP,
			"unsupported: the names in folder %u are encrypted", dir->ino.v);
}

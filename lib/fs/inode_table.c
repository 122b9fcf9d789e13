/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inodes in their table.  A mark files the table's block with the transaction, as in ext4.
 *
 * When it encodes the record is the policy's.  Eager: at once, every time.  Lazy (delalloc-facts
 * 6.3): the first mark of a transaction files the block and leaves the inode stale; later ones
 * change nothing but the record, which is encoded and summed once, when the block leaves for the
 * log, or when the inode leaves memory before that.  Whoever reads or changes the slot's bytes
 * (attributes in the inode, orphan links) has them brought up to date first.
 */
#include <string.h>

#include "base/check.h"
#include "fs/inode_cache.h"
#include "fs/policy.h"

static ek_pblk table_block(const struct ek_image *img, ek_inum ino, uint32_t *off)
{
	const struct geom *g = &img->geom;
	uint32_t index = (ino.v - 1) % g->inodes_per_group;
	ek_pblk table = img->groups.desc[geom_inode_group(g, ino)].inode_table;

	*off = index % g->inodes_per_block * g->inode_size;
	return (ek_pblk){table.v + index / g->inodes_per_block};
}

static void encode(const struct ek_inode *inode, void *raw)
{
	struct ek_image *img = inode->img;

	inode_encode(&img->geom, inode->ino, &inode->rec, raw);
	count(&img->counters, COUNTER_INODE_SERIALISE, 1);
	count(&img->counters, COUNTER_INODE_CSUM, geom_csum(&img->geom));
}

/* Encodes the records that the table's block b, which begins with inode first, is behind of. */
static void encode_stale(void *ctx, struct buf *b, uint32_t first)
{
	struct ek_image *img = ctx;
	const struct geom *g = &img->geom;
	uint32_t left = g->inodes_per_group - (first - 1) % g->inodes_per_group;

	for (uint32_t i = 0; i < MIN(g->inodes_per_block, left); i++) {
		struct ek_inode *inode = inode_cached(img, (ek_inum){first + i});

		if (inode == NULL || (inode->state & INODE_STATE_STALE) == 0)
			continue;
		encode(inode, b->data + (size_t)i * g->inode_size);
		inode->state &= ~(unsigned)INODE_STATE_STALE;
	}
}

struct buf *inode_slot_cached(const struct ek_inode *inode)
{
	uint32_t off;

	return buf_find(inode->img->cache, table_block(inode->img, inode->ino, &off));
}

void inode_settle(struct ek_inode *inode)
{
	struct buf *b;

	if ((inode->state & INODE_STATE_STALE) == 0)
		return;
	b = inode_slot_cached(inode);
	if (b != NULL) /* else the journal gave up, and nothing of this will be written */
		buf_catch_up(b);
}

/* ---- slots ---- */

/* Readers walk: the inodes behind this one are likely to be asked for. */
static void read_ahead(struct ek_inode *inode, ek_pblk block)
{
	const struct geom *g = &inode->img->geom;
	uint32_t at = (inode->ino.v - 1) % g->inodes_per_group / g->inodes_per_block;

	if (!inode->img->writable && buf_find(inode->img->cache, block) == NULL)
		buf_read_ahead(inode->img->cache, block, g->itable_blocks - at);
}

int inode_raw_view(struct ek_inode *inode, struct buf **buf, const void **ret)
{
	uint32_t off;
	ek_pblk block = table_block(inode->img, inode->ino, &off);
	struct buf *b;
	int rc;

	read_ahead(inode, block);
	rc = buf_get(inode->img->cache, block, &verify_any, (struct buf_owner){0, 0}, &b);
	if (rc < 0)
		return rc;
	if ((inode->state & INODE_STATE_STALE) != 0)
		buf_catch_up(b);
	*buf = b;
	*ret = b->data + off;
	return 0;
}

/* A block of the table without another inode in use needs no read: Linux skips it too. */
static int table_buf(struct ek_inode *inode, ek_pblk block, struct buf **ret)
{
	struct ek_image *img = inode->img;
	struct buf_owner nobody = {0, 0};
	bool alone = false;
	int rc = 0;

	if ((inode->state & INODE_STATE_NEW) != 0 && buf_find(img->cache, block) == NULL)
		rc = ialloc_alone(&img->ialloc, inode->ino, &alone);
	if (rc < 0)
		return rc;
	return alone ? buf_new(img->cache, block, &verify_any, nobody, ret)
		     : buf_get(img->cache, block, &verify_any, nobody, ret);
}

static int slot_write(struct task *t, struct ek_inode *inode, struct buf **buf, void **ret)
{
	uint32_t off;
	ek_pblk block = table_block(inode->img, inode->ino, &off);
	struct buf *b;
	void *view;
	int rc = table_buf(inode, block, &b);

	if (rc < 0)
		return rc;
	rc = handle_write(t->user.current, b, &view);
	if (rc < 0) {
		buf_put(b);
		return rc;
	}
	*buf = b;
	*ret = (uint8_t *)view + off;
	return 0;
}

int inode_raw_write(struct task *t, struct ek_inode *inode, struct buf **buf, void **ret)
{
	int rc = slot_write(t, inode, buf, ret);

	if (rc == 0 && (inode->state & INODE_STATE_STALE) != 0)
		buf_catch_up(*buf);
	return rc;
}

/* ---- marking ---- */

static void note_tids(struct task *t, struct ek_inode *inode, uint32_t tid)
{
	inode->sync_tid = tid;
	if (inode->rec.size != inode->serialised_size)
		inode->datasync_tid = tid;
	inode->serialised_size = inode->rec.size;
}

/* The running transaction has the table's block, and its bytes are behind already. */
static bool is_filed(const struct handle *h, const struct ek_inode *inode)
{
	return (inode->state & INODE_STATE_STALE) != 0 && handle_tid(h) != 0 &&
	       inode->sync_tid == handle_tid(h);
}

/* Files the table's block; *raw gets the slot. */
static int file_slot(struct task *t, struct ek_inode *inode, struct buf **buf, void **raw)
{
	int rc = slot_write(t, inode, buf, raw);

	if (rc < 0)
		return rc;
	if ((inode->state & INODE_STATE_NEW) != 0) {
		memset(*raw, 0, inode->img->geom.inode_size);
		inode->state &= ~(unsigned)INODE_STATE_NEW;
	}
	rc = handle_dirty(t->user.current, *buf);
	if (rc < 0)
		buf_put(*buf);
	return rc;
}

static int store_now(struct task *t, struct ek_inode *inode)
{
	struct buf *b;
	void *raw;
	int rc = file_slot(t, inode, &b, &raw);

	if (rc < 0)
		return rc;
	encode(inode, raw);
	buf_put(b);
	return 0;
}

static int store_later(struct task *t, struct ek_inode *inode)
{
	struct ek_image *img = inode->img;
	uint32_t index = (inode->ino.v - 1) % img->geom.inodes_per_group;
	struct buf *b;
	void *raw;
	int rc;

	if (is_filed(t->user.current, inode))
		return handle_again(t->user.current);
	rc = file_slot(t, inode, &b, &raw);
	if (rc < 0)
		return rc;
	inode->state |= INODE_STATE_STALE;
	buf_put_off(b, encode_stale, img, inode->ino.v - index % img->geom.inodes_per_block);
	buf_put(b);
	return 0;
}

/* The first file of 2 GiB and more turns its feature on. */
static int note_large_file(struct task *t, const struct ek_inode *inode)
{
	return inode->rec.size <= INT32_MAX ? 0 : image_add_features(t, 0, RO_COMPAT_LARGE_FILE);
}

int inode_store(struct task *t, struct ek_inode *inode)
{
	struct counters *c = &inode->img->counters;
	uint32_t tid = handle_tid(t->user.current);
	int rc = note_large_file(t, inode);

	count(c, COUNTER_MARK_REQUESTS, 1);
	count(c, COUNTER_FIRST_DIRTY_IN_TID, tid != 0 && inode->sync_tid != tid);
	if (rc == 0)
		rc = inode->img->opts.policy->inode == INODE_LAZY ? store_later(t, inode)
								  : store_now(t, inode);
	if (rc == 0)
		note_tids(t, inode, tid);
	return rc;
}

int inode_mark_dirty(struct task *t, struct ek_inode *inode, enum mark_site site)
{
	struct handle *h;
	int rc;

	count(&inode->img->counters, COUNTER_MARK_INODE_DIRTY, 1);
	inode->img->counters.marks[site]++;
	if (t->user.current != NULL)
		return inode_store(t, inode);
	rc = task_start_inode(t, inode, HANDLE_INODE, 2, 0, &h);
	if (rc < 0)
		return rc;
	rc = inode_store(t, inode);
	return handle_end(h, rc);
}

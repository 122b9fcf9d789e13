/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inode cache: a hash by number, and a list of those that nobody holds, oldest last.  A record
 * is decoded when the inode is first asked for.  A mark files its table block with the transaction,
 * as in ext4; the record is encoded, once, when the block leaves for the log or the inode leaves
 * memory.
 */
#include "fs/inode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/mem.h"
#include "fs/blocks.h"
#include "fs/data.h"
#include "fs/extent.h"
#include "fs/inode_cache.h"

#define KEEP_UNUSED 8192u

int inode_cache_open(struct ek_image *img)
{
	img->inodes = mem_zero(sizeof(*img->inodes));
	if (img->inodes == NULL)
		return diag_set(&img->diag, -ENOMEM, "out of memory for the inode cache");
	img->inodes->pool.size = sizeof(struct ek_inode);
	list_init(&img->inodes->unused);
	return 0;
}

static ek_pblk table_block(const struct ek_image *img, ek_inum ino, uint32_t *off)
{
	const struct geom *g = &img->geom;
	uint32_t index = (ino.v - 1) % g->inodes_per_group;
	ek_pblk table = img->groups.desc[geom_inode_group(g, ino)].inode_table;

	*off = index % g->inodes_per_block * g->inode_size;
	return (ek_pblk){table.v + index / g->inodes_per_block};
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
		inode_encode(g, inode->ino, &inode->rec, b->data + (size_t)i * g->inode_size);
		inode->state &= ~(unsigned)INODE_STATE_STALE;
	}
}

static void encode_before_drop(struct ek_inode *inode)
{
	uint32_t off;
	struct buf *b;

	if ((inode->state & INODE_STATE_STALE) == 0)
		return;
	b = buf_find(inode->img->cache, table_block(inode->img, inode->ino, &off));
	if (b != NULL) /* else the journal gave up, and nothing of this will be written */
		buf_catch_up(b);
}

static void drop(struct ek_inode *inode)
{
	struct inode_cache *c = inode->img->inodes;

	encode_before_drop(inode);
	if (inode->mapping != NULL && inode->img->data.evict != NULL)
		inode->img->data.evict(inode->img->data.ctx, inode);
	mb_discard_inode(inode->img->mb, &inode->mb);
	jnl_unorder(inode->img->jnl, &inode->jinode);
	es_free(&inode->es);
	list_remove(&inode->lru);
	list_remove(&inode->orphan);
	hash_remove(&c->hash, &inode->hash);
	pool_give(&c->pool, inode);
}

void inode_cache_close(struct ek_image *img)
{
	size_t at = 0;
	struct hash_node *n;

	if (img->inodes == NULL)
		return;
	while ((n = hash_pop(&img->inodes->hash, &at)) != NULL) {
		struct ek_inode *inode = hash_entry(n, struct ek_inode, hash);

		if (inode->mapping != NULL && img->data.evict != NULL)
			img->data.evict(img->data.ctx, inode);
		if (img->mb != NULL)
			mb_discard_inode(img->mb, &inode->mb);
		es_free(&inode->es);
	}
	hash_free(&img->inodes->hash);
	pool_end(&img->inodes->pool);
	free(img->inodes);
	img->inodes = NULL;
}

void inode_cache_trim(struct ek_image *img)
{
	struct inode_cache *c = img->inodes;

	while (c->unused_count > KEEP_UNUSED) {
		struct ek_inode *old = list_entry(c->unused.prev, struct ek_inode, lru);

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
	hash_insert(&img->inodes->hash, &inode->hash, ino.v);
	return inode;
}

struct ek_inode *inode_cached(struct ek_image *img, ek_inum ino)
{
	struct hash_node *n = hash_find(&img->inodes->hash, ino.v);

	return n != NULL ? hash_entry(n, struct ek_inode, hash) : NULL;
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

/* ---- the table ---- */

int inode_raw_view(struct ek_inode *inode, struct buf **buf, const void **ret)
{
	uint32_t off;
	ek_pblk block = table_block(inode->img, inode->ino, &off);
	struct buf *b;
	int rc = buf_get(inode->img->cache, block, &verify_any, (struct buf_owner){0, 0}, &b);

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
	return verify_shape(inode);
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

static int file_slot(struct task *t, struct ek_inode *inode)
{
	struct ek_image *img = inode->img;
	uint32_t index = (inode->ino.v - 1) % img->geom.inodes_per_group;
	uint32_t first = inode->ino.v - index % img->geom.inodes_per_block;
	struct buf *b;
	void *raw;
	int rc = slot_write(t, inode, &b, &raw);

	if (rc < 0)
		return rc;
	if ((inode->state & INODE_STATE_NEW) != 0) {
		memset(raw, 0, img->geom.inode_size);
		inode->state &= ~(unsigned)INODE_STATE_NEW;
	}
	rc = handle_dirty(t->user.current, b);
	if (rc == 0) {
		inode->state |= INODE_STATE_STALE;
		buf_put_off(b, encode_stale, img, first);
	}
	buf_put(b);
	return rc;
}

int inode_store(struct task *t, struct ek_inode *inode)
{
	struct handle *h = t->user.current;
	int rc = is_filed(h, inode) ? handle_again(h) : file_slot(t, inode);

	count(&inode->img->counters, COUNTER_INODE_SERIALISE, 1);
	if (rc == 0)
		note_tids(t, inode, handle_tid(h));
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

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Orphans: inodes that must be deleted, or cut to their size, even if the machine stops now.
 *
 * With the orphan_file feature their numbers sit in slots of a hidden file; when that is full, or
 * without the feature, they form a list on disk: the superblock names the youngest, each inode's
 * deletion time the next older one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/crc.h"
#include "base/mem.h"
#include "fs/inode_cache.h"
#include "fs/map.h"
#include "fs/orphan_file.h"
#include "ondisk/super.h"

#define ORPHAN_MAGIC      0x0b10ca04u
#define ORPHAN_MAX_BLOCKS 512u

struct orphan_tail {
	le32 ob_magic, ob_checksum;
};

/* The hidden file: its blocks, and how many slots of each are free. */
struct orphan_file {
	uint32_t blocks, per_block;
	uint32_t used;
	struct orphan_block {
		ek_pblk pblk;
		uint32_t free;
	} block[];
};

static uint32_t slots_per_block(const struct geom *g)
{
	return (g->block_size - (uint32_t)sizeof(struct orphan_tail)) / 4;
}

static struct orphan_tail *tail_of(const struct geom *g, uint8_t *data)
{
	return (struct orphan_tail *)(void *)(data + g->block_size - sizeof(struct orphan_tail));
}

static uint32_t block_csum(const struct geom *g, const struct buf *b)
{
	le64 number = le64_make(b->pblk.v);
	uint32_t c = inode_csum_seed(g, (ek_inum){b->owner.ino}, b->owner.generation);

	c = crc32c(c, &number, sizeof(number));
	return crc32c(c, b->data, slots_per_block(g) * 4);
}

static int check_block(const struct geom *g, const struct buf *b, struct diag *d)
{
	const struct orphan_tail *tail = tail_of(g, b->data);

	if (le32_get(tail->ob_magic) != ORPHAN_MAGIC)
		return diag_set(
		    d, -EUCLEAN, "corrupt orphan file: block %llu: magic 0x%08x is not 0x%08x",
		    (unsigned long long)b->pblk.v, le32_get(tail->ob_magic), ORPHAN_MAGIC);
	if (geom_csum(g) && le32_get(tail->ob_checksum) != block_csum(g, b))
		return diag_set(d, -EBADMSG, "bad checksum: orphan file block %llu",
				(unsigned long long)b->pblk.v);
	return 0;
}

static void seal_block(const struct geom *g, struct buf *b)
{
	tail_of(g, b->data)->ob_checksum = le32_make(geom_csum(g) ? block_csum(g, b) : 0);
}

static const struct verifier verify_orphan_block = {"orphan file block", check_block, seal_block};

void orphan_block_init(const struct geom *g, uint8_t *data)
{
	memset(data, 0, g->block_size);
	tail_of(g, data)->ob_magic = le32_make(ORPHAN_MAGIC);
}

const struct verifier *orphan_block_verifier(void)
{
	return &verify_orphan_block;
}

/* ---- opening the file ---- */

static int map_file(struct task *t, struct ek_inode *inode, struct orphan_file *f)
{
	struct buf_owner owner = inode_owner(inode);

	for (uint32_t i = 0; i < f->blocks; i++) {
		struct map m = {.lblk = {i}, .len = 1};
		struct buf *b;
		int rc = map_lookup(t, inode, &m);

		if (rc == 0 && m.state != MAP_MAPPED)
			rc = diag_set(&t->img->diag, -EUCLEAN,
				      "corrupt orphan file: block %u is not mapped", i);
		if (rc == 0)
			rc = buf_get(t->img->cache, m.pblk, &verify_orphan_block, owner, &b);
		if (rc < 0)
			return rc;
		f->block[i].pblk = m.pblk;
		for (uint32_t k = 0; k < f->per_block; k++) {
			const le32 *slot = buf_view(b, (size_t)k * 4, 4);

			f->block[i].free += le32_get(*slot) == 0;
			f->used += le32_get(*slot) != 0;
		}
		buf_put(b);
	}
	return 0;
}

int orphan_file_open(struct task *t)
{
	struct ek_image *img = t->img;
	struct ek_inode *inode;
	struct orphan_file *f;
	uint64_t blocks;
	ek_inum ino;
	int rc;

	if (img->geom.orphan_inum == 0)
		return 0;
	rc = geom_inum(&img->geom, img->geom.orphan_inum, "s_orphan_file_inum", &img->diag, &ino);
	if (rc == 0)
		rc = inode_get(img, ino, &inode);
	if (rc < 0)
		return rc;
	blocks = inode->size >> img->geom.block_bits;
	if (blocks == 0 || blocks > ORPHAN_MAX_BLOCKS) {
		inode_put(t, inode);
		return diag_set(&img->diag, -EUCLEAN,
				"corrupt orphan file: %llu blocks, expected 1 to %u",
				(unsigned long long)blocks, ORPHAN_MAX_BLOCKS);
	}
	f = mem_zero(sizeof(*f) + blocks * sizeof(f->block[0]));
	if (f == NULL) {
		inode_put(t, inode);
		return diag_set(&img->diag, -ENOMEM, "out of memory for the orphan file");
	}
	f->blocks = (uint32_t)blocks;
	f->per_block = slots_per_block(&img->geom);
	rc = map_file(t, inode, f);
	img->orphan_owner = inode_owner(inode);
	inode_put(t, inode);
	if (rc < 0)
		free(f);
	else
		img->orphan_file = f;
	return rc;
}

void orphan_file_close(struct ek_image *img)
{
	free(img->orphan_file);
	img->orphan_file = NULL;
}

uint32_t orphan_file_used(const struct ek_image *img)
{
	const struct orphan_file *f = img->orphan_file;

	return f != NULL ? f->used : 0;
}

/* ---- slots ---- */

/* Stores ino in a slot that holds expect. */
static int set_slot(struct task *t, uint32_t slot, uint32_t expect, uint32_t ino)
{
	struct orphan_file *f = t->img->orphan_file;
	struct orphan_block *ob = &f->block[slot / f->per_block];
	struct buf *b;
	void *view;
	le32 *at;
	int rc = buf_get(t->img->cache, ob->pblk, &verify_orphan_block, t->img->orphan_owner, &b);

	if (rc < 0)
		return rc;
	rc = handle_write(t->user.current, b, &view);
	at = (le32 *)view + slot % f->per_block;
	if (rc == 0 && le32_get(*at) != expect)
		rc = diag_set(&t->img->diag, -EUCLEAN,
			      "corrupt orphan file: slot %u holds inode %u, expected %u", slot,
			      le32_get(*at), expect);
	if (rc == 0) {
		*at = le32_make(ino);
		rc = handle_dirty(t->user.current, b);
	}
	buf_put(b);
	return rc;
}

static int find_free_slot(struct task *t, uint32_t *ret)
{
	struct orphan_file *f = t->img->orphan_file;

	for (uint32_t i = 0; i < f->blocks; i++) {
		uint32_t at = (t->cpu * 13 + i) % f->blocks;
		struct buf *b;
		int rc;

		if (f->block[at].free == 0)
			continue;
		rc = buf_get(t->img->cache, f->block[at].pblk, &verify_orphan_block,
			     t->img->orphan_owner, &b);
		if (rc < 0)
			return rc;
		for (uint32_t k = 0; k < f->per_block; k++) {
			const le32 *slot = buf_view(b, (size_t)k * 4, 4);

			if (le32_get(*slot) == 0) {
				*ret = at * f->per_block + k;
				buf_put(b);
				return 1;
			}
		}
		buf_put(b);
	}
	return 0;
}

static int add_to_file(struct task *t, struct ek_inode *inode)
{
	struct orphan_file *f = t->img->orphan_file;
	uint32_t slot;
	int rc = find_free_slot(t, &slot);

	if (rc <= 0)
		return rc;
	rc = set_slot(t, slot, 0, inode->ino.v);
	if (rc < 0)
		return rc;
	f->block[slot / f->per_block].free--;
	f->used++;
	inode->orphan_slot = slot;
	return 1;
}

/* ---- the list ---- */

static int store_head(struct task *t, uint32_t ino)
{
	struct super_raw *sb;
	int rc = image_super_write(t->img, t->user.current, &sb);

	if (rc < 0)
		return rc;
	sb->s_last_orphan = le32_make(ino);
	return image_super_dirty(t->img, t->user.current);
}

static int add_to_list(struct task *t, struct ek_inode *inode)
{
	struct ek_image *img = t->img;
	int rc;

	inode->rec.dtime = le32_get(image_super(img)->s_last_orphan);
	rc = store_head(t, inode->ino.v);
	if (rc == 0)
		rc = inode_store(t, inode);
	if (rc == 0)
		list_push(&img->orphans, &inode->orphan);
	return rc;
}

static int remove_from_list(struct task *t, struct ek_inode *inode)
{
	struct ek_image *img = t->img;
	uint32_t next = inode->rec.dtime;
	int rc;

	if (inode->orphan.prev == &img->orphans) {
		rc = store_head(t, next);
	} else {
		struct ek_inode *younger = list_entry(inode->orphan.prev, struct ek_inode, orphan);

		younger->rec.dtime = next;
		rc = inode_store(t, younger);
	}
	list_remove(&inode->orphan);
	inode->rec.dtime = 0;
	return rc < 0 ? rc : inode_store(t, inode);
}

int orphan_add(struct task *t, struct ek_inode *inode)
{
	int rc = 0;

	if ((inode->state & INODE_STATE_ORPHAN) != 0)
		return 0;
	if (t->img->orphan_file != NULL)
		rc = add_to_file(t, inode);
	if (rc == 0)
		rc = add_to_list(t, inode);
	if (rc >= 0)
		inode->state |= INODE_STATE_ORPHAN;
	return rc < 0 ? rc : 0;
}

int orphan_remove(struct task *t, struct ek_inode *inode)
{
	struct orphan_file *f = t->img->orphan_file;
	int rc;

	if ((inode->state & INODE_STATE_ORPHAN) == 0)
		return 0;
	if (inode->orphan_slot != UINT32_MAX) {
		rc = set_slot(t, inode->orphan_slot, inode->ino.v, 0);
		if (rc == 0) {
			f->block[inode->orphan_slot / f->per_block].free++;
			f->used--;
			inode->orphan_slot = UINT32_MAX;
		}
	} else {
		rc = remove_from_list(t, inode);
	}
	inode->state &= ~(unsigned)INODE_STATE_ORPHAN;
	return rc;
}

/* ---- after a crash ---- */

struct tally {
	uint32_t deleted, truncated;
};

/* Finishes one orphan that is marked as such in memory and on disk. */
static int finish_one(struct task *t, struct ek_inode *inode, struct tally *n)
{
	int rc = 0;

	if (inode->rec.links == 0) {
		n->deleted++; /* the last reference deletes it */
	} else {
		n->truncated++;
		if (inode_is_file(inode))
			rc = inode_truncate_blocks(t, inode);
		if (rc == 0 && (inode->state & INODE_STATE_ORPHAN) != 0) {
			struct handle *h;

			rc = task_start_inode(t, inode, HANDLE_TRUNCATE, 3, 0, &h);
			if (rc < 0)
				return rc;
			rc = orphan_remove(t, inode);
			rc = handle_end(h, rc);
		}
	}
	return rc;
}

static int get_orphan(struct task *t, uint32_t raw, struct ek_inode **ret)
{
	struct ek_image *img = t->img;
	ek_inum ino;
	int rc = geom_inum(&img->geom, raw, "orphan", &img->diag, &ino);

	if (rc == 0 && raw < img->geom.first_ino)
		rc = diag_set(&img->diag, -EUCLEAN, "corrupt orphan: inode %u is reserved", raw);
	return rc < 0 ? rc : inode_get(img, ino, ret);
}

static int process_list(struct task *t, struct tally *n)
{
	struct ek_image *img = t->img;
	uint32_t budget = img->geom.inodes;
	uint32_t head;

	while ((head = le32_get(image_super(img)->s_last_orphan)) != 0) {
		struct ek_inode *inode;
		int rc = get_orphan(t, head, &inode);

		if (rc < 0)
			return rc;
		if (budget-- == 0 || (inode->state & INODE_STATE_ORPHAN) != 0) {
			inode_put(t, inode);
			return diag_set(&img->diag, -EUCLEAN,
					"corrupt orphan list: inode %u is on it twice", head);
		}
		inode->state |= INODE_STATE_ORPHAN;
		list_push(&img->orphans, &inode->orphan);
		rc = finish_one(t, inode, n);
		inode_put(t, inode);
		if (rc == 0 && le32_get(image_super(img)->s_last_orphan) == head)
			rc = diag_set(&img->diag, -EUCLEAN,
				      "orphan list does not shrink: inode %u stays", head);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int read_slot(struct task *t, uint32_t slot, uint32_t *ret)
{
	struct orphan_file *f = t->img->orphan_file;
	struct buf *b;
	int rc = buf_get(t->img->cache, f->block[slot / f->per_block].pblk, &verify_orphan_block,
			 t->img->orphan_owner, &b);

	if (rc < 0)
		return rc;
	*ret = le32_get(*(const le32 *)buf_view(b, (size_t)(slot % f->per_block) * 4, 4));
	buf_put(b);
	return 0;
}

static int process_file(struct task *t, struct tally *n)
{
	struct orphan_file *f = t->img->orphan_file;

	for (uint32_t slot = 0; f->used != 0 && slot < f->blocks * f->per_block; slot++) {
		struct ek_inode *inode;
		uint32_t ino;
		int rc = read_slot(t, slot, &ino);

		if (rc < 0)
			return rc;
		if (ino == 0)
			continue;
		rc = get_orphan(t, ino, &inode);
		if (rc < 0)
			return rc;
		inode->state |= INODE_STATE_ORPHAN;
		inode->orphan_slot = slot;
		rc = finish_one(t, inode, n);
		inode_put(t, inode);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int orphan_process(struct task *t, uint32_t *deleted, uint32_t *truncated)
{
	struct tally n = {0, 0};
	int rc;

	t->img->recovering = true;
	rc = process_list(t, &n);
	if (rc == 0 && t->img->orphan_file != NULL)
		rc = process_file(t, &n);
	t->img->recovering = false;
	*deleted = n.deleted;
	*truncated = n.truncated;
	return rc;
}

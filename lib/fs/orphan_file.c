/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hidden file of orphans: its blocks are verified and their slots counted when it is opened;
 * from then on slots change under handles.
 */
#include "fs/orphan_file.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/crc.h"
#include "base/mem.h"
#include "fs/inode.h"
#include "fs/map.h"

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

int orphan_file_add(struct task *t, struct ek_inode *inode)
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

int orphan_file_remove(struct task *t, struct ek_inode *inode)
{
	struct orphan_file *f = t->img->orphan_file;
	int rc = set_slot(t, inode->orphan_slot, inode->ino.v, 0);

	if (rc < 0)
		return rc;
	f->block[inode->orphan_slot / f->per_block].free++;
	f->used--;
	inode->orphan_slot = UINT32_MAX;
	return 0;
}

uint32_t orphan_file_slots(const struct ek_image *img)
{
	const struct orphan_file *f = img->orphan_file;

	return f != NULL && f->used != 0 ? f->blocks * f->per_block : 0;
}

int orphan_file_read(struct task *t, uint32_t slot, uint32_t *ret)
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

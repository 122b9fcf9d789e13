/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Orphans: inodes that must be deleted, or cut to their size, even if the machine stops now.
 *
 * With the orphan_file feature their numbers sit in slots of a hidden file; when that is full, or
 * without the feature, they form a list on disk: the superblock names the youngest, each inode's
 * deletion time the next older one.
 */
#include <errno.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/inode_cache.h"
#include "fs/map.h"
#include "fs/orphan_file.h"
#include "ondisk/super.h"

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
		rc = orphan_file_add(t, inode);
	if (rc == 0)
		rc = add_to_list(t, inode);
	if (rc >= 0)
		inode->state |= INODE_STATE_ORPHAN;
	return rc < 0 ? rc : 0;
}

int orphan_remove(struct task *t, struct ek_inode *inode)
{
	int rc;

	if ((inode->state & INODE_STATE_ORPHAN) == 0)
		return 0;
	rc = inode->orphan_slot != UINT32_MAX ? orphan_file_remove(t, inode)
					      : remove_from_list(t, inode);
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

static int process_file(struct task *t, struct tally *n)
{
	for (uint32_t slot = 0; slot < orphan_file_slots(t->img); slot++) {
		struct ek_inode *inode;
		uint32_t ino;
		int rc = orphan_file_read(t, slot, &ino);

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

/* ---- asking ---- */

static int note_number(struct ek_image *img, struct orphan_numbers *n, uint32_t ino)
{
	if (mem_grow((void **)&n->ino, &n->cap, n->count + 1, sizeof(*n->ino)) < 0)
		return diag_set(&img->diag, -ENOMEM, "out of memory for %zu orphans", n->count);
	n->ino[n->count++] = ino;
	return 0;
}

static int list_numbers(struct task *t, struct orphan_numbers *n)
{
	struct ek_image *img = t->img;
	uint32_t next = le32_get(image_super(img)->s_last_orphan), budget = img->geom.inodes;

	while (next != 0 && budget-- > 0) {
		struct ek_inode *inode;
		int rc = get_orphan(t, next, &inode);

		if (rc == 0)
			rc = note_number(img, n, next);
		if (rc < 0)
			return rc;
		next = inode->rec.dtime;
		inode_put(t, inode);
	}
	return 0;
}

static int file_numbers(struct task *t, struct orphan_numbers *n)
{
	int rc = 0;

	for (uint32_t slot = 0; slot < orphan_file_slots(t->img) && rc == 0; slot++) {
		uint32_t ino;

		rc = orphan_file_read(t, slot, &ino);
		if (rc == 0 && ino != 0)
			rc = note_number(t->img, n, ino);
	}
	return rc;
}

int orphan_numbers(struct task *t, struct orphan_numbers *ret)
{
	bool was = t->img->recovering;
	int rc;

	t->img->recovering = true;
	rc = list_numbers(t, ret);
	t->img->recovering = was;
	if (rc == 0 && t->img->orphan_file != NULL)
		rc = file_numbers(t, ret);
	return rc;
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

/* SPDX-License-Identifier: BSD-2-Clause */
/* In how many pieces the files lie that a replay had open for writing. */
#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "base/check.h"
#include "base/mem.h"
#include "fs/inline.h"
#include "fs/map.h"
#include "trace/target_image.h"

#define RUN 512u /* inodes of one node */

struct written {
	struct hash_node node; /* by inode number / RUN */
	uint64_t inodes[RUN / 64];
};

int image_note_written(struct image_target *t, const struct ek_inode *inode)
{
	struct hash_node *n;
	struct written *w;

	if (!inode_is_file(inode))
		return 0;
	n = hash_find(&t->written, inode->ino.v / RUN);
	w = n != NULL ? hash_entry(n, struct written, node) : mem_zero(sizeof(*w));
	if (w == NULL)
		return -ENOMEM;
	if (n == NULL)
		hash_insert(&t->written, &w->node, inode->ino.v / RUN);
	bitmap_set(w->inodes, inode->ino.v % RUN);
	return 0;
}

void image_forget_written(struct image_target *t)
{
	struct hash_node *n;
	size_t at = 0;

	while ((n = hash_pop(&t->written, &at)) != NULL)
		free(hash_entry(n, struct written, node));
	hash_free(&t->written);
}

/* Runs of block pointers count like extents. */
static int count_file(struct task *t, struct ek_inode *inode, struct target_extents *e)
{
	struct map m = {.len = 0};
	uint32_t at = 0;
	int rc;

	e->files++;
	while ((rc = map_next(t, inode, (ek_lblk){at}, &m)) == 1) {
		e->extents++;
		e->blocks += m.len;
		e->largest = MAX(e->largest, (uint64_t)m.len);
		at = m.lblk.v + m.len;
		if (at == 0 || at == UINT32_MAX)
			break;
	}
	return MIN(rc, 0);
}

/* A file that is gone by now is left out. */
static int count_inode(struct image_target *t, ek_inum ino)
{
	struct ek_inode *inode;
	bool used;
	int rc = ialloc_in_use(&t->img->ialloc, ino, &used);

	if (rc < 0 || !used)
		return rc;
	rc = inode_get(t->img, ino, &inode);
	if (rc < 0)
		return rc;
	if (inode_is_file(inode) && !inode_is_inline(inode))
		rc = count_file(&t->task, inode, &t->extents);
	inode_put(&t->task, inode);
	return rc;
}

int image_count_extents(struct image_target *t)
{
	const struct hash_node *n;
	int rc = 0;

	t->extents = (struct target_extents){0};
	for (n = hash_next(&t->written, NULL); n != NULL; n = hash_next(&t->written, n)) {
		const struct written *w = hash_entry(n, struct written, node);
		size_t i = 0;

		while (rc == 0 && (i = bitmap_find_next_set(w->inodes, RUN, i)) < RUN)
			rc = count_inode(t, (ek_inum){(uint32_t)(n->key * RUN + i++)});
	}
	return rc;
}

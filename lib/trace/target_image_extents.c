/* SPDX-License-Identifier: BSD-2-Clause */
/* In how many pieces the files lie that a replay had open for writing. */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/extent.h"
#include "trace/target_image.h"

struct written {
	struct hash_node node; /* by inode number */
};

int image_note_written(struct image_target *t, const struct ek_inode *inode)
{
	struct written *w;

	if (!inode_is_file(inode) || hash_find(&t->written, inode->ino.v) != NULL)
		return 0;
	w = mem_zero(sizeof(*w));
	if (w == NULL)
		return -ENOMEM;
	hash_insert(&t->written, &w->node, inode->ino.v);
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

static int count_file(struct ek_inode *inode, struct target_extents *e)
{
	uint32_t at = 0;

	e->files++;
	while (at != UINT32_MAX) {
		struct ext_path p;
		struct extent x;
		int rc = ext_path_find(inode, (ek_lblk){at}, &p);

		if (rc < 0)
			return rc;
		if (ext_path_extent(&p, &x) && x.lblk.v + x.len > at) {
			e->extents++;
			e->blocks += x.len;
			e->largest = MAX(e->largest, (uint64_t)x.len);
		}
		at = ext_path_next(&p);
		ext_path_put(&p);
	}
	return 0;
}

/* Files that are gone by now are left out. */
int image_count_extents(struct image_target *t)
{
	const struct hash_node *n;
	int rc = 0;

	t->extents = (struct target_extents){0};
	for (n = hash_next(&t->written, NULL); n != NULL && rc == 0;
	     n = hash_next(&t->written, n)) {
		ek_inum ino = {(uint32_t)n->key};
		struct ek_inode *inode;
		bool used;

		rc = ialloc_in_use(&t->img->ialloc, ino, &used);
		if (rc < 0 || !used)
			continue;
		rc = inode_get(t->img, ino, &inode);
		if (rc < 0)
			break;
		if (inode_is_file(inode) && (inode->rec.flags & INODE_EXTENTS) != 0)
			rc = count_file(inode, &t->extents);
		inode_put(&t->task, inode);
	}
	return rc;
}

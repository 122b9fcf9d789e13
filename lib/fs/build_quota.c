/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the owners of a bulk build have.  Who they are is known before a size is tried, and says how
 * large the quota files are; what they have is known when everything has its place.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "fs/build_impl.h"

static uint32_t owner_of(const struct build_inode *x, unsigned type)
{
	return type == QUOTA_USER ? x->uid : type == QUOTA_GROUP ? x->gid : x->project;
}

static int by_number(const void *a, const void *b)
{
	const struct quota_use *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int list_owners(struct build *b, unsigned type)
{
	struct quota_list *list = &b->use[type];
	size_t n = 0, cap = 0;

	for (uint32_t i = 0; i < b->n; i++) {
		uint32_t id = owner_of(b->inodes[i], type);

		if (n != 0 && list->rows[n - 1].id == id) /* as most neighbours have it */
			continue;
		if (mem_grow((void **)&list->rows, &cap, n + 1, sizeof(*list->rows)) < 0)
			return diag_set(b->diag, -ENOMEM, "out of memory for quotas");
		list->rows[n++] = (struct quota_use){.id = id};
	}
	qsort(list->rows, n, sizeof(*list->rows), by_number);
	for (size_t i = 0; i < n; i++) {
		if (list->count == 0 || list->rows[list->count - 1].id != list->rows[i].id)
			list->rows[list->count++] = list->rows[i];
	}
	return 0;
}

int build_quota_plan(struct build *b)
{
	int rc = 0;

	for (unsigned type = 0; type < create_quota_types(&b->o) && rc == 0; type++)
		rc = list_owners(b, type);
	return rc;
}

/* An inode of a value is its users', each of whom has all of it. */
static void count_owners(struct build *b, unsigned type)
{
	struct quota_list *list = &b->use[type];
	struct quota_use *use = list->rows;

	for (uint32_t i = 0; i < b->n; i++) {
		const struct build_inode *x = b->inodes[i];
		struct quota_use key = {.id = owner_of(x, type)};

		if (x->value != NULL)
			continue;
		if (use->id != key.id)
			use = bsearch(&key, list->rows, list->count, sizeof(key), by_number);
		use->inodes += 1 + (x->xattrs != NULL ? x->xattrs->nvalues : 0);
		use->bytes += build_inode_blocks(b, x) << b->l.geom.block_bits;
	}
}

void build_quota_count(struct build *b)
{
	for (unsigned type = 0; type < create_quota_types(&b->o); type++) {
		count_owners(b, type);
		b->l.use[type] = b->use[type];
		b->use[type] = (struct quota_list){0};
	}
}

void build_quota_free(struct build *b)
{
	for (unsigned type = 0; type < QUOTA_TYPES; type++)
		free(b->use[type].rows);
}

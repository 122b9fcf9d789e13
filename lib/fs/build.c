/* SPDX-License-Identifier: BSD-2-Clause */
/* A bulk build from its beginning until all contents have places. */
#include "fs/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/build_impl.h"

/* A first group that far ahead of a stream lets filesystems of half a terabyte follow. */
#define RESERVE 64u

/* Geometry that says what does not depend on the size: hashes, checksums, which groups have
 * heads. */
static int first_shape(struct build *b)
{
	struct create_opts o = b->o;
	int rc;

	if (b->how != BUILD_FIXED)
		o.size = 1ull << 30;
	rc = create_sizes(&o, &b->z, b->diag);
	return rc < 0 ? rc : create_shape(&o, &b->z, b->diag, &b->l);
}

/* What the smallest file takes. */
static uint32_t cluster_bytes(const struct create_opts *o)
{
	if ((o->ro_compat & RO_COMPAT_BIGALLOC) == 0)
		return o->block_size;
	return o->cluster_size != 0 ? o->cluster_size : o->block_size * 16;
}

int build_open(const struct create_opts *o, enum build_size how, uint64_t free_bytes,
	       struct diag *d, struct build **ret)
{
	struct build *b = mem_zero(sizeof(*b));
	int rc = b == NULL ? diag_set(d, -ENOMEM, "out of memory for the plan") : 0;

	if (rc == 0) {
		b->o = *o;
		b->o.tight = true;
		b->how = how;
		b->free_bytes = free_bytes;
		b->diag = d;
		b->secret = hash_seed();
		if (b->o.block_size == 0)
			b->o.block_size = 4096;
		if (b->o.inode_ratio == 0 && b->o.inodes == 0)
			b->o.inode_ratio = MAX(16384u, cluster_bytes(&b->o));
		if (how != BUILD_FIXED && o->reserved_percent == UINT32_MAX)
			b->o.reserved_percent = 0;
		rc = first_shape(b);
	}
	if (rc < 0) {
		build_close(b);
		return rc;
	}
	b->exact = how == BUILD_FIXED;
	b->reserve = (uint32_t)build_whole(b, RESERVE);
	b->space.cursor = b->z.first;
	*ret = b;
	return 0;
}

void build_close(struct build *b)
{
	struct hash_node *n;
	size_t at = 0;

	if (b == NULL)
		return;
	while ((n = hash_pop(&b->sets, &at)) != NULL)
		build_xattrs_free(hash_entry(n, struct build_xattrs, node));
	hash_free(&b->sets);
	build_values_free(b);
	build_quota_free(b);
	free(b->list);
	build_space_free(&b->space);
	build_space_free(&b->mark);
	layout_free(&b->l);
	free(b->dirs);
	free(b);
}

uint32_t build_block_size(const struct build *b)
{
	return b->z.bs;
}

uint32_t build_inode_size(const struct build *b)
{
	return b->z.isize;
}

uint64_t build_limit(const struct build *b)
{
	return b->how == BUILD_FIXED ? b->z.blocks : 0;
}

bool build_settled(const struct build *b)
{
	return b->settled;
}

/* Heads of groups must be known, or at least where they are. */
bool build_can_settle(const struct build *b)
{
	const uint32_t compat = COMPAT_SPARSE_SUPER2;

	return !b->settled && (b->o.incompat & INCOMPAT_FLEX_BG) != 0 &&
	       (b->o.incompat & INCOMPAT_META_BG) == 0 && (b->o.compat & compat) == 0;
}

int build_settle(struct build *b)
{
	int rc = 0;

	if (b->how != BUILD_FIXED)
		b->o.head_most = b->reserve;
	for (struct build_inode *i = b->waiting; i != NULL && rc == 0; i = i->next_waiting) {
		i->waiting = false;
		rc = build_place_runs(b, i);
	}
	b->waiting = b->last_waiting = NULL;
	b->settled = true;
	return rc;
}

static void stop_waiting(struct build *b, struct build_inode *inode)
{
	struct build_inode *prev = inode->prev_waiting, *next = inode->next_waiting;

	if (prev != NULL)
		prev->next_waiting = next;
	else
		b->waiting = next;
	if (next != NULL)
		next->prev_waiting = prev;
	else
		b->last_waiting = prev;
	inode->waiting = false;
}

int build_forget(struct build *b, struct build_inode *inode)
{
	int rc = 0;

	if (inode->waiting)
		stop_waiting(b, inode);
	else
		for (uint32_t i = 0; i < inode->nruns && rc == 0; i++)
			rc = build_give(b, (struct block_run){inode->runs[i].pblk,
							      build_whole(b, inode->runs[i].len)});
	inode->nruns = 0;
	return rc;
}

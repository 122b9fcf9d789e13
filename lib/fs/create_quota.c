/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Quota files of a new filesystem and the inodes that hold them.  Of an empty one the owners are
 * those of root and lost+found; one with files in it brings its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/mem.h"
#include "fs/create_impl.h"
#include "io/dev.h"

#define INUM_USER  3u
#define INUM_GROUP 4u

unsigned create_quota_types(const struct create_opts *o)
{
	if ((o->ro_compat & RO_COMPAT_QUOTA) == 0)
		return 0;
	return (o->ro_compat & RO_COMPAT_PROJECT) != 0 ? QUOTA_TYPES : QUOTA_PROJECT;
}

uint64_t create_quota_blocks(const struct geom *g, const struct quota_list *list)
{
	return DIV_UP(QUOTA_UNIT * quota_file_units(list), (uint64_t)g->block_size);
}

uint32_t create_quota_inum(const struct layout *l, unsigned type)
{
	if (type != QUOTA_PROJECT)
		return type == QUOTA_USER ? INUM_USER : INUM_GROUP;
	if (l->project_ino != 0)
		return l->project_ino;
	return INUM_FIRST + (l->lost_found.blocks != 0 ? 1 : 0);
}

static uint64_t bytes_of(const struct geom *g, const struct placed_file *f)
{
	return ROUND_UP(f->blocks, 1ull << g->cluster_bits) << g->block_bits;
}

/* What root and lost+found take; the latter always is 0's. */
int create_quota_empty(struct layout *l, const struct create_opts *o, unsigned type, struct diag *d)
{
	const uint32_t ids[QUOTA_TYPES] = {o->root_uid, o->root_gid, 0};
	struct quota_use root = {ids[type], 1, bytes_of(&l->geom, &l->root)};
	struct quota_use lost = {0, 1, bytes_of(&l->geom, &l->lost_found)};
	struct quota_list *list = &l->use[type];

	list->rows = mem_array(2, sizeof(*list->rows), MEM_CAP, d);
	if (list->rows == NULL)
		return -ENOMEM;
	if (l->lost_found.blocks != 0 && root.id != 0) {
		list->rows[list->count++] = lost;
	} else if (l->lost_found.blocks != 0) {
		root.inodes += lost.inodes;
		root.bytes += lost.bytes;
	}
	list->rows[list->count++] = root;
	return 0;
}

static int write_contents(struct create_writer *w, unsigned type, uint64_t *size)
{
	const struct quota_list *list = &w->l->use[type];
	const struct placed_file *f = &w->l->quota[type];
	uint32_t bs = w->g->block_size;
	uint8_t *raw = mem_array((size_t)f->blocks, bs, SIZE_MAX, w->diag);
	int rc = raw == NULL ? -ENOMEM : 0;

	if (rc == 0)
		quota_file_fill((enum quota_type)type, list, raw);
	for (uint64_t i = 0; i < f->blocks && rc == 0; i++) {
		memcpy(w->block, raw + i * bs, bs);
		rc = create_put(w, create_file_block(f, i));
	}
	free(raw);
	*size = QUOTA_UNIT * quota_file_units(list);
	return rc;
}

static int write_one(struct create_writer *w, unsigned type)
{
	uint32_t inum = create_quota_inum(w->l, type);
	struct inode_rec r;
	uint64_t size;
	int rc = write_contents(w, type, &size);

	create_record(w, S_IFREG | 0600, 1, &r);
	r.flags = INODE_IMMUTABLE;
	if (rc == 0)
		rc = create_map(w, inum, &w->l->quota[type], &r);
	r.size = size;
	return rc < 0 ? rc : create_put_inode(w, inum, &r);
}

int create_quota(struct create_writer *w, struct super_raw *sb)
{
	le32 *const inums[QUOTA_TYPES] = {&sb->s_usr_quota_inum, &sb->s_grp_quota_inum,
					  &sb->s_prj_quota_inum};
	int rc = 0;

	for (unsigned type = 0; type < QUOTA_TYPES && rc == 0; type++) {
		if (w->l->quota[type].blocks == 0)
			continue;
		*inums[type] = le32_make(create_quota_inum(w->l, type));
		rc = write_one(w, type);
	}
	return rc;
}

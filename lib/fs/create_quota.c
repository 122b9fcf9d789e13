/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Quota files of a new filesystem: a tree of 1 KiB blocks, four levels of numbers that lead to the
 * one identity there is, 0, and what root and lost+found take of it.  No limits.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/check.h"
#include "fs/create_impl.h"
#include "io/dev.h"

#define UNIT    1024u
#define UNITS   6u /* header, four levels, one of entries */
#define VERSION 1u
#define GRACE   (7u * 24 * 3600) /* seconds that a soft limit may be exceeded */

#define INUM_USER  3u
#define INUM_GROUP 4u

struct quota_head {
	le32 magic, version;
	le32 block_grace, inode_grace, flags, blocks, free_block, free_entry;
};

struct quota_entries {
	le32 next_free, previous_free;
	le16 entries, pad1;
	le32 pad2;
};

struct quota_entry {
	le32 id, pad;
	le64 inode_hard, inode_soft, inodes;
	le64 space_hard, space_soft, space; /* bytes */
	le64 space_time, inode_time;
};

static_assert(sizeof(struct quota_head) == 32, "quota header");
static_assert(sizeof(struct quota_entry) == 72, "quota entry");

static const uint32_t magics[QUOTA_TYPES] = {0xD9C01F11u, 0xD9C01927u, 0xD9C03F14u};

uint64_t create_quota_blocks(const struct geom *g)
{
	return DIV_UP(UNIT * UNITS, g->block_size);
}

uint32_t create_quota_inum(const struct layout *l, unsigned type)
{
	if (type == QUOTA_PROJECT)
		return INUM_FIRST + (l->lost_found.blocks != 0 ? 1 : 0);
	return type == QUOTA_USER ? INUM_USER : INUM_GROUP;
}

static uint64_t bytes_of(const struct geom *g, const struct placed_file *f)
{
	return ROUND_UP(f->blocks, 1ull << g->cluster_bits) << g->block_bits;
}

static void fill(const struct create_writer *w, unsigned type, uint8_t *raw)
{
	struct quota_head *head = (struct quota_head *)(void *)raw;
	struct quota_entries *list = (struct quota_entries *)(void *)(raw + UNIT * (UNITS - 1));
	struct quota_entry *e = (struct quota_entry *)(void *)(list + 1);
	const struct layout *l = w->l;

	head->magic = le32_make(magics[type]);
	head->version = le32_make(VERSION);
	head->block_grace = le32_make(GRACE);
	head->inode_grace = le32_make(GRACE);
	head->blocks = le32_make(UNITS);
	head->free_entry = le32_make(UNITS - 1);
	for (uint32_t level = 1; level < UNITS - 1; level++)
		*(le32 *)(void *)(raw + (size_t)UNIT * level) = le32_make(level + 1);
	list->entries = le16_make(1);
	e->inodes = le64_make(l->lost_found.blocks != 0 ? 2 : 1);
	e->space = le64_make(bytes_of(w->g, &l->root) + bytes_of(w->g, &l->lost_found));
}

static int write_one(struct create_writer *w, unsigned type)
{
	const struct placed_file *f = &w->l->quota[type];
	uint8_t raw[UNIT * UNITS] = {0};
	uint32_t bs = w->g->block_size, inum = create_quota_inum(w->l, type);
	struct inode_rec r;
	int rc = 0;

	fill(w, type, raw);
	for (uint64_t i = 0; i < f->blocks && rc == 0; i++) {
		size_t at = (size_t)i * bs;

		memcpy(create_blank(w), raw + at, MIN(sizeof(raw) - at, (size_t)bs));
		rc = create_put(w, f->runs[0].start + i);
	}
	create_record(w, S_IFREG | 0600, 1, &r);
	r.flags = INODE_IMMUTABLE;
	if (rc == 0)
		rc = create_map(w, inum, f, &r);
	r.size = sizeof(raw);
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

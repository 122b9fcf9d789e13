/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A quota file is filled owner by owner, in the order of their numbers.  Whatever is missing on an
 * owner's way gets the next unit, so that tables and rows come in the order in which a reader
 * meets them.
 */
#include "fs/quota_file.h"

#include <assert.h>

#include "base/bytes.h"
#include "base/check.h"

#define LEVELS  4u /* of tables: one for each byte of a number */
#define VERSION 1u
#define GRACE   (7u * 24 * 3600) /* seconds that a soft limit may be exceeded */

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
static_assert(sizeof(struct quota_entries) == 16, "head of quota entries");
static_assert(sizeof(struct quota_entry) == 72, "quota entry");

#define ROWS ((QUOTA_UNIT - sizeof(struct quota_entries)) / sizeof(struct quota_entry))

static const uint32_t magics[QUOTA_TYPES] = {0xD9C01F11u, 0xD9C01927u, 0xD9C03F14u};

/* Tables below the first one that lead to id and not to the owner before it. */
static unsigned new_tables(uint32_t id, const struct quota_use *before)
{
	unsigned n = LEVELS - 1;

	while (before != NULL && n != 0 && id >> 8 * n == before->id >> 8 * n)
		n--;
	return n;
}

uint64_t quota_file_units(const struct quota_list *list)
{
	uint64_t n = 2 + DIV_UP(list->count, ROWS); /* the head, the first table */

	for (size_t i = 0; i < list->count; i++)
		n += new_tables(list->rows[i].id, i != 0 ? &list->rows[i - 1] : NULL);
	return n;
}

struct filling {
	uint8_t *raw;
	uint32_t next; /* unit */
	uint32_t last; /* unit of rows, 0: none yet */
};

static struct quota_entries *rows_at(const struct filling *f, uint32_t unit)
{
	return (struct quota_entries *)(void *)(f->raw + (size_t)unit * QUOTA_UNIT);
}

/* The unit that has room for one more row. */
static uint32_t rows_unit(struct filling *f)
{
	if (f->last == 0 || le16_get(rows_at(f, f->last)->entries) == ROWS)
		f->last = f->next++;
	return f->last;
}

static uint32_t way_to(struct filling *f, uint32_t id)
{
	uint32_t unit = 1;

	for (unsigned level = LEVELS; level-- != 0;) {
		le32 *table = (le32 *)(void *)(f->raw + (size_t)unit * QUOTA_UNIT);
		le32 *slot = &table[id >> 8 * level & 0xff];

		if (level == 0)
			*slot = le32_make(rows_unit(f));
		else if (le32_get(*slot) == 0)
			*slot = le32_make(f->next++);
		unit = le32_get(*slot);
	}
	return unit;
}

static void put_row(struct filling *f, const struct quota_use *use)
{
	struct quota_entries *list = rows_at(f, way_to(f, use->id));
	unsigned n = le16_get(list->entries);
	struct quota_entry *e = (struct quota_entry *)(void *)(list + 1) + n;

	list->entries = le16_make((uint16_t)(n + 1));
	e->id = le32_make(use->id);
	e->inodes = le64_make(use->inodes);
	e->space = le64_make(use->bytes);
}

void quota_file_fill(enum quota_type type, const struct quota_list *list, uint8_t *raw)
{
	struct quota_head *head = (struct quota_head *)(void *)raw;
	struct filling f = {.raw = raw, .next = 2};

	for (size_t i = 0; i < list->count; i++)
		put_row(&f, &list->rows[i]);
	head->magic = le32_make(magics[type]);
	head->version = le32_make(VERSION);
	head->block_grace = le32_make(GRACE);
	head->inode_grace = le32_make(GRACE);
	head->blocks = le32_make(f.next);
	if (f.last != 0 && le16_get(rows_at(&f, f.last)->entries) != ROWS)
		head->free_entry = le32_make(f.last);
}

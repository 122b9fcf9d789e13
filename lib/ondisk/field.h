/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every structure on disk consists of, as tables: dump, edit, damage and documentation all
 * walk the same rows.
 *
 *	const struct field_table *t = field_table_named("inode");
 *	for (unsigned i = 0; i < t->count; i++)
 *		printf("%s %llu\n", t->fields[i].name, field_get(t, &t->fields[i], raw));
 *
 * A field of up to eight bytes is a number in the byte order of its table; longer ones, and texts
 * and UUIDs, are bytes.  Rows are in the order of their offsets and do not overlap; bytes between
 * them mean nothing.
 */
#ifndef ONDISK_FIELD_H
#define ONDISK_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind {
	FIELD_NUMBER,  /* a count or size */
	FIELD_FLAGS,   /* bits with names */
	FIELD_MAGIC,   /* always the same */
	FIELD_BLOCK,   /* a block number, or the low or high part of one */
	FIELD_INODE,   /* an inode number */
	FIELD_TIME,    /* seconds since 1970, signed */
	FIELD_TIME_HI, /* more bits of the time before it */
	FIELD_CSUM,    /* of the structure it is in, or of a bitmap */
	FIELD_TEXT,    /* bytes up to the first zero */
	FIELD_UUID,
	FIELD_BYTES
};

struct field {
	const char *name;
	uint16_t offset, size; /* bytes */
	enum field_kind kind;
	const char *since; /* the feature that gave it meaning; "" for what ext2 had */
	const char *help;
};

struct field_table {
	const char *name;
	uint16_t size;   /* bytes of the fixed part */
	bool big_endian; /* the log's structures */
	const struct field *fields;
	unsigned count;
};

extern const struct field_table field_super;
extern const struct field_table field_group;
extern const struct field_table field_inode;
extern const struct field_table field_extent_header, field_extent_index, field_extent_leaf;
extern const struct field_table field_dirent, field_dir_tail;
extern const struct field_table field_dx_root, field_dx_node, field_dx_entry;
extern const struct field_table field_xattr_block, field_xattr_entry;
extern const struct field_table field_orphan_tail;
extern const struct field_table field_log_super;
extern const struct field_table field_guard;

/* All of them, NULL at the end. */
extern const struct field_table *const field_tables[];

/* The table of that name ("super", "group", "inode", "extent-header", ...), or NULL. */
const struct field_table *field_table_named(const char *name);

/* The row of that name, or NULL. */
const struct field *field_named(const struct field_table *t, const char *name);

/* True when the field is a number that field_get and field_set understand. */
static inline bool field_is_number(const struct field *f)
{
	return f->size <= 8 && f->kind != FIELD_TEXT && f->kind != FIELD_UUID &&
	       f->kind != FIELD_BYTES;
}

/* The number in the field of the structure that starts at base. */
uint64_t field_get(const struct field_table *t, const struct field *f, const void *base);

/* Stores the low bytes of value. */
void field_set(const struct field_table *t, const struct field *f, void *base, uint64_t value);

#endif

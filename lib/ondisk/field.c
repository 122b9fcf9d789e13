/* SPDX-License-Identifier: BSD-2-Clause */
/* Field tables: the list of them, search by name, and numbers in either byte order. */
#include "ondisk/field.h"

#include <assert.h>
#include <string.h>

const struct field_table *const field_tables[] = {&field_super,
						  &field_group,
						  &field_inode,
						  &field_extent_header,
						  &field_extent_index,
						  &field_extent_leaf,
						  &field_dirent,
						  &field_dir_tail,
						  &field_dx_root,
						  &field_dx_node,
						  &field_dx_entry,
						  &field_xattr_block,
						  &field_xattr_entry,
						  &field_orphan_tail,
						  &field_log_super,
						  &field_guard,
						  NULL};

const struct field_table *field_table_named(const char *name)
{
	for (unsigned i = 0; field_tables[i] != NULL; i++) {
		if (strcmp(field_tables[i]->name, name) == 0)
			return field_tables[i];
	}
	return NULL;
}

const struct field *field_named(const struct field_table *t, const char *name)
{
	for (unsigned i = 0; i < t->count; i++) {
		if (strcmp(t->fields[i].name, name) == 0)
			return &t->fields[i];
	}
	return NULL;
}

/* Where byte i of a number, lowest first, lies in the field. */
static unsigned place(const struct field_table *t, const struct field *f, unsigned i)
{
	return f->offset + (t->big_endian ? f->size - 1u - i : i);
}

uint64_t field_get(const struct field_table *t, const struct field *f, const void *base)
{
	const uint8_t *p = base;
	uint64_t v = 0;

	assert(f->size <= 8);
	for (unsigned i = 0; i < f->size; i++)
		v |= (uint64_t)p[place(t, f, i)] << 8 * i;
	return v;
}

void field_set(const struct field_table *t, const struct field *f, void *base, uint64_t value)
{
	uint8_t *p = base;

	assert(f->size <= 8);
	for (unsigned i = 0; i < f->size; i++)
		p[place(t, f, i)] = (uint8_t)(value >> 8 * i);
}

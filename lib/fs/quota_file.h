/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contents of a new quota file: what each owner has, without limits.  Units are blocks of 1 KiB
 * whatever the filesystem's are: a head, four levels of tables in which the bytes of an owner's
 * number choose the way, and rows of owners below.
 */
#ifndef FS_QUOTA_FILE_H
#define FS_QUOTA_FILE_H

#include <stddef.h>
#include <stdint.h>

enum quota_type { QUOTA_USER, QUOTA_GROUP, QUOTA_PROJECT, QUOTA_TYPES };

#define QUOTA_UNIT 1024u

/* What an owner has. */
struct quota_use {
	uint32_t id;
	uint64_t inodes, bytes;
};

/* Owners in the order of their numbers, each once. */
struct quota_list {
	struct quota_use *rows;
	size_t count;
};

/* Units that the file of so many owners takes. */
uint64_t quota_file_units(const struct quota_list *list);

/* Writes the file at raw, which has room for all units and is zero. */
void quota_file_fill(enum quota_type type, const struct quota_list *list, uint8_t *raw);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorting the names of one folder, byte for byte. */
#ifndef TREE_NAME_SORT_H
#define TREE_NAME_SORT_H

#include <stddef.h>
#include <stdint.h>

#include <extkit/types.h>

/* An entry: the first bytes of its name as a number, which settles most comparisons, and where the
 * name lies among the folder's. */
struct sorted {
	uint64_t key;
	size_t name;
	uint32_t name_len, mode;
	ek_inum ino;
};

uint64_t name_key(const char *name, size_t len);

/* Sorts the n entries of v, whose names lie in names, with room for n more at spare.  Returns where
 * they are then: v or spare. */
struct sorted *name_sort(struct sorted *v, struct sorted *spare, size_t n, const char *names);

#endif

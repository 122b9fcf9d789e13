/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of the counters. */
#include "base/counters.h"

#include <stddef.h>

const char *const counter_names[COUNTER_COUNT] = {
#define X(id, name) name,
    COUNTER_LIST(X)
#undef X
};

const char *const mark_names[MARK_COUNT] = {
#define X(id, name) name,
    MARK_LIST(X)
#undef X
};

const char *const handle_names[HANDLE_TYPES] = {
    "misc",  "inode",  "write_page", "map_blocks",   "dir",   "truncate",
    "quota", "resize", "migrate",    "move_extents", "xattr", "ext_convert",
};

void counters_add(struct counters *c, const struct counters *more)
{
	uint64_t *to = (uint64_t *)c;
	const uint64_t *from = (const uint64_t *)more;

	for (size_t i = 0; i < sizeof(*c) / sizeof(*to); i++)
		to[i] += from[i];
}

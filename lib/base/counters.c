/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of the counters. */
#include "base/counters.h"

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

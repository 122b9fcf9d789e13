/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is open in a trace: which file each handle stands for, under the name it has now, and which
 * mappings there are.  Feed it every op in order.
 */
#ifndef TRACE_HANDLES_H
#define TRACE_HANDLES_H

#include "trace/names.h"
#include "trace/op.h"

struct open_handle {
	struct hash_node node; /* by number */
	uint32_t handle;
	uint32_t flags; /* of the open, without what happens only once */
	uint32_t mode;
	uint32_t thread;
	struct name *name; /* NULL: opened without a name; not linked: the name is gone */
	struct name *dir;  /* where a file without a name was opened */
};

struct open_window {
	struct hash_node node;
	uint32_t window, handle, flags, thread;
	uint64_t off, len;
};

struct handles {
	struct hash open, windows;
	struct names names;
	uint64_t opened, closed, unknown; /* unknown: used without having been opened */
};

int handles_init(struct handles *hs);
void handles_free(struct handles *hs);

/* 0 or -ENOMEM. */
int handles_follow(struct handles *hs, const struct op *o);

/* NULL when it is not open. */
struct open_handle *handles_find(const struct handles *hs, uint32_t handle);

#endif

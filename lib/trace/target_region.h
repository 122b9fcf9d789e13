/* SPDX-License-Identifier: BSD-2-Clause */
/* The region target's insides: what its two files share. */
#ifndef TRACE_TARGET_REGION_H
#define TRACE_TARGET_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "extkit/ctx.h"
#include "extkit/region.h"
#include "trace/target.h"

#define REGION_PIECE ((size_t)1 << 20)

/* A handle of the trace.  file is NULL for folders and whatever else a store does not have. */
struct region_handle {
	struct hash_node node;
	struct ek_region_file *file;
	bool sync; /* every write is stored before the next op */
};

struct region_target {
	struct target target;
	struct ek_region *region;
	struct hash handles;
	uint8_t *pattern;                    /* 00 01 .. ff, a piece of it */
	uint8_t *scratch;                    /* a piece, for reads and zeros */
	uint32_t threads[EK_REGION_WRITERS]; /* by writer, in the order in which they came */
	unsigned thread_count;
	bool no_stores, crash;
};

typedef int region_op_fn(struct region_target *t, struct region_handle *h, const struct op *o);

/* Which writer a thread of the trace is. */
unsigned region_writer(struct region_target *t, const struct op *o);

/* Pattern into [off, off + len). */
int region_fill(struct region_target *t, struct ek_region_file *f, uint64_t off, uint64_t len);

region_op_fn region_op_write, region_op_read, region_op_store, region_op_msync;
region_op_fn region_op_falloc, region_op_sync, region_op_sync_range, region_op_advise;
int region_op_copy(struct region_target *t, const struct op *o, struct region_handle *from,
		   struct region_handle *to);

#endif

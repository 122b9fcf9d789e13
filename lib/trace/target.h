/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a replay runs: an image through our own page cache, a mounted folder through system calls,
 * or a store of bytes through region writeback.  A target is given ops one by one; 0 or more is
 * success, -EBADF an op on a handle that is not open, another negative errno a call that failed.
 */
#ifndef TRACE_TARGET_H
#define TRACE_TARGET_H

#include <extkit/types.h>

#include "trace/op.h"

struct counters;
struct ek_ctx;
struct diag;
struct ek_replay_options;

/* Takes a fact; group and name are constants. */
typedef int target_row_fn(void *data, const char *group, const char *name, uint64_t value);

struct target {
	const struct target_ops *ops;
	struct diag *d;
};

/* Extents of the files that were open for writing and are still there. */
struct target_extents {
	uint64_t files, extents, blocks;
	uint64_t largest; /* blocks */
};

struct target_ops {
	/* The initial files are a complete list without a lost+found: the target's own, if empty,
	 * goes. */
	int (*bare)(struct target *t);
	/* A file that was there before the first op. */
	int (*node)(struct target *t, const struct op_node *n);
	/* All initial files are made: they become durable, counting begins. */
	int (*begin)(struct target *t);
	/* The clock, ns since the start of the trace; never goes back. */
	int (*tick)(struct target *t, uint64_t ns);
	int (*op)(struct target *t, const struct op *o);
	/* Everything is written; counters are final. */
	int (*finish)(struct target *t);
	/* Since begin(), until now or finish(); NULL when the target counts nothing. */
	const struct counters *(*counters)(struct target *t);
	/* Valid after finish; NULL when unknown. */
	const struct target_extents *(*extents)(struct target *t);
	/* What else it counted; NULL when nothing. */
	int (*rows)(struct target *t, target_row_fn *add, void *data);
	void (*close)(struct target *t);
};

/* start: wall clock at the beginning, or {0}. */
int target_open_image(const char *path, const struct ek_replay_options *opt, struct ek_time start,
		      uint32_t hz, struct diag *d, struct target **ret);
int target_open_folder(const char *path, const struct ek_replay_options *opt, struct diag *d,
		       struct target **ret);
/* store: as for ek_region_open. */
int target_open_region(const char *store, const struct ek_replay_options *opt, struct ek_ctx *ctx,
		       struct target **ret);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Policies: what differs between the write paths that can be compared, one value per switch.
 *
 * Each value names a code path (delalloc-facts 13.1, region-writeback 4.1), chosen when an image is
 * opened for a replay.  A preset is a whole column of values.  Values depend on one another: what
 * one excludes follows it, unless it was asked for by name; then the combination is refused.
 */
#ifndef FS_POLICY_H
#define FS_POLICY_H

#include <stdbool.h>
#include <stddef.h>

struct diag;

/* Where a buffered write opens handles and marks the inode (2.5). */
enum write_generation { WRITE_G0, WRITE_G1, WRITE_G3, WRITE_G4, WRITE_G5 };

/* What the end of a write to an inline file marks, and what it does when it fails (2.8, 3.3). */
enum inline_generation { INLINE_I0, INLINE_I3 };

/* How big folios are, and what is known of their blocks (5.3). */
enum folio_strategy { FOLIO_S0, FOLIO_S1, FOLIO_S2, FOLIO_S3 };

/* When writeback stops (4.9), whether a cyclic pass wraps without budget, and whether a pass
 * without a handle comes first (4.2). */
enum budget_rule { BUDGET_R0, BUDGET_R1, BUDGET_R2 };
enum wrap_rule { WRAP_W0, WRAP_W1 };
enum pass_rule { PASS_P0, PASS_P1 };

/* What maps the blocks of new files. */
enum mapping_rule { MAPPING_EXTENTS, MAPPING_INDIRECT };

/* When blocks are allocated, and by whose rules (6). */
enum allocation_rule {
	ALLOC_DELALLOC,
	ALLOC_NODELALLOC,
	ALLOC_NODELALLOC_NOMERGE,
	ALLOC_EXT3,
	ALLOC_EXT3_PATCH1,
	ALLOC_EXT3_PATCHED
};

/* Whether new blocks are unwritten until their data are on disk. */
enum completion_rule { COMPLETION_UNWRITTEN, COMPLETION_WRITTEN };

enum data_mode { DATA_MODE_ORDERED, DATA_MODE_WRITEBACK, DATA_MODE_JOURNAL, DATA_MODE_NONE };

/* When a changed inode is copied into its table block (6.3). */
enum inode_update { INODE_EAGER, INODE_LAZY };

/* Region writeback (region-writeback 4.1). */
enum region_walk { WALK_REGION, WALK_BATCH, WALK_GENERIC, WALK_INLINE, WALK_ITER, WALK_BITMAP };
enum region_track { TRACK_NONE, TRACK_RANGE, TRACK_BLOCK, TRACK_BYTES };
enum region_stable { STABLE_WAIT, STABLE_COPY, STABLE_COW };

enum policy_switch {
	SWITCH_WRITE,
	SWITCH_INLINE,
	SWITCH_FOLIO,
	SWITCH_BUDGET,
	SWITCH_WRAP,
	SWITCH_PASS,
	SWITCH_MAPPING,
	SWITCH_ALLOCATION,
	SWITCH_COMPLETION,
	SWITCH_DATA,
	SWITCH_INODE,
	SWITCH_WALK,
	SWITCH_TRACK,
	SWITCH_STABLE,
	SWITCH_COUNT
};

struct policy {
	const char *name; /* of the preset it began with */
	enum write_generation write;
	enum inline_generation inlined;
	enum folio_strategy folio;
	enum budget_rule budget;
	enum wrap_rule wrap;
	enum pass_rule pass;
	enum mapping_rule mapping;
	enum allocation_rule allocation;
	enum completion_rule completion;
	enum data_mode data;
	enum inode_update inode;
	enum region_walk walk;
	enum region_track track;
	enum region_stable stable;
	unsigned asked; /* switches that were set by name, one bit each */
};

/* linux-6.18: what an image is opened with when nobody chooses. */
extern const struct policy policy_default;

/* A preset (NULL: the default) with nset settings "switch=value".  -EINVAL for unknown words, with
 * those there are, and for a combination that cannot be, with the reason. */
int policy_choose(const char *preset, const char *const *set, size_t nset, struct diag *d,
		  struct policy *ret);

/* Settings of region writeback (where region is false), or others than its, mean nothing where the
 * policy goes: -EINVAL with the first that was asked for. */
int policy_check_region(const struct policy *p, bool region, struct diag *d);

/* Value number of a switch, and its word. */
unsigned policy_value(const struct policy *p, enum policy_switch s);
const char *policy_word(const struct policy *p, enum policy_switch s);

/* The preset of that name; -EINVAL with all names. */
int policy_find(const char *name, struct diag *d, struct policy *ret);

static inline bool policy_delays(const struct policy *p)
{
	return p->allocation == ALLOC_DELALLOC;
}

#endif

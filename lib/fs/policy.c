/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables of policies: switches with their words, and which value excludes which.
 *
 * A rule says that with one value another switch has to have one of a set.  A value that was not
 * asked for gives way; one that was makes the combination impossible.
 */
#include "fs/policy.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/diag.h"
#include "base/str.h"
#include "extkit/policy.h"

/* ---- switches ---- */

static const struct ek_policy_value write_values[] = {
    [WRITE_G0] = {"g0", "to 5.14: a handle over every copy, the size is marked twice"},
    [WRITE_G1] = {"g1", "the same handle, one mark when the file grows"},
    [WRITE_G3] = {"g3", "5.15: no handle over the copy, one for each growth"},
    [WRITE_G4] = {"g4", "6.6: a handle only when writeback will not store the size"},
    [WRITE_G5] = {"g5", "6.14: as g4, and zeroes the old last block under it"},
    {NULL, NULL},
};

static const struct ek_policy_value inline_values[] = {
    [INLINE_I0] = {"i0", "to 5.14: several marks, and the defects of its error path"},
    [INLINE_I3] = {"i3", "5.15: one end for inline files, one mark"},
    {NULL, NULL},
};

static const struct ek_policy_value folio_values[] = {
    [FOLIO_S0] = {"s0", "pages of 4 KiB, with a state for each block"},
    [FOLIO_S1] = {"s1", "folios as large as the write, with a state for each block"},
    [FOLIO_S2] = {"s2", "folios and ranges: a write is mapped in one step, as iomap does"},
    [FOLIO_S3] = {"s3", "ranges over chunks of 2 MiB: the fastest we know"},
    {NULL, NULL},
};

static const struct ek_policy_value budget_values[] = {
    [BUDGET_R0] = {"r0", "3.11: looks at the budget after a page was taken, without a sign"},
    [BUDGET_R1] = {"r1", "3.13: looks before a page is taken"},
    [BUDGET_R2] = {"r2", "6.3: counts what was collected too"},
    {NULL, NULL},
};

static const struct ek_policy_value wrap_values[] = {
    [WRAP_W0] = {"w0", "3.11: a cyclic pass wraps though its budget is used up"},
    [WRAP_W1] = {"w1", "3.13: it does not"},
    {NULL, NULL},
};

static const struct ek_policy_value pass_values[] = {
    [PASS_P0] = {"p0", "to 4.15: writeback begins with a handle"},
    [PASS_P1] = {"p1", "4.16: pages that need no place are written without one first"},
    {NULL, NULL},
};

static const struct ek_policy_value mapping_values[] = {
    [MAPPING_EXTENTS] = {"extents", "new files have extents, where the image has them"},
    [MAPPING_INDIRECT] = {"indirect", "new files have block pointers"},
    {NULL, NULL},
};

static const struct ek_policy_value allocation_values[] = {
    [ALLOC_DELALLOC] = {"delalloc", "blocks are reserved by writes, allocated by writeback"},
    [ALLOC_NODELALLOC] = {"nodelalloc", "allocated by writes"},
    [ALLOC_NODELALLOC_NOMERGE] = {"nodelalloc-nomerge", "the same, an extent for each page"},
    [ALLOC_EXT3] = {"ext3", "ext3 of 3.3: four marks a page"},
    [ALLOC_EXT3_PATCH1] = {"ext3-patch1", "the first patch: three marks a page"},
    [ALLOC_EXT3_PATCHED] = {"ext3-patched", "both patches, in 3.6: two marks a page"},
    {NULL, NULL},
};

static const struct ek_policy_value completion_values[] = {
    [COMPLETION_UNWRITTEN] = {"unwritten", "new blocks are unwritten until their data are on disk"},
    [COMPLETION_WRITTEN] = {"written", "new blocks are written at once"},
    {NULL, NULL},
};

static const struct ek_policy_value data_values[] = {
    [DATA_MODE_ORDERED] = {"ordered", "data are on disk before the commit that shows them"},
    [DATA_MODE_WRITEBACK] = {"writeback", "data and commits know nothing of each other"},
    [DATA_MODE_JOURNAL] = {"journal", "data go through the journal"},
    [DATA_MODE_NONE] = {"none", "the journal is not used"},
    {NULL, NULL},
};

static const struct ek_policy_value inode_values[] = {
    [INODE_EAGER] = {"eager", "every mark copies the inode into its table block"},
    [INODE_LAZY] = {"lazy", "the commit copies it, once"},
    {NULL, NULL},
};

static const struct ek_policy_value walk_values[] = {
    [WALK_REGION] = {"region", "one dirty folio is looked up, then extended to a run"},
    [WALK_BATCH] = {"batch", "a batch is looked up, each of it extended"},
    [WALK_GENERIC] = {"generic", "a public walker calls back for each folio"},
    [WALK_INLINE] = {"inline", "the same walker without the call"},
    [WALK_ITER] = {"iter", "an iterator, the caller owns the loop"},
    [WALK_BITMAP] = {"bitmap", "runs are read from the dirty bits"},
    {NULL, NULL},
};

static const struct ek_policy_value track_values[] = {
    [TRACK_NONE] = {"none", "a folio is dirty as a whole"},
    [TRACK_RANGE] = {"range", "one range of bytes per folio"},
    [TRACK_BLOCK] = {"block", "a bit per block"},
    [TRACK_BYTES] = {"bytes", "a bit per block and exact edges"},
    {NULL, NULL},
};

static const struct ek_policy_value stable_values[] = {
    [STABLE_WAIT] = {"wait", "writers wait until the store is done"},
    [STABLE_COPY] = {"copy", "what is stored is copied first"},
    [STABLE_COW] = {"cow", "writers get new memory, the store keeps the old"},
    {NULL, NULL},
};

static const struct ek_policy_switch switches[SWITCH_COUNT + 1] = {
    [SWITCH_WRITE] = {"write", "where buffered writes open handles and mark inodes", write_values},
    [SWITCH_INLINE] = {"inline", "how writes to inline files end", inline_values},
    [SWITCH_FOLIO] = {"folio", "what the page cache keeps", folio_values},
    [SWITCH_BUDGET] = {"budget", "when a writeback call stops", budget_values},
    [SWITCH_WRAP] = {"wrap", "whether it goes on at the file's beginning", wrap_values},
    [SWITCH_PASS] = {"pass", "how it begins", pass_values},
    [SWITCH_MAPPING] = {"mapping", "what new files map their blocks with", mapping_values},
    [SWITCH_ALLOCATION] = {"allocation", "when blocks are allocated", allocation_values},
    [SWITCH_COMPLETION] = {"completion", "when new blocks count as written", completion_values},
    [SWITCH_DATA] = {"data", "what the journal does for data", data_values},
    [SWITCH_INODE] = {"inode", "when inodes go to their table", inode_values},
    [SWITCH_WALK] = {"walk", "how region writeback finds dirty data", walk_values},
    [SWITCH_TRACK] = {"track", "what region writeback knows to be dirty", track_values},
    [SWITCH_STABLE] = {"stable", "what keeps data still while they are stored", stable_values},
    {NULL, NULL, NULL},
};

static unsigned *slot(struct policy *p, enum policy_switch s)
{
	static const size_t at[SWITCH_COUNT] = {
	    [SWITCH_WRITE] = offsetof(struct policy, write),
	    [SWITCH_INLINE] = offsetof(struct policy, inlined),
	    [SWITCH_FOLIO] = offsetof(struct policy, folio),
	    [SWITCH_BUDGET] = offsetof(struct policy, budget),
	    [SWITCH_WRAP] = offsetof(struct policy, wrap),
	    [SWITCH_PASS] = offsetof(struct policy, pass),
	    [SWITCH_MAPPING] = offsetof(struct policy, mapping),
	    [SWITCH_ALLOCATION] = offsetof(struct policy, allocation),
	    [SWITCH_COMPLETION] = offsetof(struct policy, completion),
	    [SWITCH_DATA] = offsetof(struct policy, data),
	    [SWITCH_INODE] = offsetof(struct policy, inode),
	    [SWITCH_WALK] = offsetof(struct policy, walk),
	    [SWITCH_TRACK] = offsetof(struct policy, track),
	    [SWITCH_STABLE] = offsetof(struct policy, stable),
	};

	static_assert(sizeof(enum data_mode) == sizeof(unsigned), "switches are read as numbers");
	return (unsigned *)(void *)((char *)p + at[s]);
}

unsigned policy_value(const struct policy *p, enum policy_switch s)
{
	return *slot((struct policy *)(uintptr_t)p, s);
}

const char *policy_word(const struct policy *p, enum policy_switch s)
{
	return switches[s].values[policy_value(p, s)].word;
}

/* ---- settings ---- */

static int no_value(const struct ek_policy_switch *s, const char *word, struct diag *d)
{
	struct str known = {0};
	int rc;

	for (size_t i = 0; s->values[i].word != NULL; i++)
		str_addf(&known, " %s", s->values[i].word);
	rc = diag_set(d, -EINVAL, "policy: %s has no value '%s', only%s", s->name, word,
		      str_text(&known));
	str_free(&known);
	return rc;
}

static int set_value(struct policy *p, enum policy_switch which, const char *word, struct diag *d)
{
	const struct ek_policy_switch *s = &switches[which];

	for (unsigned i = 0; s->values[i].word != NULL; i++) {
		if (strcmp(s->values[i].word, word) == 0) {
			*slot(p, which) = i;
			p->asked |= 1u << which;
			return 0;
		}
	}
	return no_value(s, word, d);
}

static int policy_set(struct policy *p, const char *setting, struct diag *d)
{
	const char *equals = strchr(setting, '=');
	size_t len = equals != NULL ? (size_t)(equals - setting) : 0;
	struct str known = {0};
	int rc;

	for (unsigned i = 0; i < SWITCH_COUNT; i++) {
		if (len != 0 && strlen(switches[i].name) == len &&
		    memcmp(switches[i].name, setting, len) == 0) {
			str_free(&known);
			return set_value(p, (enum policy_switch)i, equals + 1, d);
		}
		str_addf(&known, " %s", switches[i].name);
	}
	rc = diag_set(d, -EINVAL, "policy: '%s' is not SWITCH=VALUE, the switches are:%s", setting,
		      str_text(&known));
	str_free(&known);
	return rc;
}

/* ---- what excludes what ---- */

#define ONLY(v) (1u << (v))

static const struct rule {
	enum policy_switch when;
	unsigned values; /* bits */
	enum policy_switch other;
	unsigned allowed; /* bits */
	unsigned becomes;
	const char *why;
} rules[] = {
    {SWITCH_DATA, ONLY(DATA_MODE_JOURNAL), SWITCH_ALLOCATION,
     ~(ONLY(ALLOC_DELALLOC) | ONLY(ALLOC_EXT3) | ONLY(ALLOC_EXT3_PATCH1) |
       ONLY(ALLOC_EXT3_PATCHED)),
     ALLOC_NODELALLOC,
     "data in the journal have their place when they are written, by ext4's rules"},
    {SWITCH_DATA, ONLY(DATA_MODE_JOURNAL), SWITCH_FOLIO, ONLY(FOLIO_S0), FOLIO_S0,
     "the journal takes pages one by one"},
    {SWITCH_ALLOCATION, ONLY(ALLOC_EXT3) | ONLY(ALLOC_EXT3_PATCH1) | ONLY(ALLOC_EXT3_PATCHED),
     SWITCH_MAPPING, ONLY(MAPPING_INDIRECT), MAPPING_INDIRECT, "ext3 has no extents"},
    {SWITCH_ALLOCATION, ONLY(ALLOC_EXT3) | ONLY(ALLOC_EXT3_PATCH1) | ONLY(ALLOC_EXT3_PATCHED),
     SWITCH_FOLIO, ONLY(FOLIO_S0), FOLIO_S0, "ext3 knew pages only"},
    {SWITCH_ALLOCATION, ~ONLY(ALLOC_DELALLOC), SWITCH_COMPLETION, ONLY(COMPLETION_WRITTEN),
     COMPLETION_WRITTEN, "what is allocated when it is written is not unwritten"},
    {SWITCH_MAPPING, ONLY(MAPPING_INDIRECT), SWITCH_COMPLETION, ONLY(COMPLETION_WRITTEN),
     COMPLETION_WRITTEN, "block pointers cannot say unwritten"},
    {SWITCH_ALLOCATION, ~ONLY(ALLOC_DELALLOC), SWITCH_FOLIO, ONLY(FOLIO_S0) | ONLY(FOLIO_S1),
     FOLIO_S1, "ranges are delayed until writeback"},
    {SWITCH_MAPPING, ONLY(MAPPING_INDIRECT), SWITCH_FOLIO, ONLY(FOLIO_S0) | ONLY(FOLIO_S1),
     FOLIO_S1, "ranges need extents"},
    {SWITCH_FOLIO, ONLY(FOLIO_S2) | ONLY(FOLIO_S3), SWITCH_WRITE, ONLY(WRITE_G5), WRITE_G5,
     "a write by ranges opens no handle over the copy"},
    {SWITCH_FOLIO, ONLY(FOLIO_S2) | ONLY(FOLIO_S3), SWITCH_BUDGET, ONLY(BUDGET_R2), BUDGET_R2,
     "writeback by ranges came after the older rules"},
    {SWITCH_FOLIO, ONLY(FOLIO_S2) | ONLY(FOLIO_S3), SWITCH_WRAP, ONLY(WRAP_W1), WRAP_W1,
     "writeback by ranges came after the older rules"},
    {SWITCH_FOLIO, ONLY(FOLIO_S2) | ONLY(FOLIO_S3), SWITCH_PASS, ONLY(PASS_P1), PASS_P1,
     "writeback by ranges came after the older rules"},
    {SWITCH_FOLIO, ONLY(FOLIO_S2) | ONLY(FOLIO_S3), SWITCH_COMPLETION, ONLY(COMPLETION_UNWRITTEN),
     COMPLETION_UNWRITTEN, "ranges are converted when their data are on disk"},
    {SWITCH_BUDGET, ONLY(BUDGET_R0), SWITCH_PASS, ONLY(PASS_P0), PASS_P0,
     "its calls ended when nothing was left to map, whatever the budget"},
};

static int settle_rule(struct policy *p, const struct rule *r, struct diag *d)
{
	unsigned have = policy_value(p, r->other);

	if ((r->values & ONLY(policy_value(p, r->when))) == 0 || (r->allowed & ONLY(have)) != 0)
		return 0;
	if ((p->asked & ONLY(r->other)) != 0)
		return diag_set(d, -EINVAL, "policy: %s=%s is impossible with %s=%s: %s",
				switches[r->other].name, policy_word(p, r->other),
				switches[r->when].name, policy_word(p, r->when), r->why);
	*slot(p, r->other) = r->becomes;
	return 0;
}

static int policy_settle(struct policy *p, struct diag *d)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rules) && rc == 0; i++)
		rc = settle_rule(p, &rules[i], d);
	return rc;
}

/* ---- the public tables ---- */

const struct ek_policy_switch *ek_policy_switch(size_t i)
{
	return i < SWITCH_COUNT ? &switches[i] : NULL;
}

int policy_choose(const char *preset, const char *const *set, size_t nset, struct diag *d,
		  struct policy *ret)
{
	struct policy p = policy_default;
	int rc = preset != NULL ? policy_find(preset, d, &p) : 0;

	for (size_t i = 0; i < nset && rc == 0; i++)
		rc = policy_set(&p, set[i], d);
	if (rc == 0)
		rc = policy_settle(&p, d);
	if (rc == 0)
		*ret = p;
	return rc;
}

int policy_check_region(const struct policy *p, bool region, struct diag *d)
{
	for (unsigned i = 0; i < SWITCH_COUNT; i++)
		if ((p->asked & ONLY(i)) != 0 && (i >= SWITCH_WALK) != region)
			return diag_set(d, -EINVAL, "policy: %s says nothing about %s",
					switches[i].name, region ? "a region" : "an image");
	return 0;
}

int ek_policy_resolve(struct ek_ctx *ctx, const char *preset, const char *const *set, size_t nset,
		      unsigned *ret, size_t n)
{
	struct policy p;
	int rc;

	diag_clear(&ctx->diag);
	rc = policy_choose(preset, set, nset, &ctx->diag, &p);
	for (size_t i = 0; i < n && i < SWITCH_COUNT && rc == 0; i++)
		ret[i] = policy_value(&p, (enum policy_switch)i);
	return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Policies that have a name: what each of them sets. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/str.h"
#include "extkit/policy.h"
#include "fs/policy.h"

/* What region writeback does has no part in the presets of ext4: the best we know. */
#define REGION .walk = WALK_BITMAP, .track = TRACK_BYTES, .stable = STABLE_COPY

const struct policy policy_default = {.name = "linux-6.18",
				      .write = WRITE_G5,
				      .inlined = INLINE_I3,
				      .folio = FOLIO_S1,
				      .budget = BUDGET_R2,
				      .wrap = WRAP_W1,
				      .pass = PASS_P1,
				      REGION};

static const struct ek_policy_value preset_words[] = {
    {"linux-6.18", "ext4 of Linux 6.18 with its default options"},
    {"linux-6.6", "ext4 of 6.6: pages, and handles for some growth only"},
    {"linux-5.15", "ext4 of 5.15: no handle over the copy"},
    {"linux-5.14", "ext4 of 5.14: a handle over every copy"},
    {"linux-3.13", "ext4 of 3.13: writeback keeps its budget, extents are written at once"},
    {"linux-3.11", "ext4 of 3.11: writeback overruns its budget"},
    {"ext3-3.3", "ext3 of 3.3: block pointers, four inode marks a page"},
    {"ext3-3.3-patched", "ext3 with both patches of 3.6: two marks a page"},
    {"iomap", "ext4 on iomap as proposed: writes and writeback go by ranges"},
    {"native", "the best we know: chunks, lazy inodes, walks over bitmaps"},
    {NULL, NULL},
};

/* In the order of their words. */
static const struct policy presets[ARRAY_SIZE(preset_words) - 1] = {
    {.write = WRITE_G5,
     .inlined = INLINE_I3,
     .folio = FOLIO_S1,
     .budget = BUDGET_R2,
     .wrap = WRAP_W1,
     .pass = PASS_P1,
     REGION},
    {.write = WRITE_G4,
     .inlined = INLINE_I3,
     .budget = BUDGET_R2,
     .wrap = WRAP_W1,
     .pass = PASS_P1,
     REGION},
    {.write = WRITE_G3,
     .inlined = INLINE_I3,
     .budget = BUDGET_R1,
     .wrap = WRAP_W1,
     .pass = PASS_P1,
     REGION},
    {.write = WRITE_G0,
     .inlined = INLINE_I0,
     .budget = BUDGET_R1,
     .wrap = WRAP_W1,
     .pass = PASS_P1,
     REGION},
    {.write = WRITE_G0,
     .inlined = INLINE_I0,
     .budget = BUDGET_R1,
     .wrap = WRAP_W1,
     .completion = COMPLETION_WRITTEN,
     REGION},
    {.write = WRITE_G0,
     .inlined = INLINE_I0,
     .budget = BUDGET_R0,
     .wrap = WRAP_W0,
     .completion = COMPLETION_WRITTEN,
     REGION},
    {.write = WRITE_G0,
     .inlined = INLINE_I0,
     .budget = BUDGET_R1,
     .wrap = WRAP_W1,
     .pass = PASS_P1, /* a page whose blocks have places was written without a handle */
     .mapping = MAPPING_INDIRECT,
     .allocation = ALLOC_EXT3,
     .completion = COMPLETION_WRITTEN,
     REGION},
    {.write = WRITE_G0,
     .inlined = INLINE_I0,
     .budget = BUDGET_R1,
     .wrap = WRAP_W1,
     .pass = PASS_P1, /* a page whose blocks have places was written without a handle */
     .mapping = MAPPING_INDIRECT,
     .allocation = ALLOC_EXT3_PATCHED,
     .completion = COMPLETION_WRITTEN,
     REGION},
    {.write = WRITE_G5,
     .inlined = INLINE_I3,
     .folio = FOLIO_S2,
     .budget = BUDGET_R2,
     .wrap = WRAP_W1,
     .pass = PASS_P1,
     REGION},
    {.write = WRITE_G5,
     .inlined = INLINE_I3,
     .folio = FOLIO_S3,
     .budget = BUDGET_R2,
     .wrap = WRAP_W1,
     .pass = PASS_P1,
     .inode = INODE_LAZY,
     REGION},
};

int policy_find(const char *name, struct diag *d, struct policy *ret)
{
	struct str known = {0};
	int rc;

	for (size_t i = 0; i < ARRAY_SIZE(presets); i++) {
		if (strcmp(preset_words[i].word, name) == 0) {
			*ret = presets[i];
			ret->name = preset_words[i].word;
			str_free(&known);
			return 0;
		}
		str_addf(&known, " %s", preset_words[i].word);
	}
	rc = diag_set(d, -EINVAL, "policy: no preset '%s', there are:%s", name, str_text(&known));
	str_free(&known);
	return rc;
}

const struct ek_policy_value *ek_policy_preset(size_t i)
{
	return i < ARRAY_SIZE(presets) ? &preset_words[i] : NULL;
}

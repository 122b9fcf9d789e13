/* SPDX-License-Identifier: BSD-2-Clause */
/* What a new filesystem may not be: sizes out of range, features nobody can make, features that
 * exclude or need each other. */
#include <errno.h>

#include "base/check.h"
#include "fs/create_impl.h"

static int check_sizes(const struct create_opts *o, uint32_t bs, uint32_t isize, struct diag *d)
{
	if (bs < 1024 || bs > 65536 || !is_pow2(bs))
		return diag_set(d, -EINVAL, "block size %u: want a power of two from 1024 to 65536",
				bs);
	if (isize < 128 || isize > bs || !is_pow2(isize))
		return diag_set(d, -EINVAL,
				"inode size %u: want a power of two from 128 to the block size %u",
				isize, bs);
	if (o->revision0 && isize != 128)
		return diag_set(d, -EINVAL, "inode size %u: revision 0 has only 128", isize);
	if (o->cluster_size != 0 && (o->ro_compat & RO_COMPAT_BIGALLOC) == 0)
		return diag_set(d, -EINVAL, "cluster size %u: needs -O bigalloc", o->cluster_size);
	if (o->stride > UINT16_MAX)
		return diag_set(d, -EINVAL, "stride %u: at most %u", o->stride, UINT16_MAX);
	return 0;
}

static int check_makeable(const struct create_opts *o, struct diag *d)
{
	const uint32_t words[] = {o->compat, o->incompat, o->ro_compat};
	char text[256];

	if ((o->incompat & INCOMPAT_JOURNAL_DEV) != 0)
		return diag_set(d, -EINVAL,
				"feature journal_dev: use --journal-device, a filesystem has none");
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		enum feature_word word = (enum feature_word)i;
		uint32_t lacking = feature_lacking(word, words[i], FEATURE_MAKE);

		if (lacking != 0)
			return diag_set(d, -EOPNOTSUPP, "cannot make a filesystem with: %s",
					feature_list(word, lacking, text, sizeof(text)));
	}
	return 0;
}

/* A feature and what it wants of another. */
struct rule {
	enum feature_word word;
	uint32_t bit;
	enum feature_word other_word;
	uint32_t other;
	bool needs; /* else excludes */
};

#define C FEATURE_COMPAT
#define I FEATURE_INCOMPAT
#define R FEATURE_RO_COMPAT

static const struct rule rules[] = {
    {R, RO_COMPAT_BIGALLOC, I, INCOMPAT_EXTENTS, true},
    {C, COMPAT_RESIZE_INODE, R, RO_COMPAT_SPARSE_SUPER, true},
    {I, INCOMPAT_META_BG, C, COMPAT_RESIZE_INODE, false},
    {C, COMPAT_FAST_COMMIT, C, COMPAT_HAS_JOURNAL, true},
    {C, COMPAT_ORPHAN_FILE, C, COMPAT_HAS_JOURNAL, true},
    {I, INCOMPAT_CSUM_SEED, R, RO_COMPAT_METADATA_CSUM, true},
};

#undef C
#undef I
#undef R

static int check_rules(const struct create_opts *o, struct diag *d)
{
	const uint32_t words[] = {o->compat, o->incompat, o->ro_compat};

	for (unsigned i = 0; i < ARRAY_SIZE(rules); i++) {
		const struct rule *r = &rules[i];

		if ((words[r->word] & r->bit) == 0 ||
		    ((words[r->other_word] & r->other) != 0) == r->needs)
			continue;
		return diag_set(d, -EINVAL, "feature %s %s %s: add -O %s%s",
				feature_of(r->word, r->bit)->name, r->needs ? "needs" : "excludes",
				feature_of(r->other_word, r->other)->name, r->needs ? "" : "^",
				feature_of(r->other_word, r->other)->name);
	}
	return 0;
}

/* Features whose fields lie behind the first 128 bytes of an inode. */
static int check_extra(const struct create_opts *o, uint32_t isize, struct diag *d)
{
	if (isize > 128)
		return 0;
	if ((o->ro_compat & RO_COMPAT_EXTRA_ISIZE) != 0)
		return diag_set(d, -EINVAL,
				"inode size 128 has no room for extra_isize: add -O ^extra_isize");
	if ((o->incompat & INCOMPAT_INLINE_DATA) != 0)
		return diag_set(d, -EINVAL,
				"inode size 128 has no room for inline_data: add -O ^inline_data");
	if ((o->ro_compat & RO_COMPAT_PROJECT) != 0)
		return diag_set(d, -EINVAL,
				"inode size 128 has no room for project: add -O ^project");
	return 0;
}

int create_check(const struct create_opts *o, uint32_t bs, uint32_t isize, struct diag *d)
{
	int rc = check_sizes(o, bs, isize, d);

	if (rc == 0)
		rc = check_makeable(o, d);
	if (rc == 0)
		rc = check_rules(o, d);
	return rc < 0 ? rc : check_extra(o, isize, d);
}

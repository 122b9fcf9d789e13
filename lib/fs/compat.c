/* SPDX-License-Identifier: BSD-2-Clause */
/* One row a feature with the versions that brought it; a profile is a column and a version. */
#include "fs/compat.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/escape.h"
#include "fs/create.h"

enum reader { READER_LINUX, READER_E2FSPROGS, READER_GRUB, READERS };

static const char *const reader_names[READERS] = {"linux", "e2fsprogs", "grub"};

#define V(major, minor, patch) ((uint32_t)(major) << 20 | (uint32_t)(minor) << 8 | (patch))
#define ALWAYS                 0u
#define NEVER                  UINT32_MAX

struct support {
	enum feature_word word;
	uint32_t bit;
	uint32_t since[READERS];
};

#define C FEATURE_COMPAT
#define I FEATURE_INCOMPAT
#define R FEATURE_RO_COMPAT

/* What is not here was there from the start. */
static const struct support table[] = {
    {C, COMPAT_RESIZE_INODE, {V(2, 6, 10), ALWAYS, ALWAYS}},
    {C, COMPAT_SPARSE_SUPER2, {V(3, 16, 0), V(1, 43, 0), ALWAYS}},
    {C, COMPAT_FAST_COMMIT, {V(5, 10, 0), V(1, 46, 0), ALWAYS}},
    {C, COMPAT_STABLE_INODES, {V(5, 5, 0), V(1, 46, 0), ALWAYS}},
    {C, COMPAT_ORPHAN_FILE, {V(5, 15, 0), V(1, 47, 0), ALWAYS}},
    {I, INCOMPAT_META_BG, {V(2, 6, 28), ALWAYS, ALWAYS}},
    {I, INCOMPAT_EXTENTS, {V(2, 6, 28), V(1, 41, 0), ALWAYS}},
    {I, INCOMPAT_64BIT, {V(2, 6, 28), V(1, 42, 0), V(2, 0, 0)}},
    {I, INCOMPAT_FLEX_BG, {V(2, 6, 28), V(1, 41, 0), ALWAYS}},
    {I, INCOMPAT_MMP, {V(3, 0, 0), V(1, 42, 0), V(2, 0, 0)}},
    {I, INCOMPAT_EA_INODE, {V(4, 13, 0), V(1, 44, 0), NEVER}},
    {I, INCOMPAT_CSUM_SEED, {V(4, 4, 0), V(1, 43, 0), V(2, 12, 0)}},
    {I, INCOMPAT_LARGEDIR, {V(4, 13, 0), V(1, 44, 0), V(2, 12, 0)}},
    {I, INCOMPAT_INLINE_DATA, {V(3, 8, 0), V(1, 43, 0), NEVER}},
    {I, INCOMPAT_ENCRYPT, {V(4, 1, 0), V(1, 43, 0), V(2, 4, 0)}},
    {I, INCOMPAT_CASEFOLD, {V(5, 2, 0), V(1, 45, 0), NEVER}},
    {R, RO_COMPAT_HUGE_FILE, {V(2, 6, 28), V(1, 41, 0), ALWAYS}},
    {R, RO_COMPAT_GDT_CSUM, {V(2, 6, 28), V(1, 41, 0), ALWAYS}},
    {R, RO_COMPAT_DIR_NLINK, {V(2, 6, 28), V(1, 41, 0), ALWAYS}},
    {R, RO_COMPAT_EXTRA_ISIZE, {V(2, 6, 28), V(1, 41, 0), ALWAYS}},
    {R, RO_COMPAT_QUOTA, {V(3, 6, 0), V(1, 42, 0), ALWAYS}},
    {R, RO_COMPAT_BIGALLOC, {V(3, 2, 0), V(1, 42, 0), ALWAYS}},
    {R, RO_COMPAT_METADATA_CSUM, {V(3, 18, 0), V(1, 43, 0), ALWAYS}},
    {R, RO_COMPAT_PROJECT, {V(4, 5, 0), V(1, 43, 0), ALWAYS}},
    {R, RO_COMPAT_VERITY, {V(5, 4, 0), V(1, 45, 0), ALWAYS}},
};

#undef C
#undef I
#undef R

static int bad_profile(const char *profile, struct diag *d)
{
	char shown[64];

	return diag_set(d, -EINVAL,
			"profile '%s': want linux-X.Y, e2fsprogs-X.Y or grub-X.Y (linux-4.9)",
			escape_to(shown, sizeof(shown), profile, strlen(profile)));
}

static int parse(const char *profile, struct diag *d, enum reader *reader, uint32_t *version)
{
	unsigned major, minor, patch = 0;
	int end = 0;

	for (unsigned i = 0; i < READERS; i++) {
		size_t len = strlen(reader_names[i]);
		const char *at = profile + len + 1;

		if (strncmp(profile, reader_names[i], len) != 0 || profile[len] != '-')
			continue;
		if (sscanf(at, "%3u.%3u%n.%3u%n", &major, &minor, &end, &patch, &end) < 2 ||
		    at[end] != '\0' || patch > 255)
			return bad_profile(profile, d);
		*reader = (enum reader)i;
		*version = V(major, minor, patch);
		return 0;
	}
	return bad_profile(profile, d);
}

/* The bits of one word that came after the version. */
static uint32_t unknown_bits(enum feature_word word, enum reader reader, uint32_t version)
{
	uint32_t bits = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(table); i++) {
		if (table[i].word == word && table[i].since[reader] > version)
			bits |= table[i].bit;
	}
	return bits;
}

int compat_limit(const char *profile, struct create_opts *o, struct diag *d)
{
	enum reader reader;
	uint32_t version;
	int rc = parse(profile, d, &reader, &version);

	if (rc < 0)
		return rc;
	o->compat &= ~unknown_bits(FEATURE_COMPAT, reader, version);
	o->incompat &= ~unknown_bits(FEATURE_INCOMPAT, reader, version);
	o->ro_compat &= ~unknown_bits(FEATURE_RO_COMPAT, reader, version);
	return 0;
}

int compat_check(const char *profile, const struct create_opts *o, struct diag *d)
{
	const uint32_t words[] = {o->compat, o->incompat, o->ro_compat};
	enum reader reader;
	uint32_t version;
	char names[256];
	int rc = parse(profile, d, &reader, &version);

	for (unsigned i = 0; i < ARRAY_SIZE(words) && rc == 0; i++) {
		uint32_t bad = words[i] & unknown_bits((enum feature_word)i, reader, version);

		if (bad != 0)
			rc =
			    diag_set(d, -EINVAL, "profile %s does not know: %s", profile,
				     feature_list((enum feature_word)i, bad, names, sizeof(names)));
	}
	return rc;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What callers ask of a new filesystem, as numbers: the type gives a set of features, a profile
 * takes away what the named reader does not know, the list of features has the last word.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uuid.h>

#include "base/check.h"
#include "base/escape.h"
#include "extkit/create.h"
#include "fs/compat.h"
#include "fs/create_impl.h"

static uint32_t *word_of(struct create_opts *o, enum feature_word word)
{
	return word == FEATURE_COMPAT     ? &o->compat
	       : word == FEATURE_INCOMPAT ? &o->incompat
					  : &o->ro_compat;
}

/* "+name", "name", "^name", or "none" for no feature at all. */
static int change_feature(struct create_opts *o, const char *item, size_t len, struct diag *d)
{
	bool off = len > 0 && (item[0] == '^' || item[0] == '-');
	size_t skip = off || (len > 0 && item[0] == '+') ? 1 : 0;
	const struct feature *f = feature_named(item + skip, len - skip);
	char shown[64];

	if (len == 4 && memcmp(item, "none", 4) == 0) {
		o->compat = o->incompat = o->ro_compat = 0;
		return 0;
	}
	if (f == NULL)
		return diag_set(d, -EOPNOTSUPP, "no such feature: '%s'",
				escape_to(shown, sizeof(shown), item + skip, len - skip));
	if (off)
		*word_of(o, f->word) &= ~f->bit;
	else
		*word_of(o, f->word) |= f->bit;
	return 0;
}

static int change_features(struct create_opts *o, const char *list, struct diag *d)
{
	int rc = 0;

	while (list != NULL && *list != '\0' && rc == 0) {
		size_t len = strcspn(list, ", ");

		if (len != 0)
			rc = change_feature(o, list, len, d);
		list += len + (list[len] != '\0' ? 1 : 0);
	}
	return rc;
}

/* Names for the two numbers that a seed stands for; any fixed UUID would do as their space. */
static void from_seed(const char *seed, struct create_opts *o)
{
	static const uint8_t space[2][16] = {
	    {0x65, 0x78, 0x74, 0x6b, 0x69, 0x74, 0x40, 0x01, 0x80, 0x01, 0x75, 0x75, 0x69, 0x64},
	    {0x65, 0x78, 0x74, 0x6b, 0x69, 0x74, 0x40, 0x02, 0x80, 0x02, 0x68, 0x61, 0x73, 0x68},
	};

	uuid_generate_sha1(o->uuid, space[0], seed, strlen(seed));
	uuid_generate_sha1(o->hash_seed, space[1], seed, strlen(seed));
}

static int set_uuid(const char *text, uint8_t *uuid)
{
	if (strcmp(text, "random") == 0)
		uuid_generate_random(uuid);
	else if (strcmp(text, "clear") == 0)
		uuid_clear(uuid);
	else
		return uuid_parse(text, uuid);
	return 0;
}

static int set_identity(const struct ek_create_options *opt, struct create_opts *o, struct diag *d)
{
	struct timespec ts;
	char shown[64];

	if (opt->seed != NULL) {
		from_seed(opt->seed, o);
	} else {
		uuid_generate_random(o->uuid);
		uuid_generate_random(o->hash_seed);
	}
	if (opt->uuid != NULL && set_uuid(opt->uuid, o->uuid) < 0)
		return diag_set(d, -EINVAL,
				"uuid '%s': want random, clear or 8-4-4-4-12 hex digits",
				escape_to(shown, sizeof(shown), opt->uuid, strlen(opt->uuid)));
	if (opt->label != NULL) {
		if (strlen(opt->label) > 16)
			return diag_set(d, -EINVAL, "label: %zu bytes, at most 16 fit",
					strlen(opt->label));
		memcpy(o->label, opt->label, strlen(opt->label));
	}
	o->now = opt->now;
	if (o->now.sec == 0 && o->now.nsec == 0 && clock_gettime(CLOCK_REALTIME, &ts) == 0)
		o->now = (struct ek_time){ts.tv_sec, (uint32_t)ts.tv_nsec};
	return 0;
}

static int set_journal(const struct ek_create_options *opt, struct create_opts *o, struct diag *d)
{
	uint32_t block = o->block_size;

	if ((opt->flags & EK_CREATE_NO_JOURNAL) != 0)
		o->compat &= ~COMPAT_HAS_JOURNAL;
	if (opt->journal_bytes == 0 || (o->compat & COMPAT_HAS_JOURNAL) == 0)
		return 0;
	if (block == 0) { /* the plan's choice, asked for without a journal that may not fit */
		struct create_opts probe = *o;
		struct layout l;
		int rc;

		probe.compat &= ~(COMPAT_HAS_JOURNAL | COMPAT_ORPHAN_FILE);
		rc = layout_plan(&probe, d, &l);
		if (rc < 0)
			return rc;
		block = l.geom.block_size;
		layout_free(&l);
	}
	if (opt->journal_bytes / block > UINT32_MAX)
		return diag_set(d, -EINVAL, "journal of %llu bytes: more than 2^32 blocks",
				(unsigned long long)opt->journal_bytes);
	o->journal_blocks = (uint32_t)(opt->journal_bytes / block);
	return o->journal_blocks != 0
		   ? 0
		   : diag_set(d, -EINVAL, "journal of %llu bytes: less than a block",
			      (unsigned long long)opt->journal_bytes);
}

#define FEATURES_EXT2_COMPAT   (COMPAT_EXT_ATTR | COMPAT_RESIZE_INODE | COMPAT_DIR_INDEX)
#define FEATURES_EXT2_INCOMPAT INCOMPAT_FILETYPE
#define FEATURES_EXT2_RO       (RO_COMPAT_SPARSE_SUPER | RO_COMPAT_LARGE_FILE)

static int set_type(const char *type, struct create_opts *o, struct diag *d)
{
	char shown[32];

	if (type == NULL || strcmp(type, "ext4") == 0)
		return 0; /* the default */
	if (strcmp(type, "ext2") != 0 && strcmp(type, "ext3") != 0)
		return diag_set(d, -EINVAL, "type '%s': want ext2, ext3 or ext4",
				escape_to(shown, sizeof(shown), type, strlen(type)));
	o->compat = FEATURES_EXT2_COMPAT;
	if (type[3] == '3')
		o->compat |= COMPAT_HAS_JOURNAL;
	o->incompat = FEATURES_EXT2_INCOMPAT;
	o->ro_compat = FEATURES_EXT2_RO;
	return 0;
}

static int set_features(const struct ek_create_options *opt, struct create_opts *o, struct diag *d)
{
	int rc = set_type(opt->type, o, d);

	if (rc == 0 && (opt->flags & EK_CREATE_REVISION_0) != 0) {
		o->revision0 = true;
		o->compat = o->incompat = o->ro_compat = 0;
	}
	if (rc == 0 && opt->compat != NULL)
		rc = compat_limit(opt->compat, o, d);
	if (opt->inode_size == 128) /* asked for by name it is refused, for want of room */
		o->ro_compat &= ~RO_COMPAT_EXTRA_ISIZE;
	if (rc == 0)
		rc = change_features(o, opt->features, d);
	if (rc == 0 && opt->compat != NULL)
		rc = compat_check(opt->compat, o, d);
	if (rc == 0 && o->revision0 && (o->compat | o->incompat | o->ro_compat) != 0)
		rc = diag_set(d, -EINVAL, "features '%s': revision 0 has none", opt->features);
	if ((o->ro_compat & RO_COMPAT_METADATA_CSUM) != 0)
		o->ro_compat &= ~RO_COMPAT_GDT_CSUM; /* the older checksum of the same thing */
	return rc;
}

/* The number of a word in a list that ends with NULL; -1 when it is not there. */
static int word_number(const char *const *list, const char *word)
{
	for (int i = 0; list[i] != NULL; i++) {
		if (strcmp(list[i], word) == 0)
			return i;
	}
	return -1;
}

static int set_words(const struct ek_create_options *opt, struct create_opts *o, struct diag *d)
{
	static const char *const hashes[] = {"legacy", "half_md4", "tea", NULL};
	static const char *const errors[] = {"continue", "remount-ro", "panic", NULL};
	char shown[64];
	int n;

	if (opt->hash != NULL) {
		n = word_number(hashes, opt->hash);
		if (n < 0)
			return diag_set(
			    d, -EINVAL, "hash '%s': want legacy, half_md4 or tea",
			    escape_to(shown, sizeof(shown), opt->hash, strlen(opt->hash)));
		o->hash_version = (uint8_t)n;
	}
	if (opt->errors != NULL) {
		n = word_number(errors, opt->errors);
		if (n < 0)
			return diag_set(
			    d, -EINVAL, "errors '%s': want continue, remount-ro or panic",
			    escape_to(shown, sizeof(shown), opt->errors, strlen(opt->errors)));
		o->errors = (uint16_t)(n + 1);
	}
	if (opt->mount_options != NULL) {
		if (strlen(opt->mount_options) >= sizeof(o->mount_options))
			return diag_set(d, -EINVAL, "mount options: %zu bytes, at most %zu fit",
					strlen(opt->mount_options), sizeof(o->mount_options) - 1);
		memcpy(o->mount_options, opt->mount_options, strlen(opt->mount_options));
	}
	return 0;
}

static int set_numbers(const struct ek_create_options *opt, struct create_opts *o, struct diag *d)
{
	o->block_size = opt->block_size;
	o->cluster_size = opt->cluster_size;
	o->inode_size = opt->inode_size;
	o->inodes = opt->inodes;
	o->inode_ratio = opt->bytes_per_inode;
	o->blocks_per_group = opt->blocks_per_group;
	o->flex_size = opt->flex_groups;
	o->grow_to = opt->grow_to;
	o->stride = opt->stride;
	o->stripe_width = opt->stripe_width;
	o->root_uid = opt->root_uid;
	o->root_gid = opt->root_gid;
	o->mmp_interval = (uint16_t)MIN(opt->guard_interval, UINT16_MAX);
	o->unsigned_hash = (opt->flags & EK_CREATE_UNSIGNED_HASH) != 0;
	o->no_lost_found = (opt->flags & EK_CREATE_NO_LOST_FOUND) != 0;
	if ((opt->flags & EK_CREATE_BACKUPS) != 0)
		o->backups = opt->backups;
	if ((opt->flags & EK_CREATE_RESERVED) != 0)
		o->reserved_percent = opt->reserved_percent;
	if (o->reserved_percent != UINT32_MAX && o->reserved_percent > 50)
		return diag_set(d, -EINVAL, "reserved %u percent: at most 50", o->reserved_percent);
	if (o->inode_ratio != 0 && o->inode_ratio < 1024)
		return diag_set(d, -EINVAL, "bytes per inode %u: at least 1024", o->inode_ratio);
	if (o->flex_size != 0 && !is_pow2(o->flex_size))
		return diag_set(d, -EINVAL, "flex groups %u: want a power of two", o->flex_size);
	if (o->backups > 2)
		return diag_set(d, -EINVAL, "backups %u: at most 2", o->backups);
	if (o->mmp_interval > 300)
		return diag_set(d, -EINVAL, "guard interval %u: at most 300 seconds",
				o->mmp_interval);
	return 0;
}

static int join_options(const struct ek_create_options *opt, struct create_opts *o, struct diag *d)
{
	if ((o->compat & COMPAT_HAS_JOURNAL) == 0)
		return diag_set(d, -EINVAL, "journal on '%s': needs -O has_journal",
				opt->journal_path);
	if (opt->journal_bytes != 0)
		return diag_set(d, -EINVAL, "journal of %llu bytes: its device has the size",
				(unsigned long long)opt->journal_bytes);
	o->external_log = true;
	return 0;
}

static int device_options(const struct ek_create_options *opt, struct create_opts *o,
			  struct diag *d)
{
	if (opt->features != NULL)
		return diag_set(d, -EINVAL, "features '%s': a journal device has none",
				opt->features);
	if (opt->journal_path != NULL)
		return diag_set(d, -EINVAL, "a journal device has no journal elsewhere");
	if (o->block_size == 0)
		o->block_size = 4096;
	if (o->block_size < 1024 || o->block_size > 65536 || !is_pow2(o->block_size))
		return diag_set(d, -EINVAL, "block size %u: want a power of two from 1024 to 65536",
				o->block_size);
	return 0;
}

int create_options(const struct ek_create_options *opt, uint64_t bytes, struct diag *d,
		   struct create_opts *o)
{
	int rc;

	create_opts_default(o);
	o->size = bytes;
	rc = set_features(opt, o, d);
	if (rc == 0)
		rc = set_numbers(opt, o, d);
	if (rc == 0)
		rc = set_words(opt, o, d);
	if (rc == 0)
		rc = set_identity(opt, o, d);
	if (rc == 0 && (opt->flags & EK_CREATE_JOURNAL_DEVICE) != 0)
		return device_options(opt, o, d);
	if (rc == 0 && opt->journal_path != NULL)
		return join_options(opt, o, d);
	return rc < 0 ? rc : set_journal(opt, o, d);
}

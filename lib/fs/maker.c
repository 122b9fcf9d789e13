/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creation as callers ask for it: options become numbers, numbers a plan, and only when the plan
 * stands is the target opened for writing, cut to size and written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <uuid.h>

#include "base/check.h"
#include "base/escape.h"
#include "extkit/create.h"
#include "fs/create.h"
#include "fs/session.h"
#include "io/dev.h"
#include "io/probe.h"

/* ---- options ---- */

static uint32_t *word_of(struct create_opts *o, enum feature_word word)
{
	return word == FEATURE_COMPAT     ? &o->compat
	       : word == FEATURE_INCOMPAT ? &o->incompat
					  : &o->ro_compat;
}

/* "+name", "name" or "^name". */
static int change_feature(struct create_opts *o, const char *item, size_t len, struct diag *d)
{
	bool off = len > 0 && (item[0] == '^' || item[0] == '-');
	size_t skip = off || (len > 0 && item[0] == '+') ? 1 : 0;
	const struct feature *f = feature_named(item + skip, len - skip);
	char shown[64];

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

static int set_identity(const struct ek_create_options *opt, struct create_opts *o, struct diag *d)
{
	struct timespec ts;

	if (opt->seed != NULL) {
		from_seed(opt->seed, o);
	} else {
		uuid_generate_random(o->uuid);
		uuid_generate_random(o->hash_seed);
	}
	if (opt->uuid != NULL && uuid_parse(opt->uuid, o->uuid) != 0)
		return diag_set(d, -EINVAL, "uuid: '%s' is none", opt->uuid);
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

static int set_options(const struct ek_create_options *opt, uint64_t bytes, struct diag *d,
		       struct create_opts *o)
{
	int rc;

	create_opts_default(o);
	o->size = bytes;
	o->block_size = opt->block_size;
	o->inode_size = opt->inode_size;
	o->inodes = opt->inodes;
	o->inode_ratio = opt->bytes_per_inode;
	o->blocks_per_group = opt->blocks_per_group;
	o->flex_size = opt->flex_groups;
	if ((opt->flags & EK_CREATE_RESERVED) != 0)
		o->reserved_percent = opt->reserved_percent;
	o->no_lost_found = (opt->flags & EK_CREATE_NO_LOST_FOUND) != 0;
	rc = change_features(o, opt->features, d);
	if (rc == 0 && o->reserved_percent != UINT32_MAX && o->reserved_percent > 50)
		rc = diag_set(d, -EINVAL, "reserved %u percent: at most 50", o->reserved_percent);
	if (rc == 0 && o->inode_ratio != 0 && o->inode_ratio < 1024)
		rc = diag_set(d, -EINVAL, "bytes per inode %u: at least 1024", o->inode_ratio);
	if (rc == 0 && o->flex_size != 0 && !is_pow2(o->flex_size))
		rc = diag_set(d, -EINVAL, "flex groups %u: want a power of two", o->flex_size);
	if (rc == 0)
		rc = set_identity(opt, o, d);
	return rc < 0 ? rc : set_journal(opt, o, d);
}

/* ---- the target ---- */

static int refuse_full(struct dev *dev, struct diag *d)
{
	struct probe p = {0};
	char type[64], label[96];
	int rc = probe_read(dev, &p);

	if (rc < 0 || (!p.found && !p.ambiguous))
		return rc;
	escape_to(type, sizeof(type), p.type[0] != '\0' ? p.type : p.table,
		  strlen(p.type[0] != '\0' ? p.type : p.table));
	escape_to(label, sizeof(label), p.label, strlen(p.label));
	return diag_set(d, -EPERM, "refused: %s holds %s%s%s%s; force would overwrite it",
			dev->name, type[0] != '\0' ? type : "several signatures",
			label[0] != '\0' ? " '" : "", label, label[0] != '\0' ? "'" : "");
}

/* The size of what is there already, for a filesystem that fills it; 0 bytes when it is missing. */
static int existing_size(const char *path, struct diag *d, uint64_t *ret)
{
	struct dev *dev;
	int rc;

	if (access(path, F_OK) < 0 && errno == ENOENT) {
		*ret = 0;
		return 0;
	}
	rc = dev_open(path, 0, d, &dev);
	if (rc < 0)
		return rc;
	*ret = dev->size;
	dev_close(dev);
	return 0;
}

static int choose_bytes(const char *path, const struct ek_create_options *opt, struct diag *d,
			uint64_t *ret)
{
	uint64_t size;
	int rc;

	*ret = opt->bytes;
	if (opt->bytes != 0)
		return 0;
	rc = existing_size(path, d, &size);
	if (rc < 0)
		return rc;
	if (size <= opt->offset)
		return diag_set(d, -EINVAL, "%s: how large? it has %llu bytes behind offset %llu",
				path, 0ull, (unsigned long long)opt->offset);
	*ret = size - opt->offset;
	return 0;
}

/* Room for the filesystem: a file of its own starts anew, so that it reads as zeros. */
static int fit(struct dev *file, const struct ek_create_options *opt, uint64_t bytes, bool *fresh)
{
	int rc = 0;

	*fresh = false;
	if (!file->is_block && opt->offset == 0) {
		rc = dev_resize(file, 0);
		*fresh = true;
	}
	if (rc == 0 && !file->is_block && file->size < opt->offset + bytes)
		rc = dev_resize(file, opt->offset + bytes);
	if (rc == 0 && file->size < opt->offset + bytes)
		rc = diag_set(file->diag, -ENOSPC, "%s has %llu bytes, %llu wanted", file->name,
			      (unsigned long long)file->size,
			      (unsigned long long)(opt->offset + bytes));
	return rc;
}

static int write_plan(struct dev *file, const struct ek_create_options *opt, struct create_opts *o,
		      const struct layout *l, struct diag *d)
{
	struct dev *at = file;
	int rc = fit(file, opt, o->size, &o->fresh);

	if (rc == 0 && opt->offset != 0)
		rc = dev_open_slice(file, opt->offset, o->size, &at);
	if (rc == 0)
		rc = layout_write(l, o, at, d);
	if (at != file)
		dev_close(at);
	return rc;
}

static int check_target(struct dev *file, const struct ek_create_options *opt, struct diag *d)
{
	struct dev *at = file;
	int rc = 0;

	if ((opt->flags & EK_CREATE_FORCE) != 0 || file->size <= opt->offset)
		return 0;
	if (opt->offset != 0)
		rc = dev_open_slice(file, opt->offset, file->size - opt->offset, &at);
	if (rc == 0)
		rc = refuse_full(at, d);
	if (at != file)
		dev_close(at);
	return rc;
}

/* Everything that could be refused, short of opening the target for writing. */
static int check_only(const char *path, const struct ek_create_options *opt, struct diag *d)
{
	struct dev *file;
	int rc;

	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	rc = dev_open(path, 0, d, &file);
	if (rc < 0)
		return rc;
	rc = check_target(file, opt, d);
	dev_close(file);
	return rc;
}

/* A file that was made for a filesystem which then failed goes again. */
static int write_target(const char *path, const struct ek_create_options *opt,
			struct create_opts *o, const struct layout *l, struct diag *d)
{
	bool made = access(path, F_OK) < 0 && errno == ENOENT;
	struct dev *file;
	int rc = dev_open(path, DEV_WRITE | DEV_CREATE, d, &file);

	if (rc < 0)
		return rc;
	rc = check_target(file, opt, d);
	if (rc == 0)
		rc = write_plan(file, opt, o, l, d);
	dev_close(file);
	if (rc < 0 && made)
		unlink(path);
	return rc;
}

int ek_create(struct ek_ctx *ctx, const char *path, const struct ek_create_options *opt)
{
	struct ek_create_options in = {.size = sizeof(in)};
	struct diag *d = &ctx->diag;
	struct create_opts o;
	struct layout l;
	uint64_t bytes, end;
	int rc;

	diag_clear(d);
	session_hand_out(&in, opt->size, opt, sizeof(in));
	rc = choose_bytes(path, &in, d, &bytes);
	if (rc == 0 && (__builtin_add_overflow(bytes, in.offset, &end) || end > INT64_MAX))
		rc = diag_set(d, -EINVAL, "size %llu: more than a file can have",
			      (unsigned long long)bytes);
	if (rc == 0)
		rc = set_options(&in, bytes, d, &o);
	if (rc == 0)
		rc = layout_plan(&o, d, &l);
	if (rc < 0)
		return rc;
	rc = (in.flags & EK_CREATE_DRY_RUN) != 0 ? check_only(path, &in, d)
						 : write_target(path, &in, &o, &l, d);
	layout_free(&l);
	return rc;
}

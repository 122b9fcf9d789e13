/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creation as callers ask for it: options become numbers (create_options.c), numbers a plan, and
 * only when the plan stands is the target opened for writing, cut to size and written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/check.h"
#include "extkit/create.h"
#include "fs/create_impl.h"
#include "fs/session.h"
#include "io/dev.h"
#include "io/probe.h"

/* ---- the target ---- */

/* The size of what is there already, for a filesystem that fills it; 0 bytes when it is missing. */
static int existing_size(const char *path, struct diag *d, uint64_t *ret)
{
	struct dev *dev;
	int rc;

	if (!dev_exists(path)) {
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

int create_choose_bytes(const char *path, const struct ek_create_options *opt, struct diag *d,
			uint64_t *ret)
{
	uint64_t size, end;
	int rc;

	*ret = opt->bytes;
	if (ck_add(opt->bytes, opt->offset, &end) || end > INT64_MAX)
		return diag_set(d, -EINVAL, "size %llu: more than a file can have",
				(unsigned long long)opt->bytes);
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

/* The number by which the superblock names a block device. */
static uint32_t device_number(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISBLK(st.st_mode))
		return 0;
	return (minor(st.st_rdev) & 0xff) | (uint32_t)major(st.st_rdev) << 8 |
	       (minor(st.st_rdev) & ~0xffu) << 12;
}

int create_open_log(const struct ek_create_options *opt, uint32_t block_size, bool dry,
		    struct create_opts *o, struct diag *d, struct dev **ret)
{
	struct dev *log;
	int rc = dev_open(opt->journal_path, dry ? 0 : DEV_WRITE, d, &log);

	if (rc < 0)
		return rc;
	rc = create_check_log(log, block_size, (opt->flags & EK_CREATE_FORCE) != 0, o->log_uuid);
	if (rc < 0) {
		dev_close(log);
		return rc;
	}
	o->log_device = device_number(opt->journal_path);
	*ret = log;
	return 0;
}

/* What is to be written: a filesystem, with its log elsewhere or not, or else a journal device. */
struct creation {
	const struct ek_create_options *opt;
	struct create_opts o;
	struct layout *l; /* NULL: a journal device */
	struct dev *log;  /* of an external journal, or NULL */
	struct diag *diag;
};

static int write_plan(struct dev *file, struct creation *c)
{
	const struct ek_create_options *opt = c->opt;
	struct create_opts *o = &c->o;
	struct dev *at = file;
	int rc = fit(file, opt, o->size, &o->fresh);

	if (rc == 0 && opt->offset != 0)
		rc = dev_open_slice(file, opt->offset, o->size, &at);
	if (rc == 0 && c->log != NULL)
		rc = create_join_log(c->log, c->l->geom.block_size, o->uuid);
	if (rc == 0)
		rc = c->l != NULL ? layout_write(c->l, o, at, c->diag)
				  : create_journal_device(o, at, c->diag);
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
		rc = probe_refuse(at, "force would overwrite it", d);
	if (at != file)
		dev_close(at);
	return rc;
}

/* Everything that could be refused, short of opening the target for writing. */
int create_check_target(const char *path, const struct ek_create_options *opt, struct diag *d)
{
	struct dev *file;
	int rc;

	if (!dev_exists(path))
		return 0;
	rc = dev_open(path, 0, d, &file);
	if (rc < 0)
		return rc;
	rc = check_target(file, opt, d);
	dev_close(file);
	return rc;
}

/* A file that was made for a filesystem which then failed goes again. */
static int write_target(const char *path, struct creation *c)
{
	bool made = !dev_exists(path);
	struct dev *file;
	int rc = dev_open(path, DEV_WRITE | DEV_CREATE, c->diag, &file);

	if (rc < 0)
		return rc;
	rc = check_target(file, c->opt, c->diag);
	if (rc == 0)
		rc = write_plan(file, c);
	dev_close(file);
	if (rc < 0 && made)
		unlink(path);
	return rc;
}

/* The plan of a filesystem; its journal device is proved before anything is changed anywhere. */
static int plan(struct creation *c, bool dry)
{
	struct sizes z;
	int rc = c->o.external_log ? create_sizes(&c->o, &z, c->diag) : 0;

	if (rc == 0 && c->o.external_log)
		rc = create_open_log(c->opt, z.bs, dry, &c->o, c->diag, &c->log);
	return rc < 0 ? rc : layout_plan(&c->o, c->diag, c->l);
}

static int create(const char *path, struct creation *c)
{
	bool dry = (c->opt->flags & EK_CREATE_DRY_RUN) != 0;
	int rc = c->l != NULL ? plan(c, dry) : 0;

	if (rc == 0)
		rc = dry ? create_check_target(path, c->opt, c->diag) : write_target(path, c);
	if (c->l != NULL)
		layout_free(c->l);
	dev_close(c->log);
	return rc;
}

int ek_create(struct ek_ctx *ctx, const char *path, const struct ek_create_options *opt)
{
	struct ek_create_options in = {.size = sizeof(in)};
	struct creation c = {.opt = &in, .diag = &ctx->diag};
	struct layout l = {0};
	uint64_t bytes;
	int rc;

	diag_clear(c.diag);
	session_hand_out(&in, opt->size, opt, sizeof(in));
	c.l = (in.flags & EK_CREATE_JOURNAL_DEVICE) != 0 ? NULL : &l;
	rc = create_choose_bytes(path, &in, c.diag, &bytes);
	if (rc == 0)
		rc = create_options(&in, bytes, c.diag, &c.o);
	return rc < 0 ? rc : create(path, &c);
}

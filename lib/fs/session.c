/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Images of the public API: opened from a path, closed, and entered by one caller at a time.
 *
 * The layers below tell stories in two places, the device's diag (which is the context's) and the
 * image's; session_tell picks the one that belongs to the error returned.
 */
#include "fs/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/escape.h"
#include "base/mem.h"
#include "extkit/image.h"
#include "fs/inode.h"
#include "io/dev.h"
#include "io/probe.h"

/* ---- calls ---- */

struct task *session_begin(struct ek_image *img)
{
	struct session *s = img->session;

	pthread_mutex_lock(&s->lock);
	diag_clear(&s->ctx->diag);
	diag_clear(&img->diag);
	return &s->task;
}

void session_tell(struct ek_image *img, int rc, const char *what, const char *name)
{
	struct diag *d = &img->session->ctx->diag;
	char shown[256], why[128];

	if (rc >= 0)
		return;
	if (d->code == 0 && img->diag.code == rc)
		*d = img->diag;
	if (d->code == rc)
		return;
	escape_to(shown, sizeof(shown), name, strlen(name));
	diag_replace(d, rc, "%s: %s: %s", what, shown, strerror_r(-rc, why, sizeof(why)));
}

int session_end(struct ek_image *img, int rc, const char *what, const char *name)
{
	session_tell(img, rc, what, name);
	pthread_mutex_unlock(&img->session->lock);
	return rc;
}

int session_end_on(const struct ek_inode *inode, int rc, const char *what)
{
	char name[32];

	snprintf(name, sizeof(name), "inode %u", inode->ino.v);
	return session_end(inode->img, rc, what, name);
}

int session_check_writable(struct ek_image *img)
{
	if (img->writable)
		return 0;
	return diag_set(&img->diag, -EROFS, "cannot change %s: it was opened for reading",
			img->session->file->name);
}

void session_hand_out(void *to, size_t have, const void *from, size_t size)
{
	size_t n = MIN(have, size);

	if (n > sizeof(size_t))
		memcpy((uint8_t *)to + sizeof(size_t), (const uint8_t *)from + sizeof(size_t),
		       n - sizeof(size_t));
}

/* ---- open ---- */

static unsigned image_flags(const struct ek_image_options *opt)
{
	return ((opt->flags & EK_IMAGE_WRITE) != 0 ? IMAGE_WRITE : 0) |
	       ((opt->flags & EK_IMAGE_NO_RECOVERY) != 0 ? IMAGE_NO_RECOVERY : 0);
}

static int check_options(struct ek_ctx *ctx, const struct ek_image_options *opt)
{
	unsigned both = EK_IMAGE_WRITE | EK_IMAGE_NO_RECOVERY;

	if ((opt->flags & both) == both)
		return diag_set(&ctx->diag, -EINVAL,
				"an image whose journal is not looked at cannot be written");
	if (opt->now.nsec > 999999999)
		return diag_set(&ctx->diag, -EINVAL, "now: %u nanoseconds are a second or more",
				opt->now.nsec);
	return 0;
}

static struct ek_time clock_or(struct ek_time now)
{
	struct timespec ts;

	if (now.sec != 0 || now.nsec != 0 || clock_gettime(CLOCK_REALTIME, &ts) < 0)
		return now;
	return (struct ek_time){ts.tv_sec, (uint32_t)ts.tv_nsec};
}

/* The device of an external journal: the one that was named, else, for block devices, the one that
 * libblkid knows. */
static int find_journal(void *ctx, const uint8_t uuid[16], struct dev **ret)
{
	struct session *s = ctx;
	char found[256];
	const char *path = s->journal_path;
	int rc = 0;

	if (path == NULL && s->file->is_block && probe_find(uuid, found, sizeof(found)) == 0)
		path = found;
	if (path == NULL)
		return -ENOENT;
	rc = dev_open(path, s->journal_flags, &s->ctx->diag, &s->journal);
	if (rc == 0 && s->dry != NULL)
		rc = dev_open_overlay(s->journal, &s->dry_journal);
	if (rc == 0)
		*ret = s->dry_journal != NULL ? s->dry_journal : s->journal;
	return rc;
}

static void free_session(struct session *s)
{
	dev_close(s->dry_journal);
	dev_close(s->journal);
	dev_close(s->undo);
	dev_close(s->dry);
	free(s);
}

void session_free(struct session *s)
{
	struct dev *file = s->file;

	pthread_mutex_destroy(&s->lock);
	free_session(s);
	dev_close(file);
}

static struct dev *top_of(const struct session *s)
{
	return s->dry != NULL ? s->dry : s->undo != NULL ? s->undo : s->file;
}

static int open_image(struct ek_ctx *ctx, struct dev *file, unsigned dev_flags,
		      const struct ek_image_options *opt, struct ek_image **ret)
{
	struct image_opts inner = {
	    .flags = image_flags(opt),
	    .offset = opt->offset,
	    .cache_bytes = (size_t)MIN(opt->cache, (uint64_t)SIZE_MAX / 2),
	    .now = clock_or(opt->now),
	    .find_journal = find_journal,
	    .before_commit = session_before_commit,
	};
	struct session *s = mem_zero(sizeof(*s));
	struct ek_image *img;
	int rc = 0;

	if (s == NULL)
		return diag_set(&ctx->diag, -ENOMEM, "out of memory for an image");
	s->ctx = ctx;
	s->file = file;
	s->journal_path = opt->journal;
	s->journal_flags = dev_flags;
	inner.find_ctx = s;
	inner.commit_ctx = s;
	if ((opt->flags & EK_IMAGE_DRY_RUN) != 0)
		rc = dev_open_overlay(file, &s->dry);
	else if ((opt->flags & EK_IMAGE_WRITE) != 0)
		rc = session_open_undo(s, opt);
	if (rc == 0)
		rc = image_open(top_of(s), &inner, &ctx->diag, &img);
	s->journal_path = NULL;
	if (rc < 0) {
		session_drop_undo(s, false);
		free_session(s);
		return rc;
	}
	s->was_dirty = img->recovered;
	task_init(&s->task, img);
	pthread_mutex_init(&s->lock, NULL);
	img->session = s;
	*ret = img;
	return 0;
}

int ek_image_open(struct ek_ctx *ctx, const char *path, const struct ek_image_options *opt,
		  struct ek_image **ret)
{
	struct ek_image_options o = {.size = sizeof(o)};
	struct dev *file;
	unsigned flags;
	int rc;

	diag_clear(&ctx->diag);
	if (opt != NULL)
		session_hand_out(&o, opt->size, opt, sizeof(o));
	rc = check_options(ctx, &o);
	if (rc < 0)
		return rc;
	flags =
	    ((o.flags & (EK_IMAGE_WRITE | EK_IMAGE_DRY_RUN)) == EK_IMAGE_WRITE ? (unsigned)DEV_WRITE
									       : 0) |
	    ((o.flags & EK_IMAGE_MOUNTED_OK) != 0 ? (unsigned)DEV_MOUNTED_OK : 0);
	rc = dev_open(path, flags, &ctx->diag, &file);
	if (rc < 0)
		return rc;
	rc = open_image(ctx, file, flags, &o, ret);
	if (rc < 0) {
		dev_close(file);
		if (ctx->diag.code == 0)
			diag_set(&ctx->diag, rc, "cannot open %s: %s", path, strerror(-rc));
	}
	return rc;
}

int ek_image_close(struct ek_image *img)
{
	struct session *s;
	int rc;

	if (img == NULL)
		return 0;
	s = img->session;
	diag_clear(&s->ctx->diag);
	diag_clear(&img->diag);
	img->heir = &s->ctx->diag;
	s->last = true;
	rc = image_close(img);
	if (rc == 0)
		rc = session_drop_undo(s, true);
	if (rc < 0)
		diag_set(&s->ctx->diag, rc, "cannot finish %s: %s", s->file->name, strerror(-rc));
	else
		diag_clear(&s->ctx->diag);
	session_free(s);
	return rc;
}

int ek_image_sync(struct ek_image *img)
{
	return session_end(img, image_sync(session_begin(img)), "cannot sync",
			   img->session->file->name);
}

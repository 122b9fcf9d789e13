/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conversion: the source is walked piece by piece, what is a hole of the host's file or not used by
 * the filesystem is passed over, and the writer of the form is told of data and zeros.  The file
 * gets its name when it is whole.
 */
#include "tree/convert.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "extkit/convert.h"
#include "extkit/image.h"
#include "fs/image.h"
#include "fs/session.h"
#include "io/dev.h"
#include "io/temp.h"

#define GRAIN ((size_t)4096) /* what is counted as used or not */

struct convert {
	struct ek_ctx *ctx;
	struct ek_convert_options opt;
	struct dev *file, *src; /* as opened, unless for img, and the part that is taken */
	struct ek_image *img;   /* with EK_CONVERT_TRIM */
	const struct form_ops *ops;
	struct form_file *form;
	uint8_t *buf; /* PIECE bytes */
	uint64_t used;
};

/* ---- what writers share ---- */

int form_put(struct form_file *f, uint64_t off, const void *buf, size_t len)
{
	const char *p = buf;

	while (len != 0) {
		ssize_t n = pwrite(f->fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return diag_errno(f->diag, n < 0 ? -errno : -EIO, "cannot write %s",
					  f->name);
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int form_add(struct form_file *f, const void *buf, size_t len)
{
	int rc = form_put(f, f->at, buf, len);

	f->at += len;
	return rc;
}

/* ---- the source ---- */

/* The image has the file open already, and what it holds may have been dear to decompress. */
static int open_source(struct convert *c, const char *path)
{
	struct diag *d = &c->ctx->diag;
	int rc = c->img != NULL ? 0 : dev_open(path, 0, d, &c->file);
	struct dev *from = c->img != NULL ? c->img->session->file : c->file;
	uint64_t room;

	if (rc < 0)
		return rc;
	if (c->opt.offset > from->size)
		return diag_set(d, -EINVAL, "%s ends before offset %llu", path,
				(unsigned long long)c->opt.offset);
	room = from->size - c->opt.offset;
	if (room == 0)
		return diag_set(d, -EINVAL, "%s: nothing to convert", path);
	return dev_open_slice(from, c->opt.offset, c->opt.bytes != 0 ? c->opt.bytes : room,
			      &c->src);
}

/* The bitmaps that lie there are the truth only when the journal has nothing to add. */
static int open_filesystem(struct convert *c, const char *path)
{
	struct ek_image_options o = {.size = sizeof(o), .offset = c->opt.offset};
	int rc = ek_image_open(c->ctx, path, &o, &c->img);

	if (rc < 0)
		return rc;
	if (c->img->session->was_dirty)
		return diag_set(&c->ctx->diag, -EPERM,
				"refused: %s: its journal has to be replayed before what is unused "
				"is known",
				path);
	return 0;
}

/* The first byte at or after off that the host's file may have data for. */
static uint64_t behind_hole(struct convert *c, uint64_t off)
{
	uint64_t start;
	off_t at;
	int fd;

	if (dev_host(c->src, &fd, &start) < 0 || c->src->is_block)
		return off;
	at = lseek(fd, (off_t)(start + off), SEEK_DATA);
	if (at < 0)
		return errno == ENXIO ? c->src->size : off;
	return MIN((uint64_t)at - start, c->src->size);
}

/* Where the next piece is that may hold something; pieces before it are zeros. */
static int next_piece(struct convert *c, uint64_t off, uint64_t *ret, bool *ret_unused)
{
	uint64_t at = off;
	int rc = c->img != NULL ? unused_end(c->img, off, c->src->size, &at) : 0;

	if (rc < 0)
		return rc;
	at = at < c->src->size ? ROUND_DOWN(at, (uint64_t)PIECE) : at;
	*ret_unused = at > off;
	if (at <= off) {
		at = behind_hole(c, off);
		at = at < c->src->size ? ROUND_DOWN(at, (uint64_t)PIECE) : at;
	}
	*ret = MAX(at, off);
	return 0;
}

/* ---- the walk ---- */

static int take_piece(struct convert *c, uint64_t off)
{
	size_t len = (size_t)MIN((uint64_t)PIECE, c->src->size - off);
	int rc = dev_read(c->src, off, c->buf, len);

	if (rc == 0 && c->img != NULL)
		rc = unused_zero(c->img, off, c->buf, len);
	if (rc < 0)
		return rc;
	if (mem_is_zero(c->buf, len))
		return c->ops->zeros(c->form, off, len, false);
	for (size_t at = 0; at < len; at += GRAIN)
		c->used +=
		    mem_is_zero(c->buf + at, MIN(len - at, GRAIN)) ? 0 : MIN(len - at, GRAIN);
	return c->ops->data(c->form, off, c->buf, len);
}

static int walk(struct convert *c)
{
	struct ek_progress step = {.stage = "convert", .total = c->src->size, .unit = "bytes"};
	uint64_t off = 0, next = 0;
	bool unused = false;
	int rc = c->ops->begin(c->form);

	while (off < c->src->size && rc == 0) {
		step.done = off;
		rc = ctx_progress(c->ctx, &step);
		if (rc == 0)
			rc = next_piece(c, off, &next, &unused);
		if (rc < 0)
			break;
		if (next > off) {
			rc = c->ops->zeros(c->form, off, next - off, unused);
			off = next;
		} else {
			rc = take_piece(c, off);
			off = MIN(off + PIECE, c->src->size);
		}
	}
	return rc < 0 ? rc : c->ops->finish(c->form);
}

/* ---- the new file ---- */

/* Who uses the file would go on with one that has no name any more. */
static int check_unused(const char *dst, struct diag *d)
{
	struct dev *old;
	int rc = dev_open(dst, DEV_WRITE | DEV_PLAIN, d, &old);

	if (rc == 0)
		dev_close(old);
	return rc;
}

/* *ret_mode: 0 where there is none. */
static int check_target(struct convert *c, const char *dst, mode_t *ret_mode)
{
	struct diag *d = &c->ctx->diag;
	struct stat st;

	if (dev_is_remote(dst))
		return diag_set(d, -EOPNOTSUPP, "cannot convert to %s: only files are made", dst);
	if (stat(dst, &st) < 0) {
		*ret_mode = 0;
		return errno == ENOENT ? 0 : diag_errno(d, -errno, "cannot write %s", dst);
	}
	if (!S_ISREG(st.st_mode))
		return diag_set(d, -EINVAL, "cannot write %s: it is no regular file", dst);
	if ((c->opt.flags & EK_CONVERT_FORCE) == 0)
		return diag_errno(d, -EEXIST, "cannot write %s", dst);
	*ret_mode = st.st_mode;
	return check_unused(dst, d);
}

static int make_form(struct convert *c, const char *dst, int fd)
{
	struct form_file *f = mem_zero(c->ops->bytes);

	if (f == NULL)
		return -ENOMEM;
	*f = (struct form_file){.fd = fd,
				.name = dst,
				.diag = &c->ctx->diag,
				.size = c->src->size,
				.level = c->opt.level != 0 ? c->opt.level : 3};
	c->form = f;
	return 0;
}

/* Length and bytes first, then the name, which is on the disk too when we return: what the image
 * was made of may go next. */
static int place(struct convert *c, const char *temp, const char *dst)
{
	struct form_file *f = c->form;

	int rc = 0;

	if (ftruncate(f->fd, (off_t)f->at) < 0 || fsync(f->fd) < 0 || rename(temp, dst) < 0)
		rc = -errno;
	if (rc == 0)
		rc = temp_sync_folder(dst);
	return rc < 0 ? diag_errno(f->diag, rc, "cannot write %s", dst) : 0;
}

/* dst with links followed, so that a link stays one. */
static int write_file(struct convert *c, const char *dst, mode_t mode)
{
	char *real = realpath(dst, NULL), *temp;
	int fd = temp_make(real != NULL ? real : dst, mode, &temp), rc;

	if (fd < 0) {
		free(real);
		return diag_errno(&c->ctx->diag, fd, "cannot write beside %s", dst);
	}
	rc = make_form(c, dst, fd);
	if (rc == 0)
		rc = walk(c);
	if (rc == 0)
		rc = place(c, temp, real != NULL ? real : dst);
	if (rc < 0)
		unlink(temp);
	close(fd);
	free(temp);
	free(real);
	return rc;
}

static int check_options(struct convert *c)
{
	static const struct form_ops *const forms[] = {
	    [EK_FORM_RAW] = &form_raw,
	    [EK_FORM_ZSTD] = &form_zstd,
	    [EK_FORM_SPARSE] = &form_sparse,
	    [EK_FORM_QCOW2] = &form_qcow2,
	};
	struct diag *d = &c->ctx->diag;

	if (c->opt.to >= ARRAY_SIZE(forms))
		return diag_set(d, -EINVAL, "convert: no form has number %u", c->opt.to);
	if (c->opt.level < 0 || c->opt.level > 22)
		return diag_set(d, -EINVAL, "convert: level %d is not between 1 and 22",
				c->opt.level);
	c->ops = forms[c->opt.to];
	return 0;
}

static void end(struct convert *c)
{
	struct diag kept = c->ctx->diag;

	if (c->form != NULL && c->ops->free != NULL)
		c->ops->free(c->form);
	free(c->form);
	free(c->buf);
	if (c->src != NULL)
		dev_close(c->src);
	dev_close(c->file);
	(void)!ek_image_close(c->img); /* opened for reading: nothing can be lost */
	c->ctx->diag = kept;
}

int ek_convert(struct ek_ctx *ctx, const char *src, const char *dst,
	       const struct ek_convert_options *opt, struct ek_converted *ret)
{
	struct convert c = {.ctx = ctx, .opt = {.size = sizeof(c.opt)}};
	struct ek_converted done = {.size = sizeof(done)};
	mode_t mode = 0;
	int rc;

	diag_clear(&ctx->diag);
	if (opt != NULL)
		session_hand_out(&c.opt, opt->size, opt, sizeof(c.opt));
	rc = check_options(&c);
	if (rc == 0)
		rc = check_target(&c, dst, &mode);
	if (rc == 0 && (c.opt.flags & EK_CONVERT_TRIM) != 0)
		rc = open_filesystem(&c, src);
	if (rc == 0)
		rc = open_source(&c, src);
	c.buf = malloc(PIECE);
	if (rc == 0)
		rc = c.buf != NULL ? write_file(&c, dst, mode) : -ENOMEM;
	if (rc == 0) {
		done.bytes = c.src->size;
		done.used = c.used;
		done.written = c.form->at;
	}
	end(&c);
	if (rc < 0)
		return diag_set(&ctx->diag, rc, "cannot convert %s: %s", src, strerror(-rc));
	if (ret != NULL)
		session_hand_out(ret, ret->size, &done, sizeof(done));
	return 0;
}

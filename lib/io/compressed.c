/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decompresses a file from its beginning to its end into a device in memory.  A decoder hands out
 * plain bytes; the store keeps those pieces that are not zero and stops at the limits, so that no
 * file makes us hold or chew more than they say.
 */
#include "io/compressed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#if HAVE_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

#include "base/check.h"
#include "base/diag.h"
#include "base/escape.h"
#include "base/mem.h"
#include "io/dev_impl.h"

#define PIECE ((size_t)64 << 10)
#define STEP  ((size_t)1 << 20)

struct compressed {
	struct dev dev;
	struct dev *file, *store;
	enum container kind;
	uint64_t taken;      /* bytes of file */
	uint64_t most;       /* bytes of the store that are enough */
	uint64_t made, kept; /* bytes of the store: all, and those that take memory */
	uint8_t *in, *out;   /* STEP bytes each */
	int error;           /* that libarchive was told of as the end of all */
};

static int tell_damage(const struct compressed *c, const char *why)
{
	char text[200];

	return diag_set(
	    c->dev.diag, -EUCLEAN, "corrupt %s file: %s: %s", container_name(c->kind), c->dev.name,
	    escape_to(text, sizeof(text), why != NULL ? why : "", why ? strlen(why) : 0));
}

/* ---- what was decompressed ---- */

static int tell_limit(const struct compressed *c, const char *what, uint64_t limit)
{
	return diag_set(c->dev.diag, -EFBIG,
			"cannot read %s: it holds more than %" PRIu64 " MiB%s: decompress it first",
			c->dev.name, limit >> 20, what);
}

/* 1: it is enough. */
static int keep(struct compressed *c, const uint8_t *p, size_t len)
{
	int r = 0;

	if (len > COMPRESSED_MAX - c->made)
		return tell_limit(c, "", COMPRESSED_MAX);
	if (c->made + len > c->store->size)
		r = dev_resize(c->store, ROUND_UP(c->made + len, (uint64_t)STEP * 64));
	while (len != 0 && r == 0) {
		size_t n = (size_t)MIN((uint64_t)len, PIECE - c->made % PIECE);

		if (!mem_is_zero(p, n)) {
			c->kept += n;
			r = c->kept > COMPRESSED_KEPT_MAX
				? tell_limit(c, " that are not zero", COMPRESSED_KEPT_MAX)
				: dev_write(c->store, c->made, p, n);
		}
		c->made += n;
		p += n;
		len -= n;
	}
	return r < 0 ? r : c->made >= c->most;
}

/* The next bytes of the file, 0 at its end. */
static int64_t take(struct compressed *c)
{
	size_t n = (size_t)MIN((uint64_t)STEP, c->file->size - c->taken);
	int r = dev_read(c->file, c->taken, c->in, n);

	if (r < 0)
		return r;
	c->taken += n;
	return (int64_t)n;
}

/* ---- zstd ---- */

/* Turns the n bytes in c->in to plain ones.  *left is 0 between frames. */
static int expand(struct compressed *c, ZSTD_DCtx *z, size_t n, size_t *left)
{
	ZSTD_inBuffer in = {c->in, n, 0};
	bool more = true;
	int r = 0;

	while (r == 0 && (in.pos < in.size || more)) {
		ZSTD_outBuffer out = {c->out, STEP, 0};
		size_t hint = ZSTD_decompressStream(z, &out, &in);

		if (ZSTD_isError(hint))
			return tell_damage(c, ZSTD_getErrorName(hint));
		*left = hint;
		more = out.pos == out.size && hint != 0;
		if (out.pos != 0)
			r = keep(c, c->out, out.pos);
	}
	return r;
}

static int expand_zstd(struct compressed *c)
{
	ZSTD_DCtx *z = ZSTD_createDCtx();
	size_t left = 0;
	int64_t n = 0;
	int r = z != NULL ? 0 : -ENOMEM;

	/* "zstd --ultra" asks for this much history; more would be the file's wish */
	if (r == 0)
		ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, 27);
	while (r == 0 && (n = take(c)) > 0)
		r = expand(c, z, (size_t)n, &left);
	if (r == 0 && n < 0)
		r = (int)n;
	if (r == 0 && left != 0)
		r = tell_damage(c, "it ends inside of a frame");
	ZSTD_freeDCtx(z);
	return r;
}

/* ---- what libarchive decompresses ---- */

#if HAVE_LIBARCHIVE
static la_ssize_t feed(struct archive *a, void *arg, const void **ret)
{
	struct compressed *c = arg;
	int64_t n = take(c);

	*ret = c->in;
	if (n < 0) {
		c->error = (int)n;
		archive_set_error(a, EIO, "cannot read it");
	}
	return n < 0 ? -1 : (la_ssize_t)n;
}

/* It gave up: for want of bytes or memory, or else for what the bytes are. */
static int tell_failure(const struct compressed *c, struct archive *a)
{
	if (c->error < 0)
		return c->error;
	return archive_errno(a) == ENOMEM ? -ENOMEM : tell_damage(c, archive_error_string(a));
}

static int filter_of(struct archive *a, enum container kind)
{
	switch (kind) {
	case CONTAINER_GZIP:
		return archive_read_support_filter_gzip(a);
	case CONTAINER_XZ:
		return archive_read_support_filter_xz(a);
	default:
		return archive_read_support_filter_bzip2(a);
	}
}

static int expand_all(struct compressed *c, struct archive *a)
{
	struct archive_entry *entry;
	la_ssize_t n = 1;
	int r = 0;

	if (archive_read_support_format_raw(a) != ARCHIVE_OK ||
	    archive_read_open(a, c, NULL, feed, NULL) != ARCHIVE_OK ||
	    archive_read_next_header(a, &entry) != ARCHIVE_OK || archive_filter_count(a) != 2)
		return tell_failure(c, a);
	while (r == 0 && (n = archive_read_data(a, c->out, STEP)) > 0)
		r = keep(c, c->out, (size_t)n);
	return n < 0 ? tell_failure(c, a) : r;
}

static int expand_archive(struct compressed *c)
{
	struct archive *a = archive_read_new();
	int r;

	if (a == NULL)
		return -ENOMEM;
	/* a warning means that a program of the host would be run for it */
	r = filter_of(a, c->kind) == ARCHIVE_OK
		? expand_all(c, a)
		: diag_set(c->dev.diag, -EOPNOTSUPP, "cannot read %s: libarchive has no %s",
			   c->dev.name, container_name(c->kind));
	archive_read_free(a);
	return r;
}
#else
static int expand_archive(struct compressed *c)
{
	return diag_set(c->dev.diag, -EOPNOTSUPP,
			"cannot read %s: it is %s, and extkit was built without libarchive",
			c->dev.name, container_name(c->kind));
}
#endif

/* ---- the device ---- */

static int compressed_read(struct dev *dev, uint64_t off, void *buf, size_t len)
{
	return dev_read(((struct compressed *)dev)->store, off, buf, len);
}

static void compressed_close(struct dev *dev)
{
	struct compressed *c = (struct compressed *)dev;

	free(c->in);
	free(c->out);
	dev_close(c->store);
	dev_close(c->file);
}

static const struct dev_ops compressed_ops = {
    .name = "compressed",
    .read = compressed_read,
    .close = compressed_close,
};

static int decompress(struct compressed *c)
{
	int r;

	c->in = malloc(STEP);
	c->out = malloc(STEP);
	if (c->in == NULL || c->out == NULL)
		return -ENOMEM;
	r = dev_open_memory(0, c->dev.diag, &c->store);
	if (r == 0)
		r = c->kind == CONTAINER_ZSTD ? expand_zstd(c) : expand_archive(c);
	c->dev.size = c->made;
	free(c->in);
	free(c->out);
	c->in = c->out = NULL;
	dev_close(c->file);
	c->file = NULL;
	return MIN(r, 0);
}

int compressed_open(struct dev *file, enum container kind, uint64_t most, struct dev **ret)
{
	struct compressed *c = dev_new(sizeof(*c), &compressed_ops, file->name, file->diag);
	int r;

	if (c == NULL) {
		dev_close(file);
		return -ENOMEM;
	}
	c->file = file;
	c->kind = kind;
	c->most = most;
	c->dev.is_block = true;
	r = decompress(c);
	if (r < 0) {
		diag_errno(c->dev.diag, r, "cannot open %s", c->dev.name);
		dev_close(&c->dev);
	} else {
		*ret = &c->dev;
	}
	return r;
}

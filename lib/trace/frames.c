/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks frames: 4 bytes of magic decide between skipping and decompressing. */
#include "trace/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/diag.h"
#include "base/mem.h"
#include "trace/stream.h"

#define CHUNK      ((size_t)128 << 10)
#define SKIP_MAGIC 0x184D2A50u
#define ZSTD_MAGIC 0xFD2FB528u

struct frames {
	struct instream *in;
	struct diag *d;
	ZSTD_DStream *z;
	uint8_t *buf; /* compressed bytes */
	size_t pos, len;
	uint8_t *header;
	bool in_frame, torn;
	bool held; /* the last call filled the buffer; more may come without input */
};

int frames_new(struct instream *in, struct diag *d, struct frames **ret)
{
	struct frames *f = mem_zero(sizeof(*f));

	if (f) {
		f->in = in;
		f->d = d;
		f->z = ZSTD_createDStream();
		f->buf = malloc(CHUNK);
	}
	if (!f || !f->z || !f->buf) {
		if (f)
			frames_free(f);
		else
			instream_close(in);
		return diag_set(d, -ENOMEM, "read: no memory");
	}
	/* 128 MiB of history is zstd's own default limit; more would be the file's wish. */
	ZSTD_DCtx_setParameter(f->z, ZSTD_d_windowLogMax, 27);
	*ret = f;
	return 0;
}

void frames_free(struct frames *f)
{
	if (!f)
		return;
	instream_close(f->in);
	ZSTD_freeDStream(f->z);
	free(f->buf);
	free(f->header);
	free(f);
}

const char *frames_name(const struct frames *f)
{
	return instream_name(f->in);
}

bool frames_torn(const struct frames *f)
{
	return f->torn;
}

/* Sees to it that at least n (few) compressed bytes lie at pos; 1, 0 when the file is shorter. */
static int need(struct frames *f, size_t n)
{
	long got;

	if (f->len - f->pos >= n)
		return 1;
	memmove(f->buf, f->buf + f->pos, f->len - f->pos);
	f->len -= f->pos;
	f->pos = 0;
	got = instream_read(f->in, f->buf + f->len, CHUNK - f->len);
	if (got < 0)
		return (int)got;
	f->len += (size_t)got;
	return f->len >= n;
}

static uint32_t word(const struct frames *f, size_t at)
{
	le32 v;

	memcpy(&v, f->buf + f->pos + at, 4);
	return le32_get(v);
}

/* Passes over n compressed bytes, keeping them in to when it is not NULL. */
static int pass(struct frames *f, size_t n, uint8_t *to)
{
	while (n) {
		int err = need(f, 1);
		size_t part = f->len - f->pos < n ? f->len - f->pos : n;

		if (err <= 0)
			return err;
		if (to) {
			memcpy(to, f->buf + f->pos, part);
			to += part;
		}
		f->pos += part;
		n -= part;
	}
	return 1;
}

int frames_header(struct frames *f, uint32_t magic, size_t max, const uint8_t **ret, size_t *ret_n)
{
	int err = need(f, 8);
	size_t n;

	if (err <= 0)
		return err;
	n = word(f, 4);
	if (word(f, 0) != magic || n > max)
		return 0;
	f->header = malloc(n + 1);
	if (!f->header)
		return diag_set(f->d, -ENOMEM, "read: %s: no memory", frames_name(f));
	f->pos += 8;
	err = pass(f, n, f->header);
	*ret = f->header;
	*ret_n = n;
	return err;
}

/* Moves to the next frame with content; 1, 0 at the end, or an error. */
static int enter_frame(struct frames *f)
{
	for (;;) {
		int err = need(f, 4);

		if (err < 0)
			return err;
		if (err == 0) {
			f->torn = f->torn || f->len > f->pos;
			return 0;
		}
		if (word(f, 0) == ZSTD_MAGIC) {
			ZSTD_DCtx_reset(f->z, ZSTD_reset_session_only);
			f->in_frame = true;
			return 1;
		}
		if ((word(f, 0) & ~15u) != SKIP_MAGIC)
			return diag_set(f->d, -EINVAL, "read: %s: not a zstd frame: magic %#x",
					frames_name(f), word(f, 0));
		err = need(f, 8);
		if (err > 0) {
			size_t n = word(f, 4);

			f->pos += 8;
			err = pass(f, n, NULL);
		}
		if (err <= 0) {
			f->torn = true;
			return err;
		}
	}
}

/* Compressed bytes for the decompressor, unless it still holds output: 1, 0 at the end, or an
 * error. */
static int feed(struct frames *f)
{
	if (!f->in_frame)
		return enter_frame(f);
	return f->held ? 1 : need(f, 1);
}

int frames_read(struct frames *f, void *to, size_t n)
{
	ZSTD_outBuffer out = {to, n, 0};

	while (out.pos < n) {
		ZSTD_inBuffer in;
		size_t rc;
		int err = feed(f);

		if (err < 0)
			return err;
		if (err == 0) {
			f->torn = f->torn || f->in_frame || out.pos > 0;
			return 0;
		}
		in = (ZSTD_inBuffer){f->buf, f->len, f->pos};
		rc = ZSTD_decompressStream(f->z, &out, &in);
		if (ZSTD_isError(rc))
			return diag_set(f->d, -EINVAL, "read: %s: zstd: %s", frames_name(f),
					ZSTD_getErrorName(rc));
		f->pos = in.pos;
		f->in_frame = rc != 0;
		f->held = rc != 0 && out.pos == n;
	}
	return 1;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A zstd file that can be read at random: a frame with a checksum for each piece, and the seek
 * table (io/zstd.h) at the end.  A frame of zeros is made once and then repeated.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "io/zstd.h"
#include "tree/convert.h"

#define FRAMES_MAX 0x8000000u /* of the format */

struct row {
	le32 packed, plain;
};

struct zstd_form {
	struct form_file file;
	ZSTD_CCtx *ctx;
	uint8_t *out, *zeros; /* PACKED bytes; PIECE zero bytes and their frame behind them */
	size_t zeros_len;     /* of that frame, 0 before it was made */
	struct row *rows;
	size_t count;
};

#define PACKED ZSTD_COMPRESSBOUND(PIECE)

static int zstd_begin(struct form_file *f)
{
	struct zstd_form *z = (struct zstd_form *)f;
	uint64_t frames = f->size / PIECE + (f->size % PIECE != 0);

	if (frames > FRAMES_MAX)
		return diag_set(f->diag, -EFBIG, "%s: too large for a seek table: %llu bytes",
				f->name, (unsigned long long)f->size);
	z->ctx = ZSTD_createCCtx();
	z->out = malloc(PACKED);
	z->zeros = calloc(1, PIECE + PACKED);
	z->rows = mem_array((size_t)frames + 1, sizeof(*z->rows), SIZE_MAX / 2, f->diag);
	if (z->ctx == NULL || z->out == NULL || z->zeros == NULL || z->rows == NULL)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_compressionLevel, f->level);
	ZSTD_CCtx_setParameter(z->ctx, ZSTD_c_checksumFlag, 1);
	return 0;
}

static int pack(struct zstd_form *z, const uint8_t *buf, size_t len, uint8_t *out, size_t *ret)
{
	size_t n = ZSTD_compress2(z->ctx, out, PACKED, buf, len);

	if (ZSTD_isError(n))
		return diag_set(z->file.diag, -ENOMEM, "%s: zstd: %s", z->file.name,
				ZSTD_getErrorName(n));
	*ret = n;
	return 0;
}

static int add_frame(struct zstd_form *z, const uint8_t *frame, size_t packed, size_t plain)
{
	z->rows[z->count++] = (struct row){le32_make((uint32_t)packed), le32_make((uint32_t)plain)};
	return form_add(&z->file, frame, packed);
}

static int zstd_data(struct form_file *f, uint64_t off, const uint8_t *buf, size_t len)
{
	struct zstd_form *z = (struct zstd_form *)f;
	size_t n;
	int rc = pack(z, buf, len, z->out, &n);

	return rc < 0 ? rc : add_frame(z, z->out, n, len);
}

static int zstd_zeros(struct form_file *f, uint64_t off, uint64_t len, bool unused)
{
	struct zstd_form *z = (struct zstd_form *)f;
	uint8_t *frame = z->zeros + PIECE;
	int rc = 0;

	if (len >= PIECE && z->zeros_len == 0)
		rc = pack(z, z->zeros, PIECE, frame, &z->zeros_len);
	for (; len >= PIECE && rc == 0; len -= PIECE)
		rc = add_frame(z, frame, z->zeros_len, PIECE);
	return rc == 0 && len != 0 ? zstd_data(f, off, z->zeros, (size_t)len) : rc;
}

static int zstd_finish(struct form_file *f)
{
	struct zstd_form *z = (struct zstd_form *)f;
	size_t bytes = z->count * sizeof(struct row);
	const le32 head[2] = {le32_make(ZSTD_TABLE_MAGIC),
			      le32_make((uint32_t)(bytes + ZSTD_FOOTER))};
	const le32 magic = le32_make(ZSTD_FOOTER_MAGIC), count = le32_make((uint32_t)z->count);
	uint8_t footer[ZSTD_FOOTER] = {0};
	int rc = form_add(f, head, sizeof(head));

	memcpy(footer, &count, 4);
	memcpy(footer + 5, &magic, 4);
	if (rc == 0)
		rc = form_add(f, z->rows, bytes);
	return rc < 0 ? rc : form_add(f, footer, sizeof(footer));
}

static void zstd_free(struct form_file *f)
{
	struct zstd_form *z = (struct zstd_form *)f;

	ZSTD_freeCCtx(z->ctx);
	free(z->out);
	free(z->zeros);
	free(z->rows);
}

const struct form_ops form_zstd = {
    .bytes = sizeof(struct zstd_form),
    .begin = zstd_begin,
    .data = zstd_data,
    .zeros = zstd_zeros,
    .finish = zstd_finish,
    .free = zstd_free,
};

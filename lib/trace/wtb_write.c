/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the binary form: items go into a block; a full block is compressed into one frame, behind
 * a frame with the recorded bytes it needs; index and seek table come last.
 */
#include "base/bytes.h"
#include "base/crc.h"
#include "base/diag.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "trace/blobs.h"
#include "trace/stream.h"
#include "trace/wtb.h"
#include "trace/wtb_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

/* Where one frame is and what it holds: a row of the index and of the seek table. */
struct frame_row {
	uint64_t at, first_op, first_time, last_time;
	uint32_t packed, raw, check, items, crc, magic;
};

struct wtb_sink {
	struct op_sink base;
	struct outstream *out;
	struct wtb_encoder *enc;
	struct blobs *blobs;
	ZSTD_CCtx *z;
	uint8_t *pending; /* block of blobs being filled */
	size_t pending_n;
	uint8_t *packed;
	size_t packed_cap;
	struct frame_row *rows;
	size_t nrows, rows_cap;
	uint64_t timed;
};

static void le32_at(uint8_t *p, uint64_t v)
{
	le32 x = le32_make((uint32_t)v);

	memcpy(p, &x, 4);
}

static void le64_at(uint8_t *p, uint64_t v)
{
	le64 x = le64_make(v);

	memcpy(p, &x, 8);
}

static int no_memory(struct wtb_sink *s)
{
	return diag_set(s->base.d, -ENOMEM, "write: no memory for the binary form");
}

static struct frame_row *new_row(struct wtb_sink *s)
{
	void *p = s->rows;

	if (mem_grow(&p, &s->rows_cap, s->nrows + 1, sizeof(*s->rows)) < 0)
		return NULL;
	s->rows = p;
	memset(&s->rows[s->nrows], 0, sizeof(*s->rows));
	s->rows[s->nrows].at = outstream_count(s->out);
	return &s->rows[s->nrows];
}

static int skippable(struct wtb_sink *s, uint32_t magic, const uint8_t *p, size_t n)
{
	struct frame_row *row = new_row(s);
	uint8_t head[8];

	if (!row)
		return no_memory(s);
	le32_at(head, magic);
	le32_at(head + 4, n);
	outstream_write(s->out, head, 8);
	outstream_write(s->out, p, n);
	row->packed = (uint32_t)n + 8;
	row->check = 0x51d8e999; /* XXH64 of nothing, low half */
	s->nrows++;
	return 0;
}

/* Compresses one block; the frame's own checksum ends it and serves the seek table. */
static int put_frame(struct wtb_sink *s, const uint8_t *block, size_t n, struct frame_row *row)
{
	size_t packed = ZSTD_compress2(s->z, s->packed, s->packed_cap, block, n);
	le32 check;

	if (ZSTD_isError(packed))
		return diag_set(s->base.d, -EIO, "write: zstd: %s", ZSTD_getErrorName(packed));
	memcpy(&check, s->packed + packed - 4, 4);
	row->packed = (uint32_t)packed;
	row->raw = (uint32_t)n;
	row->check = le32_get(check);
	row->crc = crc32c(UINT32_MAX, block, n) ^ UINT32_MAX;
	outstream_write(s->out, s->packed, packed);
	s->nrows++;
	return 0;
}

static void seal(uint8_t *block, uint32_t magic, size_t n)
{
	le32_at(block, magic);
	le32_at(block + 4, n + 4);
	le32_at(block + n, crc32c(UINT32_MAX, block, n) ^ UINT32_MAX);
}

static int close_blobs(struct wtb_sink *s)
{
	struct frame_row *row;

	if (s->pending_n <= 8)
		return 0;
	row = new_row(s);
	if (!row)
		return no_memory(s);
	row->magic = WTB_BLOBS;
	seal(s->pending, WTB_BLOBS, s->pending_n);
	s->pending_n += 4;
	row->first_op = s->timed;
	if (put_frame(s, s->pending, s->pending_n, row) < 0)
		return -EIO;
	s->pending_n = 8;
	return 0;
}

static int close_block(struct wtb_sink *s)
{
	struct frame_row *row;
	uint32_t timed;
	size_t n;
	int err = close_blobs(s);

	if (err < 0)
		return err;
	row = new_row(s);
	if (!row)
		return no_memory(s);
	row->magic = WTB_OPS;
	row->first_op = s->timed;
	row->items = wtb_encoded(s->enc, &timed, &row->first_time, &row->last_time);
	if (row->items == 0)
		return 0;
	s->timed += timed;
	{
		const uint8_t *block = wtb_encoder_block(s->enc, &n);

		return put_frame(s, block, n, row);
	}
}

static int wtb_header(struct op_sink *base, const struct op_header *h)
{
	struct wtb_sink *s = (struct wtb_sink *)base;
	uint8_t *p = mem_zero(60 + h->len + 4), id[32];
	int err;

	if (!p)
		return no_memory(s);
	memcpy(p, "WTB1", 4);
	le32_at(p + 4, WTB_VERSION);
	le32_at(p + 8, h->plain_crc);
	le32_at(p + 12, h->block);
	le32_at(p + 16, h->page);
	le32_at(p + 20, h->hz);
	le64_at(p + 24, h->lost);
	/* The identity follows from the header lines, so that the same input gives the same bytes.
	 */
	sha256_of(h->text, h->len, id);
	memcpy(p + 32, id, 16);
	le32_at(p + 48, h->version);
	le32_at(p + 56, h->len);
	memcpy(p + 60, h->text, h->len);
	le32_at(p + 60 + h->len, crc32c(UINT32_MAX, p, 60 + h->len) ^ UINT32_MAX);
	err = skippable(s, WTB_SKIP_HEADER, p, 64 + h->len);
	free(p);
	return err;
}

/* Adds the bytes to the blobs in front of the current block unless readers know them. */
static int put_blob(struct wtb_sink *s, const struct op_data *data, const uint8_t *hash)
{
	uint8_t *room, *p;
	uint32_t n;
	int err = 0;

	if (blobs_find(s->blobs, hash, &n))
		return 0;
	room = blobs_room(s->blobs, data->n);
	if (!room)
		return 0; /* the reference stays, the bytes are lost: as in a trace cut in front */
	/* Readers learn the blobs of a block before its ops: not too many at once. */
	if (s->pending_n > 8 && s->pending_n + 36 + data->n > WTB_OPS_MAX)
		err = close_block(s);
	if (err < 0)
		return err;
	memcpy(room, data->bytes, data->n);
	blobs_add(s->blobs, hash, data->n);
	p = s->pending + s->pending_n;
	memcpy(p, hash, 32);
	le32_at(p + 32, data->n);
	memcpy(p + 36, data->bytes, data->n);
	s->pending_n += 36 + data->n;
	return 0;
}

static int wtb_item(struct op_sink *base, const struct op *o)
{
	struct wtb_sink *s = (struct wtb_sink *)base;
	const uint8_t *known = o->data.hash;
	uint8_t hash[32];
	int err;

	if (o->data_kind == DATA_BLOB) {
		if (!o->data.hashed) {
			sha256_of(o->data.bytes, o->data.n, hash);
			known = hash;
		}
		err = o->data.bytes ? put_blob(s, &o->data, known) : 0;
		if (err < 0)
			return err;
	}
	err = wtb_encode(s->enc, o, known);
	if (err == -EAGAIN) {
		err = close_block(s);
		if (err == 0)
			err = wtb_encode(s->enc, o, known);
	}
	if (err == -E2BIG || err == -EAGAIN)
		return diag_set(s->base.d, -E2BIG, "write: %s at %llu ns: too long for one frame",
				op_word((enum op_code)o->code), (unsigned long long)o->time);
	return err == -ENOMEM ? no_memory(s) : err;
}

static int wtb_flush(struct op_sink *base)
{
	struct wtb_sink *s = (struct wtb_sink *)base;
	int err = close_block(s);

	return err < 0 ? err : outstream_flush(s->out);
}

static int put_end(struct wtb_sink *s, bool whole)
{
	struct frame_row *row = new_row(s);
	uint8_t block[24];

	if (!row)
		return no_memory(s);
	row->magic = WTB_END;
	row->first_op = s->timed;
	le64_at(block + 8, s->timed);
	le32_at(block + 16, whole);
	seal(block, WTB_END, 20);
	return put_frame(s, block, 24, row);
}

#define INDEX_ROW 48

static int put_index(struct wtb_sink *s)
{
	size_t n = 12 + s->nrows * INDEX_ROW, used = 0;
	uint8_t *p = mem_zero(n + 4);
	int err;

	if (!p)
		return no_memory(s);
	memcpy(p, "WTBI", 4);
	le32_at(p + 4, WTB_VERSION);
	for (size_t i = 0; i < s->nrows; i++) {
		const struct frame_row *r = &s->rows[i];
		uint8_t *row = p + 12 + used * INDEX_ROW;

		if (!r->magic)
			continue;
		le64_at(row, r->at);
		le64_at(row + 8, r->first_op);
		le64_at(row + 16, r->first_time);
		le64_at(row + 24, r->last_time);
		le32_at(row + 32, r->magic);
		le32_at(row + 36, r->items);
		le32_at(row + 40, r->crc);
		le32_at(row + 44, r->raw);
		used++;
	}
	le32_at(p + 8, used);
	n = 12 + used * INDEX_ROW;
	le32_at(p + n, crc32c(UINT32_MAX, p, n) ^ UINT32_MAX);
	err = skippable(s, WTB_SKIP_INDEX, p, n + 4);
	free(p);
	return err;
}

/* The table of the zstd seekable format, over every frame so far. */
static int put_seek_table(struct wtb_sink *s)
{
	size_t n = s->nrows * 12 + 9;
	uint8_t *p = mem_zero(n);
	int err;

	if (!p)
		return no_memory(s);
	for (size_t i = 0; i < s->nrows; i++) {
		le32_at(p + 12 * i, s->rows[i].packed);
		le32_at(p + 12 * i + 4, s->rows[i].raw);
		le32_at(p + 12 * i + 8, s->rows[i].check);
	}
	le32_at(p + n - 9, s->nrows);
	p[n - 5] = 0x80; /* the rows have checksums */
	le32_at(p + n - 4, WTB_SEEK_MAGIC);
	err = skippable(s, WTB_SKIP_SEEK, p, n);
	free(p);
	return err;
}

static int wtb_finish(struct op_sink *base, bool whole)
{
	struct wtb_sink *s = (struct wtb_sink *)base;
	int err = close_block(s);

	if (err == 0)
		err = put_end(s, whole);
	if (err == 0)
		err = put_index(s);
	if (err == 0)
		err = put_seek_table(s);
	return err < 0 ? err : outstream_flush(s->out);
}

static void wtb_sink_close(struct op_sink *base)
{
	struct wtb_sink *s = (struct wtb_sink *)base;

	if (s->out)
		outstream_close(s->out);
	wtb_encoder_free(s->enc);
	blobs_free(s->blobs);
	ZSTD_freeCCtx(s->z);
	free(s->pending);
	free(s->packed);
	free(s->rows);
	free(s);
}

static const struct op_sink_ops wtb_sink_ops = {wtb_header, wtb_item, wtb_flush, wtb_finish,
						wtb_sink_close};

static bool set_up(struct wtb_sink *s, int level)
{
	s->packed_cap = ZSTD_compressBound(WTB_BLOCK_MAX);
	s->enc = wtb_encoder_new();
	s->blobs = blobs_new(BLOBS_WRITER);
	s->z = ZSTD_createCCtx();
	s->pending = malloc(WTB_BLOCK_MAX);
	s->packed = malloc(s->packed_cap);
	s->pending_n = 8;
	if (!s->enc || !s->blobs || !s->z || !s->pending || !s->packed)
		return false;
	ZSTD_CCtx_setParameter(s->z, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(s->z, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setParameter(s->z, ZSTD_c_contentSizeFlag, 1);
	return true;
}

int wtb_write(struct outstream *out, int level, struct diag *d, struct op_sink **ret)
{
	struct wtb_sink *s = mem_zero(sizeof(*s));

	if (!s || !set_up(s, level)) {
		outstream_close(out);
		if (s)
			wtb_sink_close(&s->base);
		return diag_set(d, -ENOMEM, "write: no memory");
	}
	s->base.ops = &wtb_sink_ops;
	s->base.d = d;
	s->out = out;
	*ret = &s->base;
	return 0;
}

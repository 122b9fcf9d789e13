/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the text form: every item becomes one line in the output buffer, arguments by the row of
 * the op in op_forms, then the keys in a fixed order.
 */
#include "base/diag.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "trace/base64.h"
#include "trace/blobs.h"
#include "trace/stream.h"
#include "trace/words.h"
#include "trace/wtr.h"
#include "trace/wtr_put.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a blob on one line: 48 KiB become 64 KiB of base64, minus the mark. */
#define BLOB_LINE ((size_t)48000)

enum section { SECTION_HEADER, SECTION_INIT, SECTION_OPS, SECTION_EXPECT };

struct wtr_sink {
	struct op_sink base;
	struct outstream *out;
	struct blobs *blobs;
	enum section section;
	uint64_t timed;
};

static void put_line(struct wtr_sink *s, const char *line)
{
	outstream_write(s->out, line, strlen(line));
}

static int wtr_header(struct op_sink *base, const struct op_header *h)
{
	struct wtr_sink *s = (struct wtr_sink *)base;
	const char *p = h->text, *end = h->text + h->len;

	if (h->len < 7 || memcmp(p, "wtrace ", 7) != 0)
		put_line(s, "#wtrace 1\n");
	while (p < end) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((lf ? lf : end) - p);

		outstream_write(s->out, "#", 1);
		outstream_write(s->out, p, n);
		outstream_write(s->out, "\n", 1);
		p = lf ? lf + 1 : end;
	}
	return 0;
}

/* Puts the blob into the file unless readers know it already. */
static void put_blob(struct wtr_sink *s, const struct op_data *data, const uint8_t *hash)
{
	char line[BASE64_LEN(BLOB_LINE) + 96], *p = line;
	uint8_t *room;
	uint32_t n;

	if (blobs_find(s->blobs, hash, &n))
		return;
	room = blobs_room(s->blobs, data->n);
	if (!room)
		return; /* the reference stays, the bytes are lost: same as a trace cut in front */
	memcpy(room, data->bytes, data->n);
	blobs_add(s->blobs, hash, data->n);
	p = put_text(p, "%blob ");
	p = put_hex(p, hash, 32);
	*p++ = ' ';
	p = put_u64(p, data->n);
	*p++ = '\n';
	outstream_write(s->out, line, (size_t)(p - line));
	for (uint32_t at = 0; at < data->n; at += (uint32_t)BLOB_LINE) {
		size_t part = data->n - at < BLOB_LINE ? data->n - at : BLOB_LINE;

		memcpy(line, "%+ ", 3);
		base64_put(data->bytes + at, part, line + 3);
		line[3 + BASE64_LEN(part)] = '\n';
		outstream_write(s->out, line, BASE64_LEN(part) + 4);
	}
}

static void enter(struct wtr_sink *s, enum section to)
{
	static const char *const lines[] = {"", "%init manifest\n", "%ops\n", "%expect\n"};

	if (s->section != to)
		put_line(s, lines[to]);
	s->section = to;
}

static size_t text_bytes(const struct op *o)
{
	size_t n = (size_t)o->path.n + o->path2.n + o->name.n + o->segs.n + o->id.n + o->after.n +
		   o->extra.n;

	if (o->node)
		n += (size_t)o->node->path.n + o->node->target.n + o->node->sha256.n +
		     o->node->extra.n + (size_t)o->node->nextents * 14;
	return n;
}

static int put_item(struct wtr_sink *s, const struct op *o, const uint8_t *hash)
{
	size_t text = o->plain ? 0 : text_bytes(o);
	char *p, *start;

	start = text > WTR_LINE_MAX ? NULL : outstream_room(s->out, text * 3 + 1024);
	if (!start && text <= WTR_LINE_MAX)
		return outstream_flush(s->out);
	if (start) {
		if (o->code == OP_NODE)
			p = put_node(start, o->node);
		else if (o->code == OP_EXPECT || o->code == OP_COMMENT)
			p = put_bytes(put_text(start, o->code == OP_EXPECT ? "= " : "#"), o->extra);
		else
			p = put_timed(start, o, hash);
		*p++ = '\n';
		if ((size_t)(p - start) <= WTR_LINE_MAX) {
			outstream_put(s->out, (size_t)(p - start));
			return 0;
		}
	}
	return diag_set(s->base.d, -E2BIG, "write: %s at %llu ns: its line would exceed 64 KiB",
			op_word((enum op_code)o->code), (unsigned long long)o->time);
}

static int wtr_item(struct op_sink *base, const struct op *o)
{
	struct wtr_sink *s = (struct wtr_sink *)base;
	uint8_t hash[32];
	const uint8_t *known = o->data.hash;

	if (o->code == OP_NODE) {
		enter(s, SECTION_INIT);
	} else if (o->code == OP_EXPECT) {
		enter(s, SECTION_EXPECT);
	} else if (o->code != OP_COMMENT) {
		enter(s, SECTION_OPS);
		s->timed++;
	}
	if (o->data_kind == DATA_BLOB) {
		if (!o->data.hashed) {
			sha256_of(o->data.bytes, o->data.n, hash);
			known = hash;
		}
		if (o->data.bytes)
			put_blob(s, &o->data, known);
	}
	return put_item(s, o, known);
}

static int wtr_flush(struct op_sink *base)
{
	return outstream_flush(((struct wtr_sink *)base)->out);
}

static int wtr_finish(struct op_sink *base, bool whole)
{
	struct wtr_sink *s = (struct wtr_sink *)base;
	char line[96], *p = line;
	uint8_t crc[4];
	uint32_t v;

	if (whole) {
		v = outstream_crc(s->out);
		for (unsigned i = 0; i < 4; i++)
			crc[i] = (uint8_t)(v >> (24 - 8 * i));
		p = put_u64(put_text(p, "%end ops="), s->timed);
		p = put_hex(put_text(p, " crc32c="), crc, 4);
		*p++ = '\n';
		outstream_write(s->out, line, (size_t)(p - line));
	}
	return outstream_flush(s->out);
}

static void wtr_sink_close(struct op_sink *base)
{
	struct wtr_sink *s = (struct wtr_sink *)base;

	outstream_close(s->out);
	blobs_free(s->blobs);
	free(s);
}

static const struct op_sink_ops wtr_sink_ops = {wtr_header, wtr_item, wtr_flush, wtr_finish,
						wtr_sink_close};

int wtr_write(struct outstream *out, struct diag *d, struct op_sink **ret)
{
	struct wtr_sink *s = mem_zero(sizeof(*s));

	if (!s || !(s->blobs = blobs_new(BLOBS_WRITER))) {
		free(s);
		outstream_close(out);
		return diag_set(d, -ENOMEM, "write: no memory");
	}
	s->base.ops = &wtr_sink_ops;
	s->base.d = d;
	s->out = out;
	*ret = &s->base;
	return 0;
}

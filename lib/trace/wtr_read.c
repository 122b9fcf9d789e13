/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the text form line by line.
 *
 * The first bytes of a line say what it is: '#' header or comment, '%' a section or a blob, a
 * digit a timed line, '=' an expectation, a letter a file of the initial manifest.
 */
#include "base/crc.h"
#include "base/diag.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "trace/base64.h"
#include "trace/notes.h"
#include "trace/stream.h"
#include "trace/wtr.h"
#include "trace/wtr_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_MAX ((size_t)1 << 20)
#define VERSION    1

struct wtr_source {
	struct op_source base;
	struct lines lines;
	struct line_parser lp;
	char *header;
	size_t header_len, header_cap;
	char *held; /* first line behind the header, not handed out yet */
	size_t held_n;
	uint32_t crc, crc_before; /* of all lines; of all but the last */
	uint64_t timed;
	const char *line; /* the last one */
	uint64_t time;    /* of the last item that had one */
	bool in_init, whole, done;
	bool refused; /* by refuse() rather than by the host */
	int err;
	uint8_t blob_hash[32]; /* the blob being read */
	uint8_t *blob;
	size_t blob_n, blob_have;
};

static int refuse(struct wtr_source *s, const char *line, const char *at, const char *why)
{
	s->refused = true;
	s->err =
	    diag_set(s->base.d, -EINVAL, "%s:%llu:%llu: %s", instream_name(s->lines.in),
		     (unsigned long long)s->lines.number, (unsigned long long)(at - line) + 1, why);
	return s->err;
}

static int next_line(struct wtr_source *s, char **line, size_t *n)
{
	int err;

	if (s->held) {
		*line = s->held;
		*n = s->held_n;
		s->held = NULL;
		return 1;
	}
	err = lines_next(&s->lines, line, n);
	if (err < 0)
		return diag_set(s->base.d, err, "read: %s: failed", instream_name(s->lines.in));
	if (err == 0 || s->lines.torn)
		return 0; /* cut in the middle of a line: all before it is good */
	if (s->lines.too_long)
		return refuse(s, *line, *line + WTR_LINE_MAX, "line is longer than 64 KiB");
	(*line)[*n] = '\n';
	s->crc_before = s->crc;
	s->crc = crc32c(s->crc, *line, *n + 1);
	(*line)[*n] = 0;
	s->lp.counts.lines++;
	return 1;
}

static bool word_at(const char *line, const char *word, const char **ret)
{
	size_t n = strlen(word);

	if (strncmp(line, word, n) != 0 || (line[n] != 0 && line[n] != ' '))
		return false;
	*ret = line[n] ? line + n + 1 : line + n;
	return true;
}

static void known_number(const char *line, const char *word, uint64_t max, uint64_t *ret)
{
	const char *v;
	uint64_t n;

	if (word_at(line, word, &v) && parse_number(v, strlen(v), 10, &n) && n <= max)
		*ret = n;
}

/* Learns from a header line; line is behind the '#'. */
static int header_line(struct wtr_source *s, const char *line)
{
	struct op_header *h = &s->base.header;
	uint64_t version = h->version, page = h->page, hz = h->hz, block = h->block;
	const char *v;

	known_number(line, "wtrace", UINT32_MAX, &version);
	known_number(line, "page", UINT32_MAX, &page);
	known_number(line, "hz", UINT32_MAX, &hz);
	known_number(line, "lost", UINT64_MAX, &h->lost);
	if (word_at(line, "fs", &v) && (v = strstr(v, " block=")))
		block = (uint32_t)strtoul(v + 7, NULL, 10);
	h->version = (uint32_t)version;
	h->page = (uint32_t)page;
	h->hz = (uint32_t)hz;
	h->block = (uint32_t)block;
	if (strcmp(line, "time ns") == 0)
		h->plain_crc = true;
	if (word_at(line, "unit", &v) && strcmp(v, "ns") != 0)
		return refuse(s, line - 1, v, "the unit of time must be ns");
	if (line[0] == '!')
		return refuse(s, line - 1, line, "a required key this version does not know");
	if (version > VERSION)
		return refuse(s, line - 1, line, "a version newer than 1");
	return 0;
}

static int keep_header(struct wtr_source *s, const char *line, size_t n)
{
	void *p = s->header;

	if (s->header_len + n + 2 > HEADER_MAX)
		return refuse(s, line, line, "the header is longer than 1 MiB");
	if (mem_grow(&p, &s->header_cap, s->header_len + n + 2, 1) < 0)
		return diag_set(s->base.d, -ENOMEM, "read: %s: no memory",
				instream_name(s->lines.in));
	s->header = p;
	if (s->header_len)
		s->header[s->header_len++] = '\n';
	memcpy(s->header + s->header_len, line, n + 1);
	s->header_len += n;
	s->base.header.text = s->header;
	s->base.header.len = s->header_len;
	return 0;
}

static int read_header(struct wtr_source *s)
{
	char *line;
	size_t n;
	int err;

	s->base.header.text = "";
	while ((err = next_line(s, &line, &n)) > 0) {
		if (line[0] != '#') {
			if (!s->base.header.version)
				return refuse(s, line, line,
					      "not a trace: the first line must be #wtrace 1");
			s->held = line;
			s->held_n = n;
			return 0;
		}
		err = header_line(s, line + 1);
		if (err == 0 && !s->base.header.version)
			return refuse(s, line, line,
				      "not a trace: the first line must be #wtrace 1");
		if (err == 0)
			err = keep_header(s, line + 1, n - 1);
		if (err < 0)
			return err;
	}
	s->done = true;
	return err < 0 || s->base.header.version
		   ? err
		   : diag_set(s->base.d, -EINVAL, "%s:1:1: not a trace: empty",
			      instream_name(s->lines.in));
}

/* "%end ops=N crc32c=X": what came before must agree. */
static int end_line(struct wtr_source *s, const char *line, const char *args)
{
	const char *crc = strstr(args, " crc32c=");
	uint64_t ops, want;

	if (strncmp(args, "ops=", 4) != 0 || !crc ||
	    !parse_number(args + 4, (size_t)(crc - args - 4), 10, &ops) ||
	    !parse_number(crc + 8, strlen(crc + 8), 16, &want))
		return refuse(s, line, args, "expected ops=NUMBER crc32c=HEX");
	s->done = true;
	if (ops != s->timed || want != (uint32_t)~s->crc_before) {
		s->refused = true;
		s->err = diag_set(s->base.d, -EINVAL,
				  "%s:%llu:1: %%end says ops=%llu crc32c=%08llx, the file has "
				  "ops=%llu crc32c=%08x",
				  instream_name(s->lines.in), (unsigned long long)s->lines.number,
				  (unsigned long long)ops, (unsigned long long)want,
				  (unsigned long long)s->timed, ~s->crc_before);
		return s->err;
	}
	s->whole = true;
	return 0;
}

/* "%blob HASH LENGTH" announces bytes that follow in "%+" lines. */
static int blob_line(struct wtr_source *s, const char *line, const char *args)
{
	uint64_t n;

	if (strlen(args) < 66 || args[64] != ' ' || parse_hex(args, 32, s->blob_hash) < 0 ||
	    !parse_number(args + 65, strlen(args + 65), 10, &n) || n == 0 || n > BLOBS_MAX)
		return refuse(s, line, args, "expected a SHA-256 and a length of at most 4 MiB");
	s->blob = blobs_room(s->lp.blobs, (size_t)n);
	if (!s->blob)
		return diag_set(s->base.d, -ENOMEM, "read: %s: no memory for a blob",
				instream_name(s->lines.in));
	s->blob_n = (size_t)n;
	s->blob_have = 0;
	return 0;
}

static int blob_bytes(struct wtr_source *s, const char *line, const char *args, size_t n)
{
	uint8_t hash[32];
	long got =
	    s->blob ? base64_get(args, n, s->blob + s->blob_have, s->blob_n - s->blob_have) : -1;

	if (got < 0)
		return refuse(s, line, args, "not base64, or more than the blob announced");
	s->blob_have += (size_t)got;
	if (s->blob_have < s->blob_n)
		return 0;
	sha256_of(s->blob, s->blob_n, hash);
	if (memcmp(hash, s->blob_hash, 32) != 0)
		return refuse(s, line, args, "the bytes of the blob do not have its SHA-256");
	if (!blobs_find(s->lp.blobs, hash, &(uint32_t){0}))
		blobs_add(s->lp.blobs, hash, s->blob_n);
	s->blob = NULL;
	return 0;
}

static int percent_line(struct wtr_source *s, const char *line, size_t n)
{
	const char *v;

	if (line[1] == '+' && line[2] == ' ')
		return blob_bytes(s, line, line + 3, n - 3);
	if (s->blob)
		return refuse(s, line, line, "a blob ends too early");
	if (word_at(line, "%blob", &v))
		return blob_line(s, line, v);
	if (word_at(line, "%end", &v))
		return end_line(s, line, v);
	if (word_at(line, "%init", &v))
		s->in_init = true;
	else if (word_at(line, "%ops", &v) || word_at(line, "%expect", &v))
		s->in_init = false;
	else if (!s->lp.lenient)
		return refuse(s, line, line, "unknown section");
	else
		s->lp.counts.unknown_words++;
	return 0;
}

static void take_text(struct op *o, enum op_code code, const char *p, size_t n)
{
	o->code = (uint8_t)code;
	o->plain = 0;
	o->extra = (struct op_str){p, (uint32_t)n};
}

static void wtr_where(const struct op_source *base, char *text, size_t size)
{
	const struct wtr_source *s = (const struct wtr_source *)base;

	snprintf(text, size, "%s:%llu:%llu", instream_name(s->lines.in),
		 (unsigned long long)s->lines.number,
		 (unsigned long long)(s->lp.word - s->line) + 1);
}

static void note_unknown(struct wtr_source *s)
{
	char at[200];

	wtr_where(&s->base, at, sizeof(at));
	notes_add(s->base.notes, "%s: unknown op %.60s", at, s->lp.op.name.p);
}

/* 1 with an item in s->lp.op, 0 when the line had none, or an error. */
static int one_line(struct wtr_source *s, char *line, size_t n)
{
	struct cursor c = {line, line + n, line, NULL};
	struct op *o = &s->lp.op;
	int err;

	if (line[0] == '%')
		return percent_line(s, line, n);
	if (s->blob)
		return refuse(s, line, line, "a blob ends too early");
	if (line[0] == '#') {
		take_text(o, OP_COMMENT, line + 1, n - 1);
		return line[1] == '!' ? refuse(s, line, line, "a required key inside the trace")
				      : 1;
	}
	if (line[0] == '=' && line[1] == ' ') {
		take_text(o, OP_EXPECT, line + 2, n - 2);
		return 1;
	}
	if (line[0] >= '0' && line[0] <= '9') {
		err = parse_timed(&s->lp, &c);
		s->timed++;
		if (err == 0 && o->code == OP_UNKNOWN)
			note_unknown(s);
	} else if (s->in_init) {
		err = parse_node(&s->lp, &c);
	} else {
		return refuse(s, line, line, "expected a time");
	}
	return err < 0 ? refuse(s, line, c.p, c.why ? c.why : "no memory") : 1;
}

static void reset_op(struct op *o)
{
	if (!o->plain) {
		op_clear(o);
		return;
	}
	o->dur = OP_NONE64;
	o->off = o->len = 0;
	o->thread = OP_NO_THREAD;
	o->handle = o->flags = 0;
	o->sub = 0;
}

/* The next item: 1, 0 when the line had none, or an error; at the end done is set. */
static int try_next(struct wtr_source *s)
{
	char *line;
	size_t n;
	int err = next_line(s, &line, &n);

	if (err > 0) {
		s->line = s->lp.word = line;
		reset_op(&s->lp.op);
		return one_line(s, line, n);
	}
	s->done = true;
	if (err == 0 && s->lines.torn)
		notes_cut(s->base.notes, instream_name(s->lines.in), s->lines.number);
	return err;
}

/* A lenient reader takes a line that makes no sense for one lost event; a file that was there
 * before is just not there. */
static int pass_over(struct wtr_source *s)
{
	struct op *o = &s->lp.op;

	s->lp.counts.bad_lines++;
	notes_add(s->base.notes, "%s", s->base.d != NULL ? s->base.d->text : "a line");
	if (s->base.d != NULL)
		diag_clear(s->base.d);
	s->err = 0;
	s->refused = false;
	s->blob = NULL;
	if (s->in_init)
		return 0;
	op_clear(o);
	o->code = OP_GAP;
	o->plain = 0;
	o->time = s->time;
	o->arg = 1;
	return 1;
}

static int wtr_next(struct op_source *base, const struct op **ret)
{
	struct wtr_source *s = (struct wtr_source *)base;

	while (!s->done && s->err == 0) {
		int err = try_next(s);

		if (err < 0 && s->lp.lenient && s->refused)
			err = pass_over(s);
		if (err > 0) {
			s->time = s->lp.op.time != 0 ? s->lp.op.time : s->time;
			*ret = &s->lp.op;
			return 1;
		}
		s->err = err;
	}
	return s->err;
}

static bool wtr_whole(const struct op_source *base)
{
	return ((const struct wtr_source *)base)->whole;
}

static void wtr_close(struct op_source *base)
{
	struct wtr_source *s = (struct wtr_source *)base;

	lines_free(&s->lines);
	blobs_free(s->lp.blobs);
	free(s->lp.extents);
	free(s->header);
	free(s);
}

static const struct op_source_ops wtr_source_ops = {
    .next = wtr_next,
    .whole = wtr_whole,
    .close = wtr_close,
    .where = wtr_where,
};

const struct wtr_counts *wtr_source_counts(const struct op_source *base)
{
	return &((const struct wtr_source *)base)->lp.counts;
}

int wtr_read(struct instream *in, unsigned flags, struct diag *d, struct op_source **ret)
{
	struct wtr_source *s = mem_zero(sizeof(*s));
	int err = -ENOMEM;

	if (!s || !(s->lp.blobs = blobs_new(BLOBS_READER)) ||
	    lines_init(&s->lines, in, WTR_LINE_MAX - 1) < 0) {
		if (s)
			blobs_free(s->lp.blobs);
		free(s);
		instream_close(in);
		return diag_set(d, err, "read: no memory");
	}
	s->base.ops = &wtr_source_ops;
	s->base.d = d;
	s->crc = UINT32_MAX;
	s->lp.lenient = flags & WTR_LENIENT;
	op_clear(&s->lp.op);
	err = read_header(s);
	if (err < 0) {
		wtr_close(&s->base);
		return err;
	}
	*ret = &s->base;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts and tables as text or JSON.  A text table holds back its first rows to find column widths;
 * later rows are printed as they come, so a table of any length needs constant memory.  Everything
 * is made in one buffer, which goes to the stream in large pieces.
 */
#include "out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "escape.h"
#include "text.h"

#define DEPTH_MAX   8
#define HOLD_ROWS   256
#define PIECE_BYTES ((size_t)64 << 10)

/* A cell held back: bytes of the table's text. */
struct cell {
	size_t at, len;
};

struct out {
	FILE *to;
	struct buffer b; /* what is to go there */
	bool json, quiet;
	bool more[DEPTH_MAX]; /* a member was written at this depth */
	int depth;
	const struct out_col *cols; /* NULL: not in a table */
	size_t ncols, at, rows;     /* at: the column that comes next */
	struct buffer text;         /* of cells: all that are held back, or the one being made */
	struct cell *held;          /* HOLD_ROWS * ncols */
	size_t *width;
	size_t owed;  /* blanks before the next text of this line */
	bool flowing; /* widths are settled */
	int err;
};

/* What went wrong first is what out_close tells. */
static void write_bytes(struct out *out, const void *bytes, size_t n)
{
	errno = 0;
	if (fwrite(bytes, 1, n, out->to) != n && out->err == 0)
		out->err = errno != 0 ? -errno : -EIO;
}

static void send(struct out *out)
{
	if (out->b.len != 0)
		write_bytes(out, out->b.text, out->b.len);
	out->b.len = 0;
}

static void comma(struct out *out)
{
	if (out->more[out->depth])
		buffer_addc(&out->b, ',');
	out->more[out->depth] = true;
}

static void json_key(struct out *out, const char *key)
{
	comma(out);
	buffer_addc(&out->b, '"');
	buffer_adds(&out->b, key);
	buffer_add(&out->b, "\":", 2);
}

static void deeper(struct out *out, char bracket)
{
	buffer_addc(&out->b, bracket);
	if (out->depth + 1 < DEPTH_MAX)
		out->depth++;
	out->more[out->depth] = false;
}

static void shallower(struct out *out, char bracket)
{
	buffer_addc(&out->b, bracket);
	out->depth--;
}

struct out *out_new(FILE *to, bool json, bool quiet, const char *verb)
{
	struct out *out = calloc(1, sizeof(*out));

	if (out == NULL)
		return NULL;
	out->to = to;
	out->json = json;
	out->quiet = quiet;
	if (json) {
		buffer_addc(&out->b, '{');
		json_key(out, "verb");
		escape_json(&out->b, verb, strlen(verb));
	}
	return out;
}

void out_divert(struct out *out, FILE *to)
{
	send(out);
	out->to = to;
}

/* ---- table cells ---- */

/* Blanks wait until something follows them, so that no line ends in one. */
static void print_wide(struct out *out, size_t col, const char *text, size_t len, size_t width)
{
	size_t pad = out->width[col] > width ? out->width[col] - width : 0;

	if (out->cols[col].right)
		out->owed += pad;
	if (width > 0) {
		buffer_fill(&out->b, ' ', out->owed);
		buffer_add(&out->b, text, len);
		out->owed = 0;
	}
	if (!out->cols[col].right)
		out->owed += pad;
	out->owed += 2;
	if (col + 1 < out->ncols)
		return;
	buffer_addc(&out->b, '\n');
	out->owed = 0;
	if (out->b.len >= PIECE_BYTES)
		send(out);
}

static void print_cell(struct out *out, size_t col, const char *text, size_t len)
{
	print_wide(out, col, text, len, escape_width(text, len));
}

/* Printable ASCII goes to a table whose widths are settled without further ado: true when it did.
 */
static bool print_plain(struct out *out, const char *text, size_t len)
{
	if (!out->flowing || out->json || out->cols == NULL || len == 0)
		return false;
	print_wide(out, out->at, text, len, len);
	if (++out->at == out->ncols) {
		out->at = 0;
		out->rows++;
	}
	return true;
}

static void widen(struct out *out, size_t col, const char *text, size_t len)
{
	size_t width = escape_width(text, len);

	if (width > out->width[col])
		out->width[col] = width;
}

/* Settles widths and prints the heading and every row held back. */
static void flow(struct out *out)
{
	size_t cells = out->rows * out->ncols + out->at;

	out->flowing = true;
	for (size_t c = 0; c < out->ncols && !out->quiet; c++)
		if (out->cols[c].title != NULL)
			print_cell(out, c, _(out->cols[c].title), strlen(_(out->cols[c].title)));
	for (size_t i = 0; i < cells; i++)
		print_cell(out, i % out->ncols, out->text.text + out->held[i].at, out->held[i].len);
	out->text.len = 0;
}

/* The cell is what was added to the table's text since from. */
static void end_cell(struct out *out, size_t from)
{
	size_t len = out->text.len - from;

	if (out->text.text == NULL) /* a first cell of nothing */
		buffer_room(&out->text, 1);
	if (out->text.err != 0) {
		out->err = out->text.err;
		return;
	}
	if (out->flowing) {
		print_cell(out, out->at, out->text.text + from, len);
		out->text.len = 0;
	} else {
		out->held[out->rows * out->ncols + out->at] = (struct cell){from, len};
		widen(out, out->at, out->text.text + from, len);
	}
	if (++out->at < out->ncols)
		return;
	out->at = 0;
	out->rows++;
	if (!out->flowing && out->rows == HOLD_ROWS)
		flow(out);
}

/* ---- values ---- */

/* Where the text of the next value goes: into a cell, or behind its label. */
static struct buffer *begin_text(struct out *out, const char *label)
{
	if (out->cols != NULL)
		return &out->text;
	buffer_fill(&out->b, ' ', 2 * (size_t)out->depth);
	if (label != NULL) {
		buffer_adds(&out->b, label);
		buffer_add(&out->b, ": ", 2);
	}
	return &out->b;
}

static void end_text(struct out *out, size_t from)
{
	if (out->cols != NULL)
		end_cell(out, from);
	else
		buffer_addc(&out->b, '\n');
}

static void begin_json(struct out *out, const char *key)
{
	if (out->cols == NULL) {
		json_key(out, key);
		return;
	}
	if (out->at == 0) {
		comma(out);
		buffer_addc(&out->b, '\n');
		deeper(out, '{');
	}
	json_key(out, out->cols[out->at].key);
}

static void end_json(struct out *out)
{
	if (out->cols == NULL || ++out->at < out->ncols)
		return;
	out->at = 0;
	shallower(out, '}');
	if (out->b.len >= PIECE_BYTES)
		send(out);
}

#define VALUE(json_stmt, text_stmt)           \
	do {                                  \
		struct buffer *b = &out->b;   \
		size_t from = out->text.len;  \
                                              \
		if (out->json) {              \
			begin_json(out, key); \
			json_stmt;            \
			end_json(out);        \
			break;                \
		}                             \
		b = begin_text(out, label);   \
		text_stmt;                    \
		end_text(out, from);          \
	} while (0)

void out_u64(struct out *out, const char *key, const char *label, uint64_t v)
{
	char digits[BUFFER_DIGITS];
	size_t n = buffer_digits(digits, v);
	const char *first = digits + sizeof(digits) - n;

	if (print_plain(out, first, n))
		return;
	VALUE(buffer_add(b, first, n), buffer_add(b, first, n));
}

void out_i64(struct out *out, const char *key, const char *label, int64_t v)
{
	VALUE(buffer_i64(b, v), buffer_i64(b, v));
}

void out_bool(struct out *out, const char *key, const char *label, bool v)
{
	VALUE(buffer_adds(b, v ? "true" : "false"), buffer_adds(b, v ? _("yes") : _("no")));
}

void out_none(struct out *out, const char *key, const char *label)
{
	VALUE(buffer_adds(b, "null"), buffer_addc(b, '-'));
}

void out_word(struct out *out, const char *key, const char *label, const char *word)
{
	VALUE(escape_json(b, word, strlen(word)), buffer_adds(b, _(word)));
}

void out_str(struct out *out, const char *key, const char *label, const char *text)
{
	out_bytes(out, key, label, text, strlen(text));
}

void out_bytes(struct out *out, const char *key, const char *label, const void *bytes, size_t n)
{
	if (escape_plain(bytes, n) && print_plain(out, bytes, n))
		return;
	VALUE(escape_json(b, bytes, n), escape_text(b, bytes, n));
}

void out_u64_as(struct out *out, const char *key, const char *label, uint64_t v,
		const char *as_text)
{
	size_t n = strlen(as_text);

	if (escape_plain(as_text, n) && print_plain(out, as_text, n))
		return;
	VALUE(buffer_u64(b, v), buffer_add(b, as_text, n));
}

void out_double(struct out *out, const char *key, const char *label, double v, int digits)
{
	VALUE(buffer_addf(b, "%.*f", digits, v), buffer_addf(b, "%.*f", digits, v));
}

/* ---- structure ---- */

void out_section(struct out *out, const char *key, const char *title)
{
	if (out->json) {
		json_key(out, key);
		deeper(out, '{');
		return;
	}
	buffer_fill(&out->b, ' ', 2 * (size_t)out->depth);
	buffer_adds(&out->b, title);
	buffer_add(&out->b, ":\n", 2);
	out->depth++;
}

void out_section_end(struct out *out)
{
	if (out->json)
		shallower(out, '}');
	else
		out->depth--;
}

static void free_table(struct out *out)
{
	free(out->held);
	free(out->width);
	out->text.len = 0;
	out->held = NULL;
	out->width = NULL;
	out->cols = NULL;
}

void out_table(struct out *out, const char *key, const struct out_col *cols, size_t n)
{
	if (out->json) {
		json_key(out, key);
		deeper(out, '[');
	} else {
		out->held = calloc(HOLD_ROWS * n, sizeof(*out->held));
		out->width = calloc(n, sizeof(*out->width));
		if (out->held == NULL || out->width == NULL) {
			out->err = -ENOMEM;
			free_table(out);
			return;
		}
	}
	out->cols = cols;
	out->ncols = n;
	out->at = out->rows = out->owed = 0;
	out->flowing = false;
	for (size_t c = 0; c < n && !out->json && !out->quiet; c++)
		if (cols[c].title != NULL)
			widen(out, c, _(cols[c].title), strlen(_(cols[c].title)));
}

void out_table_end(struct out *out)
{
	if (out->cols == NULL)
		return;
	if (out->json) {
		if (out->at > 0) /* the verb failed within a row */
			shallower(out, '}');
		shallower(out, ']');
	} else {
		if (!out->flowing && (out->rows > 0 || out->at > 0))
			flow(out);
		if (out->at > 0)
			buffer_addc(&out->b, '\n');
	}
	free_table(out);
}

void out_note(struct out *out, const char *fmt, ...)
{
	va_list ap;

	if (out->json || out->quiet)
		return;
	send(out);
	va_start(ap, fmt);
	vfprintf(out->to, fmt, ap);
	va_end(ap);
	fputc('\n', out->to);
}

void out_error(struct out *out, int exit_code, const char *text, uint64_t need_blocks,
	       uint64_t need_inodes)
{
	out_table_end(out);
	if (!out->json)
		return;
	while (out->depth > 0)
		shallower(out, '}');
	out_section(out, "error", NULL);
	out_i64(out, "exit", NULL, exit_code);
	out_str(out, "message", NULL, text);
	if (need_blocks != 0)
		out_u64(out, "need_blocks", NULL, need_blocks);
	if (need_inodes != 0)
		out_u64(out, "need_inodes", NULL, need_inodes);
	out_section_end(out);
}

void out_raw(struct out *out, const void *bytes, size_t n)
{
	if (out->json)
		return;
	send(out);
	write_bytes(out, bytes, n);
}

int out_close(struct out *out)
{
	int err;

	out_table_end(out);
	if (out->json) {
		while (out->depth > 0)
			shallower(out, '}');
		buffer_add(&out->b, "}\n", 2);
	}
	send(out);
	err = out->b.err != 0 ? out->b.err : out->err;
	errno = 0;
	if ((fflush(out->to) != 0 || ferror(out->to)) && err == 0)
		err = errno != 0 ? -errno : -EIO;
	buffer_free(&out->b);
	buffer_free(&out->text);
	free(out);
	return err;
}

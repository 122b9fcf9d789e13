/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts and tables as text or JSON.  A text table holds back its first rows to find column widths;
 * later rows are printed as they come, so a table of any length needs constant memory.
 */
#include "out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"
#include "text.h"

#define DEPTH_MAX 8
#define HOLD_ROWS 256

struct out {
	FILE *to;
	bool json, quiet;
	bool more[DEPTH_MAX]; /* a member was written at this depth */
	int depth;
	const struct out_col *cols; /* NULL: not in a table */
	size_t ncols, at, rows;     /* at: the column that comes next */
	char **held;                /* cells of the rows held back, HOLD_ROWS * ncols */
	size_t *width;
	size_t owed;  /* blanks before the next text of this line */
	bool flowing; /* widths are settled */
	int err;
};

static void comma(struct out *out)
{
	if (out->more[out->depth])
		fputc(',', out->to);
	out->more[out->depth] = true;
}

static void json_key(struct out *out, const char *key)
{
	comma(out);
	fprintf(out->to, "\"%s\":", key);
}

static void deeper(struct out *out, char bracket)
{
	fputc(bracket, out->to);
	if (out->depth + 1 < DEPTH_MAX)
		out->depth++;
	out->more[out->depth] = false;
}

static void shallower(struct out *out, char bracket)
{
	fputc(bracket, out->to);
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
		fputc('{', to);
		json_key(out, "verb");
		escape_json(to, verb, strlen(verb));
	}
	return out;
}

void out_divert(struct out *out, FILE *to)
{
	out->to = to;
}

/* ---- table cells ---- */

/* Blanks wait until something follows them, so that no line ends in one. */
static void print_cell(struct out *out, size_t col, const char *text)
{
	size_t width = escape_width(text);
	size_t pad = out->width[col] > width ? out->width[col] - width : 0;

	if (out->cols[col].right)
		out->owed += pad;
	if (width > 0) {
		fprintf(out->to, "%*s%s", (int)out->owed, "", text);
		out->owed = 0;
	}
	if (!out->cols[col].right)
		out->owed += pad;
	out->owed += 2;
	if (col + 1 == out->ncols) {
		fputc('\n', out->to);
		out->owed = 0;
	}
}

static void widen(struct out *out, size_t col, const char *text)
{
	size_t width = escape_width(text);

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
			print_cell(out, c, _(out->cols[c].title));
	for (size_t i = 0; i < cells; i++) {
		print_cell(out, i % out->ncols, out->held[i]);
		free(out->held[i]);
	}
}

/* Takes text, which was allocated. */
static void text_cell(struct out *out, char *text)
{
	if (out->flowing) {
		print_cell(out, out->at, text);
		free(text);
	} else {
		out->held[out->rows * out->ncols + out->at] = text;
		widen(out, out->at, text);
	}
	if (++out->at < out->ncols)
		return;
	out->at = 0;
	out->rows++;
	if (!out->flowing && out->rows == HOLD_ROWS)
		flow(out);
}

/* ---- values ---- */

/* Where the text of the next value goes: *ret_cell is filled when the stream is closed, in a table;
 * else the stream is the output itself. */
static FILE *begin_text(struct out *out, const char *label, char **ret_cell, size_t *ret_len)
{
	FILE *f;

	if (out->cols == NULL) {
		for (int i = 0; i < out->depth; i++)
			fputs("  ", out->to);
		if (label != NULL)
			fprintf(out->to, "%s: ", label);
		return out->to;
	}
	f = open_memstream(ret_cell, ret_len);
	if (f == NULL)
		out->err = -ENOMEM;
	return f;
}

static void end_text(struct out *out, FILE *f, char **cell)
{
	if (f == out->to) {
		fputc('\n', f);
		return;
	}
	fclose(f);
	if (*cell == NULL)
		out->err = -ENOMEM;
	else
		text_cell(out, *cell);
}

static void begin_json(struct out *out, const char *key)
{
	if (out->cols == NULL) {
		json_key(out, key);
		return;
	}
	if (out->at == 0) {
		comma(out);
		fputc('\n', out->to);
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
}

#define VALUE(json_stmt, text_stmt)                           \
	do {                                                  \
		char *cell = NULL;                            \
		size_t cell_len = 0;                          \
		FILE *f = out->to;                            \
                                                              \
		if (out->json) {                              \
			begin_json(out, key);                 \
			json_stmt;                            \
			end_json(out);                        \
			break;                                \
		}                                             \
		f = begin_text(out, label, &cell, &cell_len); \
		if (f == NULL)                                \
			break;                                \
		text_stmt;                                    \
		end_text(out, f, &cell);                      \
	} while (0)

void out_u64(struct out *out, const char *key, const char *label, uint64_t v)
{
	VALUE(fprintf(f, "%" PRIu64, v), fprintf(f, "%" PRIu64, v));
}

void out_i64(struct out *out, const char *key, const char *label, int64_t v)
{
	VALUE(fprintf(f, "%" PRId64, v), fprintf(f, "%" PRId64, v));
}

void out_bool(struct out *out, const char *key, const char *label, bool v)
{
	VALUE(fputs(v ? "true" : "false", f), fputs(v ? _("yes") : _("no"), f));
}

void out_none(struct out *out, const char *key, const char *label)
{
	VALUE(fputs("null", f), fputs("-", f));
}

void out_word(struct out *out, const char *key, const char *label, const char *word)
{
	VALUE(escape_json(f, word, strlen(word)), fputs(_(word), f));
}

void out_str(struct out *out, const char *key, const char *label, const char *text)
{
	out_bytes(out, key, label, text, strlen(text));
}

void out_bytes(struct out *out, const char *key, const char *label, const void *bytes, size_t n)
{
	VALUE(escape_json(f, bytes, n), escape_text(f, bytes, n));
}

void out_u64_as(struct out *out, const char *key, const char *label, uint64_t v,
		const char *as_text)
{
	VALUE(fprintf(f, "%" PRIu64, v), fputs(as_text, f));
}

void out_double(struct out *out, const char *key, const char *label, double v, int digits)
{
	VALUE(fprintf(f, "%.*f", digits, v), fprintf(f, "%.*f", digits, v));
}

/* ---- structure ---- */

void out_section(struct out *out, const char *key, const char *title)
{
	if (out->json) {
		json_key(out, key);
		deeper(out, '{');
		return;
	}
	for (int i = 0; i < out->depth; i++)
		fputs("  ", out->to);
	fprintf(out->to, "%s:\n", title);
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
			widen(out, c, _(cols[c].title));
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
			fputc('\n', out->to);
	}
	free_table(out);
}

void out_note(struct out *out, const char *fmt, ...)
{
	va_list ap;

	if (out->json || out->quiet)
		return;
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
	if (!out->json)
		fwrite(bytes, 1, n, out->to);
}

int out_close(struct out *out)
{
	int err;

	out_table_end(out);
	if (out->json) {
		while (out->depth > 0)
			shallower(out, '}');
		fputs("}\n", out->to);
	}
	err = out->err;
	errno = 0;
	if (fflush(out->to) != 0 || ferror(out->to))
		err = errno != 0 ? -errno : -EIO;
	free(out);
	return err;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the reader of lines and the parser of one line; private to the text form. */
#ifndef TRACE_WTR_LINE_H
#define TRACE_WTR_LINE_H

#include "trace/blobs.h"
#include "trace/op.h"
#include "trace/words.h"
#include "trace/wtr.h"

/* A place in a line.  p points at the next byte, end at the 0 behind the last. */
struct cursor {
	char *p, *end;
	const char *line;
	const char *why; /* set by the function that failed, p is the place */
};

/* What the parser of lines needs besides the line. */
struct line_parser {
	bool lenient;
	struct wtr_counts counts;
	struct blobs *blobs;
	const char *word; /* of the op in its line */
	struct op op;
	struct op_node node;
	struct op_extent *extents;
	size_t extents_cap;
	char extra[WTR_LINE_MAX + 1];
	uint8_t inl[OP_INLINE_MAX];
};

/* Each returns 0 or -EINVAL with c->why and c->p set; the result is in lp->op. */
int parse_timed(struct line_parser *lp, struct cursor *c);
int parse_node(struct line_parser *lp, struct cursor *c);

/* Small pieces, shared. */
int cur_fail(struct cursor *c, const char *why);
int cur_u64(struct cursor *c, uint64_t *ret);
int cur_token(struct cursor *c, struct op_str *ret);    /* as written; ends it with 0 */
int cur_space(struct cursor *c);                        /* exactly one, and something behind it */
int cur_unescape(struct cursor *c, struct op_str *ret); /* a token with %XX undone */
int cur_path(struct cursor *c, struct op_str *ret);
int cur_time(struct op_str word, struct op_time *ret);
int parse_data(struct line_parser *lp, const char *p, size_t n);
int parse_args(struct line_parser *lp, struct cursor *c, const char *form);
uint32_t flag_find(const struct flag_word *words, const char *p, size_t n);
uint32_t flag_list(const struct flag_word *words, struct op_str s, char sep); /* 0: not all known */
int hex_value(int c);
int parse_hex(const char *p, size_t n, uint8_t *to);
bool parse_number(const char *p, size_t n, int base, uint64_t *ret);

#endif

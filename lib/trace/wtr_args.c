/* SPDX-License-Identifier: BSD-2-Clause */
/* The arguments of one op in the text form, read as the row of the op in op_forms says. */
#include "base/check.h"
#include "trace/words.h"
#include "trace/wtr_line.h"

#include <errno.h>
#include <string.h>

static const struct flag_word wait_words[] = {
    {OPF_WAIT_BEFORE, "wb"},
    {OPF_START, "w"},
    {OPF_WAIT_AFTER, "wa"},
    {OPF_WAIT_BEFORE, "SYNC_FILE_RANGE_WAIT_BEFORE"},
    {OPF_START, "SYNC_FILE_RANGE_WRITE"},
    {OPF_WAIT_AFTER, "SYNC_FILE_RANGE_WAIT_AFTER"},
    {0, NULL},
};

static const struct flag_word access_words[] = {
    {OPF_READ, "r"}, {OPF_WRITE, "w"}, {OPF_READ | OPF_WRITE, "rw"}, {OPF_PATH, "path"}, {0, NULL},
};

uint32_t flag_find(const struct flag_word *w, const char *p, size_t n)
{
	for (; w->word; w++)
		if (strlen(w->word) == n && memcmp(w->word, p, n) == 0)
			return w->flag;
	return 0;
}

/* Words joined by sep, each from the table; 0 when one is not. */
uint32_t flag_list(const struct flag_word *w, struct op_str s, char sep)
{
	const char *p = s.p, *end = s.p + s.n;
	uint32_t all = 0;

	for (;;) {
		const char *next = memchr(p, sep, (size_t)(end - p));
		uint32_t flag = flag_find(w, p, (size_t)((next ? next : end) - p));

		if (!flag)
			return 0;
		all |= flag;
		if (!next)
			return all;
		p = next + 1;
	}
}

static int arg_number(struct cursor *c, char letter, uint32_t *ret)
{
	uint64_t v;
	char *at;
	int err;

	if (*c->p != letter)
		return cur_fail(c, letter == 'h' ? "expected a handle (h and a number)"
						 : "expected a window (m and a number)");
	at = ++c->p;
	err = cur_u64(c, &v);
	if (err < 0)
		return err;
	if (v >= UINT32_MAX) {
		c->p = at;
		return cur_fail(c, "number too large");
	}
	*ret = (uint32_t)v;
	return 0;
}

static int arg_octal(struct cursor *c, uint32_t *ret)
{
	struct op_str s;
	uint64_t v;
	int err = cur_token(c, &s);

	if (err < 0)
		return err;
	if (!parse_number(s.p, s.n, 8, &v) || v > 0177777)
		return cur_fail(c, "not an octal mode");
	*ret = (uint32_t)v;
	return 0;
}

static int arg_id(struct cursor *c, uint32_t *ret)
{
	uint64_t v;
	bool minus = *c->p == '-'; /* chown's -1: leave as it is */
	int err;

	c->p += minus;
	err = cur_u64(c, &v);
	if (err < 0)
		return err;
	if (v > UINT32_MAX || (minus && v != 1))
		return cur_fail(c, "not an owner number");
	*ret = minus ? UINT32_MAX : (uint32_t)v;
	return 0;
}

static int arg_dev(struct cursor *c, uint64_t *ret)
{
	struct op_str s;
	const char *colon;
	uint64_t major, minor;
	int err = cur_token(c, &s);

	if (err < 0)
		return err;
	colon = memchr(s.p, ':', s.n);
	if (!colon || !parse_number(s.p, (size_t)(colon - s.p), 10, &major) ||
	    !parse_number(colon + 1, s.n - (size_t)(colon + 1 - s.p), 10, &minor) ||
	    major > UINT32_MAX || minor > UINT32_MAX)
		return cur_fail(c, "not a device number (MAJOR:MINOR)");
	*ret = major << 32 | minor;
	return 0;
}

static int arg_times(struct op *o, struct cursor *c)
{
	struct op_str s;
	int err = cur_token(c, &s);

	if (err < 0)
		return err;
	if ((s.n == 4 && memcmp(s.p, "NULL", 4) == 0) ||
	    (s.n == 5 && memcmp(s.p, "[...]", 5) == 0)) {
		o->atime.nsec = s.n == 4 ? OP_TIME_NOW : OP_TIME_UNKNOWN;
		o->mtime = o->atime;
		return 0;
	}
	if (cur_time(s, &o->atime) < 0)
		return cur_fail(c, "not a time");
	if ((err = cur_space(c)) < 0 || (err = cur_token(c, &s)) < 0)
		return err;
	return cur_time(s, &o->mtime) < 0 ? cur_fail(c, "not a time") : 0;
}

static int arg_flags(struct op *o, struct cursor *c, const struct flag_word *words)
{
	struct op_str s;
	uint32_t flags;
	char *at = c->p;
	int err = cur_token(c, &s);

	if (err < 0)
		return err;
	flags = flag_list(words, s, memchr(s.p, '|', s.n) ? '|' : ',');
	if (!flags) {
		c->p = at;
		return cur_fail(c, "unknown word");
	}
	o->flags |= flags;
	return 0;
}

static int arg_word(struct op *o, struct cursor *c, const char *const *words, unsigned n)
{
	struct op_str s;
	char *at = c->p;
	int i, err = cur_token(c, &s);

	if (err < 0)
		return err;
	i = word_find(words, n, s.p, s.n);
	if (i < 0) {
		c->p = at;
		return cur_fail(c, "unknown word");
	}
	o->sub = (uint8_t)i;
	return 0;
}

static int arg_sync(struct op *o, struct cursor *c)
{
	static const char *const words[] = {"sync", "async"};
	int err = arg_word(o, c, words, 2);

	if (err == 0 && o->sub)
		o->flags |= OPF_ASYNC;
	o->sub = 0;
	return err;
}

/* An offset or a length: what a loff_t can hold. */
static int arg_size(struct cursor *c, uint64_t *ret)
{
	char *at = c->p;
	int err = cur_u64(c, ret);

	if (err == 0 && *ret > INT64_MAX) {
		c->p = at;
		return cur_fail(c, "number too large");
	}
	return err;
}

/* The rarer arguments. */
static int cold_arg(struct line_parser *lp, struct cursor *c, char kind)
{
	struct op *o = &lp->op;
	int err;

	switch (kind) {
	case 'H':
		return arg_number(c, 'h', &o->handle2);
	case 'w':
		return arg_number(c, 'm', &o->window);
	case 'x':
		return *c->p == 'h' ? arg_number(c, 'h', &o->handle) : cur_path(c, &o->path);
	case 'O':
		return arg_size(c, &o->off2);
	case 'a':
		return cur_u64(c, &o->arg);
	case 'p':
		return cur_path(c, &o->path);
	case 'q':
		return cur_path(c, &o->path2);
	case 't':
		return cur_unescape(c, &o->path);
	case 'n':
		return cur_unescape(c, &o->name);
	case 'm':
		return arg_octal(c, &o->mode);
	case 'u':
		if ((err = arg_id(c, &o->uid)) < 0 || (err = cur_space(c)) < 0)
			return err;
		return arg_id(c, &o->gid);
	case 'D':
		return arg_dev(c, &o->dev);
	case 'T':
		return arg_times(o, c);
	case 'A':
		return arg_flags(o, c, access_words);
	case 'W':
		return arg_flags(o, c, wait_words);
	case 'Y':
		return arg_sync(o, c);
	case 'F':
		return arg_word(o, c, op_falloc_words, FALLOC_COUNT);
	default:
		return arg_word(o, c, op_advice_words, ADVICE_COUNT);
	}
}

static int one_arg(struct line_parser *lp, struct cursor *c, char kind)
{
	switch (kind) {
	case 'h':
		return arg_number(c, 'h', &lp->op.handle);
	case 'o':
		return arg_size(c, &lp->op.off);
	case 'l':
		return arg_size(c, &lp->op.len);
	default:
		lp->op.plain = 0;
		return cold_arg(lp, c, kind);
	}
}

/* Whether the next token can be the optional argument of this kind rather than a key.  Values of
 * remount may hold '=', so there only the keys that any op can have are keys. */
static bool looks_like(const struct cursor *c, char kind)
{
	const char *p = c->p + 1;

	if (c->p == c->end || *c->p != ' ')
		return false;
	if (kind == 'h')
		return *p == 'h' && p[1] >= '0' && p[1] <= '9';
	if (kind == 'n')
		return strncmp(p, "dur=", 4) != 0 && strncmp(p, "id=", 3) != 0 &&
		       strncmp(p, "after=", 6) != 0;
	return *p >= '0' && *p <= '9';
}

int parse_args(struct line_parser *lp, struct cursor *c, const char *form)
{
	for (; *form; form++) {
		int err;

		if (*form == '?' && !looks_like(c, *++form))
			continue;
		if ((err = cur_space(c)) < 0 || (err = one_arg(lp, c, *form)) < 0)
			return err;
	}
	return 0;
}

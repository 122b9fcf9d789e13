/* SPDX-License-Identifier: BSD-2-Clause */
/* The pieces of a text line: numbers, tokens, escaped names, times and data references. */
#include <errno.h>
#include <string.h>

#include "trace/wtr_line.h"

int cur_fail(struct cursor *c, const char *why)
{
	c->why = why;
	return -EINVAL;
}

int cur_u64(struct cursor *c, uint64_t *ret)
{
	char *p = c->p;
	uint64_t v = 0;
	unsigned digit;

	for (; (digit = (unsigned)(unsigned char)*p - '0') < 10; p++) {
		if (v > (UINT64_MAX - digit) / 10)
			return cur_fail(c, "number too large");
		v = v * 10 + digit;
	}
	if (p == c->p || (*p != ' ' && p != c->end))
		return cur_fail(c, "not a number");
	c->p = p;
	*ret = v;
	return 0;
}

int cur_space(struct cursor *c)
{
	if (c->p == c->end)
		return cur_fail(c, "an argument is missing");
	if (*c->p != ' ')
		return cur_fail(c, "expected a space");
	c->p++;
	if (c->p == c->end || *c->p == ' ')
		return cur_fail(c, "an argument is missing");
	return 0;
}

/* The end of the token at p. */
static char *token_end(const struct cursor *c)
{
	char *p = memchr(c->p, ' ', (size_t)(c->end - c->p));

	return p ? p : c->end;
}

int cur_token(struct cursor *c, struct op_str *ret)
{
	char *end = token_end(c);

	if (end == c->p)
		return cur_fail(c, "an argument is missing");
	if (memchr(c->p, 0, (size_t)(end - c->p)))
		return cur_fail(c, "a 0 byte");
	ret->p = c->p;
	ret->n = (uint32_t)(end - c->p);
	c->p = end;
	return 0;
}

int hex_value(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int cur_unescape(struct cursor *c, struct op_str *ret)
{
	char *end = token_end(c), *to = c->p;
	char *start = c->p;

	for (char *p = c->p; p < end; p++) {
		int hi, lo;

		c->p = p;
		if (*p == 0)
			return cur_fail(c, "a 0 byte");
		if (*p != '%') {
			*to++ = *p;
			continue;
		}
		hi = end - p > 2 ? hex_value(p[1]) : -1;
		lo = end - p > 2 ? hex_value(p[2]) : -1;
		if (hi < 0 || lo < 0)
			return cur_fail(c, "% must be followed by two hexadecimal digits");
		if (hi + lo == 0)
			return cur_fail(c, "an escaped 0 byte");
		*to++ = (char)(hi << 4 | lo);
		p += 2;
	}
	if (to == start)
		return cur_fail(c, "an argument is missing");
	c->p = end;
	ret->p = start;
	ret->n = (uint32_t)(to - start);
	return 0;
}

/* True when a component of the path is "..". */
static bool climbs(struct op_str s)
{
	for (uint32_t i = 0; i + 2 < s.n; i++)
		if (s.p[i] == '/' && s.p[i + 1] == '.' && s.p[i + 2] == '.' &&
		    (i + 3 == s.n || s.p[i + 3] == '/'))
			return true;
	return false;
}

int cur_path(struct cursor *c, struct op_str *ret)
{
	char *at = c->p;
	struct op_str s;
	int err;

	if (*c->p != '/')
		return cur_fail(c, "a path starts with /");
	err = cur_unescape(c, &s);
	if (err < 0)
		return err;
	if (climbs(s)) {
		c->p = at;
		return cur_fail(c, "a path must not climb with ..");
	}
	*ret = s;
	return 0;
}

bool parse_number(const char *p, size_t n, int base, uint64_t *ret)
{
	uint64_t v = 0;

	if (n == 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		int digit = hex_value(p[i]);

		if (digit < 0 || digit >= base)
			return false;
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit, &v))
			return false;
	}
	*ret = v;
	return true;
}

int parse_hex(const char *p, size_t n, uint8_t *to)
{
	for (size_t i = 0; i < n; i++) {
		int hi = hex_value(p[2 * i]), lo = hex_value(p[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return -EINVAL;
		to[i] = (uint8_t)(hi << 4 | lo);
	}
	return 0;
}

/* SEC.NNNNNNNNN, SEC, now, omit or ?. */
int cur_time(struct op_str s, struct op_time *ret)
{
	static const struct {
		const char *word;
		uint32_t nsec;
	} words[] = {{"now", OP_TIME_NOW}, {"omit", OP_TIME_OMIT}, {"?", OP_TIME_UNKNOWN}};
	bool minus = s.n && s.p[0] == '-';
	const char *p = s.p + minus, *dot;
	uint64_t sec, frac = 0;
	size_t n = s.n - minus, digits;

	for (unsigned i = 0; i < 3; i++)
		if (strlen(words[i].word) == s.n && memcmp(words[i].word, s.p, s.n) == 0) {
			*ret = (struct op_time){0, words[i].nsec};
			return 0;
		}
	dot = memchr(p, '.', n);
	digits = dot ? n - (size_t)(dot + 1 - p) : 0;
	if (!parse_number(p, dot ? (size_t)(dot - p) : n, 10, &sec) || sec > INT64_MAX / 4 ||
	    (dot && (digits > 9 || !parse_number(dot + 1, digits, 10, &frac))))
		return -EINVAL;
	for (; dot && digits < 9; digits++)
		frac *= 10;
	ret->sec = minus ? -(int64_t)sec : (int64_t)sec;
	ret->nsec = (uint32_t)frac;
	return 0;
}

static int parse_mixed(struct op_data *data, const char *p, size_t n)
{
	const char *colon = memchr(p, ':', n);
	uint64_t percent;

	if (!colon || !parse_number(p, (size_t)(colon - p), 10, &percent) || percent > 100 ||
	    !parse_number(colon + 1, n - (size_t)(colon + 1 - p), 10, &data->seed))
		return -EINVAL;
	data->percent = (uint8_t)percent;
	return 0;
}

/* The value behind data=. */
int parse_data(struct line_parser *lp, const char *p, size_t n)
{
	static const char kinds[DATA_KINDS] = {0, 'z', 'c', 'b', 'p', 'r', 'x'};
	struct op_data *data = &lp->op.data;
	const char *kind = n ? memchr(kinds + 1, p[0], DATA_KINDS - 1) : NULL;
	uint64_t v = 0;
	bool ok = true;

	if (!kind || (n > 1) != (p[0] != 'z') || (n > 1 && p[1] != ':'))
		return -EINVAL;
	data->kind = (uint8_t)(kind - kinds);
	p += 2;
	n = n > 2 ? n - 2 : 0;
	if (data->kind == DATA_CRC) {
		ok = n <= 8 && parse_number(p, n, 16, &v);
		data->crc = (uint32_t)v;
	} else if (data->kind == DATA_BLOB) {
		ok = n == 64 && parse_hex(p, 32, data->hash) == 0;
		data->hashed = 1;
		if (ok)
			data->bytes = blobs_find(lp->blobs, data->hash, &data->n);
	} else if (data->kind == DATA_PATTERN) {
		ok = parse_number(p, n, 10, &data->seed);
	} else if (data->kind == DATA_MIXED) {
		ok = parse_mixed(data, p, n) == 0;
	} else if (data->kind == DATA_INLINE) {
		ok = n % 2 == 0 && n / 2 <= OP_INLINE_MAX && parse_hex(p, n / 2, lp->inl) == 0;
		data->bytes = lp->inl;
		data->n = (uint32_t)(n / 2);
	}
	lp->op.data_kind = data->kind;
	return ok ? 0 : -EINVAL;
}

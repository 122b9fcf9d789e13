/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the notations strace has for values; names of flags have the numbers of Linux. */
#include "trace/strace_value.h"

#include <string.h>

#include "trace/wtr_line.h"

/* Numbers of x86 and most other machines; strace prints words unless asked for raw numbers. */
const struct strace_word strace_open_words[] = {
    {"O_RDONLY", 0},
    {"O_WRONLY", 01},
    {"O_RDWR", 02},
    {"O_CREAT", 0100},
    {"O_EXCL", 0200},
    {"O_TRUNC", 01000},
    {"O_APPEND", 02000},
    {"O_DSYNC", 010000},
    {"O_DIRECT", 040000},
    {"O_DIRECTORY", 0200000},
    {"O_NOFOLLOW", 0400000},
    {"O_NOATIME", 01000000},
    {"O_CLOEXEC", 02000000},
    {"O_SYNC", 04010000},
    {"O_PATH", 010000000},
    {"O_TMPFILE", 020200000},
    {NULL, 0},
};

const struct strace_word strace_clone_words[] = {
    {"CLONE_VM", 0x100},     {"CLONE_FS", 0x200},       {"CLONE_FILES", 0x400},
    {"CLONE_VFORK", 0x4000}, {"CLONE_THREAD", 0x10000}, {NULL, 0},
};

/* Most numbers: decimal, and too short to be too large. */
static bool short_decimal(const char *p, size_t n, uint64_t *ret)
{
	uint64_t v = 0;

	if (n == 0 || n > 18 || p[0] < '1' || p[0] > '9')
		return false;
	for (size_t i = 0; i < n && p[i] >= '0' && p[i] <= '9'; i++)
		v = v * 10 + (uint64_t)(p[i] - '0');
	*ret = v;
	return true;
}

bool strace_number(struct op_str s, int64_t *ret)
{
	bool minus = s.n && s.p[0] == '-';
	const char *p = s.p + minus;
	size_t n = s.n - minus, digits = 0;
	int base = 10;
	uint64_t v;

	if (short_decimal(p, n, &v)) {
		*ret = minus ? -(int64_t)v : (int64_t)v;
		return true;
	}
	if (n > 2 && p[0] == '0' && p[1] == 'x') {
		base = 16;
		p += 2;
		n -= 2;
	} else if (n > 1 && p[0] == '0') {
		base = 8;
	}
	while (digits < n && hex_value(p[digits]) >= 0 && hex_value(p[digits]) < base)
		digits++;
	if (digits == 0 || !parse_number(p, digits, base, &v))
		return false;
	*ret = minus ? -(int64_t)(v & INT64_MAX) : (int64_t)v;
	return true;
}

bool strace_fd(struct op_str s, int *ret, struct op_str *ret_path)
{
	const char *angle = memchr(s.p, '<', s.n);
	struct op_str number = {s.p, angle ? (uint32_t)(angle - s.p) : s.n};
	int64_t v;

	*ret_path = (struct op_str){"", 0};
	if (angle && s.p[s.n - 1] == '>')
		*ret_path = (struct op_str){angle + 1, s.n - number.n - 2};
	if (number.n == 8 && memcmp(number.p, "AT_FDCWD", 8) == 0) {
		*ret = STRACE_AT_FDCWD;
		return true;
	}
	/* A descriptor in a register may be printed without its sign. */
	if (!strace_number(number, &v) || v < INT32_MIN || v > UINT32_MAX)
		return false;
	*ret = v > INT32_MAX ? (int)(v - ((int64_t)1 << 32)) : (int)v;
	return true;
}

static const char *octal(const char *p, const char *end, char *to)
{
	unsigned v = 0;

	for (unsigned i = 0; i < 3 && p < end && *p >= '0' && *p <= '7'; i++)
		v = v * 8 + (unsigned)(*p++ - '0');
	*to = (char)v;
	return p;
}

/* The escape behind the backslash at p. */
static const char *escape(const char *p, const char *end, char *to)
{
	static const char from[] = "ntrvfab\"\\", bytes[] = "\n\t\r\v\f\a\b\"\\";
	const char *at;

	if (*p == 'x' && end - p > 2 && hex_value(p[1]) >= 0 && hex_value(p[2]) >= 0) {
		*to = (char)(hex_value(p[1]) << 4 | hex_value(p[2]));
		return p + 3;
	}
	if (*p >= '0' && *p <= '7')
		return octal(p, end, to);
	at = strchr(from, *p);
	*to = at && *at ? bytes[at - from] : *p;
	return p + 1;
}

size_t strace_unescape(struct op_str s, char *to)
{
	const char *p = s.p, *end = s.p + s.n;
	char *start = to;

	while (p < end) {
		const char *slash = memchr(p, '\\', (size_t)(end - p));
		size_t plain = (size_t)((slash ? slash : end) - p);

		memcpy(to, p, plain);
		to += plain;
		p += plain;
		if (!slash)
			break;
		if (++p == end)
			break;
		p = escape(p, end, to);
		to++;
	}
	*to = 0;
	return (size_t)(to - start);
}

bool strace_string(struct op_str s, struct op_str *ret, bool *complete)
{
	const char *end = s.p + s.n;

	if (s.n < 2 || s.p[0] != '"')
		return false;
	*complete = true;
	if (s.n >= 5 && memcmp(end - 3, "...", 3) == 0) {
		*complete = false;
		end -= 3;
	}
	if (end[-1] != '"' || end - s.p < 2)
		return false;
	*ret = (struct op_str){s.p + 1, (uint32_t)(end - s.p - 2)};
	return true;
}

uint64_t strace_flags(struct op_str s, const struct strace_word *words)
{
	const char *p = s.p, *end = s.p + s.n;
	uint64_t all = 0;

	while (p < end) {
		const char *bar = memchr(p, '|', (size_t)(end - p));
		size_t n = (size_t)((bar ? bar : end) - p);
		const struct strace_word *w = words;
		int64_t v;

		while (w->word && (strlen(w->word) != n || memcmp(w->word, p, n) != 0))
			w++;
		if (w->word)
			all |= w->value;
		else if (strace_number((struct op_str){p, (uint32_t)n}, &v))
			all |= (uint64_t)v;
		if (!bar)
			break;
		p = bar + 1;
	}
	return all;
}

/* The end of the value at p: a comma or closing bracket at its own level. */
static const char *value_end(const char *p, const char *end)
{
	unsigned depth = 0;

	for (; p < end; p++) {
		if (*p == '"') {
			for (p++; p < end && *p != '"'; p++)
				p += *p == '\\';
			if (p >= end)
				return end;
		} else if (*p == '{' || *p == '[' || *p == '(') {
			depth++;
		} else if (depth && (*p == '}' || *p == ']' || *p == ')')) {
			depth--;
		} else if (depth == 0 && (*p == ',' || *p == '}' || *p == ']')) {
			return p;
		}
	}
	return end;
}

bool strace_next_field(struct op_str *s, const char *name, struct op_str *ret)
{
	size_t n = strlen(name);
	const char *p = s->p, *end = s->p + s->n;

	while (p < end) {
		const char *at = memmem(p, (size_t)(end - p), name, n);
		const char *stop;

		if (!at)
			return false;
		p = at + n;
		if (p >= end || *p != '=' ||
		    (at > s->p && at[-1] != '{' && at[-1] != ' ' && at[-1] != '['))
			continue;
		stop = value_end(p + 1, end);
		*ret = (struct op_str){p + 1, (uint32_t)(stop - p - 1)};
		*s = (struct op_str){stop, (uint32_t)(end - stop)};
		return true;
	}
	return false;
}

bool strace_field(struct op_str s, const char *name, struct op_str *ret)
{
	return strace_next_field(&s, name, ret);
}

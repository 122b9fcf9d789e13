/* SPDX-License-Identifier: BSD-2-Clause */
/* A hand-written scanner for strace lines: one forward pass, memchr over strings. */
#include "trace/strace_scan.h"

#include <string.h>

#define NSEC UINT64_C(1000000000)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads digits; stops counting, not reading, when they exceed 64 bits. */
static char *digits(char *p, uint64_t *ret)
{
	uint64_t v = 0;

	for (; is_digit(*p); p++)
		if (v < UINT64_MAX / 10 - 1)
			v = v * 10 + (uint64_t)(*p - '0');
	*ret = v;
	return p;
}

/* ".ffffff" as ns. */
static char *fraction(char *p, uint64_t *ret)
{
	uint64_t unit = NSEC;

	*ret = 0;
	if (*p != '.')
		return p;
	for (p++; is_digit(*p); p++) {
		unit /= 10;
		*ret += unit * (uint64_t)(*p - '0');
	}
	return p;
}

/* HH:MM:SS, behind HH. */
static char *time_of_day(struct strace_clock *c, char *p, uint64_t hours)
{
	uint64_t minutes, seconds, ns, t;

	p = digits(p + 1, &minutes);
	if (*p != ':')
		return p;
	p = fraction(digits(p + 1, &seconds), &ns);
	t = ((hours % 24 * 60 + minutes % 60) * 60 + seconds % 61) * NSEC + ns;
	/* Lines of several threads may be a little out of order; a midnight is a large step. */
	if (t + c->day + 12 * 3600 * NSEC < c->now)
		c->day += 24 * 3600 * NSEC;
	c->now = t + c->day;
	return p;
}

/* SEC.FRACTION, behind SEC: since 1970, or since the line before. */
static char *seconds(struct strace_clock *c, char *p, uint64_t sec)
{
	uint64_t ns;

	p = fraction(p, &ns);
	if (sec >= 100000000 || c->epoch) {
		c->epoch = true;
		c->now = sec > UINT64_MAX / NSEC / 2 ? c->now : sec * NSEC + ns;
	} else {
		c->now += sec * NSEC + ns;
	}
	return p;
}

static char *skip_spaces(char *p)
{
	while (*p == ' ')
		p++;
	return p;
}

/* The pid and the time in front of a call. */
static char *prefix(struct strace_clock *c, char *p, struct strace_line *l)
{
	uint64_t v;
	char *at;

	p = skip_spaces(p);
	if (*p == '[' && strncmp(p, "[pid ", 5) == 0) {
		at = digits(skip_spaces(p + 5), &v);
		l->has_pid = *at == ']' && v < OP_NO_THREAD;
		l->pid = (uint32_t)v;
		p = l->has_pid ? skip_spaces(at + 1) : at;
	}
	at = is_digit(*p) ? digits(p, &v) : p;
	if (at > p && *at == ' ' && !l->has_pid && v < OP_NO_THREAD) {
		l->has_pid = true;
		l->pid = (uint32_t)v;
		p = skip_spaces(at);
		at = is_digit(*p) ? digits(p, &v) : p;
	}
	if (at > p && *at == ':')
		p = time_of_day(c, at, v);
	else if (at > p && (*at == '.' || *at == ' '))
		p = seconds(c, at, v);
	else
		c->none = true;
	p = skip_spaces(p);
	if (*p == '(' && p[1] == '+') {
		at = strchr(p, ')');
		p = at ? skip_spaces(at + 1) : p;
	}
	return p;
}

static bool ends_with(const char *p, const char *end, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(end - p) >= n && memcmp(end - n, text, n) == 0;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || c == '_' || is_digit(c) || (c >= 'A' && c <= 'Z');
}

/* "<... name resumed>": rest begins behind it. */
static void resumed(char *p, struct strace_line *l)
{
	char *at = p + 5;

	while (is_word(*at))
		at++;
	if (strncmp(at, " resumed>", 9) != 0)
		return;
	l->kind = STRACE_RESUMED;
	l->name = p + 5;
	l->name_n = (size_t)(at - p - 5);
	l->rest = at + 9;
}

static void call(char *p, struct strace_line *l)
{
	char *at = p;

	while (is_word(*at))
		at++;
	if (at == p || *at != '(')
		return;
	l->kind = STRACE_CALL;
	l->name = p;
	l->name_n = (size_t)(at - p);
	l->rest = at + 1;
	if (ends_with(l->rest, l->end, "<unfinished ...>")) {
		l->kind = STRACE_UNFINISHED;
		l->end -= 16;
		*l->end = 0;
	}
}

void strace_scan(struct strace_clock *clock, char *line, size_t n, struct strace_line *l)
{
	char *p;

	*l = (struct strace_line){.kind = STRACE_NOISE, .end = line + n};
	p = prefix(clock, line, l);
	if (clock->none)
		clock->now += 1000;
	l->time = clock->now;
	if (is_word(*p))
		call(p, l);
	else if (strncmp(p, "+++ ", 4) == 0)
		l->kind = STRACE_EXIT;
	else if (strncmp(p, "--- ", 4) == 0)
		l->kind = STRACE_SIGNAL;
	else if (strncmp(p, "<... ", 5) == 0)
		resumed(p, l);
}

/* Behind the closing quote of the string at p, or end. */
static char *skip_string(char *p, char *end)
{
	for (p++; p < end; p++) {
		char *quote = memchr(p, '"', (size_t)(end - p));
		char *back;

		if (!quote)
			return end;
		for (back = quote; back > p && back[-1] == '\\';)
			back--;
		p = quote;
		if ((quote - back) % 2 == 0)
			return quote + 1;
	}
	return end;
}

/* The first byte from p on that stops; the 0 behind a line always does. */
static char *skip_to(const uint8_t stops[256], char *p)
{
	while (stops[(uint8_t)*p] == 0)
		p++;
	return p;
}

/* Behind the > that closes the < at p.  Paths have theirs and all quotes escaped; elsewhere "->"
 * joins addresses and quotes hold the names of sockets. */
static char *skip_angle(char *p, char *end)
{
	static const uint8_t stops[256] = {['"'] = 1, ['\\'] = 1, ['<'] = 1, ['>'] = 1, [0] = 1};
	bool path = p + 1 < end && (p[1] == '/' || p[1] == '\\');
	unsigned depth = 0;

	for (; p < end; p++) {
		p = skip_to(stops, p);
		if (p >= end)
			break;
		if (*p == '"' && !path)
			p = skip_string(p, end) - 1;
		else if (*p == '\\')
			p++;
		else if (*p == '<')
			depth++;
		else if (*p == '>' && p[-1] != '-' && --depth == 0)
			return p + 1;
	}
	return end;
}

static struct op_str slice(const char *from, const char *to)
{
	while (from < to && *from == ' ')
		from++;
	while (to > from && to[-1] == ' ')
		to--;
	return (struct op_str){from, (uint32_t)(to - from)};
}

/* The arguments up to the closing bracket; behind it, or NULL when it is missing. */
static char *split_args(char *p, char *end, struct strace_call *c)
{
	static const uint8_t stops[256] = {
	    ['"'] = 1, ['<'] = 1, ['/'] = 1, ['('] = 1, ['['] = 1, ['{'] = 1,
	    [')'] = 1, [']'] = 1, ['}'] = 1, [','] = 1, [0] = 1};
	char *start = p;
	unsigned depth = 0;

	while ((p = skip_to(stops, p)) < end) {
		char ch = *p;

		if (ch == '"') {
			p = skip_string(p, end);
			continue;
		}
		if (ch == '<' && p > start && (is_digit(p[-1]) || p[-1] == 'D')) {
			p = skip_angle(p, end);
			continue;
		}
		if (ch == '/' && p[1] == '*') { /* a remark of strace */
			char *close = strstr(p, "*/");

			p = close ? close + 2 : end;
			continue;
		}
		if (ch == '(' || ch == '[' || ch == '{') {
			depth++;
		} else if (depth && (ch == ')' || ch == ']' || ch == '}')) {
			depth--;
		} else if (depth == 0 && (ch == ',' || ch == ')')) {
			struct op_str s = slice(start, p);

			if (c->nargs < STRACE_ARGS && (s.n || ch == ','))
				c->arg[c->nargs++] = s;
			start = p + 1;
			if (ch == ')')
				return p + 1;
		}
		p++;
	}
	return NULL;
}

/* "<0.000011>" at the end of the line. */
static void find_dur(char *p, char *end, struct strace_call *c)
{
	char *at = end;
	uint64_t sec, ns;

	if (end - p < 4 || end[-1] != '>')
		return;
	for (at = end - 2; at > p && (is_digit(*at) || *at == '.'); at--)
		;
	if (*at != '<' || !is_digit(at[1]) || (at > p && at[-1] != ' '))
		return;
	fraction(digits(at + 1, &sec), &ns);
	if (sec < UINT64_MAX / NSEC / 2)
		c->dur = sec * NSEC + ns;
}

static char *parse_ret(char *p, struct strace_call *c)
{
	bool minus = *p == '-';
	uint64_t v = 0;

	p += minus;
	if (p[0] == '0' && p[1] == 'x') {
		for (p += 2;; p++) {
			int d = is_digit(*p)             ? *p - '0'
				: *p >= 'a' && *p <= 'f' ? *p - 'a' + 10
							 : -1;

			if (d < 0)
				break;
			v = v << 4 | (unsigned)d;
		}
	} else {
		p = digits(p, &v);
	}
	c->ret = minus ? -(int64_t)(v & INT64_MAX) : (int64_t)v;
	c->failed = minus;
	return p;
}

bool strace_split(char *p, char *end, struct strace_call *c)
{
	c->nargs = 0;
	c->failed = c->unknown = false;
	c->ret = 0;
	c->ret_path = (struct op_str){"", 0};
	c->dur = OP_NONE64;
	p = split_args(p, end, c);
	if (!p)
		return false;
	p = skip_spaces(p);
	if (*p != '=')
		return false;
	p = skip_spaces(p + 1);
	if (*p == '?') {
		c->failed = c->unknown = true;
		return true;
	}
	if (!is_digit(*p) && *p != '-')
		return false;
	p = parse_ret(p, c);
	if (*p == '<') {
		char *close = skip_angle(p, end);

		if (close - p >= 2 && close[-1] == '>')
			c->ret_path = (struct op_str){p + 1, (uint32_t)(close - p - 2)};
		p = close;
	}
	if (p < end)
		find_dur(p, end, c);
	return true;
}

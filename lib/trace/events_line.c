/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Three spellings of one event have in common: the name of a task, its number behind '-' or a
 * space, a time with six or nine decimals, the event, a colon, fields.  Names of tasks may hold
 * spaces and dashes, so the time is found first and the rest is read from there.
 */
#include "trace/events_line.h"

#include <string.h>

#include "trace/strace_value.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A time at p: its end, or NULL.  There is a space before and a space or colon behind. */
static const char *time_at(const char *p, uint64_t *ret)
{
	uint64_t sec = 0, frac = 0;
	unsigned digits = 0;

	for (; is_digit(*p); p++) {
		if (sec > UINT64_MAX / 20 / 1000000000)
			return NULL;
		sec = sec * 10 + (uint64_t)(*p - '0');
	}
	if (*p++ != '.')
		return NULL;
	for (; is_digit(*p) && digits < 9; p++, digits++)
		frac = frac * 10 + (uint64_t)(*p - '0');
	if ((digits != 6 && digits != 9 && digits != 3) || (*p != ':' && *p != ' '))
		return NULL;
	for (; digits < 9; digits++)
		frac *= 10;
	*ret = sec * 1000000000 + frac;
	return p + (*p == ':');
}

static const char *find_time(const char *line, const char *end, uint64_t *ret, const char **start)
{
	for (const char *p = line; p < end; p++) {
		const char *behind;

		if (!is_digit(*p) || p == line || p[-1] != ' ')
			continue;
		behind = time_at(p, ret);
		if (behind) {
			*start = p;
			return behind;
		}
	}
	return NULL;
}

/* Splits "name-123", "name 123" at the end of [p, end). */
static bool task_and_pid(const char *p, const char *end, struct event_line *ret)
{
	const char *digits;
	int64_t pid;

	while (p < end && *p == ' ')
		p++;
	while (end > p && end[-1] == ' ')
		end--;
	digits = end;
	while (digits > p && is_digit(digits[-1]))
		digits--;
	if (digits == end || digits == p || (digits[-1] != '-' && digits[-1] != ' '))
		return false;
	/* A leading 0 would read as octal: no pid has one but the idle task's own. */
	if (!strace_number((struct op_str){digits, (uint32_t)(end - digits)}, &pid) ||
	    pid >= OP_NO_THREAD)
		return false;
	ret->pid = (uint32_t)pid;
	end = digits - 1;
	while (end > p && end[-1] == ' ')
		end--;
	ret->task = (struct op_str){p, (uint32_t)(end - p)};
	return true;
}

bool event_scan(const char *line, size_t n, struct event_line *ret)
{
	const char *end = line + n, *start, *p, *colon, *bracket;

	if (n == 0 || line[0] == '#')
		return false;
	p = find_time(line, end, &ret->time, &start);
	if (!p)
		return false;
	/* "[001]" of the processor, and flags behind it, are in between. */
	bracket = memchr(line, '[', (size_t)(start - line));
	while (bracket && !(is_digit(bracket[1]) && is_digit(bracket[2]) && is_digit(bracket[3]) &&
			    bracket[4] == ']'))
		bracket = memchr(bracket + 1, '[', (size_t)(start - bracket - 1));
	if (!task_and_pid(line, bracket ? bracket : start, ret))
		return false;
	while (p < end && *p == ' ')
		p++;
	colon = memmem(p, (size_t)(end - p), ": ", 2);
	if (!colon) {
		if (end == p || end[-1] != ':')
			return false;
		colon = end - 1;
	}
	for (const char *c = p; c < colon; c++)
		if (*c == ':')
			p = c + 1; /* the group of perf */
	ret->event = (struct op_str){p, (uint32_t)(colon - p)};
	p = colon + 1;
	while (p < end && *p == ' ')
		p++;
	ret->fields = (struct op_str){p, (uint32_t)(end - p)};
	return ret->event.n != 0;
}

bool event_lost(const char *line, uint64_t *ret)
{
	const char *at = strstr(line, "entries-in-buffer/entries-written:");
	int64_t a, b;

	if (at) {
		const char *slash;

		at += 34;
		while (*at == ' ')
			at++;
		slash = strchr(at, '/');
		if (!slash || !strace_number((struct op_str){at, (uint32_t)(slash - at)}, &a) ||
		    !strace_number((struct op_str){slash + 1, (uint32_t)strlen(slash + 1)}, &b) ||
		    b <= a)
			return false;
		*ret = (uint64_t)(b - a);
		return true;
	}
	at = strstr(line, "[LOST ");
	if (!at || !strstr(at, " EVENTS]") ||
	    !strace_number((struct op_str){at + 6, (uint32_t)strlen(at + 6)}, &a) || a <= 0)
		return false;
	*ret = (uint64_t)a;
	return true;
}

bool event_word(struct op_str f, const char *key, struct op_str *ret)
{
	size_t n = strlen(key);
	const char *p = f.p, *end = f.p + f.n;

	while (p < end) {
		const char *at = memmem(p, (size_t)(end - p), key, n);
		const char *stop;

		if (!at)
			return false;
		p = at + n;
		if ((at > f.p && at[-1] != ' ' && at[-1] != ',') || p >= end ||
		    (*p != ' ' && *p != '='))
			continue;
		while (p < end && (*p == ' ' || *p == '='))
			p++;
		for (stop = p; stop < end && *stop != ' ' && *stop != ',';)
			stop++;
		*ret = (struct op_str){p, (uint32_t)(stop - p)};
		return stop > p;
	}
	return false;
}

bool event_number(struct op_str fields, const char *key, uint64_t *ret)
{
	struct op_str word;
	int64_t v;
	uint64_t u = 0;

	if (!event_word(fields, key, &word))
		return false;
	/* Inode numbers of block devices and some ranges use all 64 bits. */
	if (!strace_number(word, &v)) {
		for (uint32_t i = 0; i < word.n && is_digit(word.p[i]); i++)
			u = u * 10 + (uint64_t)(word.p[i] - '0');
		*ret = u;
		return word.n && is_digit(word.p[0]);
	}
	*ret = (uint64_t)v;
	return true;
}

bool event_dev(struct op_str f, uint32_t *ret_major, uint32_t *ret_minor)
{
	struct op_str word = f;
	const char *p, *end = f.p + f.n;
	uint64_t v[2] = {0, 0};

	p = memmem(f.p, f.n, "dev ", 4);
	if (!p)
		p = memmem(f.p, f.n, "bdi ", 4);
	p = p ? p + 4 : word.p;
	for (unsigned i = 0; i < 2; i++) {
		if (p >= end || !is_digit(*p))
			return false;
		for (; p < end && is_digit(*p); p++)
			if (v[i] < UINT32_MAX)
				v[i] = v[i] * 10 + (uint64_t)(*p - '0');
		if (i == 0 && (p >= end || (*p != ',' && *p != ':')))
			return false;
		p++;
	}
	*ret_major = (uint32_t)v[0];
	*ret_minor = (uint32_t)v[1];
	return true;
}

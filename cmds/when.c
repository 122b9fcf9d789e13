/* SPDX-License-Identifier: BSD-2-Clause */
/* Text to seconds and nanoseconds, by the Gregorian calendar and without the host's time zone. */
#include "when.h"

#include <stdbool.h>
#include <string.h>

/* Digits up to a limit that no sum below overflows; NULL without any. */
static const char *number(const char *p, int64_t *ret)
{
	int64_t v = 0;
	const char *start = p;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (v > (int64_t)1 << 50)
			return NULL;
		v = v * 10 + (*p - '0');
	}
	*ret = v;
	return p != start ? p : NULL;
}

static const char *fraction(const char *p, uint32_t *ret)
{
	uint32_t v = 0, scale = 1000000000;

	if (*p != '.')
		return p;
	for (p++; *p >= '0' && *p <= '9' && scale > 1; p++) {
		scale /= 10;
		v += (uint32_t)(*p - '0') * scale;
	}
	*ret = v;
	return p[-1] == '.' ? NULL : p;
}

static int parse_seconds(const char *p, struct ek_time *ret)
{
	bool minus = *p == '-';
	struct ek_time t = {0, 0};

	p = number(p + (minus ? 1 : 0), &t.sec);
	if (p == NULL || (p = fraction(p, &t.nsec)) == NULL || *p != '\0')
		return -1;
	if (minus) {
		t.sec = -t.sec - (t.nsec != 0 ? 1 : 0);
		t.nsec = t.nsec != 0 ? 1000000000 - t.nsec : 0;
	}
	*ret = t;
	return 0;
}

static bool leap(int64_t y)
{
	return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
}

/* Days from 1970-01-01. */
static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
	static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
	int64_t past = y - 1;
	int64_t days = past * 365 + past / 4 - past / 100 + past / 400 - 719162;

	return days + before[m - 1] + (m > 2 && leap(y) ? 1 : 0) + d - 1;
}

static const char *two(const char *p, char before, int64_t max, int64_t *ret)
{
	if (*p != before || (p = number(p + 1, ret)) == NULL || *ret > max)
		return NULL;
	return p;
}

static const char *parse_clock(const char *p, struct ek_time *t)
{
	int64_t h, m, s = 0;

	if ((p = two(p, *p, 23, &h)) == NULL || (p = two(p, ':', 59, &m)) == NULL)
		return NULL;
	if (*p == ':' && (p = two(p, ':', 59, &s)) == NULL)
		return NULL;
	t->sec += h * 3600 + m * 60 + s;
	return fraction(p, &t->nsec);
}

static int parse_date(const char *p, struct ek_time *ret)
{
	static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	struct ek_time t = {0, 0};
	int64_t y, m, d;

	if ((p = number(p, &y)) == NULL || y < 1 || y > 9999 || (p = two(p, '-', 12, &m)) == NULL ||
	    m < 1 || (p = two(p, '-', days[m - 1], &d)) == NULL || d < 1 ||
	    (m == 2 && d == 29 && !leap(y)))
		return -1;
	t.sec = days_of(y, m, d) * 86400;
	if ((*p == 'T' || *p == ' ') && p[1] >= '0' && p[1] <= '9' &&
	    (p = parse_clock(p, &t)) == NULL)
		return -1;
	if (*p != '\0' && strcmp(p, "Z") != 0 && strcmp(p, " UTC") != 0)
		return -1;
	*ret = t;
	return 0;
}

int when_parse(const char *text, struct ek_time *ret)
{
	return *text == '@' ? parse_seconds(text + 1, ret) : parse_date(text, ret);
}

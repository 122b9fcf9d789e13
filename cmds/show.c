/* SPDX-License-Identifier: BSD-2-Clause */
/* Modes, times and sizes as text. */
#include "show.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *show_mode(char *buf, uint32_t mode)
{
	static const char types[] = "?pc?d?b?-?l?s???";
	static const char bits[] = "rwxrwxrwx";

	buf[0] = types[(mode & S_IFMT) >> 12];
	for (unsigned i = 0; i < 9; i++)
		buf[1 + i] = mode & (0400u >> i) ? bits[i] : '-';
	if (mode & S_ISUID)
		buf[3] = mode & S_IXUSR ? 's' : 'S';
	if (mode & S_ISGID)
		buf[6] = mode & S_IXGRP ? 's' : 'S';
	if (mode & S_ISVTX)
		buf[9] = mode & S_IXOTH ? 't' : 'T';
	buf[10] = '\0';
	return buf;
}

/* The date of a day counted from 1970, after the calendar that repeats every 400 years. */
static void date_of(int64_t day, int64_t *year, unsigned *month, unsigned *mday)
{
	int64_t shifted = day + 719468; /* days since 0000-03-01 */
	int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
	unsigned in_era = (unsigned)(shifted - era * 146097);
	unsigned y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	unsigned in_year = in_era - (365 * y + y / 4 - y / 100);
	unsigned from_march = (5 * in_year + 2) / 153;

	*mday = in_year - (153 * from_march + 2) / 5 + 1;
	*month = from_march < 10 ? from_march + 3 : from_march - 9;
	*year = (int64_t)y + era * 400 + (*month <= 2);
}

/* A mark and that many digits of v; long lists have a time in each row. */
static char *put(char *to, char mark, unsigned v, unsigned digits)
{
	*to = mark;
	for (unsigned i = digits; i > 0; i--, v /= 10)
		to[i] = (char)('0' + v % 10);
	return to + 1 + digits;
}

/* Four digits as a rule, what it takes otherwise. */
static char *put_year(char *buf, int64_t year)
{
	if (year >= 0 && year <= 9999)
		return put(buf, (char)('0' + year / 1000), (unsigned)(year % 1000), 3);
	return buf + snprintf(buf, SHOW_MAX / 2, "%04" PRId64, year);
}

const char *show_time(char *buf, struct ek_time t)
{
	int64_t day = t.sec / 86400, second = t.sec % 86400, year;
	unsigned month, mday;
	char *at;

	if (second < 0) {
		second += 86400;
		day--;
	}
	date_of(day, &year, &month, &mday);
	at = put_year(buf, year);
	at = put(at, '-', month, 2);
	at = put(at, '-', mday, 2);
	at = put(at, ' ', (unsigned)(second / 3600), 2);
	at = put(at, ':', (unsigned)(second / 60 % 60), 2);
	at = put(at, ':', (unsigned)(second % 60), 2);
	at = put(at, '.', (unsigned)t.nsec, 9);
	memcpy(at, " UTC", 5);
	return buf;
}

const char *show_size(char *buf, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	unsigned unit = 0;
	uint64_t tenths;

	while (unit + 1 < sizeof(units) / sizeof(units[0]) && bytes >> (10 * (unit + 1)) != 0)
		unit++;
	if (unit == 0) {
		snprintf(buf, SHOW_MAX, "%" PRIu64 " B", bytes);
		return buf;
	}
	tenths = (uint64_t)(((unsigned __int128)bytes * 10 +
			     (((unsigned __int128)1 << (10 * unit)) - 1)) >>
			    (10 * unit));
	if (tenths % 10 == 0)
		snprintf(buf, SHOW_MAX, "%" PRIu64 " %s", tenths / 10, units[unit]);
	else
		snprintf(buf, SHOW_MAX, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10,
			 units[unit]);
	return buf;
}

const char *show_span(char *buf, uint64_t ns)
{
	snprintf(buf, SHOW_MAX, "%" PRIu64 ".%09" PRIu64 " s", ns / 1000000000, ns % 1000000000);
	return buf;
}

const char *show_uuid(char *buf, const uint8_t *uuid)
{
	size_t at = 0;

	for (unsigned i = 0; i < 16; i++)
		at += (size_t)snprintf(buf + at, SHOW_MAX - at, "%s%02x",
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	return buf;
}

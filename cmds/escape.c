/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows bytes that nobody vouches for: characters as they are, the rest spelled out. */
#include "escape.h"

#include <stdbool.h>
#include <stdint.h>

#include "extkit/text.h"

void escape_text(FILE *to, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n;) {
		uint32_t c;
		bool shown = false;
		size_t len = ek_utf8(p + i, n - i, &c, &shown);
		size_t step = len != 0 ? len : 1;

		if (shown)
			fwrite(p + i, 1, len, to);
		else
			for (size_t k = 0; k < step; k++)
				fprintf(to, "\\x%02x", p[i + k]);
		i += step;
	}
}

static void json_hex(FILE *to, const unsigned char *p, size_t n)
{
	fputs("{\"bytes\":\"", to);
	for (size_t i = 0; i < n; i++)
		fprintf(to, "%02x", p[i]);
	fputs("\"}", to);
}

static bool is_utf8(const unsigned char *p, size_t n)
{
	uint32_t c;
	bool shown;
	size_t len;

	for (size_t i = 0; i < n; i += len) {
		len = ek_utf8(p + i, n - i, &c, &shown);
		if (len == 0)
			return false;
	}
	return true;
}

/* One character; past U+FFFF JSON wants it spelled as two halves. */
static void json_char(FILE *to, uint32_t c)
{
	if (c == '"' || c == '\\')
		fprintf(to, "\\%c", (char)c);
	else if (c > 0xffff)
		fprintf(to, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
			0xdc00 + ((c - 0x10000) & 0x3ff));
	else
		fprintf(to, "\\u%04x", c);
}

void escape_json(FILE *to, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint32_t c;
	bool shown;
	size_t len;

	if (!is_utf8(p, n)) {
		json_hex(to, p, n);
		return;
	}
	fputc('"', to);
	for (size_t i = 0; i < n; i += len) {
		len = ek_utf8(p + i, n - i, &c, &shown);
		if (shown && c != '"' && c != '\\')
			fwrite(p + i, 1, len, to);
		else
			json_char(to, c);
	}
	fputc('"', to);
}

size_t escape_width(const char *escaped)
{
	size_t n = 0;

	for (; *escaped != '\0'; escaped++)
		n += ((unsigned char)*escaped & 0xc0) != 0x80;
	return n;
}

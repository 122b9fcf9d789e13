/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows bytes that nobody vouches for: characters as they are, the rest spelled out.  Runs of plain
 * ASCII, which is what most names are, go in one piece. */
#include "escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "buffer.h"
#include "extkit/text.h"

/* Bytes at p that are printable ASCII; quotes and backslashes end the run too when JSON is made. */
static size_t plain(const unsigned char *p, size_t n, bool json)
{
	size_t i = 0;

	while (i < n && p[i] >= 0x20 && p[i] < 0x7f && !(json && (p[i] == '"' || p[i] == '\\')))
		i++;
	return i;
}

bool escape_plain(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	const uint64_t high = 0x8080808080808080u, ones = high >> 7;
	uint64_t eight, bad = 0;
	size_t i = 0;

	/* a byte of 0x7f carries into its high bit, one below 0x20 borrows from it */
	for (; i + sizeof(eight) <= n; i += sizeof(eight)) {
		memcpy(&eight, p + i, sizeof(eight));
		bad |= eight | (eight + ones) | (((eight | high) - ones * 0x20) ^ high);
	}
	return (bad & high) == 0 && plain(p + i, n - i, false) == n - i;
}

static void spell(struct buffer *to, const char *before, const unsigned char *p, size_t n)
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		buffer_adds(to, before);
		buffer_addc(to, digit[p[i] >> 4]);
		buffer_addc(to, digit[p[i] & 15]);
	}
}

void escape_text(struct buffer *to, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n;) {
		size_t len = plain(p + i, n - i, false);
		bool shown = true;
		uint32_t c;

		if (len == 0)
			len = ek_utf8(p + i, n - i, &c, &shown);
		if (len != 0 && shown) {
			buffer_add(to, p + i, len);
		} else {
			len = len != 0 ? len : 1;
			spell(to, "\\x", p + i, len);
		}
		i += len;
	}
}

static bool is_utf8(const unsigned char *p, size_t n)
{
	uint32_t c;
	bool shown;
	size_t len;

	for (size_t i = 0; i < n; i += len) {
		len = plain(p + i, n - i, false);
		if (len == 0)
			len = ek_utf8(p + i, n - i, &c, &shown);
		if (len == 0)
			return false;
	}
	return true;
}

/* One character; past U+FFFF JSON wants it spelled as two halves. */
static void json_char(struct buffer *to, uint32_t c)
{
	if (c == '"' || c == '\\')
		buffer_addf(to, "\\%c", (char)c);
	else if (c > 0xffff)
		buffer_addf(to, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
			    0xdc00 + ((c - 0x10000) & 0x3ff));
	else
		buffer_addf(to, "\\u%04x", c);
}

static void json_text(struct buffer *to, const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t len = plain(p + i, n - i, true);
		bool shown = true;
		uint32_t c = 0;

		if (len == 0) {
			len = ek_utf8(p + i, n - i, &c, &shown);
			shown = shown && c != '"' && c != '\\';
		}
		if (shown)
			buffer_add(to, p + i, len);
		else
			json_char(to, c);
		i += len;
	}
}

void escape_json(struct buffer *to, const void *bytes, size_t n)
{
	if (!is_utf8(bytes, n)) {
		buffer_adds(to, "{\"bytes\":\"");
		spell(to, "", bytes, n);
		buffer_adds(to, "\"}");
		return;
	}
	buffer_addc(to, '"');
	json_text(to, bytes, n);
	buffer_addc(to, '"');
}

void escape_json_file(FILE *to, const char *text)
{
	struct buffer b = {0};

	escape_json(&b, text, strlen(text));
	fwrite(b.text, 1, b.len, to);
	buffer_free(&b);
}

size_t escape_width(const char *escaped, size_t n)
{
	size_t width = n, i = 0;
	uint64_t eight;

	for (; i + sizeof(eight) <= n; i += sizeof(eight)) { /* most text is ASCII */
		memcpy(&eight, escaped + i, sizeof(eight));
		if ((eight & 0x8080808080808080u) != 0)
			break;
	}
	for (; i < n; i++)
		width -= ((unsigned char)escaped[i] & 0xc0) == 0x80;
	return width;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Escaping walks the bytes piece by piece: a piece is either one printable character or one byte
 * that has to be spelled out.  A table of ranges says which characters are never shown.
 */
#include "base/escape.h"

#include <stdint.h>
#include <string.h>

#include "base/check.h"
#include "base/str.h"
#include "extkit/text.h"

static const struct {
	uint32_t first, last;
} hidden[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f}, {0x061c, 0x061c},   {0x200e, 0x200f},
    {0x2028, 0x202e}, {0x2066, 0x2069}, {0xd800, 0xdfff},   {0xfeff, 0xfeff},
    {0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe007f},
};

static bool is_hidden(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
		if (c >= hidden[i].first && c <= hidden[i].last)
			return true;
	}
	return false;
}

/* Decodes the character at p; returns its length in bytes, 0 when the bytes are no UTF-8. */
static size_t decode(const uint8_t *p, size_t n, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	uint32_t c = len == 1 ? p[0] : p[0] & (0x7fu >> len);

	if ((p[0] >= 0x80 && p[0] < 0xc0) || p[0] >= 0xf8 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3fu);
	}
	if (c < least[len] || c > 0x10ffff)
		return 0;
	*ret = c;
	return len;
}

size_t ek_utf8(const void *p, size_t n, uint32_t *ret, bool *ret_shown)
{
	uint32_t c;
	size_t len = decode(p, n, &c);

	/* Surrogates and numbers no character has decode, and are not strict UTF-8. */
	if (len == 0 || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	*ret_shown = !is_hidden(c);
	return len;
}

/* The length of the printable character at p, 0 when the byte there must be spelled out. */
static size_t printable(const uint8_t *p, size_t n)
{
	uint32_t c;
	size_t len;

	if (p[0] >= 0x20 && p[0] < 0x7f)
		return 1;
	len = decode(p, n, &c);
	return len != 0 && !is_hidden(c) ? len : 0;
}

static void spell(char *dst, uint8_t b)
{
	static const char digit[] = "0123456789abcdef";

	dst[0] = '\\';
	dst[1] = 'x';
	dst[2] = digit[b >> 4];
	dst[3] = digit[b & 15];
}

/* Writes the piece at p to dst (4 bytes); returns the bytes taken, and in *ret the bytes made. */
static size_t piece(char *dst, const uint8_t *p, size_t n, size_t *ret)
{
	size_t len = printable(p, n);

	if (len == 0) {
		spell(dst, *p);
		*ret = 4;
		return 1;
	}
	memcpy(dst, p, len);
	*ret = len;
	return len;
}

void escape_add(struct str *out, const void *p, size_t n)
{
	const uint8_t *b = p;
	char buf[4];
	size_t made;

	for (size_t i = 0; i < n;) {
		i += piece(buf, b + i, n - i, &made);
		str_add(out, buf, made);
	}
}

const char *escape_to(char *dst, size_t cap, const void *p, size_t n)
{
	const uint8_t *b = p;
	size_t at = 0, made;
	char buf[4];

	for (size_t i = 0; i < n;) {
		i += piece(buf, b + i, n - i, &made);
		if (at + made >= cap)
			break;
		memcpy(dst + at, buf, made);
		at += made;
	}
	dst[at] = '\0';
	return dst;
}

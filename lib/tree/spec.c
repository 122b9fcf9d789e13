/* SPDX-License-Identifier: BSD-2-Clause */
/* Text, base64 and hexadecimal of manifests. */
#include "tree/spec.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static bool is_plain(uint8_t c)
{
	return c > ' ' && c != 0x7f && c != '\\';
}

void spec_text(struct str *to, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < n;) {
		size_t run = i;

		while (run < n && is_plain(p[run]))
			run++;
		str_add(to, p + i, run - i);
		if (run < n)
			str_addf(to, "\\%03o", p[run++]);
		i = run;
	}
}

int spec_untext(char *text, size_t *len)
{
	size_t to = 0;

	for (size_t i = 0; i < *len;) {
		if (text[i] != '\\') {
			text[to++] = text[i++];
			continue;
		}
		if (*len - i < 4 || text[i + 1] < '0' || text[i + 1] > '3' || text[i + 2] < '0' ||
		    text[i + 2] > '7' || text[i + 3] < '0' || text[i + 3] > '7')
			return -EINVAL;
		text[to++] = (char)((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
				    (text[i + 3] - '0'));
		i += 4;
	}
	text[to] = '\0';
	*len = to;
	return 0;
}

void spec_base64(struct str *to, const uint8_t *p, size_t n)
{
	char *out = str_room(to, DIV_UP(n, 3) * 4);

	for (size_t i = 0; out != NULL && i < n; i += 3, out += 4) {
		uint32_t v = (uint32_t)p[i] << 16;

		v |= i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0;
		v |= i + 2 < n ? p[i + 2] : 0;
		out[0] = letters[v >> 18];
		out[1] = letters[v >> 12 & 63];
		out[2] = i + 1 < n ? letters[v >> 6 & 63] : '=';
		out[3] = i + 2 < n ? letters[v & 63] : '=';
	}
}

static int digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int spec_unbase64(const char *p, size_t n, uint8_t *to, size_t *len)
{
	size_t out = 0;

	if (n % 4 != 0)
		return -EINVAL;
	for (size_t i = 0; i < n; i += 4) {
		bool last = i + 4 == n;
		unsigned have = last && p[i + 3] == '=' ? (p[i + 2] == '=' ? 1 : 2) : 3;
		int d[4] = {digit(p[i]), digit(p[i + 1]), have > 1 ? digit(p[i + 2]) : 0,
			    have > 2 ? digit(p[i + 3]) : 0};

		if (d[0] < 0 || d[1] < 0 || d[2] < 0 || d[3] < 0)
			return -EINVAL;
		to[out++] = (uint8_t)(d[0] << 2 | d[1] >> 4);
		if (have > 1)
			to[out++] = (uint8_t)(d[1] << 4 | d[2] >> 2);
		if (have > 2)
			to[out++] = (uint8_t)(d[2] << 6 | d[3]);
	}
	*len = out;
	return 0;
}

void spec_bytes(struct str *to, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	size_t odd = 0;

	for (size_t i = 0; i < n; i++)
		odd += !is_plain(p[i]) || p[i] >= 0x80;
	if (odd > n / 8 + 2) {
		str_adds(to, "0s");
		spec_base64(to, p, n);
	} else if (n > 1 && p[0] == '0' && (p[1] == 's' || p[1] == 'x')) {
		str_adds(to, "\\060");
		spec_text(to, p + 1, n - 1);
	} else {
		spec_text(to, p, n);
	}
}

static int unhex(char *text, size_t *len)
{
	size_t out = 0;

	if (*len % 2 != 0)
		return -EINVAL;
	for (size_t i = 2; i < *len; i++) {
		char c = text[i];
		int v = c >= '0' && c <= '9'   ? c - '0'
			: c >= 'a' && c <= 'f' ? c - 'a' + 10
			: c >= 'A' && c <= 'F' ? c - 'A' + 10
					       : -1;

		if (v < 0)
			return -EINVAL;
		if (i % 2 == 0)
			text[out] = (char)(v << 4);
		else
			text[out++] |= (char)v;
	}
	*len = out;
	return 0;
}

int spec_unbytes(char *text, size_t *len)
{
	if (*len >= 2 && text[0] == '0' && text[1] == 's')
		return spec_unbase64(text + 2, *len - 2, (uint8_t *)text, len);
	if (*len >= 2 && text[0] == '0' && text[1] == 'x')
		return unhex(text, len);
	return spec_untext(text, len);
}

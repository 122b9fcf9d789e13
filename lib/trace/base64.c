/* SPDX-License-Identifier: BSD-2-Clause */
/* base64 by a table one way and by ranges the other. */
#include "trace/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_put(const uint8_t *p, size_t n, char *to)
{
	for (; n >= 3; n -= 3, p += 3, to += 4) {
		uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];

		to[0] = digits[v >> 18];
		to[1] = digits[v >> 12 & 63];
		to[2] = digits[v >> 6 & 63];
		to[3] = digits[v & 63];
	}
	if (n) {
		uint32_t v = (uint32_t)p[0] << 16 | (n > 1 ? (uint32_t)p[1] << 8 : 0);

		to[0] = digits[v >> 18];
		to[1] = digits[v >> 12 & 63];
		to[2] = n > 1 ? digits[v >> 6 & 63] : '=';
		to[3] = '=';
	}
}

static int digit_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

long base64_get(const char *p, size_t n, uint8_t *to, size_t room)
{
	size_t have = 0, pad = 0;

	if (n % 4)
		return -1;
	for (size_t i = 0; i < n; i += 4) {
		uint32_t v = 0;

		for (size_t k = 0; k < 4; k++) {
			int d = digit_value(p[i + k]);

			if (p[i + k] == '=' && i + 4 == n && k >= 2)
				pad++;
			else if (d < 0 || pad)
				return -1;
			v = v << 6 | (d < 0 ? 0 : (uint32_t)d);
		}
		if (have + 3 - pad > room)
			return -1;
		for (size_t k = 0; k < 3 - pad; k++)
			to[have++] = (uint8_t)(v >> (16 - 8 * k));
	}
	return (long)have;
}

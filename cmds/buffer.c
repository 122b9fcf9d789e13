/* SPDX-License-Identifier: BSD-2-Clause */
/* A byte array that doubles. */
#include "buffer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void buffer_free(struct buffer *b)
{
	free(b->text);
	*b = (struct buffer){0};
}

char *buffer_room(struct buffer *b, size_t n)
{
	size_t cap = b->cap != 0 ? b->cap : 256;
	char *text;

	if (b->err != 0)
		return NULL;
	while (cap - b->len < n && cap <= SIZE_MAX / 2)
		cap *= 2;
	text = cap - b->len < n ? NULL : cap == b->cap ? b->text : realloc(b->text, cap);
	if (text == NULL) {
		b->err = -ENOMEM;
		return NULL;
	}
	b->text = text;
	b->cap = cap;
	return text + b->len;
}

size_t buffer_digits(char digits[BUFFER_DIGITS], uint64_t v)
{
	char *at = digits + BUFFER_DIGITS;

	do {
		*--at = (char)('0' + v % 10);
		v /= 10;
	} while (v != 0);
	return (size_t)(digits + BUFFER_DIGITS - at);
}

void buffer_u64(struct buffer *b, uint64_t v)
{
	char digits[BUFFER_DIGITS];
	size_t n = buffer_digits(digits, v);

	buffer_add(b, digits + sizeof(digits) - n, n);
}

void buffer_i64(struct buffer *b, int64_t v)
{
	if (v < 0)
		buffer_addc(b, '-');
	buffer_u64(b, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void buffer_addf(struct buffer *b, const char *fmt, ...)
{
	va_list ap;
	char *to;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	to = n < 0 ? NULL : buffer_room(b, (size_t)n + 1);
	if (to == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}

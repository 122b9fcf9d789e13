/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text that grows: what the rows of a million files are made in, so that a cell costs neither an
 * allocation nor a call of stdio.  A failed allocation is remembered and the rest ignored.
 */
#ifndef CMDS_BUFFER_H
#define CMDS_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buffer {
	char *text; /* not terminated */
	size_t len, cap;
	int err; /* 0 or -ENOMEM */
};

void buffer_free(struct buffer *b);

/* Room for n more bytes, or NULL. */
char *buffer_room(struct buffer *b, size_t n);

static inline void buffer_add(struct buffer *b, const void *bytes, size_t n)
{
	char *to = n <= b->cap - b->len ? b->text + b->len : buffer_room(b, n);

	if (to == NULL || n == 0)
		return;
	memcpy(to, bytes, n);
	b->len += n;
}

static inline void buffer_addc(struct buffer *b, char c)
{
	buffer_add(b, &c, 1);
}

static inline void buffer_adds(struct buffer *b, const char *text)
{
	buffer_add(b, text, strlen(text));
}

/* n times the byte c. */
static inline void buffer_fill(struct buffer *b, char c, size_t n)
{
	char *to = n <= b->cap - b->len ? b->text + b->len : buffer_room(b, n);

	if (to == NULL || n == 0)
		return;
	memset(to, c, n);
	b->len += n;
}

#define BUFFER_DIGITS 20u /* of the largest number */

/* The digits of v at the end of digits; returns how many. */
size_t buffer_digits(char digits[BUFFER_DIGITS], uint64_t v);

void buffer_u64(struct buffer *b, uint64_t v);
void buffer_i64(struct buffer *b, int64_t v);

void buffer_addf(struct buffer *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A growing row of bytes that is also a C string.
 *
 *	struct str s = {0};
 *	str_addf(&s, "%d: ", n);
 *	str_add(&s, name, name_len);
 *	if (s.err != 0)
 *		...
 *	str_free(&s);
 *
 * Running out of memory is remembered in err (-ENOMEM) and turns later additions into no-ops, so a
 * row of additions needs one check at its end.  Whenever p is not NULL, p[len] is 0.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stddef.h>

struct str {
	char *p;
	size_t len; /* without the closing 0 */
	size_t cap;
	int err;
};

void str_add(struct str *s, const void *bytes, size_t n);
void str_addc(struct str *s, char c);
void str_adds(struct str *s, const char *text);
void str_addf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* n bytes to be filled by the caller, already counted in len; NULL without memory. */
void *str_room(struct str *s, size_t n);

/* Cuts to len bytes (no effect when it is shorter), keeping the memory. */
void str_cut(struct str *s, size_t len);

/* The text, "" when nothing was added; valid until the next addition. */
const char *str_text(const struct str *s);

/* Hands the bytes over: the caller frees them.  NULL when err is set.  s is empty afterwards. */
char *str_take(struct str *s);

void str_free(struct str *s);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Growing strings: doubling memory, one sticky error. */
#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

/* Makes room for n bytes and the closing 0; false when the string is or becomes broken. */
static bool reserve(struct str *s, size_t n)
{
	size_t need;
	void *p = s->p;

	if (s->err != 0)
		return false;
	if (ck_add(s->len, n, &need) || ck_add(need, (size_t)1, &need) ||
	    mem_grow(&p, &s->cap, need, 1) < 0) {
		s->err = -ENOMEM;
		return false;
	}
	s->p = p;
	return true;
}

void *str_room(struct str *s, size_t n)
{
	char *at;

	if (!reserve(s, n))
		return NULL;
	at = s->p + s->len;
	s->len += n;
	s->p[s->len] = '\0';
	return at;
}

void str_add(struct str *s, const void *bytes, size_t n)
{
	void *at = str_room(s, n);

	if (at != NULL && n != 0)
		memcpy(at, bytes, n);
}

void str_addc(struct str *s, char c)
{
	str_add(s, &c, 1);
}

void str_adds(struct str *s, const char *text)
{
	str_add(s, text, strlen(text));
}

void str_addf(struct str *s, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n >= 0 && reserve(s, (size_t)n)) {
		vsnprintf(s->p + s->len, (size_t)n + 1, fmt, again);
		s->len += (size_t)n;
	}
	va_end(again);
}

void str_cut(struct str *s, size_t len)
{
	if (len >= s->len)
		return;
	s->len = len;
	s->p[len] = '\0';
}

const char *str_text(const struct str *s)
{
	return s->p != NULL ? s->p : "";
}

char *str_take(struct str *s)
{
	char *p;

	if (!reserve(s, 0)) {
		str_free(s);
		return NULL;
	}
	p = s->p;
	p[s->len] = '\0';
	*s = (struct str){0};
	return p;
}

void str_free(struct str *s)
{
	free(s->p);
	*s = (struct str){0};
}

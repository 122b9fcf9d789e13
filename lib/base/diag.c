/* SPDX-License-Identifier: BSD-2-Clause */
/* One line of text and a code: the last failure of a handle. */
#include "base/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static void diag_print(struct diag *d, int code,
							     const char *fmt, va_list ap)
{
	d->code = code;
	d->host = false;
	vsnprintf(d->text, sizeof(d->text), fmt, ap);
}

int diag_set(struct diag *d, int code, const char *fmt, ...)
{
	va_list ap;

	if (d == NULL || d->code != 0)
		return code;
	va_start(ap, fmt);
	diag_print(d, code, fmt, ap);
	va_end(ap);
	return code;
}

int diag_replace(struct diag *d, int code, const char *fmt, ...)
{
	va_list ap;

	if (d == NULL)
		return code;
	va_start(ap, fmt);
	diag_print(d, code, fmt, ap);
	va_end(ap);
	return code;
}

int diag_errno(struct diag *d, int code, const char *fmt, ...)
{
	char why[128];
	va_list ap;
	size_t n;

	if (d == NULL || d->code != 0)
		return code;
	va_start(ap, fmt);
	diag_print(d, code, fmt, ap);
	va_end(ap);
	d->host = true;
	n = strlen(d->text);
	snprintf(d->text + n, sizeof(d->text) - n, ": %s", strerror_r(-code, why, sizeof(why)));
	return code;
}

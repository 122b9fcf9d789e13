/* SPDX-License-Identifier: BSD-2-Clause */
/* A short list of texts; where memory is short, a text is only counted. */
#include "trace/notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"

void notes_add(struct notes *notes, const char *fmt, ...)
{
	char text[DIAG_TEXT];
	va_list ap;

	if (notes == NULL)
		return;
	notes->total++;
	if (notes->n == NOTES_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	notes->text[notes->n] = strdup(text);
	notes->n += notes->text[notes->n] != NULL;
}

void notes_cut(struct notes *notes, const char *file, uint64_t line)
{
	notes_add(notes, "%s:%llu: cut or garbled", file, (unsigned long long)line);
}

void notes_free(struct notes *notes)
{
	for (unsigned i = 0; i < notes->n; i++)
		free(notes->text[i]);
	*notes = (struct notes){.n = 0};
}

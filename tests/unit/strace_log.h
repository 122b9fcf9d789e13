/* SPDX-License-Identifier: BSD-2-Clause */
/* Logs of a few lines, and the ops that the importer makes of them. */
#ifndef STRACE_LOG_H
#define STRACE_LOG_H

#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/diag.h"
#include "readable.h"
#include "trace/import.h"
#include "trace/stream.h"
#include "trace/wtr.h"

static struct diag diag;
static struct import_counts counts;

/* The lines of ops behind the thread number, without dur= and the lines of fork and exit. */
static char *strip(const char *text, bool with_threads)
{
	char *out = calloc(1, strlen(text) + 1), *to = out;

	while (*text) {
		const char *lf = strchr(text, '\n'), *end = lf ? lf : text + strlen(text),
			   *p = text;

		text = lf ? lf + 1 : end;
		if (*p < '0' || *p > '9' || memmem(p, (size_t)(end - p), " fork ", 6) ||
		    memmem(p, (size_t)(end - p), " exit ", 6))
			continue;
		p = strchr(p, ' ') + 1;
		if (!with_threads)
			p = strchr(p, ' ') + 1;
		while (p < end) {
			if (strncmp(p, " dur=", 5) == 0)
				for (p += 5; p < end && *p != ' '; p++)
					;
			else
				*to++ = *p++;
		}
		*to++ = '\n';
	}
	*to = 0;
	return out;
}

static char *write_text(struct op_source *s)
{
	struct outstream *out;
	struct op_sink *k;
	const void *p;
	char *text = NULL;
	size_t n;

	if (outstream_memory(&diag, &out) == 0 && wtr_write(out, &diag, &k) == 0) {
		if (op_copy(s, k) == 0) {
			p = outstream_bytes(out, &n);
			check_readable(p, n);
			text = calloc(1, n + 1);
			memcpy(text, p, n);
		}
		op_sink_close(k);
	}
	counts = *import_counts(s);
	op_source_close(s);
	return text;
}

/* The whole .wtr text of a log. */
static char *import_whole(const char *log, size_t n, unsigned flags)
{
	struct import_options opt = {.root = "/t", .cwd = "/t", .flags = flags};
	struct op_source *s;

	diag_clear(&diag);
	if (strace_import_memory(log, n, &opt, &diag, &s) < 0)
		return NULL;
	return write_text(s);
}

static void check_flags(const char *log, unsigned flags, const char *want)
{
	char *whole = import_whole(log, strlen(log), flags), *got;

	CHECK(whole != NULL);
	got = strip(whole, false);
	CHECK_STR(got, want);
	free(got);
	free(whole);
}

static void check(const char *log, const char *want)
{
	check_flags(log, 0, want);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines of a stream in one sliding buffer that grows only for a long line, up to a limit. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/stream.h"

#define LINES_START ((size_t)256 << 10)
#define SKIP_MAX    ((uint64_t)1 << 30) /* /dev/zero has a line without an end */

int lines_init(struct lines *l, struct instream *in, size_t max)
{
	memset(l, 0, sizeof(*l));
	l->in = in;
	l->max = max;
	l->cap = LINES_START;
	l->buf = malloc(l->cap + 1);
	return l->buf ? 0 : -ENOMEM;
}

void lines_free(struct lines *l)
{
	instream_close(l->in);
	free(l->buf);
	memset(l, 0, sizeof(*l));
}

/* Brings more bytes behind end, sliding or growing first; 1, 0 at the end, or an error. */
static int more(struct lines *l)
{
	long got;

	if (l->start > 0) {
		memmove(l->buf, l->buf + l->start, l->end - l->start);
		l->end -= l->start;
		l->start = 0;
	}
	if (l->end == l->cap) {
		char *p = realloc(l->buf, l->cap * 2 + 1);

		if (!p)
			return -ENOMEM;
		l->buf = p;
		l->cap *= 2;
	}
	got = instream_read(l->in, l->buf + l->end, l->cap - l->end);
	if (got < 0)
		return (int)got;
	l->end += (size_t)got;
	l->eof = got == 0;
	return got > 0;
}

/* The line is longer than anyone wants: drops bytes until its LF, keeping the first max.  One
 * longer than SKIP_MAX is the last. */
static int skip_rest(struct lines *l, char **line, size_t *n)
{
	uint64_t first = l->bytes;

	l->too_long = true;
	for (;;) {
		char *from = l->buf + l->start + l->max;
		char *lf = memchr(from, '\n', l->end - l->start - l->max);
		long got;

		if (lf) {
			*line = l->buf + l->start;
			*n = l->max;
			l->bytes += (size_t)(lf - from) + l->max + 1;
			l->start = (size_t)(lf - l->buf) + 1;
			return 1;
		}
		l->bytes += (size_t)(l->buf + l->end - from);
		l->end = l->start + l->max;
		memmove(l->buf, l->buf + l->start, l->max);
		l->start = 0;
		l->end = l->max;
		got = instream_read(l->in, l->buf + l->end, l->cap - l->end);
		if (got < 0)
			return (int)got;
		l->end += (size_t)got;
		if (got > 0 && l->bytes - first < SKIP_MAX)
			continue;
		l->eof = l->torn = true;
		*line = l->buf;
		*n = l->max;
		l->bytes += l->max;
		l->start = l->end;
		return 1;
	}
}

static int take(struct lines *l, size_t n, bool lf, char **ret, size_t *ret_n)
{
	*ret = l->buf + l->start;
	(*ret)[n] = 0;
	*ret_n = n;
	l->start += n + lf;
	l->bytes += n + lf;
	l->torn = !lf;
	return 1;
}

int lines_next(struct lines *l, char **line, size_t *n)
{
	size_t seen = 0;

	l->number++;
	l->too_long = false;
	for (;;) {
		char *from = l->buf + l->start;
		size_t have = l->end - l->start;
		char *lf = memchr(from + seen, '\n', have - seen);
		int err;

		if (lf && (size_t)(lf - from) <= l->max)
			return take(l, (size_t)(lf - from), true, line, n);
		if (have > l->max) {
			err = skip_rest(l, line, n);
			if (err > 0)
				(*line)[*n] = 0;
			return err;
		}
		if (l->eof) {
			if (have)
				return take(l, have, false, line, n);
			l->number--;
			return 0;
		}
		seen = have;
		err = more(l);
		if (err < 0)
			return err;
	}
}

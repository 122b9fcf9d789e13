/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of strace logs.  One log is read as it is.  Several (-ff) are merged by the time at which
 * calls end, which is the start plus -T's duration; the number behind the last dot of the file's
 * name is the thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"
#include "base/mem.h"
#include "trace/strace.h"

struct log {
	struct lines lines;
	struct strace_clock clock;
	struct strace_line head; /* the next line, when there are several logs */
	uint64_t ends;
	bool have, torn;
	bool has_pid;
	uint32_t pid;
};

struct strace_input {
	struct diag *d;
	struct log *logs;
	unsigned n;
	struct log *last; /* whose head was handed out */
};

static int read_line(struct strace_input *in, struct log *g, struct strace_line *ret, bool *torn)
{
	char *line;
	size_t n;
	int err = lines_next(&g->lines, &line, &n);

	if (err <= 0)
		return err < 0 ? diag_set(in->d, err, "import: %s: cannot read",
					  instream_name(g->lines.in))
			       : 0;
	strace_scan(&g->clock, line, n, ret);
	if (!ret->has_pid && g->has_pid)
		ret->pid = g->pid;
	*torn = g->lines.torn || g->lines.too_long;
	return 1;
}

/* Fetches the head of a log of several. */
static int advance(struct strace_input *in, struct log *g)
{
	struct strace_call c;
	int err = read_line(in, g, &g->head, &g->torn);

	g->have = err > 0;
	if (err <= 0)
		return err;
	g->ends = g->head.time;
	/* Splitting twice is the price of logs per thread. */
	if (g->head.kind == STRACE_CALL && strace_split(g->head.rest, g->head.end, &c) &&
	    c.dur != OP_NONE64)
		g->ends += c.dur;
	return 0;
}

static void take_pid(struct log *g, const char *path)
{
	const char *dot = strrchr(path, '.');
	char *end;
	unsigned long v;

	if (dot && strcmp(dot, ".zst") == 0) {
		while (dot > path && *--dot != '.')
			;
		dot = *dot == '.' ? dot : NULL;
	}
	if (!dot || dot[1] < '0' || dot[1] > '9')
		return;
	v = strtoul(dot + 1, &end, 10);
	g->has_pid = (*end == 0 || *end == '.') && v < OP_NO_THREAD;
	g->pid = (uint32_t)v;
}

static int new_input(unsigned n, struct diag *d, struct strace_input **ret)
{
	struct strace_input *in = mem_zero(sizeof(*in));

	if (in) {
		in->d = d;
		in->logs = mem_array(n, sizeof(*in->logs), MEM_CAP, d);
	}
	if (!in || !in->logs) {
		free(in);
		return diag_set(d, -ENOMEM, "import: no memory");
	}
	*ret = in;
	return 0;
}

static int add_log(struct strace_input *in, struct instream *stream)
{
	struct log *g = &in->logs[in->n];

	if (lines_init(&g->lines, stream, STRACE_LINE_MAX) < 0) {
		instream_close(stream);
		return diag_set(in->d, -ENOMEM, "import: no memory");
	}
	in->n++;
	return 0;
}

int strace_input_open(const char *const *paths, unsigned n, struct diag *d,
		      struct strace_input **ret)
{
	struct strace_input *in;
	struct instream *stream;
	int err = new_input(n, d, &in);

	if (err < 0)
		return err;
	for (unsigned i = 0; err == 0 && i < n; i++) {
		err = instream_open(paths[i], 0, d, &stream);
		if (err == 0)
			err = add_log(in, stream);
		if (err == 0)
			take_pid(&in->logs[i], paths[i]);
	}
	for (unsigned i = 0; err == 0 && n > 1 && i < n; i++)
		err = advance(in, &in->logs[i]);
	if (err < 0) {
		strace_input_close(in);
		return err;
	}
	*ret = in;
	return 0;
}

int strace_input_stream(struct instream *stream, struct diag *d, struct strace_input **ret)
{
	struct strace_input *in;
	int err = new_input(1, d, &in);

	if (err < 0) {
		instream_close(stream);
		return err;
	}
	err = add_log(in, stream);
	if (err < 0) {
		strace_input_close(in);
		return err;
	}
	*ret = in;
	return 0;
}

void strace_input_close(struct strace_input *in)
{
	if (!in)
		return;
	for (unsigned i = 0; i < in->n; i++)
		lines_free(&in->logs[i].lines);
	free(in->logs);
	free(in);
}

int strace_input_next(struct strace_input *in, struct strace_line *ret, bool *torn)
{
	struct log *best = NULL;
	int err;

	if (in->n == 1)
		return read_line(in, &in->logs[0], ret, torn);
	if (in->last && (err = advance(in, in->last)) < 0)
		return err;
	in->last = NULL;
	for (unsigned i = 0; i < in->n; i++) {
		struct log *g = &in->logs[i];

		if (g->have && (!best || g->ends < best->ends))
			best = g;
	}
	if (!best)
		return 0;
	in->last = best;
	*ret = best->head;
	*torn = best->torn;
	return 1;
}

const char *strace_input_where(const struct strace_input *in, uint64_t *ret_line)
{
	const struct log *g = in->last != NULL ? in->last : &in->logs[0];

	*ret_line = g->lines.number;
	return instream_name(g->lines.in);
}

uint64_t strace_input_earliest(const struct strace_input *in)
{
	uint64_t t = UINT64_MAX;

	if (in->n == 1)
		return in->logs[0].clock.now;
	for (unsigned i = 0; i < in->n; i++)
		if (in->logs[i].have && &in->logs[i] != in->last && in->logs[i].head.time < t)
			t = in->logs[i].head.time;
	/* The log that gave the last line goes on no earlier than that line. */
	if (in->last && in->last->head.time < t)
		t = in->last->head.time;
	return t;
}

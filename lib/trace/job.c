/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens sources by what is in a file and sinks by what a file is called; an output gets its name
 * with its last byte, so that a failure leaves what was there before. */
#include "trace/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "trace/events_line.h"
#include "trace/fio_write.h"
#include "trace/import.h"
#include "trace/strace_scan.h"
#include "trace/stream.h"
#include "trace/wtb.h"
#include "trace/wtr.h"

#define LEVEL      3
#define LOOK_LINES 200
#define LOOK_LINE  ((size_t)64 << 10)

int job_options(const struct ek_trace_options *opt, struct diag *d, struct ek_trace_options *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->size = sizeof(*ret);
	if (opt &&
	    (opt->size < offsetof(struct ek_trace_options, level) || opt->size > (size_t)1 << 16))
		return diag_set(d, -EINVAL, "trace options: size %zu: not a size of this struct",
				opt->size);
	if (opt)
		memcpy(ret, opt, MIN(opt->size, sizeof(*ret)));
	ret->size = sizeof(*ret);
	if (ret->level == 0)
		ret->level = LEVEL;
	if (ret->to_ns == 0)
		ret->to_ns = UINT64_MAX;
	if (ret->last == 0)
		ret->last = UINT64_MAX;
	return 0;
}

/* The forms that begin with a word of their own. */
static enum ek_trace_format format_of_word(const char *line)
{
	if (strncmp(line, "#wtrace", 7) == 0)
		return EK_TRACE_WTR;
	if (strncmp(line, "fio version ", 12) == 0)
		return EK_TRACE_FIO;
	if (strncmp(line, "# tracer:", 9) == 0 || strncmp(line, "cpus=", 5) == 0)
		return EK_TRACE_EVENTS;
	return EK_TRACE_AUTO;
}

static enum ek_trace_format format_of_line(char *line, size_t n)
{
	enum ek_trace_format word = format_of_word(line);
	struct strace_clock clock = {0};
	struct strace_line sl;
	struct event_line el;

	if (word != EK_TRACE_AUTO)
		return word;
	if (event_scan(line, n, &el))
		return EK_TRACE_EVENTS;
	strace_scan(&clock, line, n, &sl);
	return sl.kind == STRACE_NOISE ? EK_TRACE_AUTO : EK_TRACE_STRACE;
}

static enum ek_trace_format look_at_lines(struct instream *in)
{
	enum ek_trace_format f = EK_TRACE_AUTO;
	struct lines lines;
	char *line;
	size_t n;

	if (lines_init(&lines, in, LOOK_LINE) < 0) {
		instream_close(in);
		return f;
	}
	while (f == EK_TRACE_AUTO && lines.number < LOOK_LINES && lines_next(&lines, &line, &n) > 0)
		f = format_of_line(line, n);
	lines_free(&lines);
	return f;
}

/* A pipe can be read but once: the form shows in its first bytes or not at all. */
static int look_ahead(struct instream *in, struct diag *d, enum ek_trace_format *ret)
{
	char first[INSTREAM_PEEK + 1];
	long got = instream_peek(in, first, INSTREAM_PEEK);

	if (got < 0)
		return (int)got;
	first[got] = '\0';
	*ret = wtb_is(first, (size_t)got) ? EK_TRACE_WTB : format_of_word(first);
	return *ret != EK_TRACE_AUTO
		   ? 0
		   : diag_set(d, -EINVAL, "trace: standard input: its format must be given");
}

int job_detect(const char *path, struct diag *d, enum ek_trace_format *ret)
{
	struct instream *in;
	char first[16];
	long got;
	int err;

	if (strcmp(path, "-") == 0)
		return diag_set(d, -EINVAL, "trace: standard input: its format must be given");
	err = instream_open(path, INSTREAM_RAW, d, &in);
	if (err < 0)
		return err;
	got = instream_read(in, first, sizeof(first));
	instream_close(in);
	if (got >= 0 && wtb_is(first, (size_t)got)) {
		*ret = EK_TRACE_WTB;
		return 0;
	}
	err = instream_open(path, 0, d, &in);
	if (err < 0)
		return err;
	*ret = look_at_lines(in);
	return *ret != EK_TRACE_AUTO
		   ? 0
		   : diag_set(d, -EINVAL, "trace: %s: neither a trace nor a log that is known",
			      path);
}

static struct import_options import_options(const struct ek_trace_options *opt)
{
	static const struct {
		unsigned public, private;
	} map[] = {
	    {EK_TRACE_NO_READS, IMPORT_NO_READS},
	    {EK_TRACE_SCRUB, IMPORT_SCRUB},
	    {EK_TRACE_CHECKSUMS, IMPORT_CHECKSUMS},
	    {EK_TRACE_GUESS_STORES, IMPORT_GUESS},
	    {EK_TRACE_OBSERVED, IMPORT_OBSERVED},
	    {EK_TRACE_EVENTS_ONLY, IMPORT_EVENTS_ONLY},
	    {EK_TRACE_WAIT_RELATIVE, IMPORT_WAIT_RELATIVE},
	};
	struct import_options o = {.root = opt->root,
				   .cwd = opt->cwd,
				   .initial = opt->initial,
				   .extents = opt->extents,
				   .dev_major = opt->dev_major,
				   .dev_minor = opt->dev_minor};

	for (unsigned i = 0; i < ARRAY_SIZE(map); i++)
		if (opt->flags & map[i].public)
			o.flags |= map[i].private;
	return o;
}

/* Forms that are read from one stream, which becomes the source's own. */
static int read_stream(struct instream *in, enum ek_trace_format format,
		       const struct ek_trace_options *opt, bool repair, struct diag *d,
		       struct op_source **ret)
{
	struct import_options io = import_options(opt);

	switch (format) {
	case EK_TRACE_WTB:
		return wtb_read(in, repair ? WTB_REPAIR : 0, d, ret);
	case EK_TRACE_WTR:
		return wtr_read(in, opt->flags & EK_TRACE_LENIENT ? WTR_LENIENT : 0, d, ret);
	case EK_TRACE_FIO:
		return fio_import(in, &io, d, ret);
	default:
		return events_import(in, &io, d, ret);
	}
}

static int open_stream(const char *path, enum ek_trace_format format,
		       const struct ek_trace_options *opt, bool repair, struct diag *d,
		       struct op_source **ret)
{
	struct instream *in;
	int err = instream_open(path, format == EK_TRACE_WTB ? INSTREAM_RAW : 0, d, &in);

	return err < 0 ? err : read_stream(in, format, opt, repair, d, ret);
}

static int open_input(const struct ek_trace_options *opt, bool repair, struct diag *d,
		      struct op_source **ret, enum ek_trace_format *ret_format)
{
	struct instream *in;
	int err = instream_open("-", 0, d, &in);

	if (err < 0)
		return err;
	err = look_ahead(in, d, ret_format);
	if (err == 0)
		return read_stream(in, *ret_format, opt, repair, d, ret);
	instream_close(in);
	return err;
}

int job_source(const char *const *paths, unsigned n, const struct ek_trace_options *opt,
	       bool repair, struct diag *d, struct op_source **ret,
	       enum ek_trace_format *ret_format)
{
	enum ek_trace_format format = (enum ek_trace_format)opt->input;
	struct import_options io = import_options(opt);
	int err = n ? 0 : diag_set(d, -EINVAL, "trace: no input given");

	if (n == 1 && format == EK_TRACE_AUTO && strcmp(paths[0], "-") == 0)
		return open_input(opt, repair, d, ret, ret_format);
	if (err == 0 && format == EK_TRACE_AUTO)
		err = job_detect(paths[0], d, &format);
	if (err == 0 && n > 1 && format != EK_TRACE_STRACE)
		err = diag_set(d, -EINVAL, "trace: %s: only strace logs come in several files",
			       paths[0]);
	if (err < 0)
		return err;
	*ret_format = format;
	if (format == EK_TRACE_STRACE)
		return strace_import(paths, n, &io, d, ret);
	return open_stream(paths[0], format, opt, repair, d, ret);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static int open_sink(struct job_output *o, struct outstream *out,
		     const struct ek_trace_options *opt, struct diag *d)
{
	switch (o->format) {
	case EK_TRACE_WTB:
		return wtb_write(out, opt->level, d, &o->sink);
	case EK_TRACE_FIO:
		return fio_write(out, d, &o->sink);
	default:
		return wtr_write(out, d, &o->sink);
	}
}

int job_create(const char *path, const struct ek_trace_options *opt, struct diag *d,
	       struct job_output *ret)
{
	bool standard = strcmp(path, "-") == 0;
	struct job_output o = {.format = (enum ek_trace_format)opt->output};
	struct outstream *out;
	size_t n = strlen(path) + 16;
	int err;

	if (o.format == EK_TRACE_AUTO)
		o.format = ends_with(path, ".wtb") ? EK_TRACE_WTB : EK_TRACE_WTR;
	if (o.format > EK_TRACE_FIO)
		return diag_set(d, -EINVAL, "trace: %s: this format cannot be written", path);
	o.path = strdup(path);
	o.part = standard ? NULL : malloc(n);
	if (!o.path || (!standard && !o.part)) {
		free(o.path);
		free(o.part);
		return diag_set(d, -ENOMEM, "trace: no memory");
	}
	if (o.part)
		snprintf(o.part, n, "%s.part", path);
	err = outstream_open(o.part ? o.part : path, ends_with(path, ".zst") ? opt->level : 0, d,
			     &out);
	if (err == 0)
		err = open_sink(&o, out, opt, d);
	if (err < 0) {
		job_close(&o, false, d);
		return err;
	}
	*ret = o;
	return 0;
}

int job_close(struct job_output *o, bool done, struct diag *d)
{
	int err = 0;

	op_sink_close(o->sink);
	if (o->part && done && rename(o->part, o->path) < 0)
		err = diag_errno(d, -errno, "create: %s", o->path);
	if (o->part && (!done || err < 0))
		unlink(o->part);
	free(o->part);
	free(o->path);
	return err;
}

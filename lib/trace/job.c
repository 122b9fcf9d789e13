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
#include "trace/generate.h"
#include "trace/import.h"
#include "trace/strace.h"
#include "trace/stream.h"
#include "trace/wtb.h"
#include "trace/wtr.h"

#define LEVEL      3
#define LOOK_FIRST 16 /* bytes that hold each of the words that forms begin with */

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

/* A line of strace names a call that is known: other texts have brackets too. */
static bool is_strace(const struct strace_table *calls, char *line, size_t n)
{
	struct strace_clock clock = {0};
	struct strace_line l;

	strace_scan(&clock, line, n, &l);
	return (l.kind == STRACE_CALL || l.kind == STRACE_UNFINISHED || l.kind == STRACE_RESUMED) &&
	       strace_find(calls, l.name, l.name_n) != NULL;
}

static enum ek_trace_format format_of_line(const struct strace_table *calls, char *line, size_t n)
{
	enum ek_trace_format word = format_of_word(line);
	struct event_line l;

	if (word != EK_TRACE_AUTO)
		return word;
	if (event_scan(line, n, &l))
		return EK_TRACE_EVENTS;
	return is_strace(calls, line, n) ? EK_TRACE_STRACE : EK_TRACE_AUTO;
}

/* The first line that tells; text is cut up.  -ENOMEM without memory. */
static int format_of_text(char *text, enum ek_trace_format *ret)
{
	struct strace_table *calls = strace_table_new();
	char *next;

	if (calls == NULL)
		return -ENOMEM;
	for (; *ret == EK_TRACE_AUTO && *text != '\0'; text = next) {
		size_t n = strcspn(text, "\n");

		next = text[n] != '\0' ? text + n + 1 : text + n;
		text[n] = '\0';
		*ret = format_of_line(calls, text, n);
	}
	free(calls);
	return 0;
}

/* Bytes that were looked at stay to be read, so a pipe can be asked too; one that is written to
 * slowly is not kept waiting when its first bytes tell. */
static int look_ahead(struct instream *in, struct diag *d, enum ek_trace_format *ret)
{
	char first[LOOK_FIRST + 1], *text;
	long got = instream_peek(in, first, LOOK_FIRST);

	if (got < 0)
		return (int)got;
	first[got] = '\0';
	*ret = wtb_is(first, (size_t)got) ? EK_TRACE_WTB : format_of_word(first);
	if (*ret != EK_TRACE_AUTO)
		return 0;
	text = malloc(INSTREAM_PEEK + 1);
	if (text == NULL)
		return diag_set(d, -ENOMEM, "trace: no memory");
	got = instream_peek(in, text, INSTREAM_PEEK);
	if (got > 0) {
		text[got] = '\0';
		got = format_of_text(text, ret);
	}
	free(text);
	if (got < 0)
		return (int)got;
	return *ret != EK_TRACE_AUTO
		   ? 0
		   : diag_set(d, -EINVAL, "trace: %s: neither a trace nor a log that is known",
			      instream_name(in));
}

/* What a file holds that can be opened again. */
static int look_at(const char *path, struct diag *d, enum ek_trace_format *ret)
{
	struct instream *in = NULL;
	int err = instream_open(path, 0, d, &in);

	if (err == 0 && !instream_again(in))
		err = diag_set(d, -EINVAL, "trace: %s: one of several logs must be a file", path);
	else if (err == 0)
		err = look_ahead(in, d, ret);
	instream_close(in);
	return err;
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

/* Opens an input and finds out what it is. */
static int open_unknown(const char *path, const struct ek_trace_options *opt, bool repair,
			struct diag *d, struct op_source **ret, enum ek_trace_format *ret_format)
{
	struct import_options io = import_options(opt);
	struct instream *in;
	int err = instream_open(path, 0, d, &in);

	if (err < 0)
		return err;
	err = look_ahead(in, d, ret_format);
	if (err == 0 && *ret_format != EK_TRACE_STRACE)
		return read_stream(in, *ret_format, opt, repair, d, ret);
	if (err == 0 && !instream_again(in))
		return strace_import_stream(in, &io, d, ret);
	instream_close(in);
	return err < 0 ? err : strace_import(&path, 1, &io, d, ret);
}

int job_source(const char *const *paths, unsigned n, const struct ek_trace_options *opt,
	       bool repair, struct diag *d, struct op_source **ret,
	       enum ek_trace_format *ret_format)
{
	enum ek_trace_format format = (enum ek_trace_format)opt->input;
	struct import_options io = import_options(opt);
	int err = n ? 0 : diag_set(d, -EINVAL, "trace: no input given");

	if (n == 1 && strncmp(paths[0], GENERATE_SCHEME, strlen(GENERATE_SCHEME)) == 0) {
		*ret_format = EK_TRACE_WTB; /* of a trace whose lines nobody counts */
		return generate_open(paths[0] + strlen(GENERATE_SCHEME), d, ret);
	}
	if (n == 1 && format == EK_TRACE_AUTO)
		return open_unknown(paths[0], opt, repair, d, ret, ret_format);
	if (err == 0 && format == EK_TRACE_AUTO)
		err = look_at(paths[0], d, &format);
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

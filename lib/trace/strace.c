/* SPDX-License-Identifier: BSD-2-Clause */
/* The source of ops from strace logs: works on lines until an op can leave, in order of start. */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/diag.h"
#include "base/mem.h"
#include "trace/strace.h"

/* Until when ops may leave: nothing that is to come begins earlier. */
static uint64_t safe_time(const struct strace *s)
{
	uint64_t t = strace_input_earliest(s->input);

	for (size_t i = 0; i < s->nholders; i++)
		t = MIN(t, s->holders[i].time);
	return t > s->im.start ? t - s->im.start : 0;
}

/* Works on one line: 1, 0 at the end, or an error. */
static int work(struct strace *s)
{
	struct strace_line l;
	bool torn = false;
	int err = 1;

	if (s->have_first) {
		l = s->first;
		torn = s->first_torn;
		s->have_first = false;
	} else {
		err = strace_input_next(s->input, &l, &torn);
	}
	if (err > 0)
		strace_line_do(s, &l, torn);
	return err;
}

/* At the end of the log, calls under way are over. */
static void end_of_log(struct strace *s)
{
	s->ended = true;
	s->im.counts.unmatched += s->nholders;
	s->nholders = 0;
}

static int strace_next(struct op_source *base, const struct op **ret)
{
	struct strace *s = (struct strace *)base;
	int err = s->im.nodes ? import_next_node(&s->im, ret) : 0;

	if (err)
		return err;
	for (;;) {
		const struct op *o =
		    reorder_take(s->im.order, s->ended ? UINT64_MAX : safe_time(s));

		if (o) {
			*ret = o;
			return 1;
		}
		if (s->ended || s->im.err < 0)
			return s->im.err;
		err = work(s);
		if (err < 0)
			import_fail(&s->im, err, "cannot read the log");
		if (err == 0)
			end_of_log(s);
	}
}

static bool strace_whole(const struct op_source *base)
{
	return ((const struct strace *)base)->im.err == 0;
}

static void strace_close(struct op_source *base)
{
	struct strace *s = (struct strace *)base;

	import_free(&s->im);
	strace_input_close(s->input);
	fork_list_free(s->forks);
	free(s->table);
	free(s->holders);
	free(s->joined);
	free(s->text);
	free(s->text2);
	free(s);
}

static const struct op_source_ops strace_ops = {
    .next = strace_next,
    .whole = strace_whole,
    .close = strace_close,
};

/* Looks at the first line for the start of the trace. */
static int start(struct strace *s)
{
	int err = strace_input_next(s->input, &s->first, &s->first_torn);

	if (err < 0)
		return err;
	s->have_first = err > 0;
	s->im.start = err > 0 ? strace_input_earliest(s->input) : 0;
	return import_header(&s->im, "strace",
			     s->im.start >= UINT64_C(100000000000000000) ? "realtime" : "relative");
}

/* The first pass over a log. */
static int read_forks(struct strace *s, struct instream *in)
{
	int err = fork_list_read(in, &s->forks);

	instream_close(in);
	return err < 0 ? diag_set(s->im.base.d, err, "import: cannot look for children") : 0;
}

/* A log that can be read twice is; a pipe is read once, and then children are guessed. */
static int open_one(struct strace *s, const char *path)
{
	struct instream *in;
	int err = instream_open(path, 0, s->im.base.d, &in);

	if (err == 0 && instream_again(in)) {
		err = read_forks(s, in);
		if (err == 0)
			err = instream_open(path, 0, s->im.base.d, &in);
	}
	return err < 0 ? err : strace_input_stream(in, s->im.base.d, &s->input);
}

static int new_strace(const struct import_options *opt, struct diag *d, struct strace **ret)
{
	struct strace *s = mem_zero(sizeof(*s));
	int err = s ? import_init(&s->im, opt, d) : diag_set(d, -ENOMEM, "import: no memory");

	if (err == 0 && !(s->table = strace_table_new()))
		err = diag_set(d, -ENOMEM, "import: no memory");
	if (err < 0) {
		if (s)
			strace_close(&s->im.base);
		return err;
	}
	s->im.base.ops = &strace_ops;
	*ret = s;
	return 0;
}

/* Starts on the input, or gives up. */
static int finish_open(struct strace *s, int err, struct op_source **ret)
{
	if (err == 0)
		err = start(s);
	if (err < 0) {
		strace_close(&s->im.base);
		return err;
	}
	*ret = &s->im.base;
	return 0;
}

int strace_import(const char *const *paths, unsigned n, const struct import_options *opt,
		  struct diag *d, struct op_source **ret)
{
	struct strace *s = NULL;
	int err = n ? new_strace(opt, d, &s) : diag_set(d, -EINVAL, "import: no file given");

	if (err < 0)
		return err;
	err = n == 1 ? open_one(s, paths[0]) : strace_input_open(paths, n, d, &s->input);
	return finish_open(s, err, ret);
}

int strace_import_stream(struct instream *in, const struct import_options *opt, struct diag *d,
			 struct op_source **ret)
{
	struct strace *s = NULL;
	int err = new_strace(opt, d, &s);

	if (err < 0) {
		instream_close(in);
		return err;
	}
	return finish_open(s, strace_input_stream(in, d, &s->input), ret);
}

int strace_import_memory(const void *p, size_t n, const struct import_options *opt, struct diag *d,
			 struct op_source **ret)
{
	struct instream *in;
	struct strace *s = NULL;
	int err = new_strace(opt, d, &s);

	if (err < 0)
		return err;
	err = instream_memory(p, n, "memory", 0, d, &in);
	if (err == 0)
		err = read_forks(s, in);
	if (err == 0)
		err = instream_memory(p, n, "memory", 0, d, &in);
	if (err == 0)
		err = strace_input_stream(in, d, &s->input);
	return finish_open(s, err, ret);
}

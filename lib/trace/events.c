/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kernel events of ext4, jbd2, writeback and the block layer as a source of ops.
 *
 * Events name inodes, never files, so ops name files "/i<inode>" and keep one handle per inode.
 */
#include "trace/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/diag.h"
#include "base/mem.h"
#include "trace/stream.h"
#include "trace/wtr.h"

/* Inode numbers beyond this are those of block devices. */
#define INO_MAX UINT32_MAX

/* Writes under way that are still put in order. */
#define WRITING_MAX 256u

static bool starts(const struct event_line *l, const char *name)
{
	return l->event.n >= strlen(name) && memcmp(l->event.p, name, strlen(name)) == 0;
}

static bool known_family(const struct event_line *l)
{
	static const char *const families[] = {
	    "ext4_",    "jbd2_",   "writeback_", "block_", "mm_",      "sys_",  "iomap_", "wbc_",
	    "balance_", "global_", "sched_",     "bdi_",   "filemap_", "file_", "sb_",    "folio_"};

	for (unsigned i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (starts(l, families[i]))
			return true;
	return false;
}

/* The device of interest: the one asked for, or the first an ext4 event names. */
static bool right_device(struct events *e, const struct event_line *l)
{
	uint32_t major, minor;

	if (!event_dev(l->fields, &major, &minor))
		return !starts(l, "ext4_");
	if (!e->have_dev && starts(l, "ext4_")) {
		e->have_dev = true;
		e->major = major;
		e->minor = minor;
	}
	return e->have_dev && major == e->major && minor == e->minor;
}

static void one_event(struct events *e, const struct event_line *l)
{
	unsigned flags = e->im.opt.flags;
	struct thread *t;
	bool used = false;

	e->im.now = l->time;
	e->im.now_thread = l->pid;
	if (starts(l, "sys_") || !right_device(e, l)) {
		e->im.counts.outside++;
		return;
	}
	e->im.counts.calls++;
	if (flags & (IMPORT_OBSERVED | IMPORT_EVENTS_ONLY))
		used = events_observe(e, l);
	t = events_thread(e, l->pid);
	if (!t)
		return;
	if (!(flags & IMPORT_EVENTS_ONLY))
		used = events_work(e, t, l) || used;
	if (used)
		return;
	if (known_family(l))
		e->im.counts.ignored++;
	else
		import_unknown(&e->im, l->event.p, l->event.n);
}

static void gap(struct events *e, uint64_t lost)
{
	struct op *op = import_begin(&e->im, OP_GAP);

	op->thread = OP_NO_THREAD;
	op->plain = 0;
	op->arg = lost;
	import_emit(&e->im);
	e->im.counts.lost += lost;
}

static void one_line(struct events *e, char *line, size_t n)
{
	struct event_line l;
	uint64_t lost;

	e->im.counts.lines++;
	if (event_lost(line, &lost)) {
		gap(e, lost);
	} else if (event_scan(line, n, &l)) {
		if (!e->im.started) {
			e->im.started = true;
			e->im.start = l.time;
		}
		one_event(e, &l);
	} else if (n && line[0] != '#' && strncmp(line, "cpus=", 5) != 0) {
		import_cut(&e->im, instream_name(e->lines.in), e->lines.number);
	}
}

/* Until when ops may leave: writes being gathered began earlier. */
static uint64_t safe_time(const struct events *e)
{
	uint64_t t = e->im.now;
	const struct hash_node *h = NULL;

	/* With many writes under way order is not worth the search; late ops are counted. */
	while (e->writing && e->writing <= WRITING_MAX && (h = hash_next(&e->threads, h))) {
		const struct thread *th = hash_entry(h, const struct thread, node);

		if (th->writing && th->began < t)
			t = th->began;
	}
	return t > e->im.start ? t - e->im.start : 0;
}

static void end_of_log(struct events *e)
{
	const struct hash_node *h = NULL;

	while ((h = hash_next(&e->threads, h)))
		events_flush(e, hash_entry((struct hash_node *)(uintptr_t)h, struct thread, node));
	e->ended = true;
}

/* Works on one line; at the end, on what is left. */
static void work(struct events *e)
{
	char *line;
	size_t n;
	int err = lines_next(&e->lines, &line, &n);

	if (err > 0)
		one_line(e, line, n);
	else if (err < 0)
		import_fail(&e->im, err, "cannot read the log");
	else
		end_of_log(e);
}

static int events_next(struct op_source *base, const struct op **ret)
{
	struct events *e = (struct events *)base;
	int err = e->im.nodes ? import_next_node(&e->im, ret) : 0;

	if (err)
		return err;
	for (;;) {
		const struct op *o =
		    reorder_take(e->im.order, e->ended ? UINT64_MAX : safe_time(e));

		if (o) {
			*ret = o;
			return 1;
		}
		if (e->ended || e->im.err < 0)
			return e->im.err;
		work(e);
	}
}

static bool events_whole(const struct op_source *base)
{
	return ((const struct events *)base)->im.err == 0;
}

static void events_close(struct op_source *base)
{
	struct events *e = (struct events *)base;
	struct hash_node *h;
	size_t at = 0;

	while ((h = hash_pop(&e->threads, &at)))
		free(hash_entry(h, struct thread, node));
	hash_free(&e->threads);
	at = 0;
	while ((h = hash_pop(&e->inodes, &at)))
		free(hash_entry(h, struct inode, node));
	hash_free(&e->inodes);
	if (e->lines.in)
		lines_free(&e->lines);
	import_free(&e->im);
	free(e);
}

static const struct op_source_ops events_ops = {
    .next = events_next,
    .whole = events_whole,
    .close = events_close,
};

int events_import(struct instream *in, const struct import_options *opt, struct diag *d,
		  struct op_source **ret)
{
	struct events *e = mem_zero(sizeof(*e));
	int err;

	if (!e) {
		instream_close(in);
		return diag_set(d, -ENOMEM, "import: no memory");
	}
	err = import_init(&e->im, opt, d);
	e->im.base.ops = &events_ops;
	e->im.now_dur = OP_NONE64;
	e->have_dev = e->im.opt.dev_major || e->im.opt.dev_minor;
	e->major = e->im.opt.dev_major;
	e->minor = e->im.opt.dev_minor;
	if (lines_init(&e->lines, in, (size_t)1 << 20) < 0)
		err = diag_set(d, -ENOMEM, "import: no memory");
	/* The start is known at the first event only. */
	while (err == 0 && !e->im.started && !e->ended && e->im.err == 0)
		work(e);
	if (err == 0)
		err = e->im.err;
	if (err == 0)
		err = import_header(&e->im, "kernel events", "trace");
	if (err < 0) {
		events_close(&e->im.base);
		return err;
	}
	*ret = &e->im.base;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes from kernel events.  Begin events repeat per folio with what is left, so the bytes come
 * from the end events; a page that gets dirty without a write of its thread is a store through a
 * mapping.
 */
#include "trace/events.h"

/* A write that begins behind the end of the file zeroes the rest of the last page. */
static void note_size(struct events *e, struct thread *t, uint64_t end)
{
	struct inode *i = events_inode(e, t->ino);

	if (!i)
		return;
	t->zeroed = t->start > i->size && i->size % 4096 ? i->size / 4096 + 1 : 0;
	if (end > i->size)
		i->size = end;
}

/* Emits the write a thread has gathered.  The op carries the time at which it began. */
void events_flush(struct events *e, struct thread *t)
{
	uint64_t now = e->im.now, len = t->copied ? t->copied : e->saw_end ? 0 : t->end - t->start;
	uint32_t thread = e->im.now_thread, handle;
	struct op *op;

	if (!t->writing)
		return;
	t->writing = false;
	e->writing--;
	if (t->copied == 0 && e->saw_end)
		return;
	e->im.now = t->began;
	e->im.now_thread = t->pid;
	handle = events_handle(e, t->ino);
	op = import_begin(&e->im, OP_WRITE);
	op->handle = handle;
	op->off = t->start;
	op->len = len;
	if (len && t->start + len <= INT64_MAX) {
		import_emit(&e->im);
		note_size(e, t, t->start + len);
	}
	e->im.now = now;
	e->im.now_thread = thread;
}

/* A piece of a write begins.  Its length is what is left of the call, so the end stays the same
 * for all pieces of one call. */
void events_write_begin(struct events *e, struct thread *t, const struct event_line *l)
{
	uint64_t ino, pos, len;

	if (!events_ino(l, &ino) || !event_number(l->fields, "pos", &pos) ||
	    !event_number(l->fields, "len", &len) || pos > INT64_MAX || len > INT64_MAX) {
		import_cut(&e->im, instream_name(e->lines.in), e->lines.number);
		return;
	}
	t->last_ino = ino;
	t->last_wrote = true;
	if (t->writing && t->ino == ino && pos > t->start && pos + len == t->end)
		return;
	events_flush(e, t);
	t->writing = true;
	e->writing++;
	t->ino = ino;
	t->start = pos;
	t->end = pos + len;
	t->copied = 0;
	t->began = e->im.now;
}

void events_write_end(struct events *e, struct thread *t, const struct event_line *l)
{
	uint64_t ino, copied, pos;

	if (!events_ino(l, &ino) || !event_number(l->fields, "copied", &copied) ||
	    !event_number(l->fields, "pos", &pos) || copied > INT64_MAX) {
		import_cut(&e->im, instream_name(e->lines.in), e->lines.number);
		return;
	}
	e->saw_end = true;
	t->last_ino = ino;
	t->last_wrote = true;
	if (!t->writing || t->ino != ino) {
		events_flush(e, t);
		t->writing = true;
		e->writing++;
		t->ino = ino;
		t->start = pos;
		t->end = pos + copied;
		t->copied = 0;
		t->began = e->im.now;
	}
	t->copied += copied;
	if (t->start + t->copied >= t->end)
		events_flush(e, t);
}

/* A page gets dirty: a store, unless the thread is in a write, a truncate or a hole punch, or a
 * write has just zeroed what lay behind the old end of the file. */
void events_dirty(struct events *e, struct thread *t, const struct event_line *l)
{
	uint64_t ino, index;
	uint32_t handle;
	struct op *op;

	if (!events_ino(l, &ino) || !event_number(l->fields, "index", &index) ||
	    index > INT64_MAX / 4096 - 1)
		return;
	if (t->zeroed == index + 1 && t->ino == ino) {
		t->zeroed = 0;
		return;
	}
	if ((t->last_wrote && t->last_ino == ino) || t->inside ||
	    (l->task.n >= 7 && memcmp(l->task.p, "kworker", 7) == 0) ||
	    (l->task.n >= 4 && memcmp(l->task.p, "jbd2", 4) == 0))
		return;
	handle = events_handle(e, ino);
	op = import_begin(&e->im, OP_MWRITE);
	op->handle = handle;
	op->off = index * 4096;
	op->len = 4096;
	op->sub = VIA_FAULT;
	op->plain = 0;
	import_emit(&e->im);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts the halves of calls together, knows who makes whom, and runs the handler of a whole call. */
#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"
#include "trace/strace.h"

/* Calls under way that later ops wait for; no machine has more threads in file calls at once. */
#define HOLDERS_MAX 4096u

/* The task of a line.  One that appears from nowhere is the child of a birth under way, or else a
 * thread of whoever was there before. */
static struct task *task_of(struct strace *s, uint32_t tid)
{
	struct procs *ps = &s->im.procs;
	struct task *t = task_find(ps, tid), *parent;

	if (t)
		return t;
	parent = task_find(ps, s->last_tid);
	for (size_t i = 0; i < s->nholders; i++) {
		struct task *p = task_find(ps, s->holders[i].tid);
		const struct strace_row *row = p ? p->pending.call : NULL;

		if (row && (row->classes & CALL_FORKS)) {
			t = task_new(ps, tid, p, strace_clone_share(row, p->pending.text));
			break;
		}
	}
	if (!t && parent)
		s->im.counts.orphans++;
	if (!t)
		t = task_new(ps, tid, parent, SHARE_FILES | SHARE_CWD | SHARE_SPACE);
	if (!t)
		import_fail(&s->im, -ENOMEM, "no memory for a task");
	if (t && !parent && s->im.opt.cwd) {
		struct name *n =
		    names_walk(&ps->names, ps->names.root, s->im.opt.cwd, strlen(s->im.opt.cwd), 0);

		if (n)
			cwd_set(ps, t, n);
		name_put(&ps->names, n);
	}
	return t;
}

/* Takes a birth that begins: the child is a copy of its parent as it is now. */
static void begin_birth(struct strace *s, struct task *t, const struct strace_row *row,
			const char *args)
{
	uint32_t child;

	if (fork_list_next(s->forks, t->tid, &child) <= 0 || child == 0 || child == t->tid)
		return;
	if (!task_new(&s->im.procs, child, t, strace_clone_share(row, args)))
		import_fail(&s->im, -ENOMEM, "no memory for a task");
}

/* The descriptor a call starts with. */
static struct ofd *begin_fd(struct strace *s, struct task *t, const struct strace_row *row,
			    const char *args)
{
	const char *end = args;
	struct ofd *o;
	int fd;

	if (!(row->classes & CALL_FD))
		return NULL;
	/* Up to the comma or bracket, but not one inside a decoration. */
	for (bool angle = false; *end && (angle || (*end != ',' && *end != ')')); end++) {
		if (*end == '<')
			angle = true;
		else if (*end == '>' && end[-1] != '-')
			angle = false;
	}
	while (end > args && end[-1] == ' ')
		end--;
	o = call_fd(s, t, (struct op_str){args, (uint32_t)(end - args)}, &fd);
	if (row->classes & CALL_CLOSES)
		return fd_take(t, fd);
	return ofd_get(o);
}

static void forget_holder(struct strace *s, uint32_t tid)
{
	for (size_t i = 0; i < s->nholders; i++)
		if (s->holders[i].tid == tid) {
			s->holders[i] = s->holders[--s->nholders];
			return;
		}
}

/* Drops a first half whose second never comes. */
static void drop_pending(struct strace *s, struct task *t)
{
	struct pending *p = &t->pending;

	if (!p->call)
		return;
	if (p->holds)
		forget_holder(s, t->tid);
	p->call = NULL;
	p->holds = false;
	ofd_put(&s->im.procs, p->ofd);
	p->ofd = NULL;
}

void strace_cut(struct strace *s)
{
	uint64_t line;
	const char *file = strace_input_where(s->input, &line);

	import_cut(&s->im, file, line);
}

static void unfinished(struct strace *s, struct task *t, const struct strace_row *row,
		       const struct strace_line *l)
{
	struct pending *p = &t->pending;
	size_t n = (size_t)(l->end - l->rest);
	void *text = p->text, *holders = s->holders;

	if (p->call)
		s->im.counts.unmatched++;
	drop_pending(s, t);
	if (row->classes & CALL_FORKS)
		begin_birth(s, t, row, l->rest);
	if (mem_grow(&text, &p->text_cap, n + 1, 1) < 0 ||
	    mem_grow(&holders, &s->holders_cap, s->nholders + 1, sizeof(*s->holders)) < 0) {
		p->text = text;
		import_fail(&s->im, -ENOMEM, "no memory for a call");
		return;
	}
	s->holders = holders;
	p->text = text;
	memcpy(p->text, l->rest, n);
	p->text[n] = 0;
	p->text_n = n;
	p->time = l->time;
	p->call = row;
	p->ofd = begin_fd(s, t, row, p->text);
	p->holds = s->nholders < HOLDERS_MAX &&
		   ((row->classes & (CALL_HOLDS | CALL_FORKS)) || (p->ofd && p->ofd->handle));
	if (p->holds)
		s->holders[s->nholders++] = (struct holder){t->tid, l->time};
}

/* A call with all its text, beginning at s->im.now. */
static void complete(struct strace *s, struct task *t, const struct strace_row *row, char *text,
		     char *end)
{
	struct strace_call *c = &s->call;

	if (!strace_split(text, end, c)) {
		strace_cut(s);
		return;
	}
	s->im.counts.calls++;
	if (c->dur != OP_NONE64)
		s->im.now_dur = c->dur;
	if (c->failed && !(row->classes & CALL_FAILS_TOO)) {
		s->im.counts.failed++;
		return;
	}
	row->run(s, t, c, row->variant);
}

static void whole_call(struct strace *s, struct task *t, const struct strace_row *row,
		       struct strace_line *l)
{
	drop_pending(s, t);
	if (row->classes & CALL_FORKS)
		begin_birth(s, t, row, l->rest);
	s->ofd = begin_fd(s, t, row, l->rest);
	complete(s, t, row, l->rest, l->end);
	ofd_put(&s->im.procs, s->ofd);
	s->ofd = NULL;
}

static void second_half(struct strace *s, struct task *t, const struct strace_row *row,
			const struct strace_line *l)
{
	struct pending *p = &t->pending;
	size_t n = (size_t)(l->end - l->rest);
	void *joined = s->joined;

	if (p->call != row) {
		s->im.counts.unmatched++;
		return;
	}
	if (mem_grow(&joined, &s->joined_cap, p->text_n + n + 1, 1) < 0) {
		import_fail(&s->im, -ENOMEM, "no memory for a call");
		return;
	}
	s->joined = joined;
	memcpy(s->joined, p->text, p->text_n);
	memcpy(s->joined + p->text_n, l->rest, n);
	s->joined[p->text_n + n] = 0;
	s->ofd = p->ofd;
	p->ofd = NULL;
	s->im.now = p->time;
	s->im.now_dur = l->time >= p->time ? l->time - p->time : OP_NONE64;
	complete(s, t, row, s->joined, s->joined + p->text_n + n);
	/* The handler may have ended the task's last reference to it, never the task itself. */
	p->call = NULL;
	if (p->holds)
		forget_holder(s, t->tid);
	p->holds = false;
	ofd_put(&s->im.procs, s->ofd);
	s->ofd = NULL;
}

static void end_task(struct strace *s, uint32_t tid)
{
	struct task *t = task_find(&s->im.procs, tid);

	if (!t)
		return;
	drop_pending(s, t);
	task_end(&s->im.procs, t);
	import_begin(&s->im, OP_EXIT)->arg = tid;
	s->im.op.plain = 0;
	import_emit(&s->im);
}

void strace_line_do(struct strace *s, struct strace_line *l, bool torn)
{
	struct importer *im = &s->im;
	const struct strace_row *row;
	struct task *t;

	im->counts.lines++;
	im->now = l->time;
	im->now_dur = OP_NONE64;
	im->now_thread = l->pid;
	if (l->kind == STRACE_SIGNAL)
		return;
	if (l->kind == STRACE_EXIT) {
		end_task(s, l->pid);
		return;
	}
	if (l->kind == STRACE_NOISE || (torn && l->kind != STRACE_CALL)) {
		strace_cut(s);
		return;
	}
	row = strace_find(s->table, l->name, l->name_n);
	if (!row) {
		if (l->kind != STRACE_RESUMED)
			import_unknown(im, l->name, l->name_n);
		return;
	}
	if (row->classes & CALL_IGNORED) {
		im->counts.ignored += l->kind != STRACE_UNFINISHED;
		return;
	}
	t = task_of(s, l->pid);
	if (!t)
		return;
	s->last_tid = l->pid;
	if (l->kind == STRACE_UNFINISHED)
		unfinished(s, t, row, l);
	else if (l->kind == STRACE_CALL)
		whole_call(s, t, row, l);
	else
		second_half(s, t, row, l);
}

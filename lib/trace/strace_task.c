/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that make tasks, replace their program, and map files. */
#include <errno.h>

#include "base/check.h"
#include "trace/strace.h"

unsigned strace_clone_share(const struct strace_row *row, const char *args)
{
	unsigned share = 0;

	if (row->variant == 1) /* vfork: shares memory until the child's execve */
		return SHARE_SPACE;
	if (strstr(args, "CLONE_FILES"))
		share |= SHARE_FILES;
	if (strstr(args, "CLONE_FS"))
		share |= SHARE_CWD;
	if (strstr(args, "CLONE_VM"))
		share |= SHARE_SPACE;
	return share;
}

/* fork, vfork, clone, clone3, when they return: the child may be known from the first pass. */
void do_clone(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	uint32_t child = (uint32_t)c->ret;
	struct strace_row row = {.variant = variant};
	struct op *op;

	if (c->ret <= 0 || c->ret >= OP_NO_THREAD)
		return;
	if (!task_find(&s->im.procs, child)) {
		unsigned share = 0;

		for (unsigned i = 0; i < c->nargs; i++) {
			struct op_str a = c->arg[i];

			if (memmem(a.p, a.n, "CLONE_FILES", 11))
				share |= SHARE_FILES;
			if (memmem(a.p, a.n, "CLONE_FS", 8))
				share |= SHARE_CWD;
			if (memmem(a.p, a.n, "CLONE_VM", 8))
				share |= SHARE_SPACE;
		}
		if (variant == 1)
			share = strace_clone_share(&row, "");
		if (child != t->tid && !task_new(&s->im.procs, child, t, share))
			import_fail(&s->im, -ENOMEM, "no memory for a task");
	}
	op = import_begin(&s->im, OP_FORK);
	op->arg = child;
	op->plain = 0;
	import_emit(&s->im);
}

void do_exec(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	(void)c;
	(void)variant;
	s->im.counts.ignored++;
	if (task_exec(&s->im.procs, t) < 0)
		import_fail(&s->im, -ENOMEM, "no memory for a task");
}

/* unshare(flags) */
void do_unshare(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	uint64_t flags = strace_flags(call_arg(c, 0), strace_clone_words);

	(void)variant;
	s->im.counts.ignored++;
	if ((flags & 0x400) && task_unshare_files(&s->im.procs, t) < 0)
		import_fail(&s->im, -ENOMEM, "too many descriptors");
}

static bool has_word(struct op_str a, const char *word, uint64_t bit)
{
	int64_t v;

	return strace_number(a, &v) ? ((uint64_t)v & bit) != 0
				    : memmem(a.p, a.n, word, strlen(word)) != NULL;
}

/* MAP_SHARED or MAP_SHARED_VALIDATE, not MAP_PRIVATE. */
static bool is_shared(struct op_str flags)
{
	return has_word(flags, "MAP_SHARED", 1) && !has_word(flags, "MAP_ANONYMOUS", 0x20);
}

/* mmap(addr, length, prot, flags, fd, offset) = address */
void do_mmap(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	uint64_t at = (uint64_t)c->ret;
	struct op_str prot = call_arg(c, 2);
	int64_t len, off = 0;
	struct ofd *o;
	struct op *op;
	uint32_t number;
	int fd;

	(void)variant;
	if (!call_number(c, 1, &len) || len <= 0 || at > INT64_MAX)
		return;
	len = (int64_t)MIN((uint64_t)len, (uint64_t)INT64_MAX - at);
	if (t->space->n)
		space_unmap(&s->im.procs, t, at, (uint64_t)len);
	if (!is_shared(call_arg(c, 3))) {
		s->im.counts.ignored++;
		return;
	}
	o = call_fd(s, t, call_arg(c, 4), &fd);
	call_number(c, 5, &off);
	if (!is_inside(s, o) || off < 0)
		return;
	if (space_map(&s->im.procs, t, at, (uint64_t)len, (uint64_t)off, o, &number) < 0) {
		import_fail(&s->im, -ENOMEM, "no memory for a mapping");
		return;
	}
	if (number == 0)
		return;
	op = import_begin(&s->im, OP_MMAP);
	op->plain = 0;
	op->window = number;
	op->handle = o->handle;
	op->off = (uint64_t)off;
	op->len = (uint64_t)len;
	op->flags = OPF_SHARED | OPF_READ | (has_word(prot, "PROT_WRITE", 2) ? OPF_WRITE : 0);
	import_emit(&s->im);
}

void do_munmap(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	int64_t at, len;

	(void)variant;
	if (t->space->n && call_number(c, 0, &at) && call_number(c, 1, &len) && len > 0)
		space_unmap(&s->im.procs, t, (uint64_t)at, (uint64_t)len);
	else
		s->im.counts.ignored++;
}

/* mremap(old, old length, new length, flags) = new address: the same window elsewhere. */
void do_mremap(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	int64_t at, old_len, new_len;

	(void)variant;
	s->im.counts.ignored++;
	if (!call_number(c, 0, &at) || !call_number(c, 1, &old_len) ||
	    !call_number(c, 2, &new_len) || new_len <= 0 || c->ret < 0 ||
	    new_len > INT64_MAX - c->ret)
		return;
	for (size_t i = 0; i < t->space->n; i++) {
		struct mapping *m = &t->space->maps[i];

		if ((uint64_t)at >= m->start && (uint64_t)at - m->start < m->len) {
			m->off += (uint64_t)at - m->start;
			m->start = (uint64_t)c->ret;
			m->len = (uint64_t)new_len;
			return;
		}
	}
}

static void emit_range(struct strace *s, const struct mapping *m, enum op_code code, uint64_t at,
		       uint64_t len, uint32_t flags)
{
	struct op *op = import_begin(&s->im, code);

	op->handle = m->window->ofd->handle;
	op->off = m->off + (at - m->start);
	op->len = MIN(len, m->len - (at - m->start));
	op->flags = flags;
	if (op->off + op->len > INT64_MAX)
		return;
	op->plain = 0;
	if (code == OP_MWRITE)
		op->sub = VIA_GUESS;
	import_emit(&s->im);
}

/* msync(addr, length, flags): says which file and where through the mapping. */
void do_msync(struct strace *s, struct task *t, const struct strace_call *c, int variant)
{
	bool async = has_word(call_arg(c, 2), "MS_ASYNC", 1);
	int64_t at, len;

	(void)variant;
	if (!call_number(c, 0, &at) || !call_number(c, 1, &len) || len <= 0)
		return;
	for (size_t i = 0; i < t->space->n; i++) {
		const struct mapping *m = &t->space->maps[i];

		if ((uint64_t)at < m->start || (uint64_t)at - m->start >= m->len)
			continue;
		if (s->im.opt.flags & IMPORT_GUESS)
			emit_range(s, m, OP_MWRITE, (uint64_t)at, (uint64_t)len, 0);
		emit_range(s, m, OP_MSYNC, (uint64_t)at, (uint64_t)len, async ? OPF_ASYNC : 0);
		return;
	}
	call_outside(s);
}

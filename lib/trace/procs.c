/* SPDX-License-Identifier: BSD-2-Clause */
/* Tasks and what they share, by counted references; the last reference to an open file tells the
 * importer that it is closed. */
#include "trace/procs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"
#include "base/mem.h"

/* Mappings of one process: Linux allows 65530. */
#define MAPS_MAX 65536u

/* All descriptor tables together: 256 MiB of slots. */
#define SLOTS_MAX ((size_t)16 << 20)

int procs_init(struct procs *ps, const struct procs_events *events, void *arg)
{
	memset(ps, 0, sizeof(*ps));
	ps->events = events;
	ps->arg = arg;
	ps->slots_left = SLOTS_MAX;
	return names_init(&ps->names);
}

struct ofd *ofd_new(void)
{
	struct ofd *o = mem_zero(sizeof(*o));

	if (o)
		o->refs = 1;
	return o;
}

struct ofd *ofd_get(struct ofd *o)
{
	if (o)
		o->refs++;
	return o;
}

void ofd_put(struct procs *ps, struct ofd *o)
{
	if (!o || --o->refs)
		return;
	if (ps->events)
		ps->events->closed(ps->arg, o);
	file_put(o->file);
	name_put(&ps->names, o->name);
	free(o);
}

static void window_put(struct procs *ps, struct window *w)
{
	if (--w->refs)
		return;
	if (ps->events)
		ps->events->unmapped(ps->arg, w);
	ofd_put(ps, w->ofd);
	free(w);
}

static void files_put(struct procs *ps, struct fd_table *t)
{
	if (!t || --t->refs)
		return;
	for (size_t i = 0; i < t->cap; i++)
		ofd_put(ps, t->slots[i].ofd);
	ps->slots_left += t->cap;
	free(t->slots);
	free(t);
}

static void cwd_put(struct procs *ps, struct cwd *c)
{
	if (!c || --c->refs)
		return;
	name_put(&ps->names, c->name);
	free(c->shown);
	free(c);
}

static void space_put(struct procs *ps, struct space *s)
{
	if (!s || --s->refs)
		return;
	for (size_t i = 0; i < s->n; i++)
		window_put(ps, s->maps[i].window);
	free(s->maps);
	free(s);
}

static struct cwd *cwd_new(struct name *n)
{
	struct cwd *c = mem_zero(sizeof(*c));

	if (c) {
		c->refs = 1;
		c->name = name_get(n);
	}
	return c;
}

static struct fd_table *files_copy(struct procs *ps, const struct fd_table *from)
{
	struct fd_table *t = mem_zero(sizeof(*t));
	size_t used = from ? from->cap : 0;

	while (used && !from->slots[used - 1].ofd)
		used--;
	if (!t)
		return NULL;
	t->refs = 1;
	if (used) {
		t->slots = used > ps->slots_left ? NULL : malloc(used * sizeof(*t->slots));
		if (!t->slots) {
			free(t);
			return NULL;
		}
		memcpy(t->slots, from->slots, used * sizeof(*t->slots));
		t->cap = used;
		ps->slots_left -= used;
	}
	for (size_t i = 0; i < used; i++)
		ofd_get(t->slots[i].ofd);
	return t;
}

static struct space *space_copy(const struct space *from)
{
	struct space *s = mem_zero(sizeof(*s));

	if (!s)
		return NULL;
	s->refs = 1;
	if (from && from->n) {
		s->maps = malloc(from->n * sizeof(*s->maps));
		if (!s->maps) {
			free(s);
			return NULL;
		}
		memcpy(s->maps, from->maps, from->n * sizeof(*s->maps));
		s->n = s->cap = from->n;
		for (size_t i = 0; i < s->n; i++)
			s->maps[i].window->refs++;
	}
	return s;
}

struct task *task_find(const struct procs *ps, uint32_t tid)
{
	struct hash_node *n = hash_find(&ps->tasks, tid);

	return n ? hash_entry(n, struct task, node) : NULL;
}

static void drop(struct procs *ps, struct task *t)
{
	ofd_put(ps, t->pending.ofd);
	space_put(ps, t->space);
	files_put(ps, t->files);
	cwd_put(ps, t->cwd);
	free(t->pending.text);
	free(t);
}

void task_end(struct procs *ps, struct task *t)
{
	hash_remove(&ps->tasks, &t->node);
	drop(ps, t);
}

void procs_free(struct procs *ps)
{
	size_t at = 0;
	struct hash_node *n;

	ps->events = NULL;
	while ((n = hash_pop(&ps->tasks, &at)))
		drop(ps, hash_entry(n, struct task, node));
	hash_free(&ps->tasks);
	if (ps->names.root)
		names_free(&ps->names);
}

static void share_or_copy(struct procs *ps, struct task *t, const struct task *parent,
			  unsigned share)
{
	if (share & SHARE_FILES) {
		t->files = parent->files;
		t->files->refs++;
	} else {
		t->files = files_copy(ps, parent ? parent->files : NULL);
	}
	if (share & SHARE_CWD) {
		t->cwd = parent->cwd;
		t->cwd->refs++;
	} else {
		t->cwd = cwd_new(parent ? parent->cwd->name : ps->names.root);
	}
	if (share & SHARE_SPACE) {
		t->space = parent->space;
		t->space->refs++;
	} else {
		t->space = space_copy(parent ? parent->space : NULL);
	}
}

struct task *task_new(struct procs *ps, uint32_t tid, const struct task *parent, unsigned share)
{
	struct task *old = task_find(ps, tid), *t;

	if (parent && parent->tid == tid)
		return NULL;
	t = mem_zero(sizeof(*t));
	if (!t)
		return NULL;
	t->tid = tid;
	share_or_copy(ps, t, parent, parent ? share : 0);
	if (!t->files || !t->cwd || !t->space) {
		drop(ps, t);
		return NULL;
	}
	if (old)
		task_end(ps, old);
	hash_insert(&ps->tasks, &t->node, tid);
	return t;
}

int task_unshare_files(struct procs *ps, struct task *t)
{
	struct fd_table *mine;

	if (t->files->refs == 1)
		return 0;
	mine = files_copy(ps, t->files);
	if (!mine)
		return -ENOMEM;
	files_put(ps, t->files);
	t->files = mine;
	return 0;
}

int task_exec(struct procs *ps, struct task *t)
{
	struct space *fresh = space_copy(NULL);
	int err = task_unshare_files(ps, t);

	if (!fresh || err < 0) {
		free(fresh);
		return -ENOMEM;
	}
	space_put(ps, t->space);
	t->space = fresh;
	for (size_t i = 0; i < t->files->cap; i++)
		if (t->files->slots[i].cloexec)
			ofd_put(ps, fd_take(t, (int)i));
	return 0;
}

struct ofd *fd_get(const struct task *t, int fd)
{
	return fd >= 0 && (size_t)fd < t->files->cap ? t->files->slots[fd].ofd : NULL;
}

struct ofd *fd_take(struct task *t, int fd)
{
	struct ofd *o = fd_get(t, fd);

	if (o)
		t->files->slots[fd] = (struct fd_slot){NULL, false};
	return o;
}

static int make_slot(struct procs *ps, struct fd_table *t, int fd)
{
	size_t cap = t->cap ? t->cap : 16;
	struct fd_slot *p;

	while (cap <= (size_t)fd)
		cap *= 2;
	if (cap == t->cap)
		return 0;
	if (cap - t->cap > ps->slots_left)
		return -ENOMEM;
	p = realloc(t->slots, cap * sizeof(*p));
	if (!p)
		return -ENOMEM;
	memset(p + t->cap, 0, (cap - t->cap) * sizeof(*p));
	ps->slots_left -= cap - t->cap;
	t->slots = p;
	t->cap = cap;
	return 0;
}

int fd_install(struct procs *ps, struct task *t, int fd, struct ofd *o, bool cloexec)
{
	struct ofd *old = fd_take(t, fd);
	int err = 0;

	if (o && fd >= 0 && fd < FD_MAX)
		err = make_slot(ps, t->files, fd);
	if (o && (err < 0 || fd < 0 || fd >= FD_MAX))
		ofd_put(ps, o);
	else if (o)
		t->files->slots[fd] = (struct fd_slot){o, cloexec};
	ofd_put(ps, old);
	return err;
}

void cwd_set(struct procs *ps, struct task *t, struct name *n)
{
	struct name *old = t->cwd->name;

	t->cwd->name = name_get(n);
	t->cwd->nshown = 0;
	name_put(&ps->names, old);
}

int space_map(struct procs *ps, struct task *t, uint64_t start, uint64_t len, uint64_t off,
	      struct ofd *o, uint32_t *ret_number)
{
	struct space *s = t->space;
	void *maps = s->maps;
	struct window *w;
	uint64_t end;

	*ret_number = 0;
	if (ck_add(start, len, &end) || s->n >= MAPS_MAX)
		return 0; /* no machine has such a mapping, or so many */
	if (mem_grow(&maps, &s->cap, s->n + 2, sizeof(*s->maps)) < 0)
		return -ENOMEM;
	s->maps = maps;
	w = mem_zero(sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->refs = 1;
	w->number = ++ps->windows;
	w->ofd = ofd_get(o);
	s->maps[s->n++] = (struct mapping){start, len, off, w};
	*ret_number = w->number;
	return 0;
}

/* Removes what [start, end) covers of maps[i]; false when the mapping is gone. */
static bool clip(struct procs *ps, struct space *s, size_t i, uint64_t start, uint64_t end)
{
	struct mapping m = s->maps[i];
	uint64_t m_end = m.start + m.len;
	void *maps = s->maps;

	if (start > m.start && end < m_end) {
		/* A hole: the part behind becomes a mapping of its own. */
		if (mem_grow(&maps, &s->cap, s->n + 1, sizeof(*s->maps)) == 0) {
			s->maps = maps;
			m.window->refs++;
			s->maps[s->n++] =
			    (struct mapping){end, m_end - end, m.off + (end - m.start), m.window};
		}
		s->maps[i].len = start - m.start;
		return true;
	}
	if (start > m.start) {
		s->maps[i].len = start - m.start;
		return true;
	}
	if (end < m_end) {
		s->maps[i] = (struct mapping){end, m_end - end, m.off + (end - m.start), m.window};
		return true;
	}
	s->maps[i] = s->maps[--s->n];
	window_put(ps, m.window);
	return false;
}

void space_unmap(struct procs *ps, struct task *t, uint64_t start, uint64_t len)
{
	struct space *s = t->space;
	uint64_t end;

	if (ck_add(start, len, &end))
		end = UINT64_MAX;
	for (size_t i = 0; i < s->n;) {
		const struct mapping *m = &s->maps[i];

		if (start < m->start + m->len && m->start < end && !clip(ps, s, i, start, end))
			continue;
		i++;
	}
}
